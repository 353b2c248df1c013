# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The thesis' tables with our columns beside theirs, as text, Markdown and JSON."""

import json
from collections import Counter
from dataclasses import dataclass
from statistics import mean

import stats
from thesis import figures, paper, plan
from table import format_table, number, percent
from thesis.apps import APPS

# Where nice costs the primary at least this, we are held to LIMIT.
NICE_COSTS = 0.03
LIMIT = 0.01

GAINS = ("throughput", "efficiency", "turnaround")
QUEUE_KEYS = ("throughput", "efficiency", "turnaround", "primary")


@dataclass(frozen=True)
class Table:
    title: str
    headers: tuple
    rows: list
    note: str = ""


def what(run):
    """What a run consists of, in the thesis' notation."""
    if run.group == "alone":
        return plan.APPLICATIONS[run.number - 1]
    if run.group == "queues":
        return plan.QUEUES[run.number - 1]
    return beside_text(run.number)


def beside_text(experiment):
    primary, guests = plan.BESIDE[experiment - 1]
    return ", ".join([primary] + [f"[{app}] {where}" for app, where in guests])


def spread(values):
    """A ratio's median and range as change in percent, and of how many repetitions."""
    if not values:
        return None
    middle = figures.middle(values)
    text = f"{100 * (middle - 1):+.1f} %"
    if len(values) == 1:
        return f"{text} (1 run)"
    return (f"{text} ({100 * (min(values) - 1):+.1f} … {100 * (max(values) - 1):+.1f}; "
            f"{len(values)})")


def with_deviation(results, name, key, factor=1, digits=1):
    found = results.mean(name, key)
    if found is None:
        return None
    deviation = results.deviation(name, key)
    text = number(factor * found, digits)
    return text if deviation is None else f"{text} ± {factor * deviation:.{digits}f}"


def roles_table(results):
    rows = []
    for name in plan.APPLICATIONS:
        app = APPS[name]
        rows.append([name, app.program, app.package,
                     "all nodes" if app.parallel else "1",
                     f"{results.settings['work'].get(name, '-')} {app.unit}",
                     len(results.answers().get(name, ())) == 1 and "one" or
                     str(len(results.answers().get(name, ())))])
    return Table("Applications", ("role", "program", "package", "processes", "work",
                                  "answers"), rows,
                 "answers: how many different ones all runs of all regimes gave.")


def alone_table(results):
    rows = []
    for experiment, name in enumerate(plan.APPLICATIONS, 1):
        row = [f"e{experiment} {name}"]
        for theirs in ("s1", "s4"):
            runs = paper.ALONE[theirs][name]
            row += [number(mean(run[1] for run in runs), 0),
                    number(mean(run[2] for run in runs), 0)]
        for ours in ("s0", "s1", "s4"):
            row += [with_deviation(results, f"{ours}e{experiment}", "wall", digits=2),
                    with_deviation(results, f"{ours}e{experiment}", "efficiency", 100,
                                   0)]
        row.append("/".join(str(len(results.values(f"{ours}e{experiment}", "wall")))
                            for ours in ("s0", "s1", "s4")))
        row += [spread(results.ratios(f"s1e{experiment}", f"s0e{experiment}", "wall")),
                spread(results.ratios(f"s4e{experiment}", f"s1e{experiment}", "wall"))]
        rows.append(row)
    return Table(
        "Tables 3-1, 3-2, 4-1: applications alone",
        ("", "thesis s1 wall s", "eff %", "thesis s4 wall s", "eff %", "s0 wall s",
         "eff %", "s1 wall s", "eff %", "s4 wall s", "eff %", "runs", "s1 / s0", "s4 / s1"),
        rows, "Mean and standard deviation.  runs: of s0, s1 and s4.  s0: as s1, but MPI polls as it comes from "
        "Debian; s1 / s0: what sleeping in waits costs by itself; s4 / s1: what we "
        "cost without guests (paired median; range and number of pairs).")


