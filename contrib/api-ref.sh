#!/usr/bin/env bash
# Regenerates api-ref/: the OpenAPI document, and samples from a live service, which the next build of placet has in
# `/docs`. Needs python3 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --bins

venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -c functional-tests/requirements.txt -e functional-tests
"$venv/bin/python" -m functional_tests.reference.run --write
