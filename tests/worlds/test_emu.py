"""The emulated world with real senders on this machine; these tests need root."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import RunFailed, UserError
from bakeoff.experiment import expand, load
from bakeoff.worlds import emu, privilege, python_schemes, scratch, sim
from bakeoff.worlds.outcome import Outcome, RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]
RATE_MBPS = 20


def _obstacle() -> str:
    try:
        privilege.check()
    except RunFailed as error:
        return str(error)
    return ""


# Ordinary users may not reach the interpreter of these tests.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin")

needs_root = pytest.mark.skipif(bool(_obstacle()), reason=_obstacle())
pytestmark = pytest.mark.realtime

# A machine that stands still for so long may fail any test of this file.
STANDSTILL_S = 0.05
# Where some have been given up, the machine is not for real time, and others need not be repeated.
TRIES, ENOUGH = 3, 4
given_up: list[str] = []


@contextlib.contextmanager
def standstill() -> Iterator[Callable[[], float]]:
    """Tells for how long this machine stood still meanwhile, seconds: a thread that only sleeps notes when it wakes."""
    longest, done = 0.0, threading.Event()

    def doze() -> None:
        nonlocal longest
        while not done.is_set():
            due = time.monotonic() + STANDSTILL_S / 10
            done.wait(STANDSTILL_S / 10)
            longest = max(longest, time.monotonic() - due)

    dozing = threading.Thread(target=doze)
    dozing.start()
    try:
        yield lambda: longest
    finally:
        done.set()
        dozing.join()


def real_time(test: Callable[..., None]) -> Callable[..., None]:
    """Needs root. Repeats a test that fails while the machine is too busy for real time; gives up if that goes on."""

    @functools.wraps(test)
    def patient(**fixtures: Any) -> None:
        for _ in range(TRIES if len(given_up) < ENOUGH else 1):
            with standstill() as longest:
                try:
                    return test(**fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    if "too busy" not in str(error) and longest() < STANDSTILL_S:
                        raise
        given_up.append(test.__name__)
        pytest.skip("this machine is too busy for real time")

    wrapped: Callable[..., None] = needs_root(patient)
    return wrapped


def experiment(folder: Path, *, flows: str, duration: str = "1500ms", more: str = "") -> Any:
    """The first run of an experiment over a link of 20 Mbit/s and 20 ms."""
    text = f"""
