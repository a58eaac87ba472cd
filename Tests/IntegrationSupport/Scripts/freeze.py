# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Stops one thread of a process while the others continue, which simulates a hung event loop.

usage: freeze.py PROCESS NAME   NAME is the beginning of the thread's name. The thread continues when this program ends.
"""

import ctypes
import os
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207

process, name = sys.argv[1:]
tasks = f"/proc/{process}/task"
names = {}
for task in os.listdir(tasks):
    try:
        with open(f"{tasks}/{task}/comm", encoding="utf-8") as comm:
            names[int(task)] = comm.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        # The thread has ended since it was listed.
        continue
threads = sorted(thread for thread in names if names[thread].startswith(name))
if not threads:
    sys.exit(f"no thread's name begins with {name}: {sorted(names.values())}")
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
for request in PTRACE_SEIZE, PTRACE_INTERRUPT:
    if libc.ptrace(request, threads[0], None, None) != 0:
        sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")
print("frozen", flush=True)
# Runs until the thread has ended. The kernel reports its end to the tracer, which must reap it.
while True:
    try:
        _, status = os.waitpid(threads[0], 0x40000000)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            break
    except ChildProcessError:
        break
