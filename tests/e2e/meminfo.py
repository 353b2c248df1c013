#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Give a node of the sandbox memory of its own, as its daemons see it.

meminfo.py FILE MIB: FILE, which exists and is mounted over /proc/meminfo of the node, says
that the node has MIB MiB, of which is available what the node's processes and files in
memory do not take.  What others on the machine do changes nothing.  Runs in the node until
it is ended.
"""
import os
import sys
import time

MIB = 1 << 20
SECONDS = 0.02
# (the node's group, the names of what nothing but an end gives back) on cgroup v1 and v2.
STAT = (("/sys/fs/cgroup/memory/memory.stat", ("total_rss", "total_shmem")),
        ("/sys/fs/cgroup/memory.stat", ("anon", "shmem")))


def used(path, names):
    with open(path, encoding="ascii") as stream:
        fields = dict(line.split() for line in stream)
    return sum(int(fields.get(name, 0)) for name in names)


def main():
    target, total = sys.argv[1], int(sys.argv[2]) * MIB
    path, names = next(found for found in STAT if os.path.exists(found[0]))
    while True:
        available = max(total - used(path, names), 0)
        # In place, as it is mounted; always as long, and so with one write.
        text = (f"MemTotal: {total // 1024:>12} kB\nMemFree: {available // 1024:>12} kB\n"
                f"MemAvailable: {available // 1024:>12} kB\n"
                f"HugePages_Total: {0:>12}\nSwapFree: {0:>12} kB\n")
        with open(target, "r+b", buffering=0) as stream:
            stream.write(text.encode())
        time.sleep(SECONDS)


if __name__ == "__main__":
    main()
