#!/usr/bin/env bash
# The compiler of tox.sh's build: clippy's, which lints a crate while it compiles the crate. Cargo runs this script with
# the path of rustc and the arguments. For placet's library the script also writes the command of rustdoc into the file
# PLACET_RUSTDOC, with the variables of cargo.
#
# `cargo clippy` and `cargo doc` would check every dependency once more: 200 s of processors instead of 10.
set -euo pipefail

# The arguments of the compiler that rustdoc has too.
shared_arguments() {
    while [[ $# != 0 ]]; do
        case "$1" in
            --out-dir | --crate-type | -C) shift ;;
            --emit=* | --error-format=* | --json=*) ;;
            *) printf '%q ' "$1" ;;
        esac
        shift
    done
}

if [[ " $* " == *" --crate-name placet "*" --crate-type lib "* ]]; then
    {
        export -p | grep -E '^declare -x (CARGO_(CRATE|MANIFEST|PKG)_|OUT_DIR=)'
        echo "rustdoc $(shared_arguments "${@:2}") \"\$@\""
    } >"$PLACET_RUSTDOC"
fi
exec clippy-driver "$@"
