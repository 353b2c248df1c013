# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A sandbox cluster as the benches see it: up, submit, wait, down.

Every command runs under a time limit; what goes wrong is a BenchError of one sentence.
Job files live in a directory of this run under $HPCB_BENCH_TMP (default /var/tmp, which
is on a disk where /tmp may be memory): the sandbox's hosts share the machine's file
system.
"""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress

# Slurm keeps a job in the queue for as long as it completes; ours take a second.
DRAIN_SECONDS = 60


def scratch_directory(prefix):
    """A fresh directory of root's for files of this run."""
    return tempfile.mkdtemp(prefix=prefix,
                            dir=os.environ.get("HPCB_BENCH_TMP", "/var/tmp"))


class BenchError(Exception):
    """One sentence for people."""


class TimedOut(BenchError):
    """A command that did not end in time."""


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no message"


def command(argv, timeout, given=None, **options):
    """Run a command to its end, with the text `given` or nothing on stdin; its stdout,
    or a BenchError with its last word."""
    try:
        done = subprocess.run(argv, timeout=timeout, input=given,
                              stdin=None if given else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", check=False, **options)
    except subprocess.TimeoutExpired:
        raise TimedOut(f"{' '.join(argv)}: not done after {timeout} s") from None
    except OSError as error:
        raise BenchError(f"{argv[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise BenchError(f"{' '.join(argv)}: status {done.returncode}: "
                         f"{last_line(done.stderr or done.stdout)}")
    return done.stdout


class Workspace:
    """The directory that the jobs of a run share: programs and one directory a job.
    It is removed at the end unless something went wrong."""

    def __init__(self, programs):
        self.path = scratch_directory("hpcb-bench.")
        self.count = 0
        os.chmod(self.path, 0o755)
        for program in programs:
            if os.path.exists(program):
                shutil.copy2(program, self.path)

    def program(self, name):
        path = os.path.join(self.path, name)
        if not os.path.exists(path):
            raise BenchError(f"{name} is not built (run make, or give --build)")
        return path

    def job_directory(self, name):
        """A fresh directory in which the sandbox's user may write."""
        self.count += 1
        path = os.path.join(self.path, f"{self.count:04d}-{name}")
        os.mkdir(path)
        os.chmod(path, 0o777)
        return path

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Cluster:
    """One sandbox.  `plain` is stock Slurm on the same nodes.  A cluster that was
    given (`started` false) is used and left as it is."""

    def __init__(self, sandbox, directory, plain, user, started=True):
        self.sandbox = sandbox
        self.directory = directory
        self.plain = plain
        self.user = user
        self.started = started

    def up(self, nodes, cpus_per_node):
        argv = [self.sandbox, "up", "--dir", self.directory, "--nodes", str(nodes),
                "--cpus-per-node", str(cpus_per_node)]
        command(argv + (["--plain"] if self.plain else []), timeout=900)

    def down(self):
        if self.started:
            command([self.sandbox, "down", "--dir", self.directory], timeout=120)

    def execute(self, argv, timeout=60):
        """Run a client command as the sandbox's user; its stdout."""
        return command([self.sandbox, "exec", "--dir", self.directory, "--user",
                        self.user, "--"] + argv, timeout)

    def submit(self, options, script):
        """The number of the job."""
        directory = os.path.dirname(script)
        out = self.execute(["sbatch", "--parsable", f"--chdir={directory}",
                            f"--output={script}.log", "--time=30",
                            "--mem-per-cpu=256"] + options + [script])
        job = last_line(out).split(";")[0]
        if not job.isdigit():
            raise BenchError(f"sbatch: no job number in \"{last_line(out)}\"")
        return job

    def queue(self):
        """"<job> <state> <reason>" of everything in the queue."""
        out = self.execute(["squeue", "--noheader", "--format=%i %T %r"])
        return [line for line in out.splitlines() if line.strip()]

    @contextmanager
    def drained(self):
        """with cluster.drained(): ...  Afterwards the queue is empty; what went wrong
        inside is told rather than what that did to the cluster."""
        try:
            yield
        except BaseException:
            with suppress(BenchError):
                self.drain()
            raise
        self.drain()

    def drain(self):
        """Cancel what is left and wait until the queue is empty."""
        deadline = time.monotonic() + DRAIN_SECONDS
        left = self.queue()
        if left:
            self.execute(["scancel"] + [line.split()[0] for line in left])
        while left:
            if time.monotonic() > deadline:
                raise BenchError(f"jobs do not end within {DRAIN_SECONDS} s: "
                                 f"{'; '.join(left)}")
            time.sleep(0.3)
            left = self.queue()
