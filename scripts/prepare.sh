#!/bin/sh
# Prepares .venv for what is named: `run` (the default) or `dev`.
set -eu
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
. "$root/scripts/environment.sh"
ready "${1:-run}" || prepare "${1:-run}"
