# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Primary and guest as Slurm jobs, and what a run of both tells.

A primary is one of our programs under srun, one task per node, every node with one
CPU; a guest is guest-burn on the same number of nodes, so that every CPU of the primary
has a guest.  How the guest gets there is the regime:

  beside   stock Slurm, a job in the partition that overlays the primaries' one
  nice     the same, and its script says `nice -n 19`
  guest    sbatch --guest, that is us
  after    stock Slurm as most sites have it: queued behind the primary
"""

import json
import os
import re
import time
from dataclasses import dataclass, field

import machine
import stats
from cluster import BenchError, last_line

GUEST_OPTIONS = {
    "beside": ["--partition=guest"],
    "nice": ["--partition=guest"],
    "guest": ["--guest"],
    "after": [],
}

# Environment and srun options that each MPI of Debian needs on the sandbox: Open MPI's
# shared-memory PMIx store crashes now and then under load, -K1 ends the other ranks
# when one dies, and MPICH's UCX takes the hosts for one machine.
MPI_SRUN = {
    "openmpi": ("export PMIX_MCA_gds=hash", "-K1 --mpi=pmix"),
    "mpich": ("export UCX_TLS=tcp,self", "-K1 --mpi=pmi2"),
    None: (":", ""),
}

# Between two looks at a running job; each look costs the machine a tenth of a
# millisecond, which every regime pays.
POLL_SECONDS = 0.2

# A guest that nobody stops, because we were killed, ends by itself.
GUEST_SECONDS = 900

# After this long without an end, ask Slurm whether the job is still there.
ASK_SECONDS = 30


class Hung(BenchError):
    """A job that does not end in time."""


@dataclass(frozen=True)
class Primary:
    """A program of ours; tasks is also its number of nodes and of CPUs."""
    name: str
    title: str
    program: str
    arguments: tuple
    tasks: int = 1
    mpi: str = None


@dataclass
class Submitted:
    """A job and the directory that it writes to."""
    job: str
    directory: str
    tasks: int
    cluster: object
    samples: list = field(default_factory=list)

    def file(self, name):
        return os.path.join(self.directory, name)


def write_script(directory, lines):
    path = os.path.join(directory, "script")
    with open(path, "w", encoding="utf-8") as script:
        script.write("\n".join(["#!/bin/sh"] + lines) + "\n")
    os.chmod(path, 0o755)
    return path


def job_lines(prepare, call):
    """A job script that leaves its output in out and err and, at last, done."""
    return [prepare, f"{call} > out 2> err",
            "echo $? > done.new && mv done.new done"]


def submit(cluster, workspace, name, options, tasks, lines):
    directory = workspace.job_directory(name)
    # Slurm takes an idle node first: it would part a guest from its primary.
    nodes = ",".join(f"n{i + 1}" for i in range(tasks))
    job = cluster.submit([f"--nodelist={nodes}", f"--ntasks={tasks}",
                          f"--nodes={tasks}", f"--job-name={name}"] + options,
                         write_script(directory, lines))
    return Submitted(job, directory, tasks, cluster)


def submit_primary(cluster, workspace, primary, options):
    prepare, mpi = MPI_SRUN[primary.mpi]
    call = " ".join(["srun", mpi, workspace.program(primary.program),
                     *primary.arguments])
    return submit(cluster, workspace, primary.name, list(options), primary.tasks,
                  job_lines(prepare, call))


def submit_guest(cluster, workspace, kind, tasks, arguments=()):
    burn = " ".join([workspace.program("guest-burn"), "--trace trace.$SLURM_PROCID",
                     f"--max-seconds {GUEST_SECONDS}", *arguments])
    nice = "nice -n 19 " if kind == "nice" else ""
    call = f"srun {nice}sh -c 'exec {burn}'"
    return submit(cluster, workspace, f"guest-{kind}", GUEST_OPTIONS[kind], tasks,
                  job_lines(":", call))


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def trace(submitted, task):
    """[(CLOCK_MONOTONIC, CPU seconds)] of a guest's task; a line that is being
    written is left out."""
    text = read_text(submitted.file(f"trace.{task}"))
    lines = text[:text.rfind("\n") + 1].splitlines()
    return [tuple(map(float, line.split())) for line in lines]


def guest_cpu(submitted, start, end):
    """CPU seconds that all tasks of a guest got from start to end."""
    return sum(stats.growth(trace(submitted, task), start, end)
               for task in range(submitted.tasks))


def wait_until(submitted, ready, timeout):
    """Wait for ready(), sampling the machine.  A job that has left the queue is a
    BenchError, one that takes longer than timeout is Hung."""
    deadline = time.monotonic() + timeout
    ask = time.monotonic() + ASK_SECONDS
    while True:
        submitted.samples.append(machine.use())
        if ready():
            return
        now = time.monotonic()
        if now > deadline:
            raise Hung(f"job {submitted.job} is not done after {timeout:.0f} s: "
                       f"{describe(submitted)}")
        if now > ask:
            ask = now + 10
            if not queued(submitted) and not ready():
                raise BenchError(f"job {submitted.job} ended without a result: "
                                 f"{describe(submitted)}")
        time.sleep(POLL_SECONDS)


def queued(submitted):
    return [line for line in submitted.cluster.queue()
            if line.split()[0] == submitted.job]


def describe(submitted):
    """Its last words, or how it stands in the queue."""
    words = read_text(submitted.file("err")) or read_text(submitted.file("script.log"))
    if words.strip():
        return last_line(words)
    line = queued(submitted)
    return f"squeue: {line[0]}" if line else "not in the queue"


def wait_started(guest, timeout=60):
    """Wait until every task of the guest burns."""
    wait_until(guest, lambda: all(trace(guest, task) for task in range(guest.tasks)),
               timeout)


def wait_done(submitted, timeout):
    wait_until(submitted, lambda: os.path.exists(submitted.file("done")), timeout)
    status = read_text(submitted.file("done")).strip()
    if status != "0":
        name = os.path.basename(submitted.directory)
        raise BenchError(f"job {submitted.job} ({name}) ended with status {status}: "
                         f"{describe(submitted)}")


def json_lines(submitted):
    """The JSON lines that the job's programs printed."""
    found = []
    for line in read_text(submitted.file("out")).splitlines():
        if re.match(r"\s*\{", line):
            try:
                found.append(json.loads(line))
            except ValueError:
                raise BenchError(f"job {submitted.job}: no JSON: {line[:60]}") from None
    return found


