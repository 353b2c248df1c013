# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A small node on this machine: a group of the memory controller whose limit is all memory
that the node has, with groups for jobs below it as Slurm makes them, and hpcbd, which sees
that group's memory in the place of /proc/meminfo.

If the group is full, the kernel reclaims and kills in it as it does on a node that is full.
Version 1 (memory and freezer) and 2 of cgroups.  Needs root.
"""

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

import machine
from cluster import BenchError

MIB = 1 << 20
# How often what hpcbd reads as /proc/meminfo is written.
MEMINFO_SECONDS = 0.005
# And how long nobody does, at least: on an emulated CPU it takes long.
MEMINFO_PAUSES = 4    # times what it took
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18
STEP = {1: "step_0", 2: "step_0/user/task_0"}


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as stream:
        return stream.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


def fields(text):
    """{name: number} of lines "name number"."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}


def mounts():
    """{controller: directory} of version 1, and {"": directory} of version 2."""
    found = {}
    for line in read("/proc/self/mounts").splitlines():
        _, directory, kind, options, *_ = line.split()
        if kind == "cgroup":
            found.update({name: directory for name in options.split(",")})
        elif kind == "cgroup2":
            found.setdefault("", directory)
    return found


def own_group(controller):
    """The path of this process's group in a hierarchy of version 1."""
    for line in read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            return path.lstrip("/")
    return ""


def remove_groups(top):
    for directory, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def mount_over(source, target):
    """Bind-mount for this process and its children only; between fork and exec."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(CLONE_NEWNS) or
            libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) or
            libc.mount(source.encode(), target.encode(), None, MS_BIND, None)):
        raise OSError(ctypes.get_errno(), target)


class Groups:
    """The groups of the node and its jobs."""

    def __init__(self, mib):
        found = mounts()
        self.version = 1 if "memory" in found else 2
        name = f"hpcb_bench_{os.getpid()}"
        if self.version == 1:
            self.memory = os.path.join(found["memory"], own_group("memory"), name)
            self.freezer = os.path.join(found["freezer"], own_group("freezer"), name)
            self.jobs = "slurm_bench/uid_0"
        else:
            self.memory = self.freezer = os.path.join(found[""], name)
            write(os.path.join(found[""], "cgroup.subtree_control"), "+memory")
            self.jobs = "system.slice/bench_slurmstepd.scope"
        for top in self.tops():
            os.makedirs(top)
        self.allow("")
        self.limit("", mib)

    def tops(self):
        return {self.memory, self.freezer}

    def allow(self, below):
        """Give the groups below the node's the memory controller, on version 2."""
        if self.version == 1:
            return
        place = self.memory
        for part in ["", *filter(None, below.split("/"))]:
            place = os.path.join(place, part)
            write(os.path.join(place, "cgroup.subtree_control"), "+memory")

    def limit(self, below, mib):
        knob = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        write(os.path.join(self.memory, below, knob), str(mib * MIB))

    def job(self, number):
        return f"{self.jobs}/job_{number}"

    def add_job(self, number, mib):
        """As Slurm does it: the limit is what the job was promised."""
        job = self.job(number)
        for top in self.tops():
            os.makedirs(os.path.join(top, job, STEP[self.version]))
        self.allow(job)
        self.limit(job, mib)

    def enter(self, number):
        for top in self.tops():
            write(os.path.join(top, self.job(number), STEP[self.version], "cgroup.procs"),
                  str(os.getpid()))

    def used(self, below=""):
        knob = "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        return int(read(self.memory, below, knob))

    def reclaimable(self):
        """Clean page cache that nobody used lately, and nothing that waits for a disk."""
        stat = fields(read(self.memory, "memory.stat"))
        names = (("total_inactive_file", "total_dirty", "total_writeback")
                 if self.version == 1 else
                 ("inactive_file", "file_dirty", "file_writeback"))
        cache, dirty, writeback = (stat.get(name, 0) for name in names)
        return max(cache - dirty - writeback, 0)

    def kills(self, number):
        """How many processes of the job the kernel has killed for want of memory."""
        knob = "memory.oom_control" if self.version == 1 else "memory.events"
        total = 0
        for directory, _, _ in os.walk(os.path.join(self.memory, self.job(number))):
            total += fields(read(directory, knob)).get("oom_kill", 0)
            if self.version == 2:
                break
        return total

    def remove(self):
        for top in self.tops():
            remove_groups(top)


