# What the other scripts share: finding and installing what is missing. Source it; it does nothing by itself.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

need_cargo() {
    command -v cargo >/dev/null || die "cargo is missing: install Rust 1.95 or newer (rustup.rs)"
}

# need_debian COMMAND PACKAGE…: installs Debian packages when the command is missing.
need_debian() {
    local command=$1
    shift
    command -v "$command" >/dev/null && return 0
    if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
        die "$command is missing: install the package(s) $* (on Debian, as root: apt-get install $*)"
    fi
    say "installing $*"
    [ -n "${apt_updated:-}" ] || { apt-get update -qq >&2 && apt_updated=1; }
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# need_venv FOLDER REQUIREMENTS [PIP OPTIONS…]: a Python environment with pinned packages, made once.
need_venv() {
    local folder=$1 wanted=$2
    shift 2
    local stamp=$folder/.made-from
    [ -f "$stamp" ] && cmp -s "$stamp" "$wanted" && return 0
    python3 -c 'import venv, ensurepip' 2>/dev/null || need_debian python3-venv-is-missing python3-venv
    say "setting up Python packages of $(basename "$wanted")"
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" -r "$wanted" >&2
    cp "$wanted" "$stamp"
}
