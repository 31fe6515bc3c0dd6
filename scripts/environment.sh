# Keeps .venv in step with requirements/*.txt and with the Rust sources. Sourced by ./bakeoff and the Makefile with
# `root` set to the checkout; `ready KIND || prepare KIND`, where KIND is `run` or `dev` (tests and lints too).
# shellcheck shell=sh

venv=$root/.venv
# Certificates that the machine trusts (a company's proxy, for one) are good enough for uv.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS-true}"

say() { printf 'bakeoff: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# The environment knows where it was made: a copied or moved checkout makes its own.
placed() {
    [ -x "$venv/bin/python" ] && [ -f "$venv/root" ] && IFS= read -r place <"$venv/root" && [ "$place" = "$root" ]
}

# The development lock contains the run-time one, so it serves both.
locked() {
    cmp -s "$root/requirements/dev.txt" "$venv/dev.lock" ||
        { [ "$1" = run ] && cmp -s "$root/requirements/run.txt" "$venv/run.lock"; }
}

built() {
    [ -f "$venv/built" ] && [ -f "$root/python/bakeoff/_core.abi3.so" ] && [ -z "$(
        find "$root/Cargo.toml" "$root/Cargo.lock" "$root/pyproject.toml" "$root/crates" -newer "$venv/built" \
            \( -type d -o -name '*.rs' -o -name '*.toml' -o -name '*.lock' -o -name '*.json' \) -print 2>&1 | head -n 1
    )" ]
}

ready() { placed && locked "$1" && built; }

# -I: the folder that bakeoff is started in may hold files with the names of modules.
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11; do
        "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
    done
    die "Python 3.11 or newer is needed and was not found (on Debian: apt install python3 python3-venv)."
}

# Python that Ctrl-C ends without a traceback.
quietly() {
    what=$1
    shift
    "$python" -I -c "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); $what" "$@"
}

find_uv() {
    uv=$(command -v uv) && return
    uv=$root/.tools/bin/uv
    cmp -s "$root/requirements/uv.txt" "$root/.tools/uv.lock" && "$uv" --version >/dev/null 2>&1 && return
    "$python" -I -c 'import ensurepip, venv' 2>/dev/null ||
        die "Python's venv module is needed and is missing (on Debian: apt install python3-venv)."
    say "installing uv into .tools (once) ..."
    quietly 'import runpy; runpy.run_module("venv", run_name="__main__", alter_sys=True)' --clear "$root/.tools" &&
        "$root/.tools/bin/python" -I -m pip install -q --disable-pip-version-check --require-hashes --only-binary :all: \
            -r "$root/requirements/uv.txt" >&2 || die "uv could not be installed: see the message above."
    cp "$root/requirements/uv.txt" "$root/.tools/uv.lock"
}

find_compilers() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
    rust="Rust $wanted or newer is needed to compile the core"
    where="rustup has it, and on Debian 12: apt install cargo-web"
    { command -v cargo && command -v rustc; } >/dev/null || die "$rust, and cargo or rustc was not found ($where)."
    found=$(rustc --version) || die "$rust, and rustc does not start: see the message above ($where)."
    found=$(printf '%s\n' "$found" | sed 's/^rustc \([0-9.]*\).*/\1/')
    [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] || die "$rust, and rustc is $found ($where)."
    command -v cc >/dev/null || die "a C compiler is needed to link the core, and cc was not found (on Debian: apt install gcc)."
}

install_locked() {
    say "installing the locked Python packages into .venv ..."
    rm -f "$venv/built" "$venv/run.lock" "$venv/dev.lock"
    placed || { rm -rf "$venv" && "$uv" venv -q --no-python-downloads --python "$python" "$venv"; } ||
        die ".venv could not be made: see the message above."
    "$uv" pip install -q --python "$venv" --compile-bytecode --require-hashes -r "$root/requirements/$1.txt" ||
        die "the Python packages could not be installed: see the message above."
    printf '%s\n' "$root" >"$venv/root"
    cp "$root/requirements/$1.txt" "$venv/$1.lock"
}

build() {
    say "compiling the core (takes one to four minutes the first time) ..."
    touch "$venv/building"
    (cd "$root" && PATH=$venv/bin:$PATH VIRTUAL_ENV=$venv MATURIN_PEP517_ARGS=--locked \
        "$uv" pip install -q --python "$venv" --no-deps --no-build-isolation --reinstall-package bakeoff -e .) ||
        die "the core did not compile: see the message above."
    build_programs
    mv "$venv/building" "$venv/built"
}

# The programs of the linux and the emu world; static, because a guest has no libraries.
build_programs() {
    [ "$(uname -s)" = Linux ] || return 0
    target=$(rustc -vV | sed -n 's/^host: //p')
    (cd "$root" && RUSTFLAGS="-C target-feature=+crt-static" \
        cargo build --quiet --locked --profile guest -p bakeoff-emu -p bakeoff-emulator --bins --target "$target" \
            --target-dir "$root/target") ||
        die "the programs of the linux and the emu world did not compile: see the message above."
    # A file that runs cannot be written, but another may take its name.
    built=$root/target/$target/guest
    for program in guest emulator; do
        cp "$built/bakeoff-$program" "$built/$program.new"
        mv -f "$built/$program.new" "$root/python/bakeoff/_$program"
    done
}

# The lock lives on an open file, which the kernel releases however this shell ends; the second of two launches waits,
# and then finds everything done.
prepare() {
    # What is under way ends first, and nothing calls it a failure.
    trap 'trap - INT; kill -INT $$' INT
    find_python
    find_compilers
    (: >>"$root/.tools.lock") 2>/dev/null || die "$root is not writable, and has to be prepared once."
    exec 9>"$root/.tools.lock"
    "$python" -I -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null || {
        say "waiting for another start, which is preparing $root ..."
        quietly 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
    }
    find_uv
    placed && locked "$1" || install_locked "$1"
    built || build
    exec 9>&-
    trap - INT
}
