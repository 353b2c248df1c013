# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-guests: CPUs and memory that guests can get, how long guests wait, what mine get.
From squeue, scontrol, sstat and sacct, with the rights of the caller.  hpcbctl calls
it with --switch for `guests stop|drain|resume` (switch.py), and with --check for
`check --nodes` (checks.py)."""

import argparse
import json
import os
import statistics
import sys
import time

from . import checks, gauges, room, settings, slurm, switch
from .sacct import cpu_seconds
from .text import ReportError, UsageError, fit, neutral, pad
from .version import VERSION

PROGRAM = "hpcb-guests"

# Days of one's own guests from which an expected end is taken, and the fewest of a name.
_DAYS = 30
_FEWEST = 3

# Jobs of the caller that are shown as text.
_SHOWN = 20

_WHY = {
    "Resources": "no node has the CPUs or the memory now",
    "Priority": "other guests are before it",
    "PartitionDown": "guests are switched off for now",
    "PartitionInactive": "guests are switched off for now",
    "BeginTime": "it was requeued, or asked for a later start",
    "Dependency": "it waits for another job",
    "JobHeldUser": "you hold it: scontrol release",
    "JobHeldAdmin": "an administrator holds it",
    "PartitionTimeLimit": "its time limit is above the partition's",
    "PartitionNodeLimit": "it asks for more nodes than the partition has",
    "JobArrayTaskLimit": "the limit of your job array (%N) is reached",
    "Licenses": "licenses are in use",
    "Reservation": "its reservation has not begun",
}


def why(reason):
    """Slurm's reason in words."""
    if reason in _WHY:
        return _WHY[reason]
    if reason.startswith(("QOS", "Assoc", "MaxGRES", "MaxMem", "MaxCpu")):
        return f"a limit of the site: {neutral(reason)}"
    if reason.startswith(("ReqNodeNotAvail", "Nodes_required_for_job")):
        return "nodes that it needs are down, drained or reserved"
    return neutral(reason)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(message)


def parser():
    made = Parser(prog=PROGRAM, allow_abbrev=False, add_help=False, description=(
        "CPUs and memory for guests now, how long guests wait, and what yours get."))
    made.add_argument("-j", "--json", action="store_true", help="one JSON object")
    made.add_argument("-c", "--config", metavar="FILE", help="hpc-balance.conf to use")
    made.add_argument("-m", "--metrics", action="store_true",
                      help="the queue of guests for Prometheus")
    made.add_argument("-o", "--output", metavar="FILE",
                      help="with --metrics: the file to replace")
    made.add_argument("-h", "--help", action="help", help="this text")
    made.add_argument("-V", "--version", action="version",
                      version=f"{PROGRAM} {VERSION}")
    return made


# Verbs of hpcbctl that are done here.
_VERBS = {"--switch": ("hpcbctl guests", switch), "--check": ("hpcbctl check", checks)}


def verb_parser(program, verb):
    made = Parser(prog=program, allow_abbrev=False, add_help=False)
    made.add_argument("-j", "--json", action="store_true")
    made.add_argument("-c", "--config", metavar="FILE")
    verb.add_options(made)
    return made


# ---- How long guests wait

def _number(text):
    """A time or count, None for N/A and the like."""
    return int(text) if text.isascii() and text.isdigit() else None


def waits(partition, now):
    """Of the guests that run, and of those that wait."""
    running = slurm.queue("-p", partition, "-t", "RUNNING",
                          fields=("EligibleTime", "StartTime"))
    waited = sorted(start - eligible for eligible, start in
                    ((_number(a), _number(b)) for a, b in running)
                    if eligible and start and start >= eligible)
    pending = slurm.queue("-p", partition, "-t", "PENDING",
                          fields=("EligibleTime", "Reason"))
    since = [_number(row[0]) for row in pending]
    reasons = {}
    for _, reason in pending:
        reasons[reason] = reasons.get(reason, 0) + 1
    return {
        "running": len(running), "pending": len(pending),
        "median_wait_seconds": statistics.median(waited) if waited else None,
        "p90_wait_seconds": waited[int(0.9 * (len(waited) - 1))] if waited else None,
        "longest_pending_seconds": max((now - at for at in since
                                        if at and at <= now), default=None),
        "reasons": reasons,
    }


# ---- One's own guests

def _used(jobs):
    """{job: CPU seconds so far} as sstat tells; without those that it does not know."""
    if not jobs:
        return {}
    used = {}
    try:
        _, out, _ = slurm.run("sstat", "-a", "-n", "-P", "-j", ",".join(jobs), "-o",
                              "JobID,AveCPU,NTasks")
    except ReportError:
        return {}
    for line in out.splitlines():
        step, _, rest = line.partition("|")
        cpu, _, tasks = rest.partition("|")
        try:
            seconds = cpu_seconds(cpu) * int(tasks)
        except ValueError:
            continue
        job = step.partition(".")[0]
        used[job] = used.get(job, 0.0) + seconds
    return used


def _needed(names, partition, now):
    """{name: CPU seconds that the caller's guests of that name have taken}, medians."""
    names = {name for name in names if name and "," not in name}
    if not names:
        return {}
    try:
        out = slurm.ask("sacct", "-n", "-P", "-u", str(os.getuid()), "-r", partition,
                        "-s", "CD", "-S", f"@{now - _DAYS * 86400}", "-E", "now",
                        "--name", ",".join(sorted(names)), "-o",
                        "JobIDRaw,TotalCPU,JobName")
    except ReportError:
        return {}
    taken = {}
    for line in out.splitlines():
        job, _, rest = line.partition("|")
        cpu, _, name = rest.partition("|")
        try:
            seconds = cpu_seconds(cpu)
        except ValueError:
            continue
        if job.isdigit() and seconds > 0:
            taken.setdefault(name, []).append(seconds)
    return {name: statistics.median(values) for name, values in taken.items()
            if len(values) >= _FEWEST}


