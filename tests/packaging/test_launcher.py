"""`./bakeoff` says which package is missing, and leaves a prepared checkout alone."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COREUTILS = ("cmp", "dirname", "find", "head", "readlink", "sed", "sh", "sort")
COMPILERS = ("cargo", "cc", "rustc")
TOOLS = (*COREUTILS, *COMPILERS, "python3")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose environment is ready; its Python tells what it was asked."""
    root = tmp_path / "check out"
    shutil.copytree(ROOT / "scripts", root / "scripts")
    shutil.copytree(ROOT / "requirements", root / "requirements")
    for name in ("bakeoff", "Cargo.toml", "Cargo.lock", "pyproject.toml"):
        shutil.copy2(ROOT / name, root / name)
    for name in ("crates/core/src/lib.rs", "python/bakeoff/_core.abi3.so", ".venv/bin/python"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    shutil.copy2(ROOT / "python/bakeoff/__main__.py", root / "python/bakeoff")
    venv = root / ".venv"
    (venv / "bin/python").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (venv / "bin/python").chmod(0o755)
    (venv / "root").write_text(f"{root}\n")
    shutil.copy(root / "requirements/run.txt", venv / "run.lock")
    (venv / "built").touch()
    # File times are coarser than a test is quick: the sources are an hour old, the build half an hour.
    now = time.time()
    for path in root.rglob("*"):
        os.utime(path, (now - 3600, now - 3600))
    os.utime(venv / "built", (now - 1800, now - 1800))
    return root


def path_with(folder: Path, names: tuple[str, ...], rust: str = "1.95.0") -> str:
    """A search path that holds these programs and no others; the compilers only tell their version."""
    folder.mkdir()
    for name in names:
        program = sys.executable if name == "python3" else shutil.which(name)
        if name in COMPILERS:
            (folder / name).write_text(f'#!/bin/sh\necho "{name} {rust} (of a test)"\n')
            (folder / name).chmod(0o755)
        elif program is not None:
            (folder / name).symlink_to(program)
    return str(folder)


def launch(program: Path, path: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments],
        env={"PATH": path},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_ready_checkout_is_only_read(checkout: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in checkout.rglob("*")}
    done = launch(checkout / "bakeoff", path_with(tmp_path / "bin", COREUTILS), "run", "a b")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"-P|{checkout}/python/bakeoff/__main__.py|run|a b|"
    assert {path: path.stat().st_mtime_ns for path in checkout.rglob("*")} == before


def test_a_link_from_elsewhere_finds_the_checkout(checkout: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkout / "bakeoff")
    done = launch(link, path_with(tmp_path / "bin", COREUTILS), "list", cwd=Path("/"))
    assert (done.returncode, done.stdout) == (0, f"-P|{checkout}/python/bakeoff/__main__.py|list|")


def test_files_in_the_folder_of_the_user_are_not_taken_for_modules(checkout: Path, tmp_path: Path) -> None:
    folder = tmp_path / "of a user"
    folder.mkdir()
    for module in ("bakeoff", "dis", "ensurepip", "fcntl", "inspect", "venv"):
        (folder / f"{module}.py").write_text("raise SystemExit('of the user')\n")
    (checkout / ".venv/bin/python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    done = launch(checkout / "bakeoff", path_with(tmp_path / "bin", TOOLS), "list", "schemes", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    # Preparing asks Python too, here up to where it would install something.
    (checkout / ".venv/built").unlink()
    path = path_with(tmp_path / "more", tuple(name for name in TOOLS if name != "python3"))
    python = tmp_path / "more/python3"
    python.write_text(f'#!/bin/sh\ncase "$*" in *run_module*venv*) exit 1 ;; esac\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = launch(checkout / "bakeoff", path, "list", cwd=folder)
    assert done.returncode == 1
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines()] == [
        "installing uv into .tools (once) ...",
        "uv could not be installed",
    ]


@pytest.mark.parametrize(
    ("missing", "package"),
    [
        ("python3", "apt install python3"),
        ("cargo", "cargo-web"),
        ("rustc", "cargo-web"),
        ("cc", "apt install gcc"),
    ],
)
def test_a_missing_tool_is_named_in_one_sentence(checkout: Path, tmp_path: Path, missing: str, package: str) -> None:
    (checkout / ".venv/built").unlink()
    path = path_with(tmp_path / "bin", tuple(name for name in TOOLS if name != missing))
    done = launch(checkout / "bakeoff", path, "list")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("bakeoff: ")
    assert package in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_old_rust_is_told_so(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv/built").unlink()
    done = launch(checkout / "bakeoff", path_with(tmp_path / "bin", TOOLS, rust="1.63.0"), "list")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "rustc is 1.63.0" in done.stderr


def test_a_rust_that_does_not_start_is_told_so(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv/built").unlink()
    path = path_with(tmp_path / "bin", TOOLS)
    (tmp_path / "bin/rustc").write_text("#!/bin/sh\necho 'no toolchain is chosen' >&2\nexit 1\n")
    done = launch(checkout / "bakeoff", path, "list")
    assert done.returncode == 1
    complaint, sentence = done.stderr.splitlines()
    assert complaint == "no toolchain is chosen"
    assert "and rustc does not start: see the message above (rustup" in sentence


def test_a_python_without_venv_is_told_so(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv/built").unlink()
    path = path_with(tmp_path / "bin", tuple(name for name in TOOLS if name != "python3"))
    python = tmp_path / "bin/python3"
    python.write_text(f'#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; esac\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    done = launch(checkout / "bakeoff", path, "list")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "apt install python3-venv" in done.stderr


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("touch", "crates/core/src/lib.rs"),
        ("remove", "crates/core/src/lib.rs"),
        ("touch", "Cargo.lock"),
        ("write", "requirements/run.txt"),
        ("remove", "python/bakeoff/_core.abi3.so"),
        ("write", ".venv/root"),
    ],
)
def test_a_change_asks_for_preparation(checkout: Path, tmp_path: Path, verb: str, name: str) -> None:
    match verb:
        case "touch":
            (checkout / name).touch()
        case "remove":
            (checkout / name).unlink()
        case _:
            (checkout / name).write_text("other\n")
    tools = path_with(tmp_path / "bin", (*COREUTILS, "python3"))
    done = launch(checkout / "bakeoff", tools, "list")
    assert done.returncode == 1
    assert "cargo" in done.stderr


FAKE_UV = """#!/bin/sh
echo "$*" >>"$UV_LOG"
case $* in
venv*) for venv; do :; done
    mkdir -p "$venv/bin"
    printf '#!/bin/sh\\nprintf "%%s|" "$@"\\n' >"$venv/bin/python"
    chmod +x "$venv/bin/python" ;;
*-e*) sleep 0.5
    : >python/bakeoff/_core.abi3.so ;;
esac
"""


def test_programs_are_replaced_while_a_run_uses_them(checkout: Path, tmp_path: Path) -> None:
    path = path_with(tmp_path / "bin", (*TOOLS, "chmod", "cp", "mkdir", "mv", "rm", "sleep", "touch", "uname"))
    (tmp_path / "bin/uv").write_text(FAKE_UV)
    (tmp_path / "bin/uv").chmod(0o755)
    built = checkout / "target/guest"
    built.mkdir(parents=True)
    for name in ("guest", "emulator"):
        (built / f"bakeoff-{name}").write_text("new")
    emulator = checkout / "python/bakeoff/_emulator"
    shutil.copy("/bin/sleep", emulator)
    (checkout / "crates/core/src/lib.rs").touch()
    with subprocess.Popen([emulator, "60"]) as running:
        done = subprocess.run(
            [checkout / "bakeoff", "list"],
            env={"PATH": path, "UV_LOG": str(tmp_path / "uv.log")},
            capture_output=True,
            text=True,
            check=False,
        )
        running.kill()
    assert done.returncode == 0, done.stderr
    assert emulator.read_text() == "new"
    assert {path.name for path in emulator.parent.iterdir()} == {"__main__.py", "_core.abi3.so", "_emulator", "_guest"}


def test_two_first_starts_at_once_prepare_once(checkout: Path, tmp_path: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    (checkout / "python/bakeoff/_core.abi3.so").unlink()
    path = path_with(tmp_path / "bin", (*TOOLS, "chmod", "cp", "mkdir", "mv", "rm", "sleep", "touch"))
    (tmp_path / "bin/uv").write_text(FAKE_UV)
    (tmp_path / "bin/uv").chmod(0o755)
    log = tmp_path / "uv.log"
    starts = [
        subprocess.Popen(
            [checkout / "bakeoff", "list"],
            env={"PATH": path, "UV_LOG": str(log)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ended = [start.communicate(timeout=60) for start in starts]
    assert [out for out, _ in ended] == [f"-P|{checkout}/python/bakeoff/__main__.py|list|"] * 2
    assert sum("compiling" in err for _, err in ended) == 1
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["venv", "pip", "pip"]
    again = launch(checkout / "bakeoff", path, "list")
    assert (again.stdout, again.stderr) == (f"-P|{checkout}/python/bakeoff/__main__.py|list|", "")


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("others", [False, True])
def test_an_interrupt_of_the_preparation_says_nothing(
    checkout: Path, tmp_path: Path, shell: str, *, others: bool
) -> None:
    (checkout / ".venv/built").unlink()
    path = path_with(tmp_path / "bin", (*(name for name in TOOLS if name != "python3"), "touch"))
    fifo = tmp_path / "begun"
    os.mkfifo(fifo)
    # As uv, it takes the interrupt for a failure of its own.
    works = f"trap 'exit 2' INT; echo begun >{fifo}; exec 2>&-; read -r _ <{fifo}"
    uv = f"#!/bin/sh\ncase $* in --version) ;; *) {works} ;; esac\n"
    # What waits for the lock tells so from within, when Python has long started.
    tells = f"${{3%fcntl.flock*}}open('{fifo}', 'w').write('begun\\n'); fcntl.flock${{3##*fcntl.flock}}"
    waits = f'case $3 in *SIG_DFL*flock*) set -- -I -c "{tells}" ;; esac'
    python = f'#!/bin/sh\n{waits}\nexec "{sys.executable}" "$@"\n'
    for name, text in (("uv", uv), ("python3", python)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    with (checkout / ".tools.lock").open("a") as lock:
        if others:
            fcntl.flock(lock, fcntl.LOCK_EX)
        start = subprocess.Popen(
            [shutil.which(shell) or shell, checkout / "bakeoff", "list"],
            env={"PATH": path},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert fifo.read_text() == "begun\n"
        os.killpg(start.pid, signal.SIGINT)
        _, err = start.communicate(timeout=60)
    assert start.returncode == -signal.SIGINT
    assert [line.split()[1] for line in err.splitlines()] == ["waiting" if others else "compiling"]


def test_make_env_ends_with_what_runs_a_file_of_ones_own() -> None:
    def said(job: str) -> list[str]:
        done = subprocess.run(["make", "-n", job], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)  # noqa: S607 - whichever make
        # Below another make it also tells which folder it enters and leaves.
        return [line for line in done.stdout.splitlines() if not line.startswith("make[")]

    assert "ready: .venv/bin/python FILE" in said("env")[-1]
    assert not any("ready:" in line for line in said("lint"))
