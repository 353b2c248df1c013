# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The MPIs under the names that Debian has for them, and the trees of the suites that are
made with them (scripts/mpi-suites.bash)."""

import fcntl
import os
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass

import turns
from cluster import BenchError, last_line

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELPER = os.path.join(TOP, "scripts", "mpi-suites.bash")

# As in bench/turns.py; UCX is what Debian's MPICH uses anyway, so that shm is ucx there.
WAYS = ("shm", "tcp", "ucx")
TRANSPORTS = {
    **turns.TRANSPORTS,
    ("openmpi", "ucx"): {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any",
                         "OMPI_MCA_pml_ucx_devices": "any"},
    ("mpich", "ucx"): turns.TRANSPORTS["mpich", "shm"],
}
SETTINGS = {
    # By default it does not use the loopback interface (see tests/mpi/compare.sh).
    "openmpi": {"OMPI_MCA_btl_tcp_if_include": "lo"},
    "mpich": {"HYDRA_LAUNCHER": "fork"},
}
LAUNCH = {"openmpi": ["mpiexec.openmpi", "--oversubscribe", "--bind-to", "none"],
          "mpich": ["mpiexec.mpich"]}
# How the caller's own programs are run is none of ours.
DROPPED = ("LD_PRELOAD", "HPCB_YIELD", "HPCB_PAGE", "HPCB_DEBUG")


class Missing(BenchError):
    """What is compared cannot be had here."""


@dataclass(frozen=True)
class Mpi:
    name: str
    release: str
    standard: str    # version of the MPI standard


def output(argv, text=""):
    """Of a command; empty if it fails."""
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def find(name):
    """A Mpi, or Missing."""
    source = "#include <mpi.h>\n: MPI_VERSION.MPI_SUBVERSION\n"
    text = output([f"mpicc.{name}", "-E", "-P", "-x", "c", "-"], source)
    standard = re.search(r"^: *(\d) *\. *(\d)$", text, re.M)
    release = re.search(r"\d+(\.\d+)+", output([f"mpiexec.{name}", "--version"]))
    if not standard or not release:
        raise Missing("is not installed")
    return Mpi(name, release[0], ".".join(standard.groups()))


def environment(mpi, way):
    """Of the launcher."""
    found = {**turns.environment(mpi, way), **SETTINGS[mpi], **TRANSPORTS[mpi, way]}
    return {key: value for key, value in found.items() if key not in DROPPED}


class Trees:
    """Sources and builds of the suites, kept in a directory between runs."""

    def __init__(self, work, source=None):
        self.source = os.path.abspath(source) if source else ""
        self.work = os.path.abspath(work)
        try:
            os.makedirs(self.work, exist_ok=True)
            # Two at a time would build the same.
            self.lock = open(os.path.join(self.work, "lock"), "w", encoding="ascii")
        except OSError as error:
            raise BenchError(f"{self.work}: {error.strerror} (HPCB_CACHE or --work names "
                             "another place)") from None

    def __enter__(self):
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_):
        fcntl.flock(self.lock, fcntl.LOCK_UN)

    def tree(self, suite, mpi, scratch):
        """Path of the suite's tree, configured for this MPI.  Missing if there are no
        sources, a BenchError if they cannot be built."""
        done = subprocess.run(["bash", HELPER, suite, mpi.name, mpi.release, self.work,
                               scratch, self.source], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode == 3:
            raise Missing(f"its sources cannot be had: {last_line(done.stderr)}")
        if done.returncode != 0:
            raise BenchError("cannot be built\n" + "\n".join(done.stderr.splitlines()[-20:]))
        return done.stdout.strip()

    @staticmethod
    def compile(tree, cases, jobs, every):
        """The programs of MPICH's suite; those that do not compile are missed when they are
        to be run.  every: the whole directories, or only what is to be run."""
        programs = defaultdict(set)
        for case in cases:
            directory, name = os.path.split(case.program)
            programs[directory].add("all" if every else name)
        for directory, names in programs.items():
            subprocess.run(["make", "-k", f"-j{jobs}", "-C", os.path.join(tree, directory),
                            *sorted(names)], stdin=subprocess.DEVNULL, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
