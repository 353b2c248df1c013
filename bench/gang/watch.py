# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""When jobs of this node are asked to stop and to go on: watch.py JOB...

Prints a line "TIME JOB 0|1" (CLOCK_REALTIME; 1: stopped) when it begins and for each change,
until it is told to end.  It sleeps until the kernel reports a write to a cgroup.freeze, so
that it takes next to nothing from those that it watches.  A job that ends is not stopped."""

import ctypes
import os
import re
import struct
import sys
import time

IN_MODIFY, IN_Q_OVERFLOW, IN_IGNORED = 0x2, 0x4000, 0x8000
EVENT = struct.Struct("iIII")


def freezers(jobs):
    """{job: [path]}"""
    found = {job: [] for job in jobs}
    for directory, _, files in os.walk("/sys/fs/cgroup"):
        match = re.search(r"/job_(\d+)(?:/|$)", directory)
        if match and match[1] in found and "cgroup.freeze" in files:
            found[match[1]].append(os.path.join(directory, "cgroup.freeze"))
    return found


def is_stopped(fd):
    try:
        return b"1" in os.pread(fd, 8, 0)
    except OSError:   # the group is gone
        return False


class Watch:
    def __init__(self, jobs):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_CLOEXEC)
        self.job_of = {}
        self.files = {}   # {job: [descriptor]}
        self.stopped = {}
        for job, paths in freezers(jobs).items():
            self.files[job] = [self.add(job, path) for path in paths]

    def add(self, job, path):
        watch = self.libc.inotify_add_watch(self.fd, path.encode(), IN_MODIFY)
        if self.fd < 0 or watch < 0:
            sys.exit(f"{path}: {os.strerror(ctypes.get_errno())}")
        self.job_of[watch] = job
        return os.open(path, os.O_RDONLY)

    def look(self, job, now):
        stopped = any(map(is_stopped, self.files[job]))
        if stopped != self.stopped.get(job):
            self.stopped[job] = stopped
            print(f"{now:.6f} {job} {int(stopped)}", flush=True)

    def follow(self):
        data = os.read(self.fd, 65536)
        now = time.time()
        jobs = set()
        while data:
            watch, mask, _, length = EVENT.unpack_from(data)
            data = data[EVENT.size + length:]
            if mask & IN_Q_OVERFLOW:
                sys.exit("the kernel has dropped events")
            jobs.add(self.job_of[watch])
            if mask & IN_IGNORED:
                del self.job_of[watch]
        for job in jobs:
            self.look(job, now)


def main():
    watch = Watch(sys.argv[1:])
    missing = [job for job, files in watch.files.items() if not files]
    if missing:
        sys.exit(f"no group of job {missing[0]} has cgroup.freeze")
    for job in watch.files:
        watch.look(job, time.time())
    while True:
        watch.follow()


if __name__ == "__main__":
    main()
