# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What every measurement on the sandbox needs around it: the options, the built
programs, two clusters, and an end that leaves nothing behind."""

import json
import os
import shutil
import signal
import sys

import machine
from cluster import BenchError, Cluster, Workspace, command, scratch_directory

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PROGRAMS = ("guest-burn", "primary-cpu", "primary-sleep", "primary-mpi.openmpi",
            "primary-mpi.mpich")

# Two uniprocessor nodes, as in the thesis.
NODES = 2
CPUS_PER_NODE = 1


def add_options(parser):
    parser.add_argument("--build", metavar="DIR", help="the build directory")
    parser.add_argument("--sandbox", metavar="PROGRAM",
                        default=os.path.join(TOP, "sandbox", "hpcb-sandbox"),
                        help="hpcb-sandbox (default: the one of this tree)")
    parser.add_argument("--plain", metavar="DIR", help="a running sandbox with stock "
                        "Slurm to use (default: start one)")
    parser.add_argument("--ours", metavar="DIR", help="a running sandbox with us to "
                        "use (default: start one)")
    parser.add_argument("--user", default="user", help="who runs the jobs (default: "
                        "the sandbox's ordinary user)")
    parser.add_argument("--patience", type=float, default=30, metavar="S",
                        help="wait so long for the machine to become idle before each "
                        "run (default 30)")


def build_directory(given):
    """Where the programs are: as given, or where make usually leaves them."""
    candidates = [given] if given else [os.environ.get("HPCB_BUILDDIR"), TOP,
                                        os.environ.get("HPCB_SANDBOX_BUILD"),
                                        os.path.join(TOP, "build", "sandbox"),
                                        os.path.join(TOP, "build")]
    for directory in filter(None, candidates):
        if os.access(os.path.join(directory, "bench", "primary-cpu"), os.X_OK):
            return os.path.abspath(directory)
    raise BenchError("the bench programs are not built (run make, or give --build DIR)")


class Session:
    """with Session(args, progress) as session: workspace and both clusters are up.
    Afterwards what it started is down; its files remain only after an error.  files:
    more of the build directory that the jobs need."""

    def __init__(self, args, progress, nodes=NODES, files=()):
        self.args = args
        self.progress = progress
        self.nodes = nodes
        self.files = files
        self.workspace = None
        self.homes = scratch_directory("hpcb-bench-clusters.")
        self.clusters = {}   # {plain: Cluster}

    def __enter__(self):
        try:
            cpus = self.nodes * CPUS_PER_NODE
            if (os.cpu_count() or 1) < cpus:
                raise BenchError(f"this machine has fewer than {cpus} CPUs: the nodes "
                                 "would share them")
            build = build_directory(self.args.build)
            names = [os.path.join("bench", name) for name in PROGRAMS]
            self.workspace = Workspace([os.path.join(build, name)
                                        for name in (*names, *self.files)])
            self.add_cluster(True, self.args.plain, "stock Slurm")
            self.add_cluster(False, self.args.ours, "us")
        except BaseException as error:
            self.close(error)
            raise
        return self

    def __exit__(self, _kind, error, _trace):
        self.close(error)

    def add_cluster(self, plain, given, title):
        directory = given or os.path.join(self.homes, "plain" if plain else "ours")
        cluster = Cluster(self.args.sandbox, directory, plain, self.args.user,
                          started=not given)
        self.clusters[plain] = cluster
        if cluster.started:
            self.progress.show(f"starting a sandbox with {title}")
            cluster.up(self.nodes, CPUS_PER_NODE)
        # A cluster that was given is up, or else this says so, and is idle now.
        cluster.drain()

    def close(self, error):
        self.progress.clear()
        # Nothing may cut the cleaning short.
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for cluster in self.clusters.values():
            try:
                cluster.down()
            except BenchError as failed:
                print(failed, file=sys.stderr)
        if isinstance(error, BenchError) and self.workspace and self.workspace.count:
            error.args = (f"{error.args[0]} (job files: {self.workspace.path})",)
        elif self.workspace:
            self.workspace.remove()
        shutil.rmtree(self.homes, ignore_errors=True)

    def rate(self):
        """Units of work in a second of CPU, measured once on the idle machine."""
        self.progress.show("measuring how fast this machine is")
        machine.wait_idle(0.05, self.args.patience)
        out = command([self.workspace.program("primary-cpu"), "--calibrate"], 30)
        return float(json.loads(out)["units_per_second"])


def main(run):
    """Call run() and turn what goes wrong into one line and a status; who is told to end
    cleans up first."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    name = os.path.relpath(os.path.abspath(sys.argv[0]), os.path.join(TOP, "bench"))
    try:
        sys.exit(run())
    except BenchError as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
