# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Runs one experiment of bench/thesis on the sandbox and records what its processes
took.  All that is computed from that is in figures.py."""

import hashlib
import itertools
import json
import os
import shlex
import shutil
from dataclasses import replace

import jobs
import machine
import stats
from cluster import BenchError, command
from thesis.apps import APPS, fit
from thesis.figures import application, span
from thesis.plan import REGIMES, Job, jobs_of, thesis_seconds
from thesis.sharing import Sharing
from thesis.turns import HALVES, Turns, active

# A run is made once more when others used more of the machine than this (not with
# --patience 0).
MAX_EXTERNAL = 0.10
MAX_ATTEMPTS = 2

# A run that failed is made again so often: an MPI_Init that dies is no reason to lose
# an hour.
MAX_FAILURES = 2

# No job may end before one that was submitted earlier, as far as Slurm's backfill
# knows: each queue keeps its order (backfill counts in minutes).
FIRST_LIMIT, MORE_LIMIT = 60, 15

ENVIRONMENT = ("export PMIX_MCA_gds=hash OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
               "OMPI_MCA_btl_base_warn_component_unused=0")


def shape_network(cluster, nodes, mbit):
    """Give every node's interface the thesis' bandwidth in both directions (what
    leaves one node enters another); 0: leave it."""
    if mbit == 0:
        return
    for number in range(1, nodes + 1):
        command([cluster.sandbox, "exec", "--dir", cluster.directory, "--host",
                 f"n{number}", "--", "tc", "qdisc", "replace", "dev", "eth0", "root",
                 "tbf", "rate", f"{mbit}mbit", "burst", "32kb", "latency", "200ms"], 60)


def sbatch_options(job, regime, nodes, number):
    """Of the number'th job of a run."""
    tasks = job.tasks(nodes)
    options = [f"--ntasks={tasks}", f"--nodes={tasks}", f"--job-name={job.app}",
               f"--time={FIRST_LIMIT + MORE_LIMIT * number}",
               f"--mem-per-cpu={512 if job.twins else 256}"]
    if job.places is not None:
        options.append("--nodelist=" + ",".join(f"n{i + 1}" for i in job.places))
    if job.low and regime.guest:
        options += jobs.GUEST_OPTIONS[regime.guest]
    elif APPS[job.app].waits and not regime.plain and not job.twins:
        options.append("--hpc-balance")
    return options


def call(job, regime, getstats, library):
    """The command line that a job's script runs."""
    app = APPS[job.app]
    words = ["srun", "-K1", "--mpi=pmix"] if app.parallel else []
    if app.parallel and job.twins:
        words.append("--overlap")
    if job.low and regime.guest == "nice":
        words += ["nice", "-n", "19"]
    words.append(getstats)
    # On stock Slurm, waits are made sleeps by hand: the thesis' MPI slept too.  Of
    # twins as well: who is stopped looks as if it waited, and would be balanced.
    if app.waits and (regime.plain or job.twins) and not regime.polling:
        words += ["--preload", library]
    return shlex.join(words) + " stats " + app.command


def idle_between(submitted, start, end):
    """How many CPUs were idle on average, as far as the machine was looked at while jobs
    were waited for."""
    samples = sorted((sample.when, sample.idle) for one in submitted
                     for sample in one.samples)
    return stats.growth(samples, start, end) / (end - start) if samples else 0.0


def twin_lines(lines):
    """A job script that runs another one's lines in two directories at once."""
    both = [f"(cd {name}\n" + "\n".join(lines) + ") &" for name in HALVES]
    return both + ["wait", f"sort -n {' '.join(name + '/done' for name in HALVES)} | "
                   "tail -n 1 > done.new && mv done.new done"]


def parts(one):
    """A job of twins as two."""
    return [replace(one, directory=one.file(name)) for name in HALVES]


def parted(batch, submitted):
    """The jobs of a run, its twins as two of them."""
    if not batch[-1].twins:
        return batch, submitted
    return batch + [batch[-1]], submitted[:-1] + parts(submitted[-1])


