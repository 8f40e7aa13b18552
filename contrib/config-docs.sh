#!/usr/bin/env bash
# Writes the options that src/config/options/ declares into docs/configuration.md and examples/placement.conf.
set -euo pipefail
cd "$(dirname "$0")/.."
PLACET_WRITE_DOCS=1 cargo test --quiet --lib -- config::reference::tests::documents_have_every_option_as_it_is_declared
