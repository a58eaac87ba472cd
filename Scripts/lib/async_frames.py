# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Finds asynchronous functions that use more of their frame than they announce (Docs/decisions/0008-async-frames.md).

Whoever calls an asynchronous Swift function allocates its frame, as large as the function's pointer record (symbol …Tu) says.
Parts of the function that run after a suspension (…TY<n>_, …TQ<n>_) reach the frame through r14 on x86-64. An access at or
behind the announced end writes over what the task allocator keeps there.

Usage: async_frames.py BINARY…      Prints a line for each such function; exit status 1 if there is one.
"""

import re
import subprocess
import sys

SUSPENDED = re.compile(r"T[YQ]\d+_$")
ACCESS = re.compile(r"0x([0-9a-f]+)\(%r14\)")
# Forwarders have frames this small, and r14 is their callee's in what follows.
SMALLEST = 64
# How far behind the end an access counts as one to this frame rather than to something else that r14 points to.
REACH = 64


def announced_sizes(binary):
    """The frame size of each asynchronous function that has a pointer record in the binary."""
    sections = {}
    headers = subprocess.run(["objdump", "-h", "-w", binary], capture_output=True, text=True, check=True).stdout
    for name, address, offset in re.findall(
        r"^\s*\d+ (\S+)\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", headers, re.MULTILINE
    ):
        sections[name] = int(offset, 16) - int(address, 16)
    with open(binary, "rb") as file:
        data = file.read()
    sizes = {}
    symbols = subprocess.run(["objdump", "-t", "-w", binary], capture_output=True, text=True, check=True).stdout
    pattern = r"^([0-9a-f]+) .{7} (\S+)\s+[0-9a-f]+\s+(?:\.\w+ )?(\S+)Tu$"
    for address, section, name in re.findall(pattern, symbols, re.MULTILINE):
        if section in sections:
            start = int(address, 16) + sections[section] + 4
            sizes[name] = int.from_bytes(data[start : start + 4], "little")
    return sizes


def overruns(binary):
    sizes = announced_sizes(binary)
    if not sizes:
        sys.exit(f"{binary}: no asynchronous function was found, so nothing was checked.")
    found = {}
    function, size = "", 0
    with subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", binary], stdout=subprocess.PIPE, text=True
    ) as listing:
        for line in listing.stdout:
            if line.endswith(">:\n"):
                name = line[line.index("<") + 1 : -3]
                function = SUSPENDED.sub("", name)
                size = sizes.get(function, 0) if function != name else 0
            elif size >= SMALLEST:
                for offset in ACCESS.findall(line):
                    if size <= int(offset, 16) < size + REACH:
                        found.setdefault((function, size), int(offset, 16))
    return len(sizes), found


def main():
    failed = False
    for binary in sys.argv[1:]:
        count, found = overruns(binary)
        for (function, size), offset in found.items():
            failed = True
            name = subprocess.run(["swift", "demangle", "--compact", function], capture_output=True, text=True)
            print(f"{binary}: uses byte {offset} of a frame of {size}: {name.stdout.strip() or function}")
        if not found:
            print(f"{binary}: {count} asynchronous functions keep to their frames.")
    sys.exit(1 if failed else 0)


main()
