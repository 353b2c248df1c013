# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A primary with guests and its twin without them, in turns on the same CPUs.

A machine's speed that drifts from run to run hits two runs differently, but not two
processes that run by turns, a quarter of a second each.  So the same primary runs twice
at once: in a slice of "a" one of them and all guests go on and the other one is stopped,
in a slice of "b" the other one goes on alone.  What each took is the sum of its slices
between its start and its end.
"""

import os
import signal
import threading
import time
from collections import namedtuple
from contextlib import suppress

import machine

HALVES = ("a", "b")
SLICE_SECONDS = 0.25
WRAPPER = "thesis-getstats"[:15]  # as /proc tells it

# Processes are looked for at each edge until so many slices have passed since both are
# there, then at every eighth; before that all the time, or one of them would begin in a
# slice of the other one.
EAGER_SLICES = 16
START_SECONDS = 0.02

Process = namedtuple("Process", "parent name cwd")
Slice = namedtuple("Slice", "start end half")


def read_processes():
    """{pid: Process} of this machine."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                head, _, tail = stat.read().rpartition(")")
            found[int(pid)] = Process(int(tail.split()[1]), head.partition("(")[2],
                                      os.readlink(f"/proc/{pid}/cwd"))
    return found


def applications(processes, directory):
    """pids of what was started by wrappers in a directory; without the wrappers."""
    def is_wrapper(pid):
        return (processes[pid].name == WRAPPER and
                os.path.commonpath([processes[pid].cwd, directory]) == directory)

    def has_wrapper(pid):
        pid = processes[pid].parent
        while pid in processes:
            if is_wrapper(pid):
                return True
            pid = processes[pid].parent
        return False

    return {pid for pid in processes if not is_wrapper(pid) and has_wrapper(pid)}


def active(slices, half, start, end):
    """Seconds of a half's slices from start to end."""
    return sum(max(0.0, min(one.end, end) - max(one.start, start))
               for one in slices if one.half == half)


def kill(pids, number):
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


class Turns:
    """with Turns(guests, a, b) as turns: ...  Directories whose processes take turns;
    those of guests with those of a.  Afterwards all go on, and turns.slices is what has
    been."""

    def __init__(self, guests, a, b, tasks):
        self.guests = guests
        self.own = dict(zip(HALVES, (a, b)))
        self.tasks = tasks
        self.pids = {"a": set(), "b": set()}
        self.here = False   # all tasks of both have begun
        self.slices = []
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.take)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def look(self):
        processes = read_processes()
        self.pids = {half: applications(processes, directory)
                     for half, directory in self.own.items()}
        self.here = self.here or all(len(own) >= self.tasks
                                     for own in self.pids.values())
        for directory in self.guests:
            self.pids["a"] |= applications(processes, directory)

    def ended(self, half):
        return os.path.exists(os.path.join(self.own[half], "done"))

    def next_half(self, half):
        """Who goes on: the other one, unless that has ended."""
        other = "b" if half == "a" else "a"
        return half if self.ended(other) else other

    def go_on(self, half):
        kill(self.pids["b" if half == "a" else "a"], signal.SIGSTOP)
        kill(self.pids[half], signal.SIGCONT)

    def pass_slice(self, half):
        start = time.monotonic()
        while not self.here and time.monotonic() < start + SLICE_SECONDS:
            if self.end.wait(START_SECONDS):
                break
            self.look()
            self.go_on(half)
        self.end.wait(start + SLICE_SECONDS - time.monotonic())
        self.slices.append(Slice(start, time.monotonic(), half))

    def take(self):
        machine.become_realtime()
        half, number = "a", 0
        try:
            while not self.end.is_set():
                if number < EAGER_SLICES or number % 8 == 0:
                    self.look()
                half = self.next_half(half)
                self.go_on(half)
                self.pass_slice(half)
                number += self.here
        finally:
            self.look()
            kill(self.pids["a"] | self.pids["b"], signal.SIGCONT)