def beside_table(results):
    rows = []
    for experiment in plan.numbers("beside"):
        primary = plan.BESIDE[experiment - 1][0]
        alone = paper.MEANS[primary][1]
        row = [f"e{experiment} {beside_text(experiment)}"]
        row += [percent(paper.BESIDE[name][experiment - 1][1] / alone - 1, 1, True)
                for name in ("s2", "s5")]
        base = f"b2e{experiment}"
        row.append(number(results.median(base, "wall"), 2))
        for name in ("s2", "s5"):
            ours = f"{name}e{experiment}"
            row += [spread(results.ratios(ours, base, "wall")),
                    spread(results.ratios(ours, base, "pace")),
                    percent(results.median(ours, "efficiency"), 0),
                    percent(results.added(ours, base, "stolen"), 2, True)]
        rows.append(row)
    return Table(
        "Tables 3-3 and 4-2: running time of a primary with guests beside it",
        ("", "thesis s2", "s5", "alone s", "s2 (nice)", "wall / CPU", "eff", "stolen",
         "s5 (ours)", "wall / CPU", "eff", "stolen"), rows,
        "Change of the primary's wall time against the same primary alone (ours: "
        "paired median; range and number of pairs).  wall / CPU: the same of wall time per second of its CPU "
        "time, which does not change with the machine's own speed, as that does from "
        "run to run, nor with what guests take of caches.  stolen: time that the primary could have run and "
        "others had its CPU, added to that of the primary alone, in percent of wall.")


def turns_ratios(results, name, experiments):
    return [ratio for experiment in experiments if results.has(f"{name}e{experiment}")
            for ratio in results.values(f"{name}e{experiment}", "ratio")]


def turns_table(results):
    every = plan.numbers("turns")
    lines = [(f"e{number} {beside_text(number)}", [number]) for number in every]
    rows = []
    for title, experiments in [*lines, ("all", every)]:
        row = [title]
        for name in ("t2", "t5"):
            found = turns_ratios(results, name, experiments)
            row += [len(found), spread(found), interval(found)]
        rows.append(row)
    return Table(
        "Running time of a primary with guests beside it, in turns with its twin",
        ("", "runs", "t2 (nice)", "95 %", "runs", "t5 (ours)", "95 %"), rows,
        "Change of wall time against the same primary without guests, which runs in the "
        "other quarters of a second of the same run: the machine's own speed is the same "
        "for both.  Median, range and number of runs, and the 95 % interval of the median.")


def interval(values):
    """Of a ratio's median, as change in percent."""
    if len(values) < 2:
        return None
    low, high = stats.median_interval(values)
    return f"{100 * (low - 1):+.1f} … {100 * (high - 1):+.1f} %"


def queue_table(results, name, title):
    rows = []
    for experiment in plan.numbers("queues"):
        theirs = paper.QUEUES[name][experiment - 1]
        ours = f"{name}e{experiment}"
        rows.append([f"e{experiment}", theirs[0], number(theirs[1], 2),
                     number(theirs[2], 1), number(theirs[3], 0), number(theirs[4], 0),
                     len(results.values(ours, "throughput")),
                     number(results.median(ours, "jobs"), 0),
                     number(results.median(ours, "throughput"), 0),
                     number(scaled(results.median(ours, "efficiency"), 100), 1),
                     number(results.median(ours, "turnaround"), 2),
                     number(results.median(ours, "primary"), 2),
                     number(results.median(ours, "gaps"), 2)])
    return Table(title, ("", "thesis jobs", "jobs/h", "eff %", "turnaround s",
                         "primary s", "runs", "jobs", "jobs/h", "eff %",
                         "turnaround s", "primary s", "gaps s"), rows,
                 "Ours: medians of so many runs.  gaps: Slurm's seconds between jobs, not counted.")


def scaled(value, factor):
    return None if value is None else factor * value


def gain_of_thesis(name, experiment, key):
    column = 1 + QUEUE_KEYS.index(key)
    return (paper.QUEUES[name][experiment - 1][column] /
            paper.QUEUES["s3"][experiment - 1][column] - 1)