class SmallNode:
    """with SmallNode(build, mib) as node: hpcbd runs."""

    def __init__(self, build, mib):
        self.build, self.mib = build, mib
        self.directory = tempfile.mkdtemp(prefix="hpcb-memory.", dir="/dev/shm")
        self.groups = self.daemon = self.writer = None
        self.ended = threading.Event()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def start(self):
        os.chmod(self.directory, 0o755)
        for name in ("run/jobs", "spool"):
            os.makedirs(self.path(name), mode=0o755)
        write(self.path("conf"), f"StateDir={self.path('run')}\n"
              f"SpoolDir={self.path('spool')}\nBalancePages={self.path('pages')}\n"
              "GuestMemory=unused\n")
        self.groups = Groups(self.mib)
        write(self.path("meminfo"), "")
        self.write_meminfo()
        self.writer = threading.Thread(target=self.keep_meminfo, daemon=True)
        self.writer.start()
        with open(self.path("log"), "w", encoding="ascii") as log:
            self.daemon = subprocess.Popen(
                [os.path.join(self.build, "hpcbd", "hpcbd"), "--config", self.path("conf")],
                stdin=subprocess.DEVNULL, stderr=log,
                preexec_fn=lambda: mount_over(self.path("meminfo"), "/proc/meminfo"))

    def available(self):
        return self.mib * MIB - self.groups.used() + self.groups.reclaimable()

    def write_meminfo(self):
        """In place, as it is mounted; always as long, and so with one write."""
        text = (f"MemTotal: {self.mib * 1024:>12} kB\n"
                f"MemAvailable: {max(self.available(), 0) // 1024:>12} kB\n"
                f"HugePages_Total: {0:>12}\nSwapFree: {0:>12} kB\n")
        with open(self.path("meminfo"), "r+b", buffering=0) as stream:
            stream.write(text.encode())

    def keep_meminfo(self):
        machine.become_realtime()
        took = 0
        while not self.ended.wait(max(MEMINFO_SECONDS, MEMINFO_PAUSES * took)):
            begin = time.monotonic()
            self.write_meminfo()
            took = time.monotonic() - begin

    def start_in(self, number, command, mib, guest):
        """A job's process, before hpcbd hears of the job."""
        self.groups.add_job(number, mib)

        def enter():
            self.groups.enter(number)
            if guest:  # as spank/ does it
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
                write("/proc/self/oom_score_adj", "1000")

        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True, preexec_fn=enter)

    def announce(self, number, kind):
        place = os.path.join(self.groups.freezer, self.groups.job(number))
        write(self.path("run", "jobs", f"{number}.place"), place)
        write(self.path("run", "jobs", f"{number}.new"),
              f"JobId={number}\nUid=0\nClass={kind}\nPolicy=none\nYieldWaits=no\n"
              f"Partition=p\nBegin={time.time_ns() // 1000}\n")
        os.rename(self.path("run", "jobs", f"{number}.new"),
                  self.path("run", "jobs", str(number)))

    def job_used(self, number):
        """Bytes; 0 for a job that has gone."""
        try:
            return self.groups.used(self.groups.job(number))
        except OSError:
            return 0

    def sees(self, number):
        """Bytes that hpcbd says the job uses; 0: it does not know the job."""
        try:
            jobs = json.loads(read(self.path("run/memory")))["node"]["jobs"]
        except (OSError, ValueError):
            return 0
        return sum(job["used"] for job in jobs if job["job_id"] == number)

    def end_jobs(self):
        """What remains of them in their groups is killed; hpcbd forgets them."""
        for number in os.listdir(self.path("run/jobs")):
            os.unlink(self.path("run/jobs", number))
        end = time.monotonic() + 20
        top = os.path.join(self.groups.freezer, self.groups.jobs)
        while os.path.isdir(top):
            for directory, _, _ in os.walk(top):
                for pid in read(directory, "cgroup.procs").split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), 9)
            for place in self.groups.tops():
                remove_groups(os.path.join(place, self.groups.jobs))
            if time.monotonic() > end:
                raise BenchError(f"{top}: processes that do not end")
            time.sleep(0.01)

    def stop(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(timeout=20)
        if self.groups:
            self.end_jobs()
        self.ended.set()
        if self.writer:
            self.writer.join()
        if self.groups:
            self.groups.remove()
        shutil.rmtree(self.directory, ignore_errors=True)