name = "emulated"
duration = "{duration}"
start_jitter = "0s"
record.level = "packets"
{more}
{flows}
[[path.forward]]
rate = "{RATE_MBPS}Mbit/s"
delay = "10ms"
queue = {{ kind = "fifo", limit = "2bdp" }}
[[path.reverse]]
delay = "10ms"
"""
    file = folder / "emulated.toml"
    file.write_text(text)
    return expand(load(str(file)), "emu").runs[0]


def flow(scheme: str, **keys: str) -> str:
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f'[[flow]]\nscheme = "{scheme}"\n{lines}'


def first_flow(outcome: Outcome, number: int = 1) -> dict[str, Any]:
    return outcome.tables["flows"].row(by_predicate=pl.col("flow") == number, named=True)


@real_time
@pytest.mark.parametrize("scheme", ["kernel:cubic", "own:cubic", "own:vegas", "quinn:cubic", "quinn:bbr"])
def test_a_flow_fills_the_link_and_every_packet_is_accounted_for(tmp_path: Path, scheme: str) -> None:
    outcome = emu.execute(experiment(tmp_path, flows=flow(scheme)))
    sent = first_flow(outcome)
    assert sent["received_bytes"] * 8 / 1.5 > 0.8 * RATE_MBPS * 1e6
    assert sent["received_bytes"] * 8 / 1.5 <= RATE_MBPS * 1e6
    assert sent["goodput_bytes"] > 0.9 * sent["received_bytes"] * 1448 / 1500 - sent["dropped_packets"] * 1500
    packets = outcome.tables["packets"]
    assert len(packets) == sent["sent_packets"]
    # Never early: the delay of the wire and the transmission of the packet itself.
    delays = (packets["received_ns"] - packets["sent_ns"]).filter(packets["fate"] == "received")
    least = 10_000_000 + int(packets["size_bytes"].to_numpy().min()) * 8_000 // RATE_MBPS
    assert (delays >= least).all()


@real_time
def test_a_stack_tells_what_its_packets_do_not(tmp_path: Path) -> None:
    transfer = 'traffic = { kind = "finite", size = "1MB" }\necn = "classic"\n'
    outcome = emu.execute(
        experiment(tmp_path, flows=flow("quinn:newreno") + transfer, more='record.interval = "100ms"')
    )
    sent = first_flow(outcome)
    assert sent["goodput_bytes"] == 1_000_000
    assert 0.4e9 < sent["completed_ns"] < 1.5e9
    series = outcome.tables["series"]
    assert series["goodput_bytes"].sum() == 1_000_000
    assert (series["goodput_bytes"] > 0).sum() > 3, "it is sampled, not known only in the end"
    assert sent["retransmits"] >= sent["dropped_packets"]
    assert sent["timeouts"] == -1, "this it does not tell"
    assert {"cwnd", "srtt", "lost_packets", "mtu"} <= set(outcome.tables["telemetry"]["name"])
    assert outcome.tables["packets"]["size_bytes"].max() == 1_480, "MTU discovery, and headers of 28 bytes"


@real_time
@pytest.mark.slow
def test_a_connection_that_is_lost_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    planned = experiment(tmp_path, flows=flow("quinn:cubic"), duration="40s", more='record.interval = "100ms"')
    steps = [{"at_ns": 0, "rate_bps": RATE_MBPS * 10**6}, {"at_ns": 2 * 10**9, "rate_bps": 0}]
    planned.scenario["forward"][0]["link"] = {"kind": "schedule", "period_ns": None, "steps": steps}
    sentence = r"^flow 1: its receiver lost the connection 32\.\d* s into the run: timed out$"
    with pytest.raises(RunStopped, match=sentence):
        emu.execute(planned)


@real_time
def test_a_hop_sends_one_packet_after_the_other_at_its_rate(tmp_path: Path) -> None:
    outcome = emu.execute(experiment(tmp_path, flows=flow("kernel:cubic")))
    packets = outcome.tables["packets"].filter(outcome.tables["packets"]["fate"] == "received").sort("received_ns")
    sizes, times = packets["size_bytes"], packets["received_ns"]
    gaps = times.diff().drop_nulls()
    transmission = sizes[1:] * 8_000 // RATE_MBPS
    assert (gaps >= transmission - 1).all()
    full = gaps.filter(packets["queue_ns"][1:] > 0) - transmission.filter(packets["queue_ns"][1:] > 0)
    assert full.len() > 100
    assert (full <= 1).all(), "a busy link leaves no gap, however late the machine is"


@real_time
def test_a_path_may_have_several_hops_and_flows_their_own_delay_and_direction(tmp_path: Path) -> None:
    more = """
[[path.forward]]
rate = "50Mbit/s"
delay = "5ms"
queue = { kind = "fq_codel" }
"""
    flows = flow("own:cubic", extra_delay="20ms") + flow("kernel:reno", direction="reverse", receive_window="64kB")
    outcome = emu.execute(experiment(tmp_path, flows=flows, more=more))
    hops = outcome.tables["hops"]
    assert hops["hop"].to_list() == ["forward.0", "forward.1", "reverse.0", "flow1.data", "flow1.ack"]
    kept = hops["in_packets"] - hops["out_packets"] - hops["dropped_packets"] - hops["inside_packets"]
    assert kept.to_list() == [0] * 5
    packets = outcome.tables["packets"].filter(pl.col("fate") == "received")
    # The two hops and the flow's own delay; the reverse hop alone.
    for number, least in ((1, 35_000_000), (2, 10_000_000)):
        of_flow = packets.filter(pl.col("flow") == number)
        assert len(of_flow) > 100
        assert (of_flow["received_ns"] - of_flow["sent_ns"] >= least).all()


@real_time
@pytest.mark.parametrize("scheme", ["kernel:cubic", "own:cubic", "quinn:cubic"])
def test_packets_carry_the_dscp_of_their_flow(tmp_path: Path, scheme: str) -> None:
    more = """
