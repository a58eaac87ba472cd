# shellcheck shell=bash
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

# Installs the packages that a script needs, or prints the commands to install them. Source this file after common.sh.
#
# Exits with 69 if a package is missing and cannot be installed, and with 75 if the network failed.

# To build the libraries and the ping sample: the headers and libraries of Avahi.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly LIBRARY_PACKAGES=(libavahi-client-dev libavahi-core-dev)

# To build everything: also GLib, for the desktop layer, and SQLite, for the host daemon's store.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly BUILD_PACKAGES=("${LIBRARY_PACKAGES[@]}" libglib2.0-dev libsqlite3-dev)

# For the integration tests: the Avahi daemon and its tools, a private bus, network namespaces, packet captures, Python
# for the independent decoder and responder, systemd with polkitd inside namespaces, notification servers on a
# virtual screen, D-Bus in Python and JavaScript, media players, two browsers, GeoClue, the desktop portal, and Flatpak
# with its sandbox and its proxy of the bus (which it depends on).
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly TEST_PACKAGES=(avahi-daemon avahi-utils dbus faketime iproute2 nftables tcpdump openssl python3 python3-venv systemd polkitd zbar-tools dunst libgdk-pixbuf2.0-bin ffmpegthumbnailer xfce4-notifyd xdotool xvfb python3-gi python3-dbusmock gjs libgtk-4-1 mpv mpv-mpris libvlc5 vlc-plugin-base chromium firefox-esr geoclue-2.0 xdg-desktop-portal xdg-desktop-portal-gtk flatpak)

# For the checks that need no build.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly CHECK_PACKAGES=(git python3 shellcheck)

# install_packages REASON PACKAGE…: installs the missing packages. Prints nothing if all are installed.
install_packages() {
    local reason=$1 package state missing=()
    shift
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "This is not a Debian system. Install the equivalents of these packages if they are missing ($reason): $*"
        return 0
    fi
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [[ $state == installed ]] || missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0

    local as_root=()
    if ((EUID != 0)); then
        if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            say "Missing Debian packages ($reason): ${missing[*]}"
            say "Installing them needs root. Run this command, then run this script again:"
            say ""
            if command -v sudo >/dev/null; then
                say "    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
            else
                say "    su -c 'apt-get update && apt-get install -y --no-install-recommends ${missing[*]}'"
            fi
            say ""
            exit "$EX_UNAVAILABLE"
        fi
    fi

    say "Installing Debian packages ($reason): ${missing[*]}"
    # Debian starts a newly installed daemon if an init system runs, so not in a container.
    if [[ " ${missing[*]} " == *" avahi-daemon "* && -d /run/systemd/system ]]; then
        say "Debian starts avahi-daemon at once. It announces this machine's host name on the local network. To stop it, run:"
        say "    sudo systemctl disable --now avahi-daemon.socket avahi-daemon.service"
    fi
    local log status=0
    log=$(mktemp)
    # `apt-get update` also fails because of unrelated third-party repositories, so only the installation's status
    # counts.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o DPkg::Lock::Timeout=120 update >"$log" 2>&1 </dev/null || true
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${missing[@]}" \
        >>"$log" 2>&1 </dev/null || status=$?
    if ((status == 0)); then
        rm -f "$log"
        return 0
    fi
    tail -n 30 "$log" >&2
    if grep -qE 'Could not resolve|Could not connect|Failed to fetch|Unable to fetch|Unable to locate package|Network is unreachable|Connection (failed|timed out)' "$log"; then
        rm -f "$log"
        die "$EX_TEMPFAIL" "Debian's package servers could not be reached, or do not have these packages: ${missing[*]}." \
            "Check the network and /etc/apt/sources.list, then run this script again."
    fi
    rm -f "$log"
    die "$EX_UNAVAILABLE" "apt-get could not install ${missing[*]}. The end of its output is above."
}

# require_swift: exits unless Swift 6.2 or newer is installed.
require_swift() {
    local said version major minor
    command -v swift >/dev/null || die "$EX_UNAVAILABLE" \
        "Swift is not installed, or not on PATH. Install Swift 6.2 or newer from https://www.swift.org/install/linux/."
    said=$(swift --version 2>&1 </dev/null) || true
    version=$(sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' <<<"$said" | head -n 1)
    [[ -n $version ]] || die "$EX_UNAVAILABLE" \
        "'swift --version' failed: '$(head -n 1 <<<"$said")'." \
        "https://www.swift.org/install/linux/ lists the Debian packages that the toolchain needs."
    major=${version%%.*} minor=${version#*.}
    if ((major < 6 || (major == 6 && minor < 2))); then
        die "$EX_UNAVAILABLE" "Swift $version is too old. Install 6.2 or newer (https://www.swift.org/install/linux/)."
    fi
}

# require_test_python: installs a Python in .venv with the independent implementations that the tests compare with.
#
# Sets and exports REMOTE_SYSTEMS_TEST_PYTHON, unless the environment already names a Python with all modules.
require_test_python() {
    local requirements=$ROOT/Scripts/lib/test-requirements.txt venv=$ROOT/.venv
    if [[ -n ${REMOTE_SYSTEMS_TEST_PYTHON:-} ]]; then
        has_test_modules "$REMOTE_SYSTEMS_TEST_PYTHON" || die "$EX_UNAVAILABLE" \
            "REMOTE_SYSTEMS_TEST_PYTHON is $REMOTE_SYSTEMS_TEST_PYTHON, which lacks a package that the tests need. Unset it, or run" \
            "$REMOTE_SYSTEMS_TEST_PYTHON -m pip install -r Scripts/lib/test-requirements.txt"
        export REMOTE_SYSTEMS_TEST_PYTHON
        return 0
    fi
    export REMOTE_SYSTEMS_TEST_PYTHON=$venv/bin/python
    has_test_modules "$REMOTE_SYSTEMS_TEST_PYTHON" && return 0

    # A machine may have several Pythons. Debian's needs a package for `venv`, which TEST_PACKAGES contains.
    local candidate python=
    for candidate in /usr/bin/python3 python3; do
        if "$candidate" -c 'import ensurepip, ssl, venv' >/dev/null 2>&1; then
            python=$candidate
            break
        fi
    done
    [[ -n $python ]] || die "$EX_UNAVAILABLE" "No installed Python 3 can create a virtual environment. On Debian: apt-get install python3-venv"

    say "Installing Python packages for the tests into .venv: $(grep -v '^#' "$requirements" | tr '\n' ' ')"
    local log
    log=$(mktemp)
    if ! quietly "$log" "$python" -m venv --clear "$venv"; then
        rm -f "$log"
        die "$EX_UNAVAILABLE" "No virtual environment could be created in $venv."
    fi
    if ! quietly "$log" "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        --retries 2 --timeout 20 -r "$requirements"; then
        rm -f "$log"
        die "$EX_TEMPFAIL" "pip could not install the tests' Python packages. Check the network, then run this script again."
    fi
    rm -f "$log"
}

# has_test_modules PYTHON: whether the Python has all modules that the tests need.
has_test_modules() {
    "$1" -c 'import cbor2, cddl_verifier, cryptography, pycddl, zeroconf' >/dev/null 2>&1
}
