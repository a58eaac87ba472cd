# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Tries to open, lock or connect to each path as another user: USER PATHS, one path a line.

Prints what succeeded, and the number of paths at which everything was refused.
"""

import fcntl
import os
import socket
import sys

paths = sys.argv[2].split("\n")
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def lock(path):
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)


refused = 0
for path in paths:
    is_refused = True
    for attack in (read, lock, connect, os.listdir, os.unlink, os.stat if path != paths[-1] else os.rmdir):
        try:
            attack(path)
            print(f"{attack.__name__} {path}", flush=True)
            is_refused = False
        except OSError:
            pass
    refused += is_refused
print(f"refused {refused}", flush=True)