def gains_table(results, key, title):
    rows = []
    for experiment in plan.numbers("queues"):
        rows.append([f"e{experiment} {plan.QUEUES[experiment - 1]}"] +
                    [percent(gain_of_thesis(name, experiment, key), 1, True)
                     for name in ("s6", "s7")] +
                    [spread(results.ratios(f"{name}e{experiment}", f"s3e{experiment}",
                                           key)) for name in ("s6", "s7")])
    return Table(title, ("", "thesis s6", "s7", "s6 (nice)", "s7 (ours)"), rows,
                 "Ours: median of pairs with s3 of one repetition; range and number of pairs.")


def sharing_table(results):
    """What it gives guests, and costs primaries, that three share a core."""
    rows = []
    for experiment in plan.numbers("queues"):
        ours, one, none = (f"{name}e{experiment}" for name in ("c7", "s7", "s3"))
        rows.append([f"e{experiment} {plan.QUEUES[experiment - 1]}"] +
                    [spread(results.ratios(ours, one, key)) for key in GAINS] +
                    [spread(results.ratios(name, none, "primary")) for name in (one, ours)])
    return Table("Three guests a core (c7) against one (s7)",
                 ("", *GAINS, "primaries, s7", "primaries, c7"), rows,
                 "Median of pairs of one repetition; range and number of pairs.  primaries: "
                 "change of their running time against s3.")


def idle_table(results):
    rows = []
    for experiment in plan.numbers("queues"):
        thesis = paper.QUEUES["s3"][experiment - 1][2]
        ours = results.median(f"s3e{experiment}", "efficiency")
        rows.append([f"e{experiment}", percent(100 / thesis - 1, 1, True),
                     None if ours is None else percent(1 / ours - 1, 1, True)] +
                    [percent(figures.middle([
                        idle for idle in results.values(f"{name}e{experiment}", "idle")
                        if idle is not None]), 1) for name in ("s3", "s7")])
    return Table(
        "What there was to gain", ("", "thesis: at most", "at most", "s3 idle",
                                   "s7 (ours) idle"), rows,
        "at most: the gain in efficiency if no cycle of s3 were left.  idle: the part of "
        "the CPUs that nobody used while jobs ran, by /proc/stat (where it was recorded): "
        "efficiency leaves out what the kernel does for the network in nobody's name.")


def tables(results):
    found = [roles_table(results)]
    if any(results.has(name) for name in names("alone")):
        found.append(alone_table(results))
    if any(results.has(name) for name in names("beside")):
        found.append(beside_table(results))
    if any(results.has(name) for name in names("turns")):
        found.append(turns_table(results))
    if any(results.has(name) for name in names("queues")):
        found += [
            queue_table(results, "s3", "Table 3-4: one job a processor (s3)"),
            queue_table(results, "s6", "Table 3-5: two queues, nice -n 19 (s6)"),
            queue_table(results, "s7", "Table 4-3: two queues, guests (s7)"),
            gains_table(results, "throughput", "Gain in throughput (figure 4-5)"),
            gains_table(results, "efficiency", "Gain in efficiency (figure 4-6)"),
            gains_table(results, "turnaround", "Change of turnaround (figure 4-7)"),
            gains_table(results, "primary",
                        "Change of the primaries' running time (figure 4-9)"),
            idle_table(results),
        ]
    if any(results.has(f"c7e{experiment}") for experiment in plan.numbers("queues")):
        found.append(sharing_table(results))
    return found


def names(group):
    return [f"{regime.set}e{experiment}" for regime in plan.REGIMES[group]
            for experiment in plan.numbers(group)]


def same_answers(results):
    return all(len(answers) == 1 for answers in results.answers().values())


def judged(kept, *samples):
    """Whether a promise is kept; None where a single run would have to tell."""
    return kept if all(len(sample) > 1 for sample in samples) else None


