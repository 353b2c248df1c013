# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Sandboxes with nodes of two CPUs, on which jobs share cores."""

import json
import os
import re
import shutil
import signal
import sys
import time

import jobs
import machine
import session
from cluster import BenchError, Cluster, Workspace, command, scratch_directory
from membus import demand, plan

CPUS = 2
LIBRARY = "libhpcb_mpi.so"
GANG_LINES = "PreemptType=preempt/none\nPreemptMode=GANG\nSchedulerTimeSlice=5\n"
START_SECONDS = 60
# Bandwidths of the first turns must be known, and Slurm's first slice over.
SETTLE_SECONDS = 5
# Of several nodes: the first deal that knows bandwidths is in force (policy/deal.h:
# one in 40 s, 24 s ahead, of reports of the 5 s before).
DEALT_SECONDS = 75
# What runs without turns has settled once it has begun.
TOGETHER_SETTLE_SECONDS, TOGETHER_SECONDS = 1, 4


class Host:
    """One sandbox, in whose partition two jobs share a core."""

    def __init__(self, args, home, stock, receiver, capacity):
        """capacity: {"mem", "net"}, bytes/s, as hpcbd is to take it."""
        self.cluster = Cluster(args.sandbox, os.path.join(home, "stock" if stock else "ours"),
                               stock, args.user)
        self.nodes = [f"n{number + 1}" for number in range(args.nodes)]
        self.receiver = receiver
        self.capacity = capacity
        self.lines = os.path.join(home, "gang.conf") if stock else None
        self.mbit = args.mbit
        if self.lines:
            with open(self.lines, "w", encoding="ascii") as file:
                file.write(GANG_LINES)

    def path(self, name):
        return os.path.join(self.cluster.directory, "etc", name)

    def on(self, host, *argv):
        return command([self.cluster.sandbox, "exec", "--dir", self.cluster.directory,
                        "--host", host, "--", *argv], 60)

    def up(self):
        argv = [self.cluster.sandbox, "up", "--dir", self.cluster.directory, "--nodes",
                str(len(self.nodes)), "--cpus-per-node", str(CPUS)]
        argv += ["--plain", "--append", self.lines] if self.lines else []
        command(argv, timeout=900)
        self.share_cores()
        for node in self.nodes:
            self.on(node, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate",
                    f"{self.mbit}mbit", "burst", "256kb", "latency", "50ms")
            if not self.lines:
                self.fix_capacity(node)
        self.on("ctl", "sh", "-c", f"exec setsid {self.receiver} --listen {plan.PORT} "
                "< /dev/null > /dev/null 2>&1 &")

    def share_cores(self):
        with open(self.path("slurm.conf"), encoding="utf-8") as file:
            text = file.read()
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            for line in text.splitlines():
                if line.startswith("PartitionName=primary"):
                    line = line.replace("OverSubscribe=FORCE:1", "OverSubscribe=FORCE:2")
                    line += "" if "OverSubscribe=" in line else " OverSubscribe=FORCE:2"
                file.write(line + "\n")
        self.on("ctl", "scontrol", "reconfigure")
        if not self.lines:
            shutil.copy2(self.path("hpc-balance.conf"), self.path("hpc-balance.conf.before"))

    def fix_capacity(self, node):
        """As if the node had measured itself (hpcbd/node/capacity.c): it does so once, whenever
        it is idle, and turns before would be others than turns after."""
        machine_line = "cpus $(getconf _NPROCESSORS_ONLN) pages $(getconf _PHYS_PAGES)"
        self.on(node, "sh", "-c", f'echo "{machine_line} mem {self.capacity["mem"]} net '
                f'{self.capacity["net"]}" > /run/hpc-balance/capacity')

    def address(self):
        """Of the controller, seen by the node."""
        words = self.on("ctl", "ip", "-4", "-o", "address", "show", "dev", "br0").split()
        return words[words.index("inet") + 1].split("/")[0]

    def choose(self, regime):
        """Another regime is in force for jobs that begin from now on."""
        if self.lines:
            return
        with open(self.path("hpc-balance.conf.before"), encoding="utf-8") as file:
            text = file.read()
        with open(self.path("hpc-balance.conf"), "w", encoding="utf-8") as file:
            file.write(text + "".join(line + "\n" for line in regime.lines))
        for node in self.nodes:
            self.on(node, "sh", "-c", 'kill -HUP "$(cat /run/pids/hpcbd)"')

    def basis(self):
        """{"capacity", "known"}: what hpcbd elects by, on the first node.  known: [axes] that
        it has measured of some job."""
        listed = json.loads(self.on(self.nodes[0], "hpcbctl", "gang", "list", "--json"))
        capacity = {axis: listed[f"{axis}_capacity"] for axis in ("mem", "net")}
        if capacity != self.capacity:
            raise BenchError(f"hpcbd takes {capacity} for its node's bandwidth, not "
                             f"{self.capacity}")
        if not listed["decisions"]:
            raise BenchError("hpcbd has taken no decision")
        if len(self.nodes) > 1 and not all(job["cycle"] for job in
                                           listed["decisions"][-1]["jobs"] or []):
            raise BenchError("the jobs' quanta have not been dealt")
        return {"capacity": capacity,
                "known": [axis for axis in ("mem", "net")
                          if any(job.get(axis) is not None for job in listed["jobs"])]}

    def cpus_of(self, submitted):
        """Slurm's numbers of the CPUs of each job, on all nodes."""
        text = self.cluster.execute(["scontrol", "--details", "show", "job"])
        found = {}
        for block in text.split("\n\n"):
            number = re.search(r"JobId=(\d+)", block)
            if number:
                found[number[1]] = set(re.findall(r"CPU_IDs=(\S+)", block))
        return [found.get(job.job, set()) for job in submitted]