[[path.forward]]
mangle = [{ match = { dscp = 46, ecn = "ect0" }, set = { ecn = "ect1" } }]
"""
    marked = flow(scheme, ecn="classic") + "dscp = 46\n"
    outcome = emu.execute(experiment(tmp_path, flows=marked + flow(scheme, ecn="classic"), more=more))
    data = (pl.col("hop") == "forward.0") & (pl.col("direction") == "data") & (pl.col("ecn_in") == 2)
    # Rules leave the first packet alone.
    data &= pl.col("number") > 0
    behind = outcome.tables["passages"].filter(data & (pl.col("fate") == "passed"))
    codepoints = dict(behind.group_by("flow").agg(pl.col("ecn_out").unique()).iter_rows())
    assert codepoints == {1: [1], 2: [2]}


@real_time
def test_a_link_may_follow_a_trace(tmp_path: Path) -> None:
    planned = experiment(tmp_path, flows=flow("kernel:cubic"))
    # A packet every two milliseconds: 6 Mbit/s.
    planned.scenario["forward"][0]["link"] = {"kind": "trace", "opportunities_ms": [2]}
    sent = first_flow(emu.execute(planned))
    assert 0.8 * 6e6 < sent["received_bytes"] * 8 / 1.5 <= 6e6


@real_time
def test_the_manifest_says_how_late_packets_were(tmp_path: Path) -> None:
    report = emu.execute(experiment(tmp_path, flows=flow("kernel:reno"))).measurements
    assert report["lateness"]["p50_ns"] <= report["lateness"]["p99_ns"] <= report["lateness"]["max_ns"]
    interfaces = report["interfaces"]
    assert [interface["read"] for interface in interfaces] == [each["kernel"]["sent"] for each in interfaces]
    assert [interface["written"] for interface in interfaces] == [each["kernel"]["received"] for each in interfaces]
    delivered = report["hops"][0]["delivered"][0]
    assert sum(count for _, count in report["lateness"]["packets"]) >= delivered
    assert interfaces[1]["written"] == delivered
    assert interfaces[0]["read"] < interfaces[0]["segments"], "TCP hands over several segments at once"


@real_time
def test_merged_segments_are_counted_one_by_one(tmp_path: Path) -> None:
    more = "emulation = { merge = true }"
    outcome = emu.execute(experiment(tmp_path, flows=flow("kernel:cubic"), more=more))
    assert outcome.measurements["interfaces"][1]["written"] <= outcome.measurements["hops"][0]["delivered"][0]
    assert first_flow(outcome)["received_bytes"] * 8 / 1.5 > 0.8 * RATE_MBPS * 1e6


@real_time
@pytest.mark.parametrize("kind", ["udp", "ping"])
def test_probes_measure_the_round_trip(tmp_path: Path, kind: str) -> None:
    flows = flow("kernel:cubic", start="1s") + f'[[probe]]\nkind = "{kind}"\ninterval = "20ms"\n'
    probes = emu.execute(experiment(tmp_path, flows=flows)).tables["probes"]
    alone = probes.filter((probes["sent_ns"] < 10**9) & (probes["rtt_ns"] > 0))
    assert len(alone) >= 45
    assert alone["rtt_ns"].is_between(20_000_000, 25_000_000).sum() > 0.9 * len(alone)


@real_time
def test_telemetry_of_the_kernel_is_recorded(tmp_path: Path) -> None:
    telemetry = emu.execute(experiment(tmp_path, flows=flow("kernel:bbr"))).tables["telemetry"]
    assert {"cwnd", "srtt", "min_rtt", "pacing_rate", "bw"} <= set(telemetry["name"])


@real_time
def test_a_flow_falls_silent_at_its_stop(tmp_path: Path) -> None:
    flows = flow("kernel:cubic", stop="500ms") + flow("own:cubic", stop="500ms")
    packets = emu.execute(experiment(tmp_path, flows=flows)).tables["packets"]
    for number in (1, 2):
        times = packets.filter(packets["flow"] == number)["sent_ns"]
        assert (times < 550_000_000).all()
        assert (times > 400_000_000).any()


SENDER = """
import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as connection:
    while True:
        connection.sendall(bytes(65536))