def primary_verdicts(results):
    """(sentence, kept) of every experiment in which nice costs something."""
    found = []
    at_most = f"limit {100 * LIMIT:+.0f} %"
    for nice, ours, base, key in (("s2", "s5", "b2", "wall"),
                                  ("s6", "s7", "s3", "primary"),
                                  ("s6", "c7", "s3", "primary")):
        for experiment in range(1, 9):
            alone = f"{base}e{experiment}"
            of_nice = results.ratios(f"{nice}e{experiment}", alone, key)
            of_ours = results.ratios(f"{ours}e{experiment}", alone, key)
            if not of_nice or not of_ours:
                continue
            if figures.middle(of_nice) - 1 < NICE_COSTS:
                continue
            pace = results.ratios(f"{ours}e{experiment}", alone, "pace")
            found.append((f"{ours}e{experiment}: primaries run {spread(of_ours)}, per "
                          f"CPU second {spread(pace)} ({at_most}; nice: "
                          f"{spread(of_nice)})",
                          judged(figures.middle(of_ours) - 1 <= LIMIT, of_ours)))
    return found


def turns_verdicts(results):
    """The same where a primary and its twin took turns."""
    found = []
    every = plan.numbers("turns")
    for title, experiments in [(f"t5e{number}", [number]) for number in every] + [
            ("all of t5", every)]:
        ratios = turns_ratios(results, "t5", experiments)
        if ratios:
            found.append((f"{title}: in turns with its twin a primary runs "
                          f"{spread(ratios)} (limit {100 * LIMIT:+.0f} %)",
                          judged(figures.middle(ratios) - 1 <= LIMIT, ratios)))
    return found


def gain_verdicts(results):
    """The largest gains against those of the thesis' chapter 5."""
    found = []
    for key in GAINS:
        ratios = {experiment: results.ratios(
            f"s7e{experiment}", f"s3e{experiment}", key) for experiment in range(1, 9)}
        ours = {experiment: figures.middle(found) - 1
                for experiment, found in ratios.items() if found}
        if not ours:
            continue
        lower = key == "turnaround"
        best = (min if lower else max)(ours, key=ours.get)
        limit = paper.BEST_GAINS["s7"][key]
        kept = ours[best] <= limit if lower else ours[best] >= limit
        found.append((f"{key}: best {percent(ours[best], 0, True)} in s7e{best} "
                      f"(thesis: {percent(limit, 0, True)})",
                      judged(kept, ratios[best])))
    return found


def verdicts(results):
    return [*primary_verdicts(results), *turns_verdicts(results),
            *gain_verdicts(results),
            ("every application gave one answer in all regimes", same_answers(results))]


def taken_by_others(results):
    """What is busy beside the jobs is what the machine was busy less what jobs are
    accounted for, which may be more than that: then nothing can be said."""
    external = figures.middle([run["external"] for run in results.runs])
    steal = figures.middle([run["steal"] for run in results.runs])
    if external < 0:
        return ("What others (Slurm's daemons among them) took cannot be told: the jobs' own "
                "accounts exceed what the machine was busy in the median of all runs.  A "
                f"hypervisor took {percent(steal, 1)}.")
    return (f"Others (Slurm's daemons among them) and a hypervisor took "
            f"{percent(external, 1)} and {percent(steal, 1)} of the machine in the median "
            "of all runs.")


def counted(names):
    """Each name once, and how often where it is more than that."""
    return ", ".join(name if count == 1 else f"{name} ({count})"
                     for name, count in sorted(Counter(names).items()))


def conditions(results):
    """What the figures were made with, one sentence a line."""
    settings = results.settings
    around = settings.get("machine", {})
    disturbed = [run["name"] for run in results.runs if run.get("disturbed")]
    repeated = sum(run.get("failures", 0) for run in results.runs)
    network = settings["network"]
    return [
        f"{settings['nodes']} nodes with one CPU each (thesis: {paper.NODES}), running "
        f"times 1/{1 / settings['scale']:.0f} of the thesis', "
        f"{results.repetitions()} repetitions ({len(results.runs)} runs), regimes of an "
        "experiment in random order.",
        f"Network between the nodes: {f'{network} Mb/s' if network else 'as it is'}.",
        f"{around.get('cpu', 'unknown CPU')}, Linux {around.get('kernel', '?')}, "
        f"{around.get('date', '')}: {', '.join(around.get('packages', []))}.",
        taken_by_others(results),
        f"Runs with more than 10 % of that, do not trust them: "
        f"{counted(disturbed) or 'none'}.  Runs made again because they failed: "
        f"{repeated}.",
    ]


