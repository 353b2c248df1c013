# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Two jobs side by side on two CPUs of this machine, and what each one did.

A job is of a kind.  Some kinds keep a trace of what they have done (membench: bytes,
the filler: CPU time), others are applications that are run over and over: what they
do is counted in whole runs.
"""

import contextlib
import json
import math
import os
import select
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

import children
import machine
import stats
from cluster import BenchError, last_line
from jobs import read_text
from pairing.maths import FILLER

# Whatever happens to us, no job outlives this.
LONGEST_SECONDS = 120

# A measurement is repeated, whatever its figures, when one of its jobs did not have
# its CPU for this part of the time; and only so often.
MAX_LOST = 0.05
MAX_ATTEMPTS = 3

# A slice of a measurement in which jobs take turns, and what does not count at its two
# ends: samples come every 10 ms.
SLICE_SECONDS = 0.13
EDGE_SECONDS = 0.015

# Open MPI starts no daemon for a program that runs as one process.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMPI_MCA_ess_singleton_isolated": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Kind:
    name: str
    title: str
    program: str            # one of ours, or a command
    arguments: tuple = ()
    package: str = None     # of an application
    prepare: object = None  # writes its input to a directory

    @property
    def application(self):
        return self.package is not None


class Job:
    """One side of a pair, on a CPU of its own."""

    def __init__(self, kind, cpu, argv, directory):
        self.kind = kind
        self.cpu = cpu
        self.argv = argv
        self.directory = directory
        self.process = None
        self.runs = []     # (start, end, CPU seconds) of whole runs
        self.began = None

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self):
        self.began = time.monotonic()
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            children.start(
                self.keep, self.argv, lambda: os.sched_setaffinity(0, {self.cpu}),
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env={**os.environ, **ENVIRONMENT}, start_new_session=True)

    def keep(self, process):
        self.process = process

    def words(self):
        for name in ("err", "out"):
            with open(self.path(name), encoding="utf-8", errors="replace") as f:
                text = f.read()
            if text.strip():
                return last_line(text)
        return "no message"

    def reap(self, expected):
        """Wait for its end; the CPU time of it and of what it has waited for."""
        end = time.monotonic()
        _pid, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode not in expected:
            raise BenchError(f"{self.kind.name} ({' '.join(self.argv)}) ended with "
                             f"status {self.process.returncode}: {self.words()}")
        return end, usage.ru_utime + usage.ru_stime

    def ended(self):
        """A whole run of an application is over."""
        end, cpu = self.reap((0,))
        self.runs.append((self.began, end, cpu))

    def signal(self, number):
        os.kill(self.process.pid, number)

    def stop(self):
        """End it; ours print their result then."""
        self.signal(signal.SIGTERM)
        self.reap((0, -signal.SIGTERM) if self.kind.application else (0,))

    def kill(self):
        """After an error: whatever it has started goes with it."""
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def samples(self):
        try:
            with open(self.path("trace"), encoding="ascii") as f:
                text = f.read()
        except FileNotFoundError:
            return []
        lines = text[:text.rfind("\n") + 1].splitlines()
        return [tuple(map(float, line.split())) for line in lines]

    def rate(self, windows):
        """What it did in a second of these windows, [(start, end)]."""
        if self.kind.application:
            return len(self.runs) / (self.runs[-1][1] - self.runs[0][0])
        samples = self.samples()
        return (sum(stats.growth(samples, start, end) for start, end in windows) /
                sum(end - start for start, end in windows))

    def waited(self):
        """Seconds that its threads have waited for their CPU, stopped ones do not."""
        tasks = f"/proc/{self.process.pid}/task"
        fields = [read_text(f"{tasks}/{task}/schedstat").split()
                  for task in os.listdir(tasks)]
        return sum(int(of_task[1]) for of_task in fields if of_task) / 1e9

    def lost(self):
        """The part of its time in which it did not have its CPU."""
        if self.kind.application:
            wall = sum(end - start for start, end, _cpu in self.runs)
            return max(0.0, 1 - sum(cpu for _start, _end, cpu in self.runs) / wall)
        with open(self.path("out"), encoding="ascii") as f:
            return json.loads(f.readline())["stolen"]


class Runner:
    """Measures pairs: with Runner(...) as runner: runner.measure(a, b, swapped)."""

    def __init__(self, programs, kinds, cpus, seconds, directory):
        self.programs = programs     # the directory of ours
        self.kinds = {kind.name: kind for kind in kinds}
        self.cpus = cpus
        self.seconds = seconds
        self.directory = directory

    def argv(self, kind):
        if kind.application:
            return [kind.program, *kind.arguments]
        return [os.path.join(self.programs, kind.program), *kind.arguments,
                "--trace", "trace"]

    def job(self, name, cpu, side):
        kind = self.kinds[name]
        directory = os.path.join(self.directory, side)
        shutil.rmtree(directory, ignore_errors=True)
        os.mkdir(directory)
        if kind.prepare:
            kind.prepare(directory)
        return Job(kind, cpu, self.argv(kind), directory)

    def measure(self, a, b, swapped):
        """(rates, lost, tries): swapped puts a on the second CPU.  Rates are those of a
        and b beside each other; where both keep a trace, what each did alone in slices of
        the same second follows: what this machine can do changes from second to second
        where others share its memory."""
        tries = []
        while len(tries) < MAX_ATTEMPTS:
            tries.append(self.attempt(a, b, swapped))
            if tries[-1][1] <= MAX_LOST:
                break
        return *min(tries, key=lambda found: found[1]), len(tries)

    def attempt(self, a, b, swapped):
        cpus = self.cpus[::-1] if swapped else self.cpus
        jobs = [self.job(a, cpus[0], "a"), self.job(b, cpus[1], "b")]
        in_turns = FILLER not in (a, b) and not any(job.kind.application for job in jobs)
        if in_turns:
            jobs += [self.job(FILLER, cpus[1], "c"), self.job(FILLER, cpus[0], "d")]
        before = machine.use()
        try:
            rates, lost = (self.run_in_turns if in_turns else self.run_both)(jobs)
        except BaseException:
            for job in jobs:
                job.kill()
            raise
        after = machine.use()
        return rates, lost + (after.steal - before.steal) / (after.when - before.when)

    def run_both(self, both):
        """What each did in a second, and what it lost."""
        window = self.run(both)
        return (tuple(job.rate([window]) for job in both),
                max(job.lost() for job in both))

    def run_in_turns(self, jobs):
        """The same for two jobs that are beside each other in one slice, and beside
        their fillers, the other two, in the next ones."""
        first, second, beside_first, beside_second = jobs
        sides = {"both": (first, second), "first": (first, beside_first),
                 "second": (second, beside_second)}
        windows = {name: [] for name in sides}
        for job in jobs:
            job.start()
        for job in jobs:
            self.wait_trace(job)
        waited = [job.waited() for job in sides["both"]]
        began = time.monotonic()
        for name in ("both", "first", "both", "second") * self.rounds():
            windows[name].append(self.turn(jobs, sides[name]))
        ran = (time.monotonic() - began) * 3 / 4
        lost = max(job.waited() - before
                   for job, before in zip(sides["both"], waited)) / ran
        for job in jobs:
            job.signal(signal.SIGCONT)
            job.stop()
        return (first.rate(windows["both"]), second.rate(windows["both"]),
                first.rate(windows["first"]), second.rate(windows["second"])), lost

    def rounds(self):
        """Of four slices, so that two are of `seconds`."""
        return math.ceil(self.seconds / (2 * (SLICE_SECONDS - 2 * EDGE_SECONDS)))

    @staticmethod
    def turn(jobs, running):
        """A slice of those; what of it counts."""
        for job in jobs:
            if job not in running:
                job.signal(signal.SIGSTOP)
        for job in running:
            job.signal(signal.SIGCONT)
        start = time.monotonic()
        time.sleep(SLICE_SECONDS)
        return start + EDGE_SECONDS, time.monotonic() - EDGE_SECONDS

    def run(self, both):
        """Run both; the window in which they ran side by side."""
        traced = [job for job in both if not job.kind.application]
        applications = [job for job in both if job.kind.application]
        for job in traced:
            job.start()
        for job in traced:
            self.wait_trace(job)
        start = time.monotonic()
        if applications:
            self.run_applications(applications)
        else:
            time.sleep(self.seconds)
        end = time.monotonic()
        for job in traced:
            job.stop()
        return start, end

    @staticmethod
    def wait_trace(job):
        """Its memory is touched and it works."""
        deadline = time.monotonic() + LONGEST_SECONDS
        while not job.samples():
            if job.process.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"{job.kind.name} does not start: {job.words()}")
            time.sleep(0.01)

    @staticmethod
    def run_applications(applications):
        """Run each over and over until each has run once; none is ever beside an idle
        CPU then.  Runs that are under way at the end do not count."""
        poll = select.poll()
        by_fd = {}
        deadline = time.monotonic() + LONGEST_SECONDS

        def start(job):
            job.start()
            fd = os.pidfd_open(job.process.pid)
            by_fd[fd] = job
            poll.register(fd, select.POLLIN)

        def forget(fd):
            poll.unregister(fd)
            os.close(fd)
            return by_fd.pop(fd)

        try:
            for job in applications:
                start(job)
            while not all(job.runs for job in applications):
                left = deadline - time.monotonic()
                found = poll.poll(left * 1000) if left > 0 else []
                if not found:
                    raise BenchError(f"{applications[0].kind.name}: not done after "
                                     f"{LONGEST_SECONDS} s")
                for fd, _event in found:
                    job = forget(fd)
                    job.ended()
                    if not all(other.runs for other in applications):
                        start(job)
            for job in list(by_fd.values()):
                job.stop()
        finally:
            for fd in list(by_fd):
                forget(fd)


def filler():
    """Keeps a CPU busy and memory out of it, so that a job alone has neither more of
    the machine nor less company on its CPU than in a pair."""
    return Kind(FILLER, "registers only", "guest-burn",
                ("--max-seconds", str(LONGEST_SECONDS), "--every-ms", "10"))
