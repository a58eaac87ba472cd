# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Finds asynchronous functions that use more of their frame than they declare (Docs/decisions/0008-async-frames.md).

The caller of an asynchronous Swift function allocates its frame, in the size that the function's pointer record (symbol
…Tu) declares. On x86-64, r14 holds the frame in the parts of the function that run after a suspension (…TY<n>_). In parts
that run after a call (…TQ<n>_), r14 holds the callee's frame, whose first word points to the function's frame. The script
follows the frame through plain moves between registers until another instruction may overwrite the register. An access at
or after the declared end overwrites data of the task allocator.

Usage: async_frames.py BINARY…      Prints a line for each such function. Exit status: 1 if there is one.
"""

import re
import subprocess
import sys

SUSPENDED = re.compile(r"T([YQ])\d+_$")
ACCESS = re.compile(r"(?<!-)0x([0-9a-f]+)\((%r\w+)\)")
MOVE = re.compile(r"\tmov\s+(%r\w+),(%r\w+)$")
PARENT = re.compile(r"\tmov\s+\(%r14\),(%r\w+)$")
TARGET = re.compile(r"(%r\w+)$")
READS_ONLY = re.compile(r"\t(cmp|test|push|jmp|call|ret|j\w+|nop|ud2|bt)\w*\s?")
CLOBBERED = {"%rax", "%rcx", "%rdx", "%rsi", "%rdi", "%r8", "%r9", "%r10", "%r11"}
# Smaller frames belong to forwarding functions, which pass the frame to their callee.
SMALLEST = 64
# The maximum distance after the end, in bytes, at which an access counts. Larger ones are errors of this analysis.
REACH = 64


def announced_sizes(binary):
    """Returns the declared frame size of each asynchronous function with a pointer record in the binary."""
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
    function, size, frame, callee = "", 0, set(), False
    with subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", binary], stdout=subprocess.PIPE, text=True
    ) as listing:
        for line in listing.stdout:
            line = line.rstrip("\n")
            if line.endswith(">:"):
                name = line[line.index("<") + 1 : -2]
                part = SUSPENDED.search(name)
                function = SUSPENDED.sub("", name)
                size = sizes.get(function, 0) if part else 0
                callee = bool(part) and part.group(1) == "Q"
                frame = set() if callee else {"%r14"}
                continue
            if size < SMALLEST or "\t" not in line:
                continue
            line = line.split(" <")[0].split(" #")[0].rstrip()
            for offset, register in ACCESS.findall(line):
                if register in frame and size <= int(offset, 16) < size + REACH:
                    found.setdefault((function, size), int(offset, 16))
            frame, callee = followed(line, frame, callee)
    return len(sizes), found


def followed(line, frame, callee):
    """Returns the registers that hold the frame after an instruction, and whether r14 holds the callee's frame."""
    if "\tcall" in line:
        return frame - CLOBBERED, callee
    if READS_ONLY.search(line):
        return frame, callee
    target = TARGET.search(line)
    if not target:
        return frame, callee
    target = target.group(1)
    move, parent = MOVE.search(line), PARENT.search(line)
    holds = (move and move.group(1) in frame) or (parent and callee)
    frame = frame | {target} if holds else frame - {target}
    return frame, callee and target != "%r14"


def main():
    failed = False
    for binary in sys.argv[1:]:
        count, found = overruns(binary)
        for (function, size), offset in found.items():
            failed = True
            name = subprocess.run(["swift", "demangle", "--compact", function], capture_output=True, text=True)
            print(f"{binary}: uses byte {offset} of a frame of {size}: {name.stdout.strip() or function}")
        if not found:
            print(f"{binary}: {count} asynchronous functions stay within their frames.")
    sys.exit(1 if failed else 0)


main()