def as_text(results):
    lines = conditions(results) if results.runs else ["No runs yet."]
    for table in tables(results):
        lines += ["", table.title]
        lines += ["  " + line for line in format_table(table.headers, table.rows)]
        lines += ["  " + table.note] if table.note else []
    lines.append("")
    words = {True: "kept     ", False: "BROKEN   ", None: "undecided"}
    lines += [f"{words[kept]}  {text}" for text, kept in verdicts(results)]
    return "\n".join(lines)


def markdown_table(table):
    def line(cells):
        return "| " + " | ".join("-" if cell is None else str(cell).replace("|", "\\|")
                                 for cell in cells) + " |"

    return [line(table.headers), "|---" * len(table.headers) + "|"] + [
        line(row) for row in table.rows]


MARKDOWN_HEAD = """\
# The thesis' experiments, repeated

The experiments s1 to s7 of Stiehr 2004 (WUCSE-2004-52) on the sandbox, with real
applications and with our figures beside the thesis'.  This file is written by
`bench/thesis/run --report --state {state} --write FILE`; the state file is the raw data,
`bench/thesis/run` makes it.

How the experiments are scaled:

- The thesis has four uniprocessor nodes.  Here a node is one CPU of this machine, so
  that there are as many as it has CPUs, four at most.  On two nodes a parallel
  application has two processes instead of four, and of sequential jobs that fill the
  cluster together half as many of each are run; each of them counts as two in jobs,
  throughput and mean turnaround.  Efficiency and the primaries' running time (the sum
  of the wall times of their processes, as in the thesis) are those of our processors.
- All running times are the thesis' times one factor: the applications' work is fixed,
  so that each of them takes about that long here.  Every job is a job of Slurm;
  Slurm's own seconds in which no job runs are left out (a clock that stands still),
  because the same second would be nothing beside the thesis' minutes.
- What made the thesis' I/O-bound applications wait is the network, 100 Mb/s between
  CPUs of 1 GHz.  Here it is a token bucket on each node's interface: 1000 Mb/s, because
  the CPUs do about ten times as much, or 300 Mb/s, with which HPL waits for as large a
  part of its time as the thesis' did (conditions below say which).
- The thesis' MPI (MPICH 1.2.5 over TCP) sleeps while it waits; Debian's polls.  So the
  three I/O-bound applications sleep in their waits in all regimes: with
  `libhpcb_mpi.so` preloaded by hand on stock Slurm, by `--hpc-balance` on ours.  s0 is
  s1 with polling: what the sleeping costs and frees by itself.  HAL1 polls, as the
  coordinator of the thesis' HAL1 did (table 3-1: 99 % of four processors).
- Regimes: dedicated (stock Slurm, one job on a processor at a time), nice (stock Slurm
  with two partitions over the same processors, guests call `nice -n 19`), ours (guests
  are submitted with `--guest`).  The regimes of one experiment follow each other in
  random order; ratios are taken within a repetition and reported as median and range.
- In turns: a machine whose speed changes from run to run by more than what is looked
  for cannot be asked by runs.  So a primary runs twice at once, stopped and let go on by
  turns of a quarter of a second, one of them with the guests and one without.
- Experiment e3 of s3, s6 and s7 lists twelve jobs in the thesis, its tables count
  eleven; the list is what is run.

Conditions:

"""


def as_markdown(results, state):
    lines = [MARKDOWN_HEAD.format(state=state)]
    lines += [f"- {line}" for line in conditions(results)]
    for table in tables(results):
        lines += ["", f"## {table.title}", ""] + markdown_table(table)
        lines += ["", table.note] if table.note else []
    lines += ["", "## What it shows", ""]
    words = {True: "kept", False: "**broken**", None: "undecided (a single run)"}
    lines += [f"- {words[kept]}: {text}" for text, kept in verdicts(results)]
    return "\n".join(lines) + "\n"


def as_json(results):
    return json.dumps({
        "settings": results.settings,
        "figures": {name: [{"rep": rep, **found} for rep, found in sorted(reps.items())]
                    for name, reps in sorted(results.by_name.items())},
        "verdicts": [{"text": text, "kept": kept} for text, kept in verdicts(results)],
    })