"""
RECEIVER = """
import os, socket, sys
assert os.getuid() != 0
with socket.create_server(("::", int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True) as server:
    connection, _ = server.accept()
    while connection.recv(1 << 20):
        pass
"""

DATAGRAMS = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
    while True:
        sending.sendto(bytes({bytes}), (sys.argv[1], int(sys.argv[2])))
        {then}
"""
# Sends datagrams with DSCP 46, the first of which rules leave alone; tells the DS field of the third.
CLASSIFIED = """
import socket, sys, time
with socket.socket(socket.{family}, socket.SOCK_DGRAM) as sending:
    sending.setsockopt(socket.{level}, socket.{prefix}_{option}, 46 << 2 | 2)
    while True:
        sending.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2])))
        time.sleep(0.01)
"""
TELLING = """
import socket, sys
with socket.socket(socket.{family}, socket.SOCK_DGRAM) as listening:
    listening.setsockopt(socket.{level}, socket.{prefix}_RECV{option}, 1)
    listening.bind(("", int(sys.argv[1])))
    for _ in range(3):
        _, told, *_ = listening.recvmsg(2048, 256)
    sys.exit(f"a DS field of {{told[0][2][0]:#04x}}")
"""
# Calls where nobody answers, again and again.
DEAF = """
import socket, sys, time
while True:
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2]) + 1), timeout=1)
    except OSError:
        time.sleep(0.1)
"""


def interpreter() -> str:
    if PYTHON is None:
        pytest.skip("needs a python3 in /usr/bin, which ordinary users can run")
    return PYTHON


def program(folder: Path, *, sender: str = SENDER, receiver: str = RECEIVER, address: str = "{address}") -> str:
    """A table of a program that is made of two scripts."""
    words = {}
    for side, script, rest in (("sender", sender, [address, "{port}"]), ("receiver", receiver, ["{port}"])):
        (folder / f"{side}.py").write_text(script)
        words[side] = [interpreter(), str(folder / f"{side}.py"), *rest]
    open_to_all(folder)
    return f"[program.script]\nsender = {json.dumps(words['sender'])}\nreceiver = {json.dumps(words['receiver'])}\n"


def open_to_all(folder: Path) -> None:
    """Lets ordinary users reach a folder of the tests, which root alone may enter."""
    for place in (folder, *folder.parents):
        if place.name and place.stat().st_uid == os.geteuid() and not place.stat().st_mode & stat.S_IXOTH:
            place.chmod(place.stat().st_mode | 0o011)


@real_time
@pytest.mark.parametrize("address", ["{address}", "{address6}"])
def test_programs_of_others_run_as_ordinary_users_over_both_protocols(tmp_path: Path, address: str) -> None:
    flows = program(tmp_path, address=address) + flow("program:script")
    outcome = emu.execute(experiment(tmp_path, flows=flows))
    sent = first_flow(outcome)
    assert sent["received_bytes"] * 8 / 1.5 > 0.5 * RATE_MBPS * 1e6
    assert sent["goodput_bytes"] > 0


@real_time
@pytest.mark.parametrize("protocol", ["IP", "IPV6"])
def test_what_a_rule_sets_is_in_the_header(tmp_path: Path, protocol: str) -> None:
    more = """
[[path.forward]]
mangle = [{ match = { ecn = "ect0" }, set = { dscp = 10 } }]
"""
    sockets = {"IP": ("AF_INET", "TOS"), "IPV6": ("AF_INET6", "TCLASS")}
    family, option = sockets[protocol]
    names = {"family": family, "level": f"IPPROTO_{protocol}", "prefix": protocol, "option": option}
    address = "{address}" if protocol == "IP" else "{address6}"
    scripts = {"sender": CLASSIFIED.format(**names), "receiver": TELLING.format(**names)}
    flows = program(tmp_path, **scripts, address=address) + flow("program:script")
    # EF and ECT(0) went in.
    with pytest.raises(RunStopped, match="it said: a DS field of 0x2a"):
        emu.execute(experiment(tmp_path, flows=flows, more=more))


@real_time
def test_cake_has_no_tins_for_the_dscps_of_a_program(tmp_path: Path) -> None:
    names = {"family": "AF_INET", "level": "IPPROTO_IP", "prefix": "IP", "option": "TOS"}
    flows = program(tmp_path, sender=CLASSIFIED.format(**names)) + flow("program:script")
    with pytest.raises(RunStopped, match="flow 1: its program sends packets with DSCP 46, and queue cake has no tins"):
        emu.execute(
            experiment(tmp_path, flows=flows, more='[[path.forward]]\nrate = "50Mbit/s"\nqueue = { kind = "cake" }\n')
        )


@real_time
@pytest.mark.parametrize(
    ("sender", "sentence"),
    [
        (
            "import sys; sys.exit('no such thing')",
            r"flow 1: its sender \(.*\) ended early with status 1; it said: no such",
        ),
        ("import time; time.sleep(60)", r"flow 1: the sender of program:script sent nothing"),
        (
            "print('nothing to do')",
            r"flow 1: the sender of program:script ended after .* s with status 0 .* \(it said: nothing to do\)",
        ),
        ("import os; os.kill(os.getpid(), 9)", r"flow 1: its sender \(.*\) was ended early by signal 9"),
        (
            DATAGRAMS.format(bytes=4000, then="time.sleep(0.01)"),
            r"flow 1: its program sent a datagram that is larger than the path's",
        ),
        (DEAF, r"flow 1: of \d+ packets that the sender of program:script sent, none brought data to the receiver"),
    ],
)
def test_a_program_that_misbehaves_is_one_sentence(tmp_path: Path, sender: str, sentence: str) -> None:
    flows = program(tmp_path, sender=sender) + flow("program:script")
    with pytest.raises(RunStopped, match=sentence):
        emu.execute(experiment(tmp_path, flows=flows))


@real_time
def test_a_program_may_print_without_end_and_ignore_requests_to_end(tmp_path: Path) -> None:
    loud = (
        "import signal, threading\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "threading.Thread(target=lambda: [print('x' * 10_000) for _ in iter(int, 1)], daemon=True).start()\n"
    )
    flows = program(tmp_path, sender=loud + SENDER) + flow("program:script")
    assert first_flow(emu.execute(experiment(tmp_path, flows=flows)))["received_packets"] > 0


@real_time
def test_what_a_program_leaves_behind_ends_with_its_flow(tmp_path: Path) -> None:
    # The parent ends at once and well; its child sends on, for longer than the flow lasts.
    forks = "import os\nif os.fork(): os._exit(0)\n"
    flows = program(tmp_path, sender=forks + DATAGRAMS.format(bytes=200, then="time.sleep(0.01)"))
    flows += flow("program:script", stop="700ms")
    found = emu.execute(experiment(tmp_path, flows=flows)).tables["packets"]
    assert found.filter(pl.col("flow") == 1)["sent_ns"].max() < 800_000_000  # type: ignore[operator]


@real_time
def test_a_program_that_floods_is_bounded_by_the_link(tmp_path: Path) -> None:
    flows = program(tmp_path, sender=DATAGRAMS.format(bytes=1400, then="")) + flow("program:script")
    sent = first_flow(emu.execute(experiment(tmp_path, flows=flows)))
    assert sent["dropped_packets"] > sent["received_packets"]
    assert 0.8 * RATE_MBPS * 1e6 < sent["received_bytes"] * 8 / 1.5 <= RATE_MBPS * 1e6


@needs_root
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    planned = experiment(tmp_path, flows=flow("kernel:cubic"))
    (tmp_path / "planned.json").write_text(json.dumps({"scenario": planned.scenario, "seed": planned.seed}))
    program = (
        "import json, sys, types\nfrom bakeoff.worlds import emu\n"
        "planned = json.load(open(sys.argv[1]))\nemu.execute(types.SimpleNamespace(**planned))\n"
    )
    words = (sys.executable, "-c", program, str(tmp_path / "planned.json"))
    mount = f'mount -t tmpfs -o size=64k none {tmp_path}/small; TMPDIR={tmp_path}/small "$@"; ls {tmp_path}/small'
    shell = ("unshare", "--mount", "sh", "-c", mount, "sh")
    done = subprocess.run([*shell, *words], capture_output=True, text=True, check=False)
    assert re.search(r"RunStopped: writing \S+: No space left on device", done.stderr)
    assert done.stdout == ""
    _wait_until(lambda: not _emulators())


WRAPPER = """#!{python}
import sys
if sys.argv[1] == "run_first":
    print("{first}")
elif sys.argv[1] == "{first}":
    sys.argv[1:] = sys.argv[2:3]
    exec({receiver!r})
else:
    sys.argv[1:] = sys.argv[2:4]
    exec({sender!r})
"""


@real_time
@pytest.mark.parametrize("first", ["receiver", "sender"])
def test_a_wrapper_of_pantheon_runs_unchanged(tmp_path: Path, first: str) -> None:
    # Whoever runs first listens; a sender that listens sends once it is called.
    listener = RECEIVER.replace("connection.recv(1 << 20)", "connection.send(bytes(65536))")
    caller = (
        "import socket, sys\nwith socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as connection:\n"
    )
    ends = (
        (RECEIVER, SENDER) if first == "receiver" else (listener, caller + "    while connection.recv(1 << 20): pass\n")
    )
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text(WRAPPER.format(python=interpreter(), first=first, receiver=ends[0], sender=ends[1]))
    wrapper.chmod(0o755)
    open_to_all(tmp_path)
    flows = f'[program.wrapped]\nwrapper = "{wrapper.name}"\n' + flow("program:wrapped")
    assert (
        first_flow(emu.execute(experiment(tmp_path, flows=flows)))["received_bytes"] * 8 / 1.5 > 0.5 * RATE_MBPS * 1e6
    )


@real_time
def test_a_wrapper_that_does_not_answer(tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text("#!/bin/sh\necho both\n")
    wrapper.chmod(0o755)
    open_to_all(tmp_path)
    flows = f'[program.wrapped]\nwrapper = "{wrapper.name}"\n' + flow("program:wrapped")
    with pytest.raises(RunStopped, match=r'run_first must print "receiver" or "sender", and ended with status 0 after'):
        emu.execute(experiment(tmp_path, flows=flows))


@needs_root
def test_a_missing_program_is_found_before_anything_runs(tmp_path: Path) -> None:
    words = '["no-such-program"]'
    flows = f"[program.nothing]\nsender = {words}\nreceiver = {words}\n" + flow("program:nothing")
    with pytest.raises(RunStopped, match=r"flow 1: program:nothing: no-such-program is not there"):
        emu.check(experiment(tmp_path, flows=flows).scenario)


@needs_root
def test_a_controller_that_the_kernel_lacks(tmp_path: Path) -> None:
    with pytest.raises(RunStopped, match=r"flow 1: the kernel of this machine has no controller cdg; it offers .*reno"):
        emu.check(experiment(tmp_path, flows=flow("kernel:cdg")).scenario)


@pytest.fixture(scope="module", params=["aimd", "variable"])
def controller(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of a controller, compiled; its variable has the controller's name, or another one."""
    tools = ("clang", "bpftool")
    if missing := [tool for tool in tools if shutil.which(tool) is None]:
        pytest.skip(f"needs {' and '.join(missing)}")
    folder = tmp_path_factory.mktemp("bpf")
    dump = ["bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "c"]
    with (folder / "vmlinux.h").open("w") as header:
        if subprocess.run(dump, stdout=header, check=False).returncode:
            pytest.skip("this kernel does not describe its types")
    source = (ROOT / "examples" / "bpf" / "aimd.bpf.c").read_text()
    variable = "struct tcp_congestion_ops aimd = {"
    assert variable in source
    (folder / "aimd.bpf.c").write_text(source.replace(variable, variable.replace("aimd", request.param)))
    words = ["clang", "-O2", "-g", "-target", "bpf", "-I.", "-c", "aimd.bpf.c", "-o", "aimd.bpf.o"]
    if subprocess.run(words, cwd=folder, check=False).returncode:
        pytest.skip("the headers of libbpf are missing")
    return folder / "aimd.bpf.o"


def controllers_of_the_kernel() -> str:
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()


@real_time
def test_a_controller_is_in_the_kernel_for_its_run_only(tmp_path: Path, controller: Path) -> None:
    flows = f'[controller.aimd]\nobject = "{controller}"\n' + flow("kernel:aimd")
    planned = experiment(tmp_path, flows=flows)
    emu.check(planned.scenario)
    assert first_flow(emu.execute(planned))["received_bytes"] * 8 / 1.5 > 0.8 * RATE_MBPS * 1e6
    assert "aimd" not in controllers_of_the_kernel()


@real_time
def test_what_the_verifier_says_is_shown(tmp_path: Path, controller: Path) -> None:
    broken = tmp_path / "broken.o"
    broken.write_bytes(controller.read_bytes()[:2_000])
    flows = '[controller.aimd]\nobject = "broken.o"\n' + flow("kernel:aimd")
    with pytest.raises(RunStopped, match=r"kernel:aimd: the kernel refuses .*broken.o: \S"):
        emu.execute(experiment(tmp_path, flows=flows))
    assert "aimd" not in controllers_of_the_kernel()


WATCHED = """
import os
from bakeoff.scheme import Scheme

class Watched(Scheme):
    def __init__(self, setup, failing=False):
        super().__init__(setup)
        assert os.getresuid() == os.getresgid() == ({user},) * 3 and not os.getgroups()
        self.failing = failing

    def on_ack(self, ack):
        if self.failing and ack.now_s > 0.5:
            raise ValueError("enough")
        if ack.rtt_s is not None and ack.rtt_s < 0.045:
            self.cwnd += ack.acked_bytes

    def on_loss(self, loss):
        self.cwnd = max(self.cwnd / 2, 2 * self.mss)
"""


def watched(folder: Path, monkeypatch: pytest.MonkeyPatch, **keys: str) -> str:
    """A flow of a scheme in Python, which looks whose rights it has."""
    # The group of no one is not everywhere that of nobody.
    user = 65_534
    monkeypatch.setattr(privilege, "ordinary", lambda: (user, user))
    monkeypatch.delenv("SUDO_UID", raising=False)
    (folder / "watched.py").write_text(WATCHED.format(user=user))
    (folder / "watched.py").chmod(0o644)
    open_to_all(folder)
    return flow("./watched.py:Watched", **keys)


@real_time
def test_a_scheme_in_python_sends_as_an_ordinary_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = experiment(tmp_path, flows=watched(tmp_path, monkeypatch) + flow("own:cubic", start="1400ms"))
    emu.check(planned.scenario)
    outcome = emu.execute(planned)
    assert first_flow(outcome)["received_bytes"] * 8 / 1.5 > 0.8 * RATE_MBPS * 1e6
    windows = outcome.tables["telemetry"].filter((pl.col("name") == "cwnd") & (pl.col("flow") == 1))
    assert windows["value"].n_unique() > 1


@real_time
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('raise ValueError("enough")', r"watched\.py:13: Watched\.on_ack: ValueError: enough$"),
        ("input()", r"watched\.py:13: Watched\.on_ack: EOFError: EOF when reading a line$"),
        ("os._exit(3)", r"watched\.py: its process ended early with status 3$"),
        ("os.abort()", r"watched\.py:13: its process was ended by SIGABRT$"),
        ("os.kill(os.getpid(), 9)", r"watched\.py: its process was ended by SIGKILL$"),
    ],
)
def test_a_scheme_in_python_that_fails_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, sentence: str
) -> None:
    flows = watched(tmp_path, monkeypatch) + "parameters = { failing = true }\n"
    file = tmp_path / "watched.py"
    file.write_text(file.read_text().replace('raise ValueError("enough")', body))
    planned = experiment(tmp_path, flows=flows)
    with pytest.raises(RunStopped, match=rf"^flow 1: .*{sentence}"):
        emu.execute(planned)


@real_time
def test_a_scheme_in_python_that_hangs_at_the_end_of_its_run_fails_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_schemes, "PATIENCE_S", 2.0)
    flows = watched(tmp_path, monkeypatch)
    file = tmp_path / "watched.py"
    file.write_text(
        file.read_text().replace("if self.failing and", "while").replace('raise ValueError("enough")', "pass")
    )
    with pytest.raises(
        RunStopped, match=r"^flow 1: .*watched\.py:1[23]: Watched\.on_ack: Overdue: it takes longer than 2 s"
    ):
        emu.execute(experiment(tmp_path, flows=flows))


