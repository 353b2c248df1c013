# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Runs OSU's micro-benchmarks in pairs: one run with a library, one without."""

import fnmatch
import os
import random
import shlex
import subprocess
import tempfile
from dataclasses import dataclass

import children
import turns
from cluster import BenchError, command
from osu import output, report

KINDS = ("pt2pt", "collective", "one-sided")
BUILD_SECONDS = 1800
# More digits than two: a short call takes a tenth of a microsecond.
PRECISE = "-DFLOAT_PRECISION=4"
# Binds the rank to the first or to the second CPU that it is given.
PIN = ('case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) cpu=$0 ;; *) cpu=$1 ;; esac; '
       'shift; exec taskset -c "$cpu" "$@"')


def find_programs(directory):
    """Paths of the benchmarks that were built there."""
    found = []
    for where, _, names in os.walk(directory):
        if set(KINDS) & set(os.path.relpath(where, directory).split(os.sep)):
            found += [os.path.join(where, name) for name in names
                      if name.startswith("osu_") and "." not in name
                      and os.access(os.path.join(where, name), os.X_OK)]
    return sorted(found, key=lambda path: (os.path.dirname(path), path))


def build(sources, directory, compiler):
    """In a directory of its own: the source tree stays as it is."""
    configure = os.path.abspath(os.path.join(sources, "configure"))
    if not os.path.exists(configure):
        raise BenchError(f"{sources}: no configure there; a checkout needs autoreconf -i")
    os.makedirs(directory, exist_ok=True)
    command(["sh", configure, f"CC={compiler}", f"CXX={compiler.replace('mpicc', 'mpicxx')}",
             f"CPPFLAGS={PRECISE}"], BUILD_SECONDS, cwd=directory)
    command(["make", "-s", f"-j{os.cpu_count()}"], BUILD_SECONDS, cwd=directory)


def programs_of(args, directory, progress):
    """{MPI: paths}, built if they are not there."""
    found = {}
    for mpi in args.mpi:
        own = os.path.abspath(os.path.join(directory, mpi))
        if args.sources and not find_programs(own):
            progress.show(f"building with {mpi}")
            build(args.sources, own, args.cc.get(mpi, f"mpicc.{mpi}"))
        found[mpi] = [path for path in find_programs(own)
                      if not args.only or any(fnmatch.fnmatchcase(os.path.basename(path), one)
                                              for one in args.only)]
        if not found[mpi]:
            raise BenchError(f"{own}: no such benchmark was built")
    return found


@dataclass(frozen=True)
class Row:
    """What has a verdict of its own."""
    mpi: str
    transport: str
    library: turns.Library
    path: str  # of the benchmark

    @property
    def names(self):
        return {"mpi": self.mpi, "transport": self.transport, "library": self.library.name,
                "benchmark": os.path.basename(self.path)}

    @property
    def key(self):
        return "/".join(self.names.values())


class Bench:
    """records: those that an earlier run has kept; add(record) is called with each new
    one."""

    def __init__(self, args, programs, records, add, progress):
        self.args = args
        self.add = add
        self.progress = progress
        self.rows = [Row(mpi, way, library, path) for mpi in args.mpi
                     for way in args.transport for path in programs[mpi]
                     for library in args.library]
        self.records = list(records)

    def options(self, path):
        """Of a benchmark; the number of warm-up rounds follows that of iterations."""
        found = []
        if self.args.iterations:
            found += ["-i", str(self.args.iterations), "-x", str(self.args.iterations // 10)]
        if self.args.max_size and "collective" in path.split(os.sep):
            found += ["-m", str(self.args.max_size)]
        return found

    def run(self, row, library):
        """What came of it: figures, or why there are none, and how many ranks said that
        they have the library."""
        launcher = self.args.launcher.get(row.mpi)
        argv = shlex.split(launcher or turns.LOCAL[row.mpi])
        argv += [] if launcher else ["sh", "-c", PIN, *self.args.cpus]
        argv += ["env", "HPCB_DEBUG=1", *library.preload(), row.path, *self.options(row.path)]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out, \
                tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err:
            status = self.call(argv, turns.environment(row.mpi, row.transport), out, err)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read())
        return self.outcome(status, *texts)

    def call(self, argv, environ, out, err):
        """Its exit status; None if it had to be ended."""
        try:
            with children.running(argv, environ, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=err) as process:
                return process.wait(self.args.timeout)
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            raise BenchError(f"{argv[0]}: {error.strerror}") from None

    def outcome(self, status, out, err):
        found = {"loaded": output.loaded(out + err), "observes": output.observes(out + err)}
        figures = output.parse(out)
        if status is None:
            return {**found, "failed": f"not done after {self.args.timeout:g} s"}
        if status or not figures:
            return {**found, "failed": f"status {status}: {output.reason(out, err)}"}
        return {**found, "osu": output.version(out), "figures": figures}

    def pair(self, row, number):
        """A record of two runs that follow each other, in random order."""
        key = f"{row.key}/{number}"
        sides = dict(zip(report.SIDES, (turns.Library(turns.NOTHING), row.library)))
        order = random.Random(f"{self.args.seed}/{key}").sample(report.SIDES, 2)
        runs = {side: self.run(row, sides[side]) for side in order}
        expected = turns.RANKS if row.library.path else 0
        return {"pair": key, **row.names, "expected": expected, "first": order[0], **runs}

    def todo(self):
        """(row, number) of the pairs that are not there, or are void.  All rows once before
        any of them a second time, in random order: a slow minute of the machine hits one
        pair of each."""
        done = {record["pair"] for record in self.records if not report.void(record)}
        for number in range(self.args.repetitions):
            rows = random.Random(f"{self.args.seed}/{number}").sample(self.rows,
                                                                      len(self.rows))
            yield from ((row, number) for row in rows if f"{row.key}/{number}" not in done)

    def of(self, row):
        return [record for record in self.records
                if record["pair"].rpartition("/")[0] == row.key]

    def all(self):
        todo = list(self.todo())
        for index, (row, number) in enumerate(todo):
            if report.fails_by_itself(self.of(row)):
                continue
            self.progress.show(f"{index + 1}/{len(todo)}: {row.key}")
            record = self.pair(row, number)
            self.records.append(record)
            self.add(record)
