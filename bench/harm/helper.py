# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Does a primary a known harm: takes a part of its CPU, ahead of it, while a guest may run.

helper.py PART END FILE...: until END exists; the FILEs are the guest's cgroup.freeze.  At
its end it prints which part it has taken, by its own CPU time, of the time in which the
guest might run.  Pieces of a millisecond come at random, so that no rhythm of the primary
meets them more or less often."""

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


def main():
    part, end = float(sys.argv[1]), sys.argv[2]
    files = [os.open(name, os.O_RDONLY) for name in sys.argv[3:]]
    rng = random.Random(part)
    taken = shared = 0
    seen = time.monotonic_ns()
    while not os.path.exists(end):
        # What it takes to look costs the primary as much without a guest.
        time.sleep(rng.expovariate(1) * (PIECE_NS / part - PIECE_NS) * 1e-9 if part else 0.05)
        stopped = is_asked_to_stop(files)
        if part and not stopped:
            begin = time.thread_time_ns()
            burn()
            taken += time.thread_time_ns() - begin
        now = time.monotonic_ns()
        shared += 0 if stopped else now - seen
        seen = now
    print(taken / shared if shared else 0)


main()
