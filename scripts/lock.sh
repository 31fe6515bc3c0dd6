#!/bin/sh
# Compiles requirements/*.txt: versions and hashes for every Python from 3.11 on, and no download address.
# Versions that are locked already stay, unless --upgrade is given.
set -eu
cd -- "$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")"
root=$(pwd -P)
. scripts/environment.sh
find_python
find_uv
compile() {
    target=requirements/$1.txt
    shift
    "$uv" pip compile -q --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-emit-index-url \
        --no-header -o "$target" "$@"
    say "$target"
}
compile uv requirements/uv.in "$@"
compile dev pyproject.toml --group dev "$@"
# What runs is what was tested: the run-time lock follows the development lock.
compile run pyproject.toml --group build -c requirements/dev.txt "$@"