@real_time
def test_a_scheme_in_python_may_do_what_our_schemes_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flows = watched(tmp_path, monkeypatch) + "handshake = false\n"
    planned = experiment(tmp_path, flows=flows)
    emu.check(planned.scenario)
    assert first_flow(emu.execute(planned))["received_bytes"] > 0


def test_without_root_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RunFailed, match=r"which takes root: run it with sudo .*, or use --world sim$"):
        emu.prepare()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gets as far as the device")
def test_without_the_device_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(privilege, "TUN", tmp_path / "tun")
    with pytest.raises(RunFailed, match=r"needs .*/tun, which is missing: modprobe tun"):
        emu.prepare()


def test_programs_are_for_the_emulated_world_only(tmp_path: Path) -> None:
    words = '["x"]'
    flows = f"[program.nothing]\nsender = {words}\nreceiver = {words}\n" + flow("program:nothing")
    planned = experiment(tmp_path, flows=flows)
    with pytest.raises(RunStopped, match=r"flow 1: program:nothing is a program of its own, which sim cannot run"):
        sim.check(planned.scenario)
    with pytest.raises(
        UserError, match=r'"program:other" is not a program of this file; add a table \[program.other\]'
    ):
        experiment(tmp_path, flows=flow("program:other"))


def _processes() -> list[int]:
    return [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]


