# shellcheck shell=bash
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

# Shared by all scripts: the root of the checkout, exit statuses and messages. Source this file.

# The statuses follow sysexits(3), so that a caller can distinguish a failed check from a missing tool.
# shellcheck disable=SC2034 # read by the scripts that source this file
readonly EX_USAGE=64 EX_UNAVAILABLE=69 EX_SOFTWARE=70 EX_TEMPFAIL=75

# The root of the checkout that contains this file.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
readonly ROOT

# say SENTENCE…: prints progress to standard error, so that standard output contains only results.
say() {
    printf '%s\n' "$*" >&2
}

# die STATUS SENTENCE…: prints an error and exits.
die() {
    local status=$1
    shift
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit "$status"
}

# usage_error SENTENCE…: prints an error about the arguments and exits.
usage_error() {
    die "$EX_USAGE" "$* Try '${0##*/} --help'."
}

# quietly LOG COMMAND…: runs the command with its output in LOG, and prints the output only if the command fails.
quietly() {
    local log=$1 status=0
    shift
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if ((status != 0)); then
        cat "$log" >&2
        say "Failed with status $status: $*"
    fi
    return "$status"
}

# replan PACKAGE_FOLDER: makes SwiftPM list the source files of a package's path dependencies again. Otherwise, new
# files of the surrounding checkout, for example after a pull, are not compiled into Samples or Benchmarks.
replan() {
    touch "$1/Package.swift"
    rm -f "$1"/.build/{debug,release}.yaml "$1"/.build/*/{debug,release}.yaml
}