def _expected(job, needed, now):
    """When it ends if it goes on like this; None if nobody knows."""
    done, ran = job["cpu_seconds"], now - (job["start"] or now)
    if not needed or not done or ran <= 0:
        return None
    end = now + max(0.0, needed - done) * ran / done
    return int(min(end, job["latest_end"] or end))


def mine(partition, now):
    """The caller's guests."""
    fields = ("JobArrayID", "JobID", "State", "NumCPUs", "StartTime", "EndTime",
              "Reason", "MinMemory")
    rows = slurm.queue("-p", partition, "-u", str(os.getuid()), fields=fields)
    names = dict(slurm.queue("-p", partition, "-u", str(os.getuid()),
                             fields=("JobID", "Name")))
    used = _used([row[1] for row in rows if row[2] == "RUNNING"])
    needed = _needed(names.values(), partition, now)
    jobs = []
    for shown, job_id, state, cpus, start, end, reason, memory in rows:
        runs = state == "RUNNING"
        job = {"job": shown, "name": names.get(job_id, ""), "state": state,
               "cpus": _number(cpus), "memory": memory,
               "start": _number(start), "latest_end": _number(end) if runs else None,
               "cpu_seconds": used.get(job_id), "cpu_share": None,
               "expected_end": None, "reason": None if runs else reason,
               "why": None if runs else why(reason)}
        if runs and job["start"] and now > job["start"] and job["cpu_seconds"] is not None:
            job["cpu_share"] = round(job["cpu_seconds"] / (now - job["start"]) /
                                     max(1, job["cpus"] or 1), 4)
            job["expected_end"] = _expected(job, needed.get(job["name"]), now)
        jobs.append(job)
    return jobs


# ---- What is printed

def _span(seconds):
    if seconds is None:
        return "-"
    seconds = int(seconds)
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def _clock(at):
    return time.strftime("%d %b %H:%M", time.localtime(at)) if at else "-"


def table(heading, rows):
    """Columns of words; all but the first and the last are right-aligned."""
    rows = [heading] + rows
    widths = [max(len(row[at]) for row in rows) for at in range(len(heading))]
    return [" ".join(pad(cell, width, left=at in (0, len(heading) - 1))
                     for at, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def _waits_text(found):
    lines = [f"{found['running']} guests run and {found['pending']} wait."]
    if found["median_wait_seconds"] is not None:
        lines.append(f"Those that run waited {_span(found['median_wait_seconds'])} in the "
                     f"median, nine of ten up to {_span(found['p90_wait_seconds'])}.")
    if found["pending"]:
        lines.append("Those that wait: " + ", ".join(
            f"{count} {neutral(reason)}" for reason, count in
            sorted(found["reasons"].items(), key=lambda row: -row[1])[:5]) +
            f"; the longest for {_span(found['longest_pending_seconds'])}.")
    return lines


def _mine_text(jobs):
    if not jobs:
        return ["You have no guests: sbatch --guest job.sh"]
    rows = [[fit(job["job"], 16), fit(job["state"], 9),
             "-" if job["cpus"] is None else str(job["cpus"]),
             "-" if job["cpu_share"] is None else f"{100 * job['cpu_share']:.0f} %",
             _clock(job["expected_end"]), _clock(job["latest_end"]),
             job["why"] or ""] for job in jobs[:_SHOWN]]
    lines = table(["JOBID", "STATE", "CPUS", "CPU", "EXPECTED", "LATEST", "WHY"], rows)
    if len(jobs) > _SHOWN:
        lines.append(f"... and {len(jobs) - _SHOWN} more (--json has all)")
    return lines


def text(found):
    lines = [f"Partition {found['partition']} is {found['state']}"
             + ("." if found["state"] == "UP" else ": no guest starts."), ""]
    lines += room.text(found["room"], table)
    return "\n".join(lines + [""] + _waits_text(found["waits"]) + [""] +
                     _mine_text(found["mine"]))


def look(config, ours=True):
    """All of it, as one object; without the caller's guests if not ours."""
    conf, now = settings.load(config), int(time.time())
    partition = slurm.partition(conf.guest_partition)
    return {"partition": conf.guest_partition, "time": now,
            "state": partition.get("State", ""),
            "room": room.look(conf, partition),
            "waits": waits(conf.guest_partition, now),
            "mine": mine(conf.guest_partition, now) if ours else []}


def main(argv):
    program = PROGRAM
    try:
        if argv and argv[0] in _VERBS:
            program, verb = _VERBS[argv[0]]
            options = verb_parser(program, verb).parse_args(argv[1:])
            return verb.main(options, settings.load(options.config))
        options = parser().parse_args(argv)
        if options.output and not options.metrics:
            raise UsageError("--output is for --metrics")
        if options.json and options.metrics:
            raise UsageError("--json and --metrics exclude each other")
        found = look(options.config, not options.metrics)
        if options.output:
            gauges.deliver(options.output, gauges.text(found))
            return 0
        if options.metrics:
            print(gauges.text(found), end="", flush=True)
            return 0
        print(json.dumps(found, indent=2) if options.json else text(found), flush=True)
        return 0
    except UsageError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except (ReportError, OSError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
