# The needs of tox.sh's stages: Debian's packages, Rust, free disk. tox.sh sources this file.

# Checks the machine before the stages begin. On Debian, root installs the packages that are missing.
prerequisites() {
    local missing=() unmet=()
    missing_packages "$@"
    if [[ ${#missing[@]} != 0 ]] && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        echo "== prerequisites: installing Debian's ${missing[*]}"
        debian "${missing[@]}"
        missing=()
        missing_packages "$@"
    fi
    [[ ${#missing[@]} == 0 ]] || unmet+=("Debian's packages (as root: apt-get install ${missing[*]})")
    has_rust || unmet+=("Rust $(rust_version) or newer with rustfmt and clippy (https://rustup.rs)")
    has_room "$@" || unmet+=("$(gigabytes "$@") GB of free disk for $CARGO_TARGET_DIR")
    [[ ${#unmet[@]} == 0 ]] && return
    broken prerequisites "this machine lacks $(printf '%s; ' "${unmet[@]}" | sed 's/; $//')"
}

# Adds the packages that these stages need, and that are not installed, to `missing`.
missing_packages() {
    need build-essential command -v cc
    need pkg-config command -v pkg-config
    need libmariadb-dev pkg-config --exists libmariadb openssl
    need git command -v git
    need python3 python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'
    need python3-venv python3 -c 'import ensurepip, venv'
    if [[ " $* " =~ " "(functional|servers|clients|all|long|prerequisites)" " ]]; then
        # Programs that single tests drive placet with.
        need haproxy server_program haproxy
        need strace server_program strace
        need systemd server_program systemd-analyze
        need dpkg-dev server_program dpkg-shlibdeps
        need logrotate server_program logrotate
        need prometheus server_program promtool
        need curl command -v curl
        need man-db command -v man
        need nodejs command -v node
    fi
    [[ " $* " =~ " "(servers|all|long|prerequisites)" " ]] || return 0
    need postgresql server_program postgres
    need pgbouncer server_program pgbouncer
    need mariadb-server server_program mariadbd
    need mariadb-client server_program mariadb-binlog
    need galera-4 server_program galera_new_cluster
    need rsync command -v rsync
    need iproute2 server_program ss
}

# need PACKAGE COMMAND…: notes the package if the command fails.
need() { "${@:2}" >/dev/null 2>&1 || missing+=("$1"); }

# Whether a program is in PATH, or where Debian has the programs of servers.
server_program() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" || compgen -G "/usr/lib/postgresql/*/bin/$1"; }

has_rust() {
    local found
    found=$(cargo --version 2>/dev/null | awk '{ print $2 }') && cargo fmt --version && cargo clippy --version || return
    [[ "$(printf '%s\n' "$(rust_version)" "$found" | sort --version-sort | head -n 1)" == "$(rust_version)" ]]
} >/dev/null 2>&1

# A first build takes 5 GB, and the other builds of `long` 6 more.
gigabytes() {
    local needed=6
    [[ " $* " == *" long "* ]] && needed=12
    [[ -d $CARGO_TARGET_DIR/debug ]] && needed=$((needed - 4))
    echo "$needed"
}

has_room() {
    mkdir -p "$CARGO_TARGET_DIR"
    (($(df -Pk "$CARGO_TARGET_DIR" | awk 'NR == 2 { print $4 }') >= $(gigabytes "$@") << 20))
}

rust_version() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

debian() {
    [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
    { apt-get update && apt-get install --yes --no-install-recommends "$@"; } >>"$LOGS/apt.log" 2>&1
}
