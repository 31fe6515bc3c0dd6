"""What a person can get wrong in an experiment file: one sentence each, with the key, the fault and the remedy."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.experiment import Plan
    from bakeoff.experiment.catalogue import Catalogue

HOP = '[[path.forward]]\nrate = "12Mbit/s"\ndelay = "20ms"\n'
FLOW = '[[flow]]\nscheme = "cubic"\n'
HEAD = 'name = "x"\nduration = "30s"\n'
CASES = tomllib.loads(Path(__file__).with_name("bad_input.toml").read_text(encoding="utf-8"))["case"]


@pytest.mark.parametrize(("text", "sentence"), [(case["file"], case["sentence"]) for case in CASES])
def test_one_sentence(planned: Callable[..., Plan], text: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(text.replace("@head\n", HEAD).replace("@hop\n", HOP).replace("@flow\n", FLOW))
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message
    assert re.match(r".*/x\.toml", message) or message.startswith("matrix.")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("rate", '--set "rate": write KEY=VALUE, as in --set path.forward.0.rate=2Mbit/s'),
        ("=3", '--set "=3": write KEY=VALUE'),
        ("rate=", '--set "rate=": write KEY=VALUE'),
        ("rate=2Mb", '--set rate=2Mb: path.forward.0.rate: "2Mb": unknown unit "Mb" for a rate; write "2Mbit/s"'),
        (
            "path.forward.0.rat=2Mbit/s",
            '--set path.forward.0.rat=2Mbit/s: path.forward.0.rat: unknown key; did you mean "rate"?',
        ),
        (
            "path.forward.1.rate=2Mbit/s",
            "there is no path.forward.1; the file has path.forward.0, and path.forward.* means all",
        ),
        ("path.reverse.0.loss=0.1", "--set path.reverse.0.loss=0.1: the file has no [[path.reverse]] to set it in"),
        ("path.use=foo", '--set path.use=foo: path.use: "foo" is not a named path; known are'),
        ("path.trace=none.trace", "/none.trace: no such trace file"),
        ('path.trace=["a"]', 'path.forward.0.rate.trace.0: must be a whole number, not "a"'),
        ('matrix.queue={limit="3pkt"}', 'not "3pkt"; write a table, as in { rate = "5Mbit/s" }'),
        ('matrix.path.forward.0={delay="3ms"}', 'write it in quotes, as in "path.forward.0.delay" = [...]'),
        ("path..rate=3", '--set path..rate=3: not a key; write for example "path.forward.0.rate"'),
        ("probe.1.size=1kB", "--set probe.1.size=1kB: the file has no [[probe]] to set it in"),
        ("repeats=0", "--set repeats=0: repeats: must be at least 1, not 0"),
        ("scheme=bbr", "--set scheme=bbr: every flow names its own scheme"),
        ("matrix.loss=", "write KEY=VALUE"),
        ("rtt=3ns", '--set rtt=3ns: "3ns": half of it goes each way, so it must be an even number of ns'),
        ("durration=1s", '--set durration=1s: durration: unknown key; did you mean "duration"?'),
        ("ratee=2Mbit/s", '--set ratee=2Mbit/s: ratee: unknown key; did you mean "rate"?'),
        ("name.x=1", "--set name.x=1: name: must be a text, not a table"),
        ("flow=3", "--set flow=3: flow is a list of tables, as in flow=[{}] or flow.1={}"),
        ("flow.1=3", "--set flow.1=3: flow is a list of tables, as in flow=[{}] or flow.1={}"),
        ("probe=[3]", "--set probe=[3]: probe is a list of tables, as in probe=[{}] or probe.1={}"),
        ("queue.limit=9pkt", '--set queue.limit=9pkt: queue.limit: unknown key; write "path.forward.0.queue.limit"'),
        ("path.queue.limit=9pkt", 'path.queue.limit: unknown key; write "path.forward.0.queue.limit"'),
        ("delay=9ms", '--set delay=9ms: delay: unknown key; write "path.forward.0.delay"'),
        ("reverse.0.delay=9ms", '0.delay=9ms: reverse.0.delay: unknown key; write "path.reverse.0.delay"'),
        ("ecn=classic", '--set ecn=classic: ecn: unknown key; write "flow.*.ecn"'),
        (
            "matrix.delay=9ms",
            '--set matrix.delay=9ms: matrix.delay: not a key that can vary; write "path.forward.0.delay"',
        ),
        ("path.ecn=classic", "--set path.ecn=classic: path.ecn: unknown key; known are use, forward, reverse"),
        ("matrix.flwo=1", '--set matrix.flwo=1: matrix.flwo: not a key that can vary; did you mean "flow"?'),
        ("matrix.foo=1", "--set matrix.foo=1: matrix.foo: not a key that can vary; known are scheme, rtt, rate, "),
        ("matrix.rtt=1ms,", '--set matrix.rtt=1ms,: matrix.rtt: "" cannot be a value of an axis'),
    ],
)
def test_settings(planned: Callable[..., Plan], minimal: str, change: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(minimal, change)
    assert sentence in str(caught.value)


def test_of_several_settings_the_last_that_touched_a_key_is_named(planned: Callable[..., Plan], minimal: str) -> None:
    changes = ("queue=codel", "path.forward.0.queue.limit=0pkt")
    with pytest.raises(
        UserError, match=r"^--set path\.forward\.0\.queue\.limit=0pkt: path\.forward\.0\.queue\.limit: "
    ):
        planned(minimal, *changes)


@pytest.mark.parametrize("probe", ["1", "*"])
def test_a_list_that_is_empty_has_nothing_to_change(planned: Callable[..., Plan], minimal: str, probe: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(minimal, "probe=[]", f"probe.{probe}.size=1kB")
    assert str(caught.value) == f"--set probe.{probe}.size=1kB: the file has no [[probe]] to set it in"


@pytest.mark.parametrize("change", ["pair=zz", "matrix.pair=one,zz", 'pair="zz"'])
def test_a_value_that_an_axis_of_variants_does_not_have(
    planned: Callable[..., Plan], minimal: str, change: str
) -> None:
    with pytest.raises(UserError) as caught:
        planned(f'{minimal}[matrix.pair]\none = {{ rtt = "1ms" }}\ntwo = {{ rtt = "2ms" }}', change)
    assert str(caught.value) == f'--set {change}: "zz" is not a value of the axis "pair"; known are one, two'


@pytest.mark.parametrize(
    ("change", "whole"),
    [
        ("matrix.pair.one.rtt=3ms", '{ one = { rtt = "3ms" } }'),
        ("matrix.pair.0.5bdp.path.forward.0.loss=0.1", '{ "0.5bdp" = { "path.forward.0.loss" = 0.1 } }'),
        ('matrix.pair.new={rate="1Mbit/s"}', '{ new = { rate = "1Mbit/s" } }'),
    ],
)
def test_a_variant_of_an_axis_is_not_set_alone(
    planned: Callable[..., Plan], minimal: str, change: str, whole: str
) -> None:
    text = f'{minimal}[matrix.pair]\none = {{ rtt = "1ms" }}\n"0.5bdp" = {{ rtt = "2ms" }}'
    with pytest.raises(UserError) as caught:
        planned(text, change)
    assert str(caught.value) == (
        f'--set {change}: variants of the axis "pair" do not change one by one; give all that it is to have, '
        f"as in --set 'matrix.pair={whole}'"
    )
    assert len(planned(text, f"matrix.pair={whole}").runs) == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"name = \n", "x.toml: not valid TOML: line 1, column 8: Invalid value"),
        (b'name = "x', "x.toml: not valid TOML: "),
        (
            "name = \N{LEFT DOUBLE QUOTATION MARK}x\N{RIGHT DOUBLE QUOTATION MARK}\n".encode(),
            'line 1, column 8: \N{LEFT DOUBLE QUOTATION MARK} is no quotation mark of TOML; write "',
        ),
        (b'name = "\xff"\n', "x.toml: line 1 is not UTF-8 text; save the file as UTF-8"),
        (b"a = " + b"[" * 100_000, "x.toml: not TOML that can be read: nested too deeply"),
        (b"a = " + b"9" * 10_000, "x.toml: not valid TOML: "),
        (b"a = 1\na = 2\n", "x.toml: not valid TOML: line 2: a is there already; keep one of them"),
        (b'a.b = 1\n  a."b" = 2 # a = 3', 'x.toml: not valid TOML: line 2: a."b" is there already; keep one of them'),
        (b"[flow]\n[[flow]]\n", "x.toml: not valid TOML: line 2: [[flow]] is there already; keep one of them"),
        (b"[path]\n[path] # =\n", "x.toml: not valid TOML: line 2: [path] is there already; keep one of them"),
        (b"a = 1\na = [\n2\n]\n", "x.toml: not valid TOML: line 4, column 2: Cannot overwrite a value"),
        (b"\x00", "x.toml: not valid TOML: line 1"),
    ],
)
def test_not_toml(tmp_path: Path, catalogue: Catalogue, content: bytes, sentence: str) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load(str(file), (), catalogue)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mark_before_the_text_is_no_part_of_it(tmp_path: Path, catalogue: Catalogue) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xef\xbb\xbf" + f"{HEAD}{HOP}{FLOW}".encode())
    assert load(str(file), (), catalogue).name == "x"


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, catalogue: Catalogue) -> None:
    file = tmp_path / "x.toml"
    with file.open("wb") as opened:
        opened.truncate(16 * 2**20 + 1)
    with pytest.raises(UserError, match=r"x\.toml: larger than 16 MiB, the most that an experiment file may have$"):
        load(str(file), (), catalogue)


def test_not_a_file(tmp_path: Path, catalogue: Catalogue) -> None:
    with pytest.raises(UserError, match="not a file; give an experiment file"):
        load(str(tmp_path), (), catalogue)
    with pytest.raises(UserError, match=r'neither a suite nor a file; did you mean "pantheon/india-ppp0"\?'):
        load("pantheon/india-ppp", (), catalogue)
    with pytest.raises(UserError, match="not a file"):
        load("/dev/zero", (), catalogue)
    with pytest.raises(UserError, match="cannot be read"):
        load("x" * 5000, (), catalogue)


def test_an_unreadable_file_is_named(tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.toml"
    file.write_text("")

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(file), "read_bytes", refuse)
    with pytest.raises(UserError, match=r"x\.toml: cannot be read \(permission denied\)"):
        load(str(file), (), catalogue)


def test_a_matrix_of_too_many_runs(planned: Callable[..., Plan], minimal: str) -> None:
    numbers = range(1, 400)
    rates = ",".join(f"{number}Mbit/s" for number in numbers)
    ratios = ",".join(f"0.{number:03}" for number in numbers)
    with pytest.raises(UserError, match="the matrix has 159201 runs; the most is 100000: shorten an axis, or repeats"):
        planned(minimal, f"matrix.rate={rates}", f"matrix.loss={ratios}")


def test_recordings_larger_than_memory_are_refused(planned: Callable[..., Plan], minimal: str) -> None:
    huge = ["duration=60s", "rate=1Tbit/s"]
    packets = "record.level=packets"
    expected = r'recording it needs about .* GB of memory, and this machine has .* GB; set record.level to "series"'
    with pytest.raises(UserError, match=expected):
        planned(minimal, *huge, packets)
    planned(minimal, *huge, packets, "flow.1.receive_window=1MB")
    planned(minimal, *huge, packets, "flow.1.max_pacing_rate=100Mbit/s")
    planned(minimal, *huge, "record.level=series")