def _command(process: int) -> list[str]:
    """The words of a process; none if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")[:-1]
    return []


def _emulators() -> set[int]:
    """Processes of this checkout's emulator."""
    emulator = str(ROOT / "python" / "bakeoff" / "_emulator")
    return {process for process in _processes() if _command(process)[:1] == [emulator]}


def _child(process: int) -> int | None:
    """The first process that another one has started."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return int(children[0]) if children else None
    return None


def _family(first: int) -> list[int]:
    """A process, its child, the child of that, and so on."""
    family = [first]
    while (child := _child(family[-1])) is not None:
        family.append(child)
    return family


def _namespaces(processes: Iterable[int]) -> set[str]:
    """Network namespaces that threads of these processes live in, but for our own."""
    found = set()
    for process in processes:
        for link in Path(f"/proc/{process}/task").glob("*/ns/net"):
            with contextlib.suppress(OSError):
                found.add(str(link.readlink()))
    return found - {str(Path("/proc/self/ns/net").readlink())}


@pytest.fixture
def lasting(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An emulator at work on a run of a minute."""
    planned = experiment(tmp_path, flows=flow("kernel:cubic") + flow("own:cubic"), duration="60s")
    program = (
        "import json, sys, types\nfrom bakeoff.worlds import emu, processes\n"
        "planned = json.load(open(sys.argv[1]))\n"
        "emu.execute(types.SimpleNamespace(**planned))\n"
    )
    (tmp_path / "planned.json").write_text(json.dumps({"scenario": planned.scenario, "seed": planned.seed}))
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "planned.json")])
    try:
        _wait_until(lambda: len(_family(process.pid)) == 4 and len(_namespaces(_family(process.pid))) > 1)
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_until(happened: Any) -> None:
    for _ in range(800):
        if happened():
            return
        time.sleep(0.05)
    pytest.fail("it did not happen within 40 s")


@needs_root
@pytest.mark.parametrize("victim", ["python", "first", "emulator", "senders"])
def test_whoever_is_killed_nothing_is_left(lasting: subprocess.Popen[bytes], victim: str) -> None:
    family = dict(zip(("python", "first", "emulator", "senders"), _family(lasting.pid), strict=True))
    namespaces = _namespaces(family.values())
    folder = Path(_command(family["first"])[1])
    assert folder.is_dir()
    os.kill(family[victim], signal.SIGKILL)
    _wait_until(lambda: not _emulators())
    lasting.wait()
    _wait_until(lambda: not namespaces & _namespaces(_processes()))
    _wait_until(lambda: scratch.sweep() is not None and not folder.exists())  # another test may be sweeping it


@needs_root
def test_two_experiments_at_once_are_refused() -> None:
    program = "from bakeoff.worlds import privilege\nprivilege.take_machine()\nprint('held', flush=True)\ninput()\n"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        second = subprocess.run(words, input="\n", capture_output=True, text=True, check=False)
        assert "another emulated experiment is under way on this machine" in second.stderr
        other.communicate("\n")
