# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The machine around a measurement: is it otherwise idle, and what did the
hypervisor take?  run_delay counts every competitor, not only our guest, and does not
see steal; wall time sees both."""

import os
import platform
import time
from collections import namedtuple
from contextlib import suppress

Use = namedtuple("Use", "when busy steal idle")  # seconds of all CPUs since boot

TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def processor(text):
    """Its name in the text of /proc/cpuinfo, which is another field on POWER; "" if none is
    there."""
    names = [line.partition(":")[2].strip() for line in text.splitlines()
             if line.startswith(("model name", "cpu\t"))]
    return names[0] if names else ""


def facts():
    """What a reader of the figures wants to know of the machine; never compared."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        name = processor(file.read())
    return {"cpu": name or platform.machine(), "cpus": os.cpu_count(),
            "kernel": platform.release(), "date": time.strftime("%Y-%m-%d", time.gmtime())}


def title(found):
    """Of facts(), in a sentence."""
    return f"{found['cpu']}, {found['cpus']} CPUs, Linux {found['kernel']}, {found['date']}"


def parse_stat(text):
    """(busy, steal, idle) in seconds from /proc/stat's first line (proc(5)): user nice
    system idle iowait irq softirq steal.  Time of guest machines is in user already.
    Not busy: softirq, which is the network's work for whoever communicates, and so a
    measured job's own; between nodes of a sandbox it is a sixth of the machine."""
    fields = text.split("\n", 1)[0].split()
    if len(fields) < 9 or fields[0] != "cpu":
        raise ValueError("/proc/stat: no line of all CPUs")
    user, nice, system, idle, iowait, irq, _softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq) * TICK, steal * TICK, (idle + iowait) * TICK


def use():
    """What all CPUs have done until now."""
    with open("/proc/stat", encoding="ascii") as stat:
        busy, steal, idle = parse_stat(stat.readline())
    return Use(time.monotonic(), busy, steal, idle)


def used_in(directory):
    """CPU seconds of all processes whose working directory it is, and of those that they
    have waited for."""
    wanted = os.path.realpath(directory)
    seconds = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") != wanted:
                continue
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        seconds += sum(map(int, fields[11:15])) * TICK
    return seconds


def wait_idle(limit, patience, step=0.5, sleep=time.sleep, read=use):
    """Wait until the CPUs are busy for at most `limit` (fraction of all) during a
    step, `patience` seconds at most (0: do not even look).  Returns the last fraction:
    the caller says so when it is above the limit."""
    if patience <= 0:
        return 0.0
    cpus = os.cpu_count() or 1
    deadline = read().when + patience
    while True:
        before = read()
        sleep(step)
        after = read()
        elapsed = max(after.when - before.when, 1e-3)
        fraction = (after.busy - before.busy + after.steal - before.steal) / (
            cpus * elapsed)
        if fraction <= limit or after.when >= deadline:
            return fraction


# Above hpcbd and the jobs that it favours: those would keep us from what we are to do.
PRIORITY = 41


def become_realtime():
    """This thread, not what it starts; nothing where the kernel does not allow it."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK,
                              os.sched_param(PRIORITY))
