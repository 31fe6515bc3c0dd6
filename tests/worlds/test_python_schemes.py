"""Schemes in Python: the example runs, runs repeat, and whatever a class does wrong is one sentence about one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import model
from bakeoff.scheme import loading
from bakeoff.worlds import linux, python_schemes, registry, runner, sim
from bakeoff.worlds.outcome import Outcome, RunStopped

if TYPE_CHECKING:
    from bakeoff.experiment import Plan

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "my_scheme.py"
RATE_MBPS = 10
EXPERIMENT = """
name = "own"
duration = "{duration}"
repeats = 2
start_jitter = "10ms"
[[path.forward]]
rate = "10Mbit/s"
delay = "20ms"
loss = {loss}
queue = {{ kind = "fifo", limit = "1bdp" }}
[[path.reverse]]
delay = "20ms"
[[flow]]
{flow}
[matrix]
scheme = [{schemes}]
"""
GOOD = """
class Good:
    def on_ack(self, ack):
        pass

    def on_loss(self, loss):
        pass
"""


def plan(folder: Path, *schemes: str, flow: str = "", duration: str = "3s", loss: float = 0.0, **files: str) -> Plan:
    """The plan of an experiment with these schemes, and these files beside it."""
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content)
    file = folder / "own.toml"
    words = ", ".join(json.dumps(scheme) for scheme in schemes)
    file.write_text(EXPERIMENT.format(schemes=words, flow=flow, duration=duration, loss=loss))
    return expand(load(str(file)))


def run(folder: Path, scheme: str, **options: Any) -> Outcome:
    """The first run of a scheme alone."""
    return sim.execute(plan(folder, scheme, **options).runs[0])


def received_mbps(outcome: Outcome, seconds: float) -> float:
    whole = outcome.tables["flows"].row(by_predicate=pl.col("flow") == 1, named=True)
    return float(whole["received_bytes"]) * 8 / seconds / 1e6


def test_the_example_fills_a_link(tmp_path: Path) -> None:
    outcome = run(tmp_path, f"{EXAMPLE}:MyScheme", duration="10s")
    assert 0.85 * RATE_MBPS < received_mbps(outcome, 10) <= RATE_MBPS
    assert {"cwnd", "srtt"} <= set(outcome.tables["telemetry"]["name"])
    assert outcome.cpu_s > 0


RENO = """
from bakeoff.scheme import Scheme

