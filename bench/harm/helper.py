# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Does a primary a known harm: takes a part of its CPU, ahead of it, while a guest may run.

helper.py PART END GUEST PID: until END exists; GUEST is a file with the names of the
guest's cgroup.freeze, a line each, and appears when the guest has begun; PID is the
primary.  Pieces of a millisecond come at random, so that no rhythm of the primary meets
them more or less often.

At its end it prints as JSON what part it has taken, by its own CPU time, of the time in
which the guest might run ("taken"), and what the primary had in that time ("beside") and
before the guest had begun ("alone"): nanoseconds on a CPU and in wait of one."""

import json
import os
import random
import sys
import time

PIECE_NS = 1_000_000


def is_asked_to_stop(files):
    return any(b"1" in os.pread(fd, 8, 0) for fd in files)


def burn():
    until = time.thread_time_ns() + PIECE_NS
    while time.thread_time_ns() < until:
        pass


def guest_files(name):
    """Of a guest that has not begun there are none."""
    if not os.path.exists(name):
        return None
    with open(name, encoding="utf-8") as file:
        return [os.open(line, os.O_RDONLY) for line in file.read().split("\n") if line]


def main():
    part, end, guest, pid = float(sys.argv[1]), *sys.argv[2:5]
    primary = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)
    rng = random.Random(part)
    files, taken, shared = None, 0, 0
    had = {"alone": [0, 0], "beside": [0, 0]}
    seen = time.monotonic_ns()
    before = None
    while not os.path.exists(end):
        # What it takes to look costs the primary as much without a guest.
        time.sleep(rng.expovariate(1) * (PIECE_NS / part - PIECE_NS) * 1e-9 if part else 0.05)
        stopped = files is not None and is_asked_to_stop(files)
        if part and files is not None and not stopped:
            begin = time.thread_time_ns()
            burn()
            taken += time.thread_time_ns() - begin
        now = time.monotonic_ns()
        figures = [int(word) for word in os.pread(primary, 80, 0).split()[:2]]
        if before and not stopped:
            sums = had["alone" if files is None else "beside"]
            for index in range(2):
                sums[index] += figures[index] - before[index]
        shared += now - seen if files is not None and not stopped else 0
        seen, before = now, figures
        if files is None:
            files = guest_files(guest)
    print(json.dumps({"taken": taken / shared if shared else 0, **had}))


main()
