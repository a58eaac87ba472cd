# shellcheck shell=bash
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

# What every script shares: where the checkout is, exit statuses, how to speak. To be sourced.

# The statuses follow sysexits(3), so that a caller can tell a failed check from a missing tool.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly EX_USAGE=64 EX_UNAVAILABLE=69 EX_SOFTWARE=70 EX_TEMPFAIL=75

# The root of the checkout this file belongs to.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
readonly ROOT

# say SENTENCE…: progress, on standard error so that results stay alone on standard output.
say() {
    printf '%s\n' "$*" >&2
}

# die STATUS SENTENCE…
die() {
    local status=$1
    shift
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit "$status"
}

# usage_error SENTENCE…
usage_error() {
    die "$EX_USAGE" "$* Try '${0##*/} --help'."
}

# quietly LOG COMMAND…: runs the command with its output in LOG, and shows the output only if it fails.
quietly() {
    local log=$1 status=0
    shift
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if ((status != 0)); then
        cat "$log" >&2
        say "failed with status $status: $*"
    fi
    return "$status"
}

# replan PACKAGE_FOLDER: makes SwiftPM look again which source files a package's dependencies by path have. Without it a
# file that is new in the checkout above (after a pull, say) is not compiled into Samples or Benchmarks.
replan() {
    touch "$1/Package.swift"
    rm -f "$1"/.build/{debug,release}.yaml "$1"/.build/*/{debug,release}.yaml
}
