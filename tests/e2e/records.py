#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""records.py RUNS SACCT [PROLOGS]: do the collector's records say what sacct says?

RUNS is what hpcb-report --export=jsonl prints.

SACCT is the output of sacct -n -P -D -o JobIDRaw,State,TotalCPU,NNodes,Start with a line
for each allocation and its steps behind it.  Prints both totals; exit code 1 where a run
is missing, is there twice, is incomplete, or CPU times differ by more than a hundredth and
START a run.

PROLOGS has a line "JOB RESTARTS" for each prolog that has run, which the nodes have
written: each of these runs must be there.  Without it, all runs of sacct must.

But slurmctld counts a run from its allocation on, a node from its prolog on.  What Slurm
takes back before that is a run of slurmctld's alone: it has one of TAKEN_BACK, and no step
(the batch script is one, but that it is known says not that it was launched).  We may have
such a run, or not.  And slurmd (22.05) may leave out the prolog of a requeued run where it
still knows the run before: it forgets that at most every two seconds (slurm_cred.c,
_clear_expired_job_states, on which slurm_cred_handle_reissue relies).

A run that was taken back may be without the time of its start, however long it was: until
its epilog is over the job is pending already, so that backfill clears start_time (22.05,
backfill.c, _clear_job_estimates), which batch_requeue_fini then sends where slurmctld had
not yet an index from slurmdbd.  Any other job without a start has never been allocated.
"""
import json
import sys

TAKEN_BACK = ("PREEMPTED", "REQUEUED", "NODE_FAIL")

# Seconds that starting a task takes, of which Slurm counts more than its cgroup.
START = 0.03


def seconds(text):
    """[DD-[HH:]]MM:SS[.mmm]"""
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * int(days or 0)


def read_records(path):
    runs = {}
    with open(path) as stream:
        for line in stream:
            run = json.loads(line)
            if (run["job_id"], run["restart"]) in runs:
                sys.exit("job %d: a run is there twice" % run["job_id"])
            runs[run["job_id"], run["restart"]] = run
    return runs


def read_sacct(path):
    """Allocations that started: job -> [CPU seconds, runs, those that may not have begun
    on a node]."""
    jobs, steps = {}, {}
    with open(path) as stream:
        rows = [line.rstrip("\n").split("|")[:5] for line in stream]
    last = None
    for at, row in enumerate(rows):
        if "." not in row[0]:
            last = at
        else:
            steps[last] = steps.get(last, 0) + 1
    for at, (job, state, cpu, nodes, start) in enumerate(rows):
        if "." in job or int(nodes or 0) == 0 or (
                start in ("Unknown", "None") and not state.startswith(TAKEN_BACK)):
            continue
        entry = jobs.setdefault(int(job), [0.0, 0, 0])
        entry[0] += seconds(cpu or "0")
        entry[1] += 1
        entry[2] += state.startswith(TAKEN_BACK) and at not in steps
    return jobs


def read_prologs(path):
    """The runs that have begun on a node."""
    with open(path) as stream:
        return {tuple(int(number) for number in line.split()) for line in stream}


def missing_runs(runs, jobs, began):
    """began: None where nobody has written it down."""
    for run in sorted((began or set()) - set(runs)):
        yield "job %d: run %d has begun and is lost" % run
    for job, (_, known, taken_back) in sorted(jobs.items()):
        mine = sum(run[0] == job for run in runs)
        # One run at least is known: a prolog may be left out in all of them (slurmd notes
        # jobs that were taken back before it saw them), but what steps used is not.
        needed = known - taken_back if began is None else min(known - taken_back, 1)
        if mine < needed:
            yield "job %d: %d runs, sacct has %d" % (job, mine, known)


def compare(runs, jobs, began=None):
    """(a line with both totals, what is wrong)."""
    ours, problems = {}, []
    for (job, _), run in runs.items():
        entry = ours.setdefault(job, [0.0, 0])
        entry[0] += run["cpu_seconds"]
        entry[1] += 1
        names = [node["node"] for node in run["node_records"]]
        if not run["complete"] or len(names) != len(set(names)):
            problems.append("job %d: %s" % (job, json.dumps(run)))
    problems += missing_runs(runs, jobs, began)
    for job, (_, mine) in sorted(ours.items()):
        if mine > jobs.get(job, [0.0, 0])[1]:
            problems.append("job %d: %d runs, sacct has %d" % (
                job, mine, jobs.get(job, [0.0, 0])[1]))
    cpu, sacct_cpu = sum(e[0] for e in ours.values()), sum(e[0] for e in jobs.values())
    if abs(cpu - sacct_cpu) > 0.01 * sacct_cpu + START * len(runs):
        problems.append("CPU time differs by more than 1 %")
        for job in sorted(jobs):
            mine = ours.get(job, [0.0, 0])[0]
            if abs(mine - jobs[job][0]) > START + 0.01 * jobs[job][0]:
                problems.append("job %d: %.3f s, sacct %.3f s" % (job, mine, jobs[job][0]))
    return "ours: %d runs, %.3f s; sacct: %d runs, %.3f s" % (
        len(runs), cpu, sum(e[1] for e in jobs.values()), sacct_cpu), problems


def main():
    began = read_prologs(sys.argv[3]) if len(sys.argv) > 3 else None
    totals, problems = compare(read_records(sys.argv[1]), read_sacct(sys.argv[2]), began)
    print("\n".join([totals, *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
