# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Four sandbox nodes with jobs that take turns, watched and disturbed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import jobs
import session
from cluster import BenchError, Cluster, Workspace, command, scratch_directory
from gang import maths, plan

HERE = os.path.dirname(os.path.abspath(__file__))
START_SECONDS = 60
# hpcbd keeps its last 32 decisions.
POLL_SECONDS = 8
# All jobs of a node stopped for so long is no switch under way.
STILL_SECONDS = 0.2
# hpcbd hangs for so long.
HANG_SECONDS = 4
SIGNAL_HPCBD = 'kill -s {} "$(cat /run/pids/hpcbd)"'


def add_decisions(node, found, listed):
    """Into found, {quantum: decision}, which has one already: those from its first on, of
    what hpcbd still has.  A list that takes two pages misses one if hpcbd decides between
    them; the next list has it."""
    oldest, newest = min(found), max(found)
    if listed[0]["quantum"] > newest + 1:
        raise BenchError(f"{node}: hpcbd has forgotten decisions after quantum {newest}")
    for decision in listed:
        if decision["quantum"] >= oldest:
            found.setdefault(decision["quantum"], decision)


def has_holes(found):
    return len(found) <= max(found) - min(found)


class Node:
    """One node, and the process that watches its jobs."""

    def __init__(self, bench, name):
        self.bench, self.name = bench, name
        self.watcher = None
        self.log = os.path.join(bench.workspace.job_directory(name), "switches")

    def argv(self, *argv):
        cluster = self.bench.cluster
        return [cluster.sandbox, "exec", "--dir", cluster.directory, "--host", self.name,
                "--", *argv]

    def execute(self, *argv):
        return command(self.argv(*argv), 60)

    def shell(self, line):
        return self.execute("bash", "-c", line)

    def listed(self):
        return json.loads(self.execute("hpcbctl", "gang", "list", "--json"))

    def cycle(self):
        """The longest one of the node's jobs; 0: nothing was dealt."""
        return max((job.get("cycle") or 0 for job in self.listed()["jobs"]), default=0)

    def cpu_seconds(self):
        return float(self.execute("python3", self.bench.workspace.program("cpu.py")))

    def watch(self, slurm_jobs):
        argv = self.argv("chrt", "-f", "2", "python3",
                         self.bench.workspace.program("watch.py"), *slurm_jobs)
        with open(self.log, "w", encoding="ascii") as out:
            self.watcher = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.PIPE, text=True)

    def switches(self):
        """[(time, node, Slurm's job, stopped)]"""
        if self.watcher.poll() is not None:
            raise BenchError(f"{self.name}: the watcher has ended: "
                             f"{self.watcher.stderr.read().strip()}")
        text = jobs.read_text(self.log)
        lines = [line.split() for line in text[:text.rfind("\n") + 1].splitlines()]
        return [(float(when), self.name, job, stopped == "1") for when, job, stopped in lines]

    def end(self):
        if not self.watcher:
            return
        self.watcher.terminate()
        try:
            self.watcher.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.watcher.kill()
            self.watcher.wait(30)

    # ---- what is done to it ----

    def start(self, daemon):
        if daemon != "hpcbd":
            self.execute("/run/hpcb/lib/daemon", "start", daemon)
            return
        library = self.bench.workspace.program("clock.so")
        self.shell(f"cd / && export LD_PRELOAD={library} CLOCK_STEP=/run/clock_step && "
                   "{ setsid hpcbd < /dev/null >> /run/hpcb/log/hpcbd.$HOSTNAME.log 2>&1 & "
                   "echo $! > /run/pids/hpcbd; }")

    def kill(self, daemon):
        self.shell(f'kill -9 "$(cat /run/pids/{daemon})"')

    def hang(self):
        self.shell(SIGNAL_HPCBD.format("STOP"))

    def wake(self):
        """hpcbd after a hang; its watchdog has ended it, or let it hang."""
        self.shell(SIGNAL_HPCBD.format("CONT") + " 2> /dev/null || true")
        if not self.shell("/run/hpcb/lib/daemon running hpcbd && echo yes || true").strip():
            self.start("hpcbd")

    def link(self, state):
        self.execute("ip", "link", "set", "dev", "eth0", state)

    def step_clock(self, seconds):
        self.shell("python3 -c 'import sys; open(\"/run/clock_step\", \"wb\").write("
                   "int(float(sys.argv[1]) * 1e9).to_bytes(8, \"little\", signed=True))' "
                   f"{seconds} && " + SIGNAL_HPCBD.format("RTMAX"))

    def take_clock(self):
        """From now on hpcbd has a clock that can be stepped."""
        self.shell("head -c 8 /dev/zero > /run/clock_step")
        self.execute("/run/hpcb/lib/daemon", "stop", "hpcbd")
        self.start("hpcbd")


