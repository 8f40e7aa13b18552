#!/usr/bin/env bash
# The compiler of tox.sh's build: rustc compiles a crate of this repository, and clippy checks the crate at the same
# time. Cargo runs this script with the path of rustc and the arguments. For placet's library the script also writes the
# command of rustdoc into the file PLACET_RUSTDOC, with the variables of cargo.
#
# `cargo clippy` and `cargo doc` would check every dependency once more: 200 s of processors instead of 50.
set -euo pipefail

[[ " $* " == *" --crate-name "[!_]* ]] || exec "$@"
rustc=$1
shift

# The arguments without those of the output.
arguments=("$@") shared=()
for ((at = 0; at < ${#arguments[@]}; at++)); do
    case "${arguments[at]}" in
        --emit=* | --error-format=* | --json=*) ;;
        --out-dir) at=$((at + 1)) ;;
        incremental=*) unset 'shared[-1]' ;; # and the `-C` before it
        *) shared+=("${arguments[at]}") ;;
    esac
done
output=$(mktemp --directory)
trap 'rm -rf "$output"' EXIT

if [[ " $* " == *" --crate-name placet "*" --crate-type lib "* ]]; then
    {
        export -p | grep -E '^declare -x (CARGO_(CRATE|MANIFEST|PKG)_|OUT_DIR=)'
        echo "rustdoc $(printf '%q ' "${shared[@]}") \"\$@\""
    } >"$PLACET_RUSTDOC"
fi

# What clippy reports is shown after what rustc reports, so that their lines do not mix. Clippy has rustc's lints too.
clippy-driver "$rustc" "${shared[@]}" --emit=metadata --out-dir "$output" \
    --error-format=json --json=diagnostic-rendered-ansi 2>"$output/report" &
"$rustc" "$@" --cap-lints allow
status=0
wait $! || status=$?
cat "$output/report" >&2
exit "$status"
