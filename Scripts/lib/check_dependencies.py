#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Compares the dependencies that each target declares with the modules that its sources import.

Every imported module must be declared, and every declared one imported. An executable may be declared without an
import: a test runs it."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from check_sources import IMPORT, ROOT, git_files, without_comments_and_strings

PACKAGES = (".", "Samples", "Benchmarks", "Tests/Fuzzing")
TOOLCHAIN = {
    "Swift", "Synchronization", "Dispatch", "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking", "Glibc", "Musl",
    "Testing", "XCTest",
}
# Modules that a product exports besides its own.
EXPORTED = {"GRPCNIOTransportHTTP2Posix": {"GRPCNIOTransportCore"}}
# The modules without a product that a package's targets test. They come with its products.
TESTED = {
    "Tests/Fuzzing": {"CRemoteSystemsGIO", "RemoteSystemsDiscovery", "RemoteSystemsIdentity", "RemoteSystemsTransport"},
}


def manifest(package):
    with tempfile.TemporaryDirectory() as scratch:
        command = ["swift", "package", "--package-path", str(ROOT / package), "--scratch-path", scratch, "dump-package"]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def module(name):
    return re.sub(r"\W", "_", name)


def declared(target):
    """Returns the names of a target's dependencies. A product has the name of its module."""
    return {next(iter(dependency.values()))[0] for dependency in target["dependencies"]}


def imported(target, package, files):
    """Returns the modules that a target imports, each with the first file that imports it; `None` without Swift."""
    folder = "Tests" if target["type"] == "test" else "Sources"
    place = pathlib.PurePosixPath(package) / (target.get("path") or f"{folder}/{target['name']}")
    swift = sorted(path for path in files if path.suffix == ".swift" and path.is_relative_to(place))
    found = {}
    for path in swift:
        code = without_comments_and_strings((ROOT / path).read_text(encoding="utf-8"))
        for match in IMPORT.finditer(code):
            found.setdefault(match[1], path)
    return found if swift else None


def check(package, files):
    """Returns one sentence for each difference."""
    targets = manifest(package)["targets"]
    executables = {target["name"] for target in targets if target["type"] == "executable"}
    where = str(pathlib.PurePosixPath(package) / "Package.swift")
    for target in targets:
        modules = imported(target, package, files)
        if modules is None:
            continue
        names = declared(target)
        known = {module(name) for name in names}.union(*(EXPORTED.get(name, ()) for name in names))
        known |= TESTED.get(package, set())
        for name in sorted(set(modules) - known - TOOLCHAIN - {module(target["name"])}):
            yield (
                f"{modules[name]}: the target '{target['name']}' imports '{name}', which it does not declare. "
                f"Add '{name}' to the target's dependencies in {where}, or remove the import."
            )
        for name in sorted(names - executables):
            if module(name) not in modules:
                yield (
                    f"{where}: the target '{target['name']}' declares '{name}', which no source file of it imports. "
                    "Remove it from the target's dependencies."
                )


def main():
    files = git_files("--cached", "--others", "--exclude-standard")
    findings = [sentence for package in PACKAGES for sentence in check(package, files)]
    for sentence in findings:
        print(sentence)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