class Bench:
    """with Bench(args, progress) as bench: all jobs take turns and are watched."""

    def __init__(self, args, progress):
        self.progress = progress
        self.replay = os.path.join(session.build_directory(args.build), "bench", "gang-replay")
        self.workspace = Workspace([os.path.join(HERE, name) for name in ("watch.py", "cpu.py")])
        self.home = scratch_directory("hpcb-gang.")
        self.cluster = Cluster(args.sandbox, os.path.join(self.home, "ours"), False, args.user)
        self.nodes = [Node(self, name) for name in plan.NODES]
        self.jobs = []   # Slurm's numbers, as in plan.JOBS
        self.lost = []
        self.seen = {}   # {node: the last decision of the part before}
        self.whole = {}  # {job: quantum of its last turn on all its nodes}

    def __enter__(self):
        try:
            self.progress.show("starting a sandbox")
            self.cluster.up(len(plan.NODES), 1)
            self.share_cores()
            self.jobs = [self.submit(nodes) for nodes in plan.JOBS]
            self.wait_for_turns()
            for node in self.nodes:
                node.watch(self.jobs_of(node))
            self.wait_for_watchers()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.progress.clear()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for step in (*(node.end for node in self.nodes), self.cluster.down):
            try:
                step()
            except (BenchError, OSError, subprocess.SubprocessError) as failed:
                print(failed, file=sys.stderr)
        self.workspace.remove()
        shutil.rmtree(self.home, ignore_errors=True)

    def share_cores(self):
        etc = os.path.join(self.cluster.directory, "etc")
        slurm_conf = os.path.join(etc, "slurm.conf")
        lines = [line.replace("OverSubscribe=FORCE:1", f"OverSubscribe=FORCE:{len(plan.JOBS)}")
                 if line.startswith("PartitionName=primary") else line
                 for line in jobs.read_text(slurm_conf).splitlines()]
        with open(slurm_conf, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(os.path.join(etc, "hpc-balance.conf"), "a", encoding="utf-8") as file:
            file.write(f"GangPartitions=primary\nGangQuantum={plan.QUANTUM_SECONDS}\n")
        command([self.cluster.sandbox, "exec", "--dir", self.cluster.directory, "--",
                 "scontrol", "reconfigure"], 60)
        for node in self.nodes:
            node.shell(SIGNAL_HPCBD.format("HUP"))

    def submit(self, nodes):
        """A job that computes on one core of each node until it is cancelled."""
        directory = self.workspace.job_directory("job")
        script = jobs.write_script(directory, ["exec srun sh -c 'while :; do :; done'"])
        return self.cluster.submit([f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}",
                                    f"--ntasks={len(nodes)}", "--ntasks-per-node=1",
                                    "--time=180", "--mem-per-cpu=20"], script)

    def jobs_of(self, node):
        return [job for job, nodes in zip(self.jobs, plan.JOBS) if node.name in nodes]

    def wait_for_turns(self):
        deadline = time.monotonic() + START_SECONDS
        for node in self.nodes:
            wanted = set(map(int, self.jobs_of(node)))
            while {job["job"] for job in node.listed()["jobs"] if job["turns"] > 2} != wanted:
                if time.monotonic() > deadline:
                    raise BenchError(f"{node.name}: not all jobs take turns after "
                                     f"{START_SECONDS} s")
                time.sleep(1)

    def places(self):
        """[(node, job)]"""
        return [(node.name, job) for node in self.nodes for job in self.jobs_of(node)]

    def wait_for_watchers(self):
        """They say of each job how it is when they begin; what they miss is no switch."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            seen = {(node, job) for _, node, job, _ in self.switches()}
            left = [place for place in self.places() if place not in seen]
            if not left:
                return
            if time.monotonic() > deadline:
                raise BenchError(f"{left[0][0]}: job {left[0][1]} is not watched after "
                                 f"{START_SECONDS} s")
            time.sleep(0.1)

    # ---- nobody disturbs them ----

    def go_on(self, node):
        """{quantum: decision} from the last decision of the part before on, or from now on if
        hpcbd has forgotten some of those between."""
        listed, seen = node.listed()["decisions"], self.seen.get(node.name)
        if not seen or listed[0]["quantum"] > seen["quantum"]:
            self.whole = {}
            return {listed[-1]["quantum"]: listed[-1]}
        found = {seen["quantum"]: seen}
        add_decisions(node.name, found, listed)
        return found

    def read_decisions(self, decisions):
        for node in self.nodes:
            found = decisions[node.name]
            add_decisions(node.name, found, node.listed()["decisions"])
            if has_holes(found):
                add_decisions(node.name, found, node.listed()["decisions"])

    def watch_calm(self, seconds):
        decisions = {node.name: self.go_on(node) for node in self.nodes}
        cpu = {node.name: -node.cpu_seconds() for node in self.nodes}
        started = time.monotonic()
        while time.monotonic() < started + seconds:
            time.sleep(min(POLL_SECONDS, max(0, started + seconds - time.monotonic())))
            self.read_decisions(decisions)
        end, took = time.time(), time.monotonic() - started
        self.seen = {node: found[max(found)] for node, found in decisions.items()}
        for node in self.nodes:
            cpu[node.name] += node.cpu_seconds()
        return self.calm_record({node: list(found.values())
                                 for node, found in decisions.items()}, cpu, end, took)

    def calm_record(self, decisions, cpu, end, took):
        nodes_of = {int(job): nodes for job, nodes in zip(self.jobs, plan.JOBS)}
        index_of = {int(job): str(index) for index, job in enumerate(self.jobs)}
        turns = {node: {index_of[job]: figures for job, figures in maths.turns(found).items()}
                 for node, found in decisions.items()}
        skews = maths.skews(decisions, nodes_of, self.switches(), end)
        whole = maths.whole_turns(decisions, nodes_of, self.whole)
        self.whole = {job: figures["last"] for job, figures in whole.items()}
        return {"mode": "calm", "seconds": took, "turns": turns,
                "together": maths.together(decisions, nodes_of),
                "whole": {index_of[job]: {key: figures[key] for key in ("turns", "longest")}
                          for job, figures in whole.items()},
                "skews": [round(skew, 6) for skew in skews],
                "cpu": cpu, "replay": self.replayed(decisions)}

    def switches(self):
        return [switch for node in self.nodes for switch in node.switches()]

    def replayed(self, decisions):
        """What the policy says of the same samples."""
        lines = [json.dumps(decision) for found in decisions.values() for decision in found]
        done = subprocess.run([self.replay], input="\n".join(lines) + "\n",
                              stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        if done.returncode not in (0, 1):
            raise BenchError("gang-replay: a decision cannot be read")
        return json.loads(done.stdout)

    # ---- disturbances ----

    def prepare_disturbances(self):
        library = os.path.join(self.workspace.path, "clock.so")
        command(["cc", "-shared", "-fPIC", "-O2", "-o", library,
                 os.path.join(HERE, "clock.c")], 60)
        for node in self.nodes:
            node.take_clock()
        self.wait_for_turns()

    def node(self, name):
        return next((node for node in self.nodes if node.name == name), Node(self, name))

    def disturb(self, planned):
        node = self.node(planned.target)
        begin = time.time()
        time.sleep(planned.pause)
        self.act(planned, node)
        stuck = self.stuck_after(planned, time.time())
        self.undo(planned, node)
        undone = time.time()
        if planned.kind == "step":
            stuck += self.stuck_after(planned, undone)
        self.lost = self.find_lost()
        stuck += self.wait_until_let_go(undone)
        end, switches = time.time(), self.switches()
        limits = {node.name: plan.stop_limit(node.name, node.cycle()) for node in self.nodes}
        stuck += maths.too_long(switches, limits, begin, end)
        self.lost = self.find_lost()
        stuck = [(node, job) for node, job in stuck if job not in self.lost]
        return {"mode": "disturb", "number": planned.number, "kind": planned.kind,
                "daemon": planned.daemon, "target": planned.target, "step": planned.step,
                "stuck": list(dict.fromkeys(stuck)), "lost": self.lost,
                "longest": max((seconds for (_, job), seconds
                                in maths.longest_stops(switches, begin, end).items()
                                if job not in self.lost), default=0)}

    @staticmethod
    def act(planned, node):
        if planned.kind == "kill":
            node.kill(planned.daemon)
        elif planned.kind == "cut":
            node.link("down")
        elif planned.kind == "hang":
            node.hang()
        else:
            node.step_clock(planned.step)

    @staticmethod
    def undo(planned, node):
        if planned.kind == "kill":
            node.start(planned.daemon)
        elif planned.kind == "cut":
            node.link("up")
        elif planned.kind == "hang":
            # Whatever its watchdog does, it has done by then.
            time.sleep(HANG_SECONDS - plan.CALM_SECONDS)
            node.wake()
        else:
            node.step_clock(0)

    def stuck_after(self, planned, began):
        """[(node, job)] that are stopped although nobody is there who would let them go; a
        node of which no job runs has no job's number."""
        until = began + plan.CALM_SECONDS
        time.sleep(max(0, until - time.time()))
        switches = self.switches()
        if planned.daemon == "hpcbd":
            dead = [(node, job) for node, job in maths.stopped_at(switches, until)
                    if node == planned.target]
        else:
            dead = []
        return dead + [(node.name, None) for node in self.nodes
                       if maths.stands_still(switches, node.name, self.jobs_of(node),
                                             until - STILL_SECONDS, until)]

    def wait_until_let_go(self, since):
        """Until each job that is not lost has been set going on each of its nodes: turns are
        taken again, and by all.  [(node, job)] of those that were not, in START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        places = [(node, job) for node, job in self.places() if job not in self.lost]
        while True:
            left = maths.not_let_go(self.switches(), places, since)
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.3)

    def find_lost(self):
        """Jobs that Slurm does not know as running any more."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                queue = self.cluster.queue()
                break
            except BenchError:   # slurmctld is about to begin
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)
        running = {line.split()[0] for line in queue if line.split()[1] == "RUNNING"}
        return [job for job in self.jobs if job not in running]