def primary_result(submitted, primary):
    """The line of the primary; a program that ran as several singletons instead of as
    one MPI job is an error."""
    found = json_lines(submitted)
    if len(found) != 1 or found[0].get("size", 1) != primary.tasks:
        raise BenchError(f"job {submitted.job}: expected one result of {primary.tasks} "
                         f"ranks, found {len(found)} results: {describe(submitted)}")
    return found[0]


def around(submitted, result, guest_seconds):
    """What else the machine did during the primary's run: (external, steal), both as a
    fraction of all CPUs."""
    cpus = os.cpu_count() or 1
    wall = result["wall"]
    busy = stats.growth([(u.when, u.busy) for u in submitted.samples],
                        result["start"], result["end"])
    steal = stats.growth([(u.when, u.steal) for u in submitted.samples],
                         result["start"], result["end"])
    external = busy - result["cpu"] - guest_seconds
    return max(external, 0) / (cpus * wall), steal / (cpus * wall)


def figures(primary, submitted, guest):
    """The figures of a run: what the primary says of itself, and what the guest got
    while it ran."""
    result = primary_result(submitted, primary)
    wall, start, end = result["wall"], result["start"], result["end"]
    got = guest_cpu(guest, start, end) if guest else 0.0
    # Time that the primary wanted and did not get is not left.
    left = primary.tasks * wall - result["cpu"] - result["run_delay"]
    external, steal = around(submitted, result, got)
    return {
        "wall": wall,
        "cpu": result["cpu"],
        "useful": result.get("compute_cpu", result["cpu"]),
        "stolen": result["stolen"],
        "start": start,
        "end": end,
        "guest_cpu": got,
        "guest_share": got / (primary.tasks * wall),
        "of_left": got / left if left > 0.02 * primary.tasks * wall else None,
        "external": external,
        "steal": steal,
        "checksum": result["checksum"],
    }
