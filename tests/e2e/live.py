#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Write the live state of nodes (common/live.h) every second, as the collector does.

live.py DIR: DIR/reports has a line for each node,

    NAME MEMORY PROTECTS [JOB:CLASS:USED]...

with sizes in MiB, PROTECTS 0 or 1, CLASS primary or guest.  It is read anew each time.
DIR/live is what slurmctld reads.
"""
import os
import struct
import sys
import time

MAGIC = 0x314556494C425048
HEADER = struct.Struct("=Q6I")
NODE = struct.Struct("=64sqQQII")
JOB = struct.Struct("=IIQQQ")
MIB = 1 << 20


def job_record(text):
    job, kind, used = text.split(":")
    used = int(used) * MIB
    return JOB.pack(int(job), kind == "guest", used, 0, used)


def node_record(words):
    name, memory, protects, jobs = words[0], int(words[1]) * MIB, int(words[2]), words[3:]
    return NODE.pack(name.encode(), int(time.time()), memory, memory, protects, len(jobs))


def render(lines):
    nodes = sorted(line.split() for line in lines)
    jobs = [job_record(job) for words in nodes for job in words[3:]]
    header = HEADER.pack(MAGIC, 1, HEADER.size, NODE.size, JOB.size, len(nodes), len(jobs))
    return header + b"".join(node_record(words) for words in nodes) + b"".join(jobs)


def main():
    directory = sys.argv[1]
    path = os.path.join(directory, "live")
    while True:
        with open(os.path.join(directory, "reports"), encoding="ascii") as reports:
            content = render(reports.read().splitlines())
        with open(path + ".tmp", "wb") as stream:
            os.fchmod(stream.fileno(), 0o644)
            stream.write(content)
        os.rename(path + ".tmp", path)
        time.sleep(1)


if __name__ == "__main__":
    main()
