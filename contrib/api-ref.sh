#!/usr/bin/env bash
# Writes api-ref/ anew: the OpenAPI document, samples from a live service, and the pages. Needs python3 alone.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --bins
python3 functional-tests/reference/run.py --write
