# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Prints how many seconds of CPU time the hpcbd of this node has taken: all its processes,
to the nanosecond, and children that it has waited for, to a clock tick.  If none runs that
is an error."""

import os
import sys


def text_of(*path):
    try:
        with open(os.path.join("/proc", *path), encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def is_hpcbd(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).split()[0] == "hpcbd"
    except OSError:
        return False


def of_threads(pid):
    return sum(int(text_of(pid, "task", thread, "schedstat").split()[0]) * 1e-9
               for thread in os.listdir(f"/proc/{pid}/task"))


def of_children(pid):
    fields = text_of(pid, "stat").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def main():
    pids = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_hpcbd(pid)]
    if not pids:
        sys.exit("no hpcbd runs here")
    print(sum(of_threads(pid) + of_children(pid) for pid in pids))


if __name__ == "__main__":
    main()
