# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Two-rank MPI programs that take turns on the same CPUs (bench/turns.h).

A process that starts anew meets another machine: other pages, other core speed, other
neighbours.  So each program runs for long, once with each library, all of them at once,
and they work by turns of a fraction of a second; those that are not at turn sleep.
"""

import contextlib
import json
import os
import random
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

import children
from cluster import BenchError

RANKS = 2
NOTHING = "nothing"  # the name of a program without a library
LOCAL = {
    "openmpi": "mpiexec.openmpi -n 2 --oversubscribe --bind-to none",
    "mpich": "mpiexec.mpich -n 2",
}
# How each MPI is told which way messages take between the two local ranks: tcp is what it
# does between nodes, over the loopback device.
TRANSPORTS = {
    ("openmpi", "shm"): {},
    ("openmpi", "tcp"): {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"},
    ("mpich", "shm"): {},
    ("mpich", "tcp"): {"UCX_TLS": "tcp,self"},
}
START_SECONDS = 60
END_SECONDS = 20
KILL_SECONDS = 5
POLL_SECONDS = 0.5


class Hung(BenchError):
    """A program that did not answer in time, with the library of that name."""

    def __init__(self, program, library):
        super().__init__(f"{program} with {library} does not answer")
        self.library = library


@dataclass(frozen=True)
class Library:
    name: str
    path: str = ""        # none: the program runs without any
    settings: tuple = ()  # of its environment, NAME=VALUE each

    def preload(self):
        """Arguments of env(1)."""
        return [*([f"LD_PRELOAD={self.path}"] if self.path else []), *self.settings]


def parse_library(text):
    """Library of NAME=[PATH][,VARIABLE=VALUE]..., or a ValueError."""
    name, equals, rest = text.partition("=")
    path, *settings = rest.split(",")
    if not name or not equals or not all("=" in setting for setting in settings):
        raise ValueError(f"\"{text}\" is not NAME=[PATH][,VARIABLE=VALUE]...")
    if name == NOTHING:
        raise ValueError(f"\"{NOTHING}\" always runs")
    if path and not os.path.exists(path):
        raise ValueError(f"{path}: no such file")
    return Library(name, os.path.abspath(path) if path else "", tuple(settings))


def environment(mpi, transport):
    """Of a launcher, as this user or root.  Without what the caller's own environment says
    of a library: it would be in both sides of a comparison."""
    own = {name: value for name, value in os.environ.items()
           if name != "LD_PRELOAD" and not name.startswith("HPCB_")}
    return dict(own, OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **TRANSPORTS.get((mpi, transport), {}))


def launch_command(launcher, library, program, arguments):
    return [*shlex.split(launcher), "env", *library.preload(), program,
            *map(str, arguments)]


class Job:
    """A program with one library.  cpus: of its ranks; none: as the launcher binds."""

    def __init__(self, launcher, environ, library, program, cpus=()):
        self.program = os.path.basename(program)
        self.library = library.name
        self.directory = tempfile.mkdtemp(prefix="hpcb-turns.")
        self.given, self.answers = [], []
        self.process = None
        self.log = os.path.join(self.directory, "log")
        try:
            self.open_pipes()
            command = launch_command(launcher, library, program, [self.directory, *cpus])
            with open(self.log, "w", encoding="utf-8") as log:
                children.start(self.keep, command, env=environ, stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log)
        except BaseException as error:
            self.end(0)
            if isinstance(error, OSError):
                raise BenchError(f"{launcher}: {error.strerror}") from None
            raise

    def keep(self, process):
        self.process = process

    def open_pipes(self):
        for rank in range(RANKS):
            ends = [os.path.join(self.directory, f"{rank}.{end}") for end in ("in", "out")]
            for path in ends:
                os.mkfifo(path)
            # O_RDWR (Linux): does not wait until somebody reads.
            self.given.append(open(ends[0], "r+b", buffering=0))
            self.answers.append(os.fdopen(os.open(ends[1], os.O_RDWR), "rb", buffering=0))

    def last_word(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            lines = [line for line in log.read().splitlines() if line.strip()]
        return lines[-1].strip() if lines else "no message"

    def wait_readable(self, stream, deadline):
        while not select.select([stream], [], [], POLL_SECONDS)[0]:
            if self.process.poll() is not None:
                raise BenchError(f"{self.program} with {self.library} has ended: "
                                 f"{self.last_word()}")
            if time.monotonic() > deadline:
                raise Hung(self.program, self.library)

    def collect(self, seconds):
        """The answer of each rank."""
        deadline = time.monotonic() + seconds
        found = []
        for stream in self.answers:
            line = b""
            while not line.endswith(b"\n"):
                self.wait_readable(stream, deadline)
                line += stream.read(4096)
            found.append(json.loads(line))
        return found

    def turn(self, line, seconds=60):
        """Make a turn; the answers of the ranks."""
        for stream in self.given:
            stream.write(line.encode() + b"\n")
        return self.collect(seconds)

    def end(self, patience=END_SECONDS):
        """The ranks end when nobody gives them turns; those that do not are killed with
        their launcher."""
        for stream in (*self.given, *self.answers):
            stream.close()
        if self.process:
            for number, seconds in ((0, patience), (signal.SIGTERM, KILL_SECONDS),
                                    (signal.SIGKILL, KILL_SECONDS)):
                self.process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(seconds)
                    break
        shutil.rmtree(self.directory, ignore_errors=True)


class Team:
    """with Team(start, libraries) as team: one job of start(library) for each of them and
    one with nothing, all of them at rest."""

    def __init__(self, start, libraries):
        self.start = start
        self.libraries = [Library(NOTHING), *libraries]
        self.jobs = {}

    def __enter__(self):
        try:
            for library in self.libraries:
                self.jobs[library.name] = self.start(library)
            for job in self.jobs.values():
                job.collect(START_SECONDS)
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def __exit__(self, kind, *_):
        if kind and not issubclass(kind, Exception):
            # timeout(1) signals twice: nothing may cut the cleaning short.
            for number in children.ENDING:
                signal.signal(number, signal.SIG_IGN)
        for job in self.jobs.values():
            job.end(1 if kind else END_SECONDS)

    def turn(self, name, line):
        return self.jobs[name].turn(line)

    def pair(self, name, line, rng=random):
        """Two turns, one after the other, in random order: (without, with) the library of
        that name."""
        found = {one: self.turn(one, line) for one in rng.sample([NOTHING, name], 2)}
        return found[NOTHING], found[name]