class Reno(Scheme):
    '''What the core's reno does, without slow start's end.'''
    ssthresh = 1e12

    def on_ack(self, ack):
        if ack.state in ("cwr", "recovery") or not ack.is_cwnd_limited:
            return
        self.cwnd += ack.acked_bytes if self.cwnd < self.ssthresh else self.mss * ack.acked_bytes / self.cwnd

    def on_loss(self, loss):
        self.cwnd = self.ssthresh = max(self.cwnd // self.mss // 2, 2) * self.mss

    def on_timeout(self, timeout):
        if timeout.is_first:
            self.ssthresh = max(self.cwnd // self.mss // 2, 2) * self.mss
        self.cwnd = self.mss
"""


def test_a_law_in_python_does_what_it_does_in_rust(tmp_path: Path) -> None:
    ours = run(tmp_path, "./reno.py:Reno", reno=RENO, duration="10s")
    core = run(tmp_path, "reno", duration="10s")
    assert abs(received_mbps(ours, 10) / received_mbps(core, 10) - 1) < 0.05


def test_a_scenario_of_any_length_runs(tmp_path: Path) -> None:
    plan(tmp_path, "./good.py:Good", good=GOOD)
    steps = ", ".join(f'{{ at = "{at}ms", rate = "{1 + at % 9}Mbit/s" }}' for at in range(4000))
    file = tmp_path / "own.toml"
    file.write_text(file.read_text().replace('rate = "10Mbit/s"', f"rate = {{ schedule = [{steps}] }}"))
    planned = expand(load(str(file)))
    assert len(json.dumps(planned.runs[0].scenario)) > 1 << 17, "longer than a word of a command line may be"
    assert received_mbps(sim.execute(planned.runs[0]), 3) > 0.1


LEFT_BEHIND = """
import atexit, pathlib, queue, threading
from bakeoff.scheme import Scheme

class Trainer(Scheme):
    def __init__(self, setup, mark=""):
        super().__init__(setup)
        threading.Thread(target=queue.Queue().get).start()
        atexit.register(pathlib.Path(mark).touch)

    def on_ack(self, ack):
        pass

    def on_loss(self, loss):
        pass
"""


def test_a_thread_that_is_left_behind_keeps_nobody_waiting(tmp_path: Path) -> None:
    mark = tmp_path / "saved"
    flow = f"parameters = {{ mark = {json.dumps(str(mark))} }}"
    assert received_mbps(run(tmp_path, "./trainer.py:Trainer", trainer=LEFT_BEHIND, flow=flow), 3) > 1
    assert mark.exists(), "what is to be done at the end is done"


def test_what_is_registered_for_the_end_comes_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_schemes, "PATIENCE_S", 0.5)
    own = f"import atexit, time\natexit.register(lambda: time.sleep(1e6))\n{GOOD}"
    planned = plan(tmp_path, "./own.py:Good", own=own, duration="200ms")
    registry.world("sim").check_plan(planned)
    assert sim.execute(planned.runs[0]).tables


def test_a_crash_tells_its_line_whatever_leads_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    own = broken("on_ack", "import ctypes; ctypes.string_at(0)")
    with pytest.raises(RunStopped, match=r"link/own\.py:3: its process was ended by SIGSEGV$"):
        run(tmp_path, "./link/own.py:X", own=own, duration="200ms")


def test_any_number_is_a_time(tmp_path: Path) -> None:
    timer = "    def on_timer(self, now_s): raise RuntimeError(now_s)\n"
    own = broken("on_ack", "import decimal; self.next_timer_s = decimal.Decimal('0.15')") + timer
    with pytest.raises(RunStopped, match=r"X\.on_timer: RuntimeError: 0\.15$"):
        run(tmp_path, "./own.py:X", own=own, duration="200ms")


SWAPPING = """
from bakeoff.scheme import Scheme

class Swapping(Scheme):
    def on_ack(self, ack):
        self.on_ack, self.on_sent = self.second, self.leaves

    def second(self, ack):
        self.seen = True

    def leaves(self, sent):
        raise RuntimeError("never: which callbacks there are is asked at the beginning")

    def on_loss(self, loss):
        raise RuntimeError("second" if self.seen else "first")


class Late(Swapping):
    def __init__(self, setup):
        super().__init__(setup)
        self.on_sent = self.leaves
"""


@pytest.mark.parametrize(("name", "said"), [("Swapping", "second"), ("Late", "never")])
def test_an_instance_may_have_callbacks_of_its_own(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(RunStopped, match=f"RuntimeError: {said}"):
        run(tmp_path, f"./swapping.py:{name}", swapping=SWAPPING, loss=0.1)


def test_a_method_that_nothing_calls_is_told(tmp_path: Path) -> None:
    own = f"{GOOD}\n    def on_ack_of_startup(self, ack):\n        pass\n"
    python_schemes.check(plan(tmp_path, "./good.py:Good", good=own).runs[0].scenario)
    with pytest.raises(RunStopped, match=r"nothing calls Good\.on_timout; write on_timeout, or _on_timout if"):
        python_schemes.check(
            plan(tmp_path, "./good.py:Good", good=f"{GOOD}\n    def on_timout(self, timeout):\n        pass\n")
            .runs[0]
            .scenario
        )


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_parameter_is_finite(tmp_path: Path, value: str) -> None:
    with pytest.raises(
        UserError, match=r"flow\.1\.parameters\.gain: -?(nan|inf) is not possible; write a finite number"
    ):
        plan(tmp_path, "./good.py:Good", good=GOOD, flow=f"parameters = {{ gain = {value} }}")


def test_a_class_runs_beside_a_stack(tmp_path: Path) -> None:
    outcome = run(tmp_path, "./reno.py:Reno", reno=RENO, duration="5s", flow='[[flow]]\nscheme = "quinn:cubic"')
    whole, *received = outcome.tables["flows"]["received_bytes"].to_list()
    assert len(received) == 2
    assert whole == sum(received)
    assert min(received) > 5e5
    telemetry = outcome.tables["telemetry"]
    assert "mtu" in set(telemetry.filter(pl.col("flow") == 2)["name"]), "only a stack has one"


RANDOM = """
class Random:
    def __init__(self, setup, gain=1.0):
        self.setup, self.gain = setup, gain
        self.cwnd, self.seen = 10 * setup.mss_bytes, set()

    def on_ack(self, ack):
        self.seen.add(str(ack.delivered_bytes))
        self.cwnd = self.setup.mss_bytes * self.setup.random.randrange(5, 40)
        self.cwnd += next(iter(self.seen))[-1] in "13579"

    def on_loss(self, loss):
        pass
"""


def test_runs_repeat_and_seeds_differ(tmp_path: Path) -> None:
    planned = plan(tmp_path, "./random_window.py:Random", random_window=RANDOM, loss=0.01)
    first, again, other = (sim.execute(planned.runs[index]).tables for index in (0, 0, 1))
    assert first.keys() == again.keys()
    assert all(first[name].equals(again[name]) for name in first)
    assert not first["telemetry"].equals(other["telemetry"])


def test_a_file_may_have_the_name_of_a_module_that_is_in_use(tmp_path: Path) -> None:
    content = EXAMPLE.read_text(encoding="utf-8") + "\nimport numpy\nassert numpy.pi\n"
    assert run(tmp_path, "./numpy.py:MyScheme", numpy=content).cpu_s > 0


EVENTS = """
import json, os
from bakeoff.scheme import Scheme

class Events(Scheme):
    def __init__(self, setup):
        super().__init__(setup)
        self.pacing_rate, self.next_timer_s, self.told = 2e7, 0.5, {}

    def note(self, name, event):
        self.told[name] = event._asdict() if hasattr(event, "_asdict") else event

    def on_ack(self, ack):
        assert ack.rtt_s is None or 0.04 <= ack.rtt_s < 1
        assert ack.srtt_s >= ack.min_rtt_s >= 0.04
        self.cwnd = min(self.cwnd + ack.acked_bytes, 60 * self.mss)
        self.note("on_ack", ack)

    def on_loss(self, loss):
        self.cwnd /= 2
        self.note("on_loss", loss)

    def on_timeout(self, timeout):
        self.note("on_timeout", timeout)

    def on_packet_lost(self, packet):
        self.note("on_packet_lost", packet)

    def on_sent(self, sent):
        assert sent.size_bytes == 1448
        self.note("on_sent", sent)

    def on_recovered(self, now_s):
        self.note("on_recovered", now_s)

    def on_timer(self, now_s):
        self.note("on_timer", now_s)
        self.next_timer_s = now_s + 0.5
        if now_s >= 2.5:
            raise RuntimeError(json.dumps(self.told))
"""


def test_every_callback_is_told_in_its_units(tmp_path: Path) -> None:
    with pytest.raises(RunStopped) as stopped:
        run(tmp_path, "./events.py:Events", events=EVENTS, loss=0.002)
    sentence = str(stopped.value)
    assert sentence.startswith("flow 1: ")
    assert "events.py:40: Events.on_timer: RuntimeError: {" in sentence
    told = json.loads(sentence[sentence.index("{") :])
    assert told["on_timer"] == 2.5
    assert told["on_loss"]["cause"] == "loss"
    assert told["on_packet_lost"]["size_bytes"] == 1448
    assert told["on_sent"]["in_flight_bytes"] % 1448 == 0
    assert 0 < told["on_recovered"] < 2.5
    ack = told["on_ack"]
    assert ack["delivered_bytes"] > ack["prior_delivered_bytes"] > 0
    assert 1e6 < ack["delivery_rate_bps"] < 2e7
    assert 0.02 <= ack["one_way_delay_s"] < 0.1


def test_parameters_are_named_arguments_and_may_vary(tmp_path: Path) -> None:
    flow = "parameters = { gain = 2.0 }"
    assert run(tmp_path, "./random_window.py:Random", random_window=RANDOM, flow=flow, duration="200ms").tables
    wrong = plan(tmp_path, "./random_window.py:Random", flow="parameters = { gian = 2.0 }")
    with pytest.raises(UserError, match=r"flow 1: .*random_window.py: Random has no parameter gian; it has gain$"):
        registry.world("sim").check_plan(wrong)


def test_a_class_without_more_than_two_callbacks_has_the_initial_window(tmp_path: Path) -> None:
    windows = run(tmp_path, "./good.py:Good", good=GOOD).tables["telemetry"].filter(pl.col("name") == "cwnd")["value"]
    assert windows.unique().to_list() == [10.0]


@pytest.mark.parametrize(
    ("body", "packets"),
    [("cwnd = 20 * 1448", 20.0), ("@property\n    def cwnd(self): return 30 * self.mss", 30.0), ("mss = 1448", 10.0)],
)
def test_a_class_may_say_its_window_itself(tmp_path: Path, body: str, packets: float) -> None:
    callbacks = "    def on_ack(self, ack): pass\n    def on_loss(self, loss): pass\n"
    own = f"from bakeoff.scheme import Scheme\nclass X(Scheme):\n    {body}\n{callbacks}"
    windows = run(tmp_path, "./own.py:X", own=own).tables["telemetry"].filter(pl.col("name") == "cwnd")["value"]
    assert windows.unique().to_list() == [packets]


@pytest.mark.parametrize(
    ("scheme", "content", "sentence"),
    [
        ("./gone.py:X", None, r"gone\.py: cannot be read \(no such file or directory\); write the path"),
        ("./own.py:X", "def broken(:\n", r"own\.py:1: not Python: invalid syntax"),
        ("./own.py:Goood", GOOD, r'own\.py: has no class Goood; did you mean "Good"\?'),
        ("./own.py:X", "", r"own\.py: has no class X, nor any other$"),
        ("./own.py:X", "\0", r"own\.py: not Python: source code string cannot contain null bytes$"),
    ],
)
def test_what_is_no_class_is_refused_with_the_key(
    tmp_path: Path, scheme: str, content: str | None, sentence: str
) -> None:
    files: dict[str, Any] = {} if content is None else {"own": content}
    with pytest.raises(UserError, match=rf"own\.toml: matrix\.scheme: .*{sentence}"):
        plan(tmp_path, scheme, **files)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("X = 7", r"own\.py: X is not a class but an int; name the class"),
        ("class X:\n    def on_ack(self, ack): pass", r"own\.py: the class X has no on_loss; write def on_loss"),
        ("class X: pass", r"own\.py: the class X has no on_ack and no on_loss; write def on_ack"),
        (
            "from bakeoff.scheme import Scheme\nclass X(Scheme): pass",
            r"own\.py: the class X has no on_ack and no on_loss",
        ),
        (
            GOOD.replace("def on_ack", "async def on_ack") + "X = Good",
            r"own\.py: X\.on_ack is async, and nothing waits for it; write def on_ack",
        ),
        (
            f"{GOOD}class X(Good):\n    def on_loss(self, loss): yield",
            r"own\.py: X\.on_loss yields, so that a call runs nothing of it; leave yield out",
        ),
        (
            f"{GOOD}class X(Good):\n    async def on_timer(self, now_s): yield",
            r"own\.py: X\.on_timer yields, so that a call runs nothing of it; leave yield out",
        ),
        (f"1 / 0\n{GOOD}X = Good", r"own\.py:1: ZeroDivisionError: division by zero$"),
        (f"import no_such_module\n{GOOD}X = Good", r"own\.py:1: ModuleNotFoundError: No module named 'no_such_module'"),
        (f"raise SystemExit(3)\n{GOOD}X = Good", r"own\.py:1: SystemExit: 3$"),
        (f"import os\nos._exit(7)\n{GOOD}X = Good", r"own\.py: loading it ended early with status 7$"),
        (f"import os\nos.abort()\n{GOOD}X = Good", r"own\.py:2: loading it was ended by SIGABRT$"),
        (
            f"import os\nos.kill(os.getpid(), 40)\n{GOOD}X = Good",
            r"own\.py: loading it was ended by signal 40$",
        ),
        (f"while True: pass\n{GOOD}X = Good", r"own\.py:1: Overdue: it takes longer than 0\.5 s"),
        (
            f"import itertools\nall(itertools.repeat(1))\n{GOOD}X = Good",
            r"own\.py:2: loading it did not go on and was ended \(an endless loop, or a wait\?\)$",
        ),
        (
            f"{GOOD}class X(Good):\n    def __init__(self, a, b): pass",
            r"own\.py: X\(a, b\) cannot be made; write __init__",
        ),
    ],
)
def test_what_is_no_scheme_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, sentence: str
) -> None:
    monkeypatch.setattr(python_schemes, "PATIENCE_S", 0.5)
    planned = plan(tmp_path, "./own.py:X", own=content)
    with pytest.raises(UserError, match=rf"own\.toml \(scheme X\): flow 1: .*{sentence}"):
        registry.world("sim").check_plan(planned)


# The largest window.
MOST_BYTES = 4_194_304 * 1448


def broken(callback: str, body: str) -> str:
    """A class with one callback that does this, on line 3."""
    other = "".join(f"\n    def {name}(self, event): pass" for name in ("on_ack", "on_loss") if name != callback)
    return f"class X:\n    def {callback}(self, event):\n        {body}{other}\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (broken("__init__", "1 / 0") + GOOD, r"own\.py:3: X\.__init__: ZeroDivisionError: division by zero$"),
        (broken("on_ack", "1 / 0"), r"own\.py:3: X\.on_ack: ZeroDivisionError: division by zero$"),
        (
            broken("on_ack", "raise FileNotFoundError(b'weights-\\xe9'.decode(errors='surrogateescape'))"),
            r"own\.py:3: X\.on_ack: FileNotFoundError: weights-\\udce9$",
        ),
        (broken("on_ack", "raise SystemExit"), r"own\.py:3: X\.on_ack: SystemExit$"),
        (broken("on_ack", "self.no_such"), r"own\.py:3: X\.on_ack: AttributeError: 'X' object has no attribute"),
        (
            broken("on_ack", "pass").replace("on_ack(self, event)", "on_ack(self)"),
            r"own\.py:2: X\.on_ack: TypeError: X\.on_ack\(\) takes 1 positional argument but 2 were given$",
        ),
        (
            broken("on_ack", "del self.cwnd"),
            r"own\.py:2: X\.on_ack: AttributeError: 'X' object has no attribute 'cwnd'",
        ),
        (
            f"from bakeoff.scheme import Scheme\n{broken('on_ack', 'pass')}".replace(
                "X:", "X(Scheme):\n    ssthresh = -1"
            ),
            r"own\.py:2: X\.__init__: ssthresh is -1 afterwards",
        ),
        (broken("on_ack", "raise ValueError('\\x1b[2J\\nü')"), r"own\.py:3: X\.on_ack: ValueError: \\x1b\[2J ü$"),
        (broken("on_ack", "raise ValueError('x' * 9999)"), r"own\.py:3: X\.on_ack: ValueError: x{999}…$"),
        (broken("on_ack", "self.cwnd = 'x' * 99"), r"cwnd is 'x{58}… afterwards"),
        (broken("on_ack", "import os; os._exit(5)"), r"own\.py: its process ended early with status 5$"),
        (
            broken("on_ack", "import os; print('bye', flush=True); os._exit(0)"),
            r"own\.py: its process ended early with status 0; its last lines: bye$",
        ),
        (broken("on_ack", "import ctypes; ctypes.string_at(0)"), r"own\.py:3: its process was ended by SIGSEGV$"),
        (
            broken("on_ack", "while True: pass"),
            r"own\.py:3: X\.on_ack: Overdue: it takes longer than 0\.5 s \(an endless",
        ),
        (
            broken("on_ack", "import time; time.sleep(30)"),
            r"own\.py:3: .* than 0\.5 s \(an endless loop, or a wait\?\)$",
        ),
        # What no exception ends: an alarm that is ignored, one that is swallowed, and C code that never returns.
        (
            broken("on_ack", "import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.pause()"),
            r"own\.py:3: its process did not go on and was ended \(an endless loop, or a wait\?\)$",
        ),
        (
            broken(
                "on_ack", "for turn in iter(int, 1):\n            try: signal.pause()\n            except: pass"
            ).replace("class", "import signal\nclass", 1),
            r"own\.py:5: its process did not go on and was ended",
        ),
        (broken("on_ack", "import itertools; all(itertools.repeat(1))"), r"own\.py:3: its process did not go on"),
        (
            f"class Mute(Exception):\n    def __str__(self): return self.no_such\n{broken('on_ack', 'raise Mute')}",
            r"own\.py:5: X\.on_ack: Mute$",
        ),
        (
            broken("on_ack", "self.cwnd = float('nan')"),
            r"own\.py:2: X\.on_ack: cwnd is nan afterwards, and must be a num",
        ),
        (broken("on_ack", "self.cwnd = float('inf')"), r"own\.py:2: X\.on_ack: cwnd is inf afterwards, and must be"),
        (
            broken("on_ack", "self.cwnd = 1447"),
            r"cwnd is 1447 afterwards, and must be .* at least one segment \(1448\), at most 4,194,304 of them \(6,",
        ),
        (broken("on_ack", f"self.cwnd = {MOST_BYTES + 1}"), r"must be .* at most 4,194,304 of them \(6,073,352,192\)$"),
        (
            broken("on_ack", "self.cwnd = 1e300"),
            r"own\.py:2: X\.on_ack: cwnd is 1e\+300 afterwards, and must be .* at most",
        ),
        (broken("on_ack", "self.cwnd = None"), r"cwnd is None afterwards, and must be a number of bytes"),
        (broken("on_ack", "self.cwnd = 'wide'"), r"cwnd is 'wide' afterwards, and must be a number of bytes"),
        (
            broken("on_ack", "self.pacing_rate = 0"),
            r"pacing_rate is 0 afterwards, and must be a rate of at least 1 bit/s",
        ),
        (broken("on_ack", "self.pacing_rate = 1e-9"), r"pacing_rate is 1e-09 .* must be a rate of at least 1 bit/s"),
        (broken("on_ack", "self.pacing_rate = -1.0"), r"pacing_rate is -1\.0 afterwards"),
        (
            broken("on_ack", "import decimal; self.pacing_rate = decimal.Decimal('nan')"),
            r"own\.py:2: X\.on_ack: pacing_rate is Decimal\('NaN'\) afterwards, and must be a rate of at least 1 bit/s",
        ),
        (broken("on_ack", "self.pacing_rate = True"), r"pacing_rate is True afterwards, and must be a rate"),
        (broken("on_ack", "self.next_timer_s = False"), r"next_timer_s is False afterwards, and must be a time"),
        (broken("on_ack", "self.pacing_rate = 1e400"), r"pacing_rate is inf afterwards"),
        (broken("on_ack", "self.ssthresh = 3"), r"ssthresh is 3 afterwards, and must be a number of bytes"),
        (broken("on_ack", "self.next_timer_s = -1"), r"next_timer_s is -1 afterwards, and must be a time in seconds"),
        (
            broken("on_ack", "self.next_timer_s = 0.5"),
            r"own\.py:2: X\.on_ack: next_timer_s is 0\.5 afterwards, and the class has no on_timer; write one",
        ),
        (
            broken("on_ack", "self.next_timer_s = event.now_s + 0.01") + "    def on_timer(self, now_s): pass\n",
            r"own\.py:5: X\.on_timer: next_timer_s is 0\.\d+ afterwards, which is not later than now in whole nano",
        ),
        (
            broken("on_ack", "self.next_timer_s = event.now_s")
            + "    def on_timer(self, now_s): self.next_timer_s = now_s + 0.9e-6\n",
            r"on_timer: next_timer_s is 0\.\d+ .* on_timer was called more than 100,000 times within 0\.1 s of the run",
        ),
    ],
)
def test_what_a_class_does_wrong_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, sentence: str
) -> None:
    monkeypatch.setattr(python_schemes, "PATIENCE_S", 0.5)
    planned = plan(tmp_path, "./own.py:X", own=content)
    registry.world("sim").check_plan(planned)
    with pytest.raises(RunStopped, match=sentence) as stopped:
        sim.execute(planned.runs[0])
    assert "\n" not in str(stopped.value)


def test_an_import_from_a_closed_folder_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    place, missing = loading.Place("own.py", "X"), ModuleNotFoundError("No module named 'csv'")
    assert loading.explain(missing, place, "") == "own.py: ModuleNotFoundError: No module named 'csv'"
    monkeypatch.setattr("os.access", lambda *_: False)
    said = loading.explain(missing, place, "")
    assert said.startswith("own.py: ModuleNotFoundError: No module named 'csv' (a class runs as who called sudo or as ")
    assert loading.explain(ValueError("no"), place, "") == "own.py: ValueError: no"


def test_a_timer_may_come_in_short_bursts(tmp_path: Path) -> None:
    bursts = "self.next_timer_s = now_s + (1e-9 if round(now_s * 1e9) % 50_000 < 49_999 else 0.500000001)"
    content = broken("on_ack", "self.next_timer_s = self.next_timer_s or event.now_s + 0.01")
    outcome = run(tmp_path, "./own.py:X", own=f"{content}    def on_timer(self, now_s): {bursts}\n")
    assert outcome.tables["flows"].height == 2


def test_a_window_may_be_as_wide_as_the_bound(tmp_path: Path) -> None:
    outcome = run(tmp_path, "./own.py:X", own=broken("on_ack", f"self.cwnd, self.pacing_rate = {MOST_BYTES}, 1e6"))
    windows = outcome.tables["telemetry"].filter(pl.col("name") == "cwnd")["value"]
    assert windows.max() == MOST_BYTES / 1448


WANDERS = """
import os
from bakeoff.scheme import Scheme

class X(Scheme):
    def __init__(self, setup):
        os.chdir("/")
        self.ssthresh = float("inf")

    def on_ack(self, ack):
        pass

    def on_loss(self, loss):
        pass
"""


def test_a_class_may_go_elsewhere_and_have_no_threshold_yet(tmp_path: Path) -> None:
    planned = plan(tmp_path, "./own.py:X", own=WANDERS)
    assert sim.execute(planned.runs[0]).tables["flows"].height == 2


FAILS_LATE = """
from bakeoff.scheme import Scheme

class Late(Scheme):
    def on_ack(self, ack):
        if ack.now_s > 1 and self.random.random() < 2:
            raise ValueError("enough")

    def on_loss(self, loss):
        pass
"""


def test_a_failure_is_recorded_and_the_other_runs_go_on(tmp_path: Path) -> None:
    planned = plan(tmp_path, "cubic", "./late.py:Late", f"{EXAMPLE}:MyScheme", late=FAILS_LATE)
    folder = ResultFolder.create(tmp_path / "results", planned)
    runner.run_plan(planned.runs, folder, sim.execute, jobs=2, on_finished=lambda _: None)
    report = model.load(folder)
    states = {run.summary.id: (run.summary.status, run.summary.error or "") for run in report.runs}
    assert [name for name, (status, _) in states.items() if status == "complete"] == [
        name for name in states if not name.startswith("Late")
    ]
    assert all(
        "late.py:7: Late.on_ack: ValueError: enough" in error for name, (_, error) in states.items() if "Late" in name
    )
    assert [group.label for group in report.groups] == ["TCP Cubic", "Late", "MyScheme"]


def test_the_manifest_has_the_digest_and_a_changed_file_is_not_run(tmp_path: Path) -> None:
    planned = plan(tmp_path, "./good.py:Good", good=GOOD)
    (entry,) = planned.runs[0].scenario["python"].values()
    assert len(entry["sha256"]) == 64
    changed = plan(tmp_path, "./good.py:Good", good=GOOD + "# changed\n")
    assert changed.to_json() != planned.to_json(), "it cannot be resumed"
    with pytest.raises(RunStopped, match=r"good\.py: has changed since the experiment began; run it again$"):
        sim.execute(planned.runs[0])


def test_two_classes_of_one_name_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'matrix\.scheme: "Good" is there twice'):
        plan(tmp_path, "./good.py:Good", "./other.py:Good", good=GOOD, other=GOOD)
    flow = 'scheme = "./good.py:Good"\n[[flow]]\nscheme = "./other.py:Good"\n[[flow]]'
    with pytest.raises(UserError, match=r"flow\.2\.scheme: Good is also a class of .*good\.py; rename one of the two"):
        plan(tmp_path, "cubic", flow=flow, good=GOOD, other=GOOD)


def test_the_guest_of_linux_has_no_python(tmp_path: Path) -> None:
    planned = plan(tmp_path, "./good.py:Good", good=GOOD)
    with pytest.raises(
        RunStopped, match=r"flow 1: Good is written in Python, which the guest lacks; use --world sim or"
    ):
        linux.check(planned.runs[0].scenario)