def samples(path):
    """[(time, work)] of a rank, whole lines only."""
    text = jobs.read_text(path)
    return [tuple(map(float, line.split()))
            for line in text[:text.rfind("\n") + 1].splitlines()]


def value_at(found, when):
    """Work up to a moment: who is stopped writes nothing, and does nothing."""
    return max((work for at, work in found if at <= when), default=0.0)


def traces(submitted):
    return [samples(submitted.file(f"trace.{rank}")) for rank in range(submitted.tasks)]


def check_cpus(cpus):
    """Of jobs as they were submitted: the first two have other CPUs, the third has the first's
    and the fourth the second's."""
    if not all(cpus) or cpus[:1] == cpus[1:2] or cpus[2:] not in ([], cpus[:2]):
        raise BenchError("Slurm has given the jobs other CPUs than planned: "
                         + "; ".join(",".join(sorted(one)) or "none" for one in cpus))


def settle_seconds(regime, nodes):
    return DEALT_SECONDS if regime.lines and len(nodes) > 1 else SETTLE_SECONDS


class Bench:
    """with Bench(args, progress, facts) as bench: both sandboxes are up.  facts: of
    facts_of()."""

    def __init__(self, args, progress, facts):
        build = session.build_directory(args.build)
        self.args = args
        self.progress = progress
        self.workspace = Workspace([*(os.path.join(build, "bench", name)
                                      for name in ("membench", "nas", f"nas.{args.mpi}",
                                                   "netbench", "primary-cpu")),
                                    os.path.join(build, ".libs", LIBRARY)])
        self.home = scratch_directory("hpcb-membus.")
        receiver = self.workspace.program("netbench")
        self.hosts = {stock: Host(args, self.home, stock, receiver, facts["capacity"])
                      for stock in (False, True)}
        self.demand = facts["demand"]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, _kind, error, _trace):
        self.close(isinstance(error, BenchError))

    def start(self):
        for host in self.hosts.values():
            self.progress.show("starting a sandbox")
            host.up()

    def start_anew(self):
        """Whatever has happened to the sandboxes."""
        for host in self.hosts.values():
            host.cluster.down()
        self.start()

    def close(self, keep=False):
        self.progress.clear()
        # Nothing may cut the cleaning short.
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for host in self.hosts.values():
            try:
                host.cluster.down()
            except BenchError as failed:
                print(failed, file=sys.stderr)
        if not keep:
            self.workspace.remove()
        shutil.rmtree(self.home, ignore_errors=True)

    def waits_as(self, wait):
        """Variables for a program of an MPI, with and without our part of Slurm."""
        if wait == "poll":
            return "HPCB_YIELD=off"
        return f"HPCB_YIELD=on LD_PRELOAD={self.workspace.program(LIBRARY)}"

    def call(self, host, name, wait):
        """Lines of a job's script, with a trace of each rank."""
        program, ranks = plan.PROGRAMS[name], len(host.nodes)
        mpi = self.args.mpi if name in plan.MPI_PROGRAMS else None
        command_name = f"nas.{mpi}" if mpi else program.command
        call = " ".join([self.workspace.program(command_name),
                         *plan.arguments_of(program, host.address(), wait, self.demand),
                         f"--seconds={self.args.seconds + 240}"])
        if ranks == 1:
            return [f"exec {call} --trace=trace.0"]
        prepare, options = jobs.MPI_SRUN[mpi]
        settings = f"env {self.waits_as(wait)} " if mpi else ""
        return [prepare, f"exec srun {options} sh -c 'exec {settings}{call} "
                "--trace=trace.$SLURM_PROCID'"]

    def memory_of(self, name):
        """Options: what the program has, if that is not little."""
        mib = self.demand["size"] + demand.OTHER_MIB
        mib += demand.MPI_MIB if name in plan.MPI_PROGRAMS else 0
        return [f"--mem-per-cpu={mib}"] if plan.kernels(name) in plan.NAS_MB_S else []

    def submit(self, host, name, wait):
        directory, ranks = self.workspace.job_directory(name), len(host.nodes)
        script = jobs.write_script(directory, self.call(host, name, wait))
        options = [f"--nodelist={','.join(host.nodes)}", f"--nodes={ranks}",
                   f"--ntasks={ranks}", "--ntasks-per-node=1", *self.memory_of(name)]
        job = host.cluster.submit(options, script)
        return jobs.Submitted(job, directory, ranks, host.cluster)

    @staticmethod
    def wait_begun(submitted):
        deadline = time.monotonic() + START_SECONDS
        while not all(all(traces(job)) for job in submitted):
            if time.monotonic() > deadline:
                left = [job for job in submitted if not all(traces(job))]
                raise BenchError(f"job {left[0].job} has not begun after {START_SECONDS} s: "
                                 f"{jobs.describe(left[0])}")
            time.sleep(0.2)

    @staticmethod
    def watch(submitted, seconds):
        """What each of the jobs does in a second, all ranks together, and which part of the
        CPUs the host of this machine took meanwhile."""
        before = machine.use()
        time.sleep(seconds)
        after = machine.use()
        took = after.when - before.when
        # The last look at the clock of who is stopped lies before the end.
        rates = [sum(value_at(rank, after.when) - value_at(rank, before.when)
                     for rank in traces(job)) / took for job in submitted]
        return rates, (after.steal - before.steal) / ((os.cpu_count() or 1) * took)

    def measure_together(self, unit):
        """Records of a plan.Together."""
        host = self.hosts[False]
        host.choose(plan.REGIMES["linux"])
        with host.cluster.drained():
            submitted = [self.submit(host, name, unit.wait) for name in unit.jobs]
            self.wait_begun(submitted)
            check_cpus(host.cpus_of(submitted))
            time.sleep(TOGETHER_SETTLE_SECONDS)
            rates, steal = self.watch(submitted, TOGETHER_SECONDS)
        if 0.0 in rates:
            raise BenchError(f"{unit.jobs[rates.index(0.0)]} does nothing")
        return [{"round": unit.round, "together": unit.jobs, "wait": unit.wait, "rates": rates,
                 "steal": steal}]

    def measure_regime(self, unit, regime):
        host = self.hosts[regime.stock]
        host.choose(regime)
        with host.cluster.drained():
            submitted = [self.submit(host, name, unit.wait) for name in unit.submitted()]
            self.wait_begun(submitted)
            check_cpus(host.cpus_of(submitted))
            time.sleep(settle_seconds(regime, host.nodes))
            rates, steal = self.watch(submitted, self.args.seconds)
            basis = host.basis() if regime.lines else {}
        return {"round": unit.round, "set": unit.set, "wait": unit.wait, "regime": regime.name,
                "arrangement": unit.arrangement, "rates": unit.sorted(rates), "steal": steal,
                **basis}

    def measure_mix(self, unit):
        """Records of a plan.Mix."""
        machine.wait_idle(0.05, self.args.patience)
        return [self.measure_regime(unit, plan.REGIMES[name]) for name in unit.regimes]

    def measure(self, unit):
        if isinstance(unit, plan.Together):
            return self.measure_together(unit)
        return self.measure_mix(unit)