class Runner:
    def __init__(self, around, state, progress):
        self.clusters = around.clusters
        self.workspace = around.workspace
        self.patience = around.args.patience
        self.progress = progress
        self.state = state
        self.scale = state.settings["scale"]
        self.nodes = state.settings["nodes"]
        self.work = state.settings["work"]
        self.getstats = around.workspace.program("thesis-getstats")
        self.sharing = Sharing(self.clusters[False], self.nodes)

    def script(self, job, regime):
        """A directory with inputs and script of a job."""
        app = APPS[job.app]
        directory = self.workspace.job_directory(job.app)
        for where in self.places(directory, job):
            app.write_inputs(where, self.work[job.app], self.nodes)
        library = self.workspace.program("libhpcb_mpi.so") if app.waits else None
        line = call(job, regime, self.getstats, library)
        line = line.replace("{work}", str(self.work[job.app])) + f" < {app.stdin}"
        lines = jobs.job_lines(ENVIRONMENT, line)
        jobs.write_script(directory, twin_lines(lines) if job.twins else lines)
        return directory

    @staticmethod
    def places(directory, job):
        """Where it runs, within its directory."""
        if not job.twins:
            return [directory]
        found = [os.path.join(directory, name) for name in HALVES]
        for where in found:
            os.mkdir(where)
            os.chmod(where, 0o777)
        return found

    def submit(self, batch, regime):
        """Submit all jobs within a moment, in this order."""
        cluster = self.clusters[regime.plain]
        directories = [self.script(job, regime) for job in batch]
        lines = []
        for number, (job, directory) in enumerate(zip(batch, directories)):
            script = os.path.join(directory, "script")
            lines.append(shlex.join(["sbatch", "--parsable", f"--chdir={directory}",
                                     f"--output={script}.log",
                                     *sbatch_options(job, regime, self.nodes, number),
                                     script]))
        out = cluster.execute(["bash", "-e", "-c", "\n".join(lines)], 120)
        numbers = [line.split(";")[0] for line in out.split()]
        if len(numbers) != len(batch) or not all(n.isdigit() for n in numbers):
            raise BenchError(f"sbatch: expected {len(batch)} job numbers, got {out!r}")
        return [jobs.Submitted(number, directory, job.tasks(self.nodes), cluster)
                for number, directory, job in zip(numbers, directories, batch)]

    def start(self, run, batch):
        """Submit it; guests that run beside a primary run already when that comes."""
        if run.group == "queues" or len(batch) == 1:
            return self.submit(batch, run.regime)
        guests = self.submit(batch[:-1], run.regime)
        # A second one of the same nodes waits for the first.
        firsts = {job.places: one for job, one in reversed(list(zip(batch, guests)))}
        for one in firsts.values():
            jobs.wait_until(one, lambda one=one: os.path.exists(one.file("out")), 120)
        return guests + self.submit(batch[-1:], run.regime)

    def attempt(self, run):
        cluster = self.clusters[run.regime.plain]
        machine.wait_idle(0.05, self.patience)
        timeout = 120 + 20 * thesis_seconds(run) * self.scale
        batch = jobs_of(run, self.nodes)
        if not run.regime.plain:
            self.sharing.choose(run.regime.a_core)
        before = machine.use()
        with cluster.drained():
            submitted = self.start(run, batch)
            more = self.wait(run, submitted, timeout)
            # Guests that are cancelled now say nothing of themselves.
            unsaid = sum(machine.used_in(one.directory) for one in submitted)
        after = machine.use()
        record = {**self.record(run, *parted(batch, submitted), before, after, unsaid),
                  **more}
        for one in submitted:
            shutil.rmtree(one.directory, ignore_errors=True)
        return record

    def wait(self, run, submitted, timeout):
        """Until what is measured has ended; what a record says of it besides."""
        if run.group != "turns":
            for one in submitted if run.group == "queues" else submitted[-1:]:
                jobs.wait_done(one, timeout)
            return {}
        primary = submitted[-1]
        own = [primary.file(name) for name in HALVES]
        with Turns([one.directory for one in submitted[:-1]], *own,
                   primary.tasks) as turns:
            jobs.wait_done(primary, timeout)
        spans = [span({"ranks": self.ranks(part)}) for part in parts(primary)]
        found = [active(turns.slices, half, *when) for half, when in zip(HALVES, spans)]
        if min(found) <= 0:
            raise BenchError(f"{run.name} is too short for turns (--scale)")
        return {"active": [round(seconds, 4) for seconds in found]}

    def record(self, run, batch, submitted, before, after, unsaid):
        """unsaid: CPU seconds of jobs that did not end."""
        ranks = [self.ranks(one) for one in submitted]
        began = min(rank[0] for job in ranks for rank in job)
        ended = max(rank[1] for job in ranks for rank in job)
        cpus = os.cpu_count() or 1
        seconds = after.when - before.when
        used = unsaid + sum(rank[2] for job in ranks for rank in job)
        return {
            "rep": run.rep, "name": run.name, "seconds": round(seconds, 2),
            "external": round((after.busy - before.busy - used) / (cpus * seconds), 4),
            "steal": round((after.steal - before.steal) / (cpus * seconds), 4),
            "idle": round(idle_between(submitted, began, ended) / cpus, 4),
            "jobs": [{"app": job.app, "low": job.low, "weight": job.weight,
                      "ranks": [[round(rank[0] - began, 4), round(rank[1] - began, 4),
                                 round(rank[2], 4), round(rank[3], 4)] for rank in own],
                      "answer": self.answer(job, one)}
                     for job, one, own in zip(batch, submitted, ranks)],
        }

    def ranks(self, one):
        """[start, end, CPU, run delay] of its processes; nothing of a guest that had
        not started when its primary ended."""
        found = []
        for number in range(one.tasks):
            text = jobs.read_text(one.file(f"stats.{number}"))
            if text:
                stat = json.loads(text)
                found.append([stat[key]
                              for key in ("start", "end", "cpu", "run_delay")])
        return found

    def answer(self, job, one):
        """A short name of what it computed; nothing of one that was cancelled."""
        if jobs.read_text(one.file("done")).strip() != "0":
            return None
        text = APPS[job.app].read_answer(one.directory)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def probe(self, app, work):
        """Wall seconds of this much work alone."""
        self.work = {app.name: work}
        machine.wait_idle(0.05, self.patience)
        alone = next(regime for regime in REGIMES["alone"] if regime.set == "s1")
        with self.clusters[alone.plain].drained():
            one = self.submit([Job(app.name)], alone)[0]
            jobs.wait_done(one, 300)
        ranks = self.ranks(one)
        shutil.rmtree(one.directory, ignore_errors=True)
        return application({"ranks": ranks})["wall"]

    def calibrate(self, name):
        """Choose the work of an application whose work is not in the state yet."""
        if name in self.state.settings["work"]:
            return
        app = APPS[name]
        small, large = app.probe, 3 * app.probe
        short, long = self.probe(app, small), self.probe(app, large)
        self.state.set_work(name, *fit((small, short), (large, long),
                                       app.seconds * self.scale))
        self.work = self.state.settings["work"]

    def run(self, run):
        """The record of a run that others did not disturb, if one can be had."""
        failures = 0
        for attempt in itertools.count(1):
            try:
                record = self.attempt(run)
            except BenchError as error:
                failures += 1
                self.progress.show(f"{run.name}: {error}; once more")
                if failures > MAX_FAILURES:
                    raise
                continue
            disturbed = record["external"] + record["steal"] > MAX_EXTERNAL
            if not disturbed or attempt >= MAX_ATTEMPTS or not self.patience:
                return {**record, "disturbed": disturbed, "failures": failures}
