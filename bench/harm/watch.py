# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""When a guest is asked to stop and to go on: watch.py SECONDS FILE..., its cgroup.freeze.
Prints [[CLOCK_REALTIME, stopped], ...] at the end."""

import json
import os
import sys
import time

LOOK_SECONDS = 0.0005


def main():
    end = time.monotonic() + float(sys.argv[1])
    files = [os.open(name, os.O_RDONLY) for name in sys.argv[2:]]
    switches = []
    before = False
    while time.monotonic() < end:
        stopped = any(b"1" in os.pread(fd, 8, 0) for fd in files)
        if stopped != before:
            switches.append([time.time(), stopped])
        before = stopped
        time.sleep(LOOK_SECONDS)
    print(json.dumps(switches))


main()
