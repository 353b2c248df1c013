# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Does a primary a known harm: takes a part of its CPU, ahead of it, while a guest may run.

helper.py PART DIRECTORY PID: PID is the primary, and files of DIRECTORY say what goes on:
"alone": the primary is alone; "starts": its guest is being started; "guest": that has
begun, and these are the names of its cgroup.freeze, a line each; "ends": it is cancelled;
"after": the primary is alone again; "end": the run is over.
Pieces of a millisecond come at random, so that no rhythm of the primary meets them more
or less often.

At its end it prints as JSON what part it has taken, by its own CPU time, of the time in
which the guest might run ("taken"), and what the primary had in that time ("beside") and
while it was alone, before and after ("alone"): nanoseconds on a CPU and in wait of one.
What starts and ends jobs takes a CPU, too, and counts as neither."""

import errno
import json
import os
import random
import sys
import time

PIECE_NS = 1_000_000


def is_asked_to_stop(files):
    """Also if it has ended: its group is gone before "ends" is seen here."""
    try:
        return any(b"1" in os.pread(fd, 8, 0) for fd in files)
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        return True


def burn():
    until = time.thread_time_ns() + PIECE_NS
    while time.thread_time_ns() < until:
        pass


def guest_files(name):
    with open(name, encoding="utf-8") as file:
        return [os.open(line, os.O_RDONLY) for line in file.read().split("\n") if line]


def main():
    part, directory, pid = float(sys.argv[1]), *sys.argv[2:4]
    phases = ["alone", "starts", "guest", "ends", "after", "end"]
    primary = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)
    rng = random.Random(part)
    phase, files, taken, shared = "", [], 0, 0
    had = {"alone": [0, 0], "guest": [0, 0]}
    counts = {"alone": "alone", "guest": "guest", "after": "alone"}
    seen = time.monotonic_ns()
    before = None
    while not os.path.exists(os.path.join(directory, "end")):
        # What it takes to look costs the primary as much without a guest.
        time.sleep(rng.expovariate(1) * (PIECE_NS / part - PIECE_NS) * 1e-9 if part else 0.05)
        may_run = phase == "guest" and not is_asked_to_stop(files)
        if part and may_run:
            begin = time.thread_time_ns()
            burn()
            taken += time.thread_time_ns() - begin
        now = time.monotonic_ns()
        figures = [int(word) for word in os.pread(primary, 80, 0).split()[:2]]
        if before and phase in counts and (may_run or phase != "guest"):
            for index in range(2):
                had[counts[phase]][index] += figures[index] - before[index]
        shared += now - seen if may_run else 0
        seen, before = now, figures
        if os.path.exists(os.path.join(directory, phases[0])):
            phase = phases.pop(0)
            if phase == "guest":
                files = guest_files(os.path.join(directory, phase))
    print(json.dumps({"taken": taken / shared if shared else 0, "alone": had["alone"],
                      "beside": had["guest"]}))


if __name__ == "__main__":
    main()
