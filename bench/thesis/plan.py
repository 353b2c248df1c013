# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The experiments of Stiehr 2004 (tables 1-8 and 1-9, sections 3 and 4) and the order
in which they are run.  Pure: nothing here touches a cluster.

Four groups; the regimes of one experiment follow each other in random order:

  alone   s1 s4   one application, nothing beside it    (group A)
  beside  s2 s5   a primary with guests at given places (group B)
  queues  s3 s6 s7   two queues over the same nodes     (group C)

  turns   t2 t5   the same, in turns with a twin without guests (turns.py)

Five sets are ours: t2 and t5; s0, which is s1 with MPI as it is today (it polls); b2, the
primary of s2 and s5 alone, right beside them in time; c7, which is s7 with three guests a
core (GuestOversubscribe=3), and which is run only if it is asked for.
"""

import random
from dataclasses import dataclass, replace

from thesis import paper

PARALLEL = ("HAL1", "HPL", "MrBayes", "WRF")
APPLICATIONS = ("GAUSS", "HAL1", "HPL", "MrBayes", "WRF", "PAUP")

# Slurm's own seconds around the jobs of a run (submission, start, an empty queue).
OVERHEAD = {"alone": 2.5, "beside": 4.0, "turns": 5.0, "queues": 6.0}


@dataclass(frozen=True)
class Job:
    """One job.  places: numbers of its nodes from 0, None where Slurm chooses; weight:
    for how many jobs of the thesis it stands; twins: it runs its application twice, in
    turns (turns.py)."""
    app: str
    low: bool = False
    places: tuple = None
    weight: float = 1.0
    twins: bool = False

    def tasks(self, nodes):
        return nodes if self.app in PARALLEL else 1


@dataclass(frozen=True)
class Regime:
    """One way to run an experiment; guest: how guests get there (None: in the queue of
    the primaries)."""
    set: str
    title: str
    plain: bool
    guest: str = None
    polling: bool = False
    a_core: int = 1   # guests that may have the same core


@dataclass(frozen=True)
class Run:
    rep: int
    group: str
    number: int
    regime: Regime

    @property
    def name(self):
        return f"{self.regime.set}e{self.number}"

    @property
    def key(self):
        return (self.rep, self.name)


REGIMES = {
    "alone": (
        Regime("s0", "alone, stock, MPI polls", True, polling=True),
        Regime("s1", "alone, stock", True),
        Regime("s4", "alone, ours", False),
    ),
    "beside": (
        Regime("b2", "dedicated", True),
        Regime("s2", "stock, nice -n 19", True, "nice"),
        Regime("s5", "ours, --guest", False, "guest"),
    ),
    "turns": (
        Regime("t2", "stock, nice -n 19, in turns", True, "nice"),
        Regime("t5", "ours, --guest, in turns", False, "guest"),
    ),
    "queues": (
        Regime("s3", "dedicated", True),
        Regime("s6", "stock, nice -n 19", True, "nice"),
        Regime("s7", "ours, --guest", False, "guest"),
        Regime("c7", "ours, --guest, three a core", False, "guest", a_core=3),
    ),
}
SETS = {regime.set: group for group, regimes in REGIMES.items() for regime in regimes}

# Section 3.2.1.  "specifically" says where a guest runs; where the thesis does not
# say, it is the first node (the wall time of s2e3 is that of a slowed coordinator).
FIRST, SECOND, ALL, SLAVES = "first", "second", "all", "slaves"
BESIDE = (
    ("GAUSS", (("GAUSS", FIRST),)),
    ("MrBayes", (("GAUSS", ALL),)),
    ("HAL1", (("PAUP", FIRST),)),
    ("WRF", (("PAUP", FIRST), ("PAUP", FIRST))),
    ("WRF", (("HAL1", ALL),)),
    ("HAL1", (("PAUP", SECOND),)),
    ("HAL1", (("PAUP", ALL),)),
    ("HAL1", (("PAUP", SLAVES),)),
)

# Section 3.2.2: parentheses start together, brackets ask for a low level of service.
# s6 and s7 are the same jobs as two queues.  e3 lists 12 jobs, tables 3-4, 3-5 and 4-3
# count 11; we run the list.
QUEUES = (
    "HAL1, (PAUP, PAUP, GAUSS, GAUSS), [HAL1], [HAL1]",
    "(PAUP, PAUP, PAUP, PAUP), [HAL1], ([GAUSS], [GAUSS], [GAUSS], [GAUSS])",
    "MrBayes, WRF, HPL, [HAL1], ([PAUP], [PAUP], [GAUSS], [GAUSS]), "
    "([PAUP], [PAUP], [GAUSS], [GAUSS])",
    "HPL, [HAL1], WRF, ([GAUSS], [PAUP], [PAUP], [GAUSS]), [HAL1]",
    "WRF, ([GAUSS], [GAUSS], [GAUSS], [GAUSS]), ([PAUP], [PAUP], [PAUP], [PAUP]), HAL1",
    "[HAL1], ([PAUP], [PAUP], [PAUP], [PAUP]), MrBayes, HPL",
    "WRF, [HAL1], ([GAUSS], [GAUSS], [GAUSS], [GAUSS])",
    "MrBayes, MrBayes, (PAUP, PAUP, PAUP, PAUP), [HAL1], [HAL1]",
)


def parse(text):
    """The stages of the thesis' notation, each a list of (application, low)."""
    stages = []
    inside = False
    for word in text.replace(" ", "").split(","):
        if not inside:
            stages.append([])
        inside = (inside or word.startswith("(")) and not word.endswith(")")
        word = word.strip("()")
        name = word.strip("[]")
        if name not in APPLICATIONS:
            raise ValueError(f"no application \"{name}\" in \"{text}\"")
        stages[-1].append((name, word.startswith("[")))
    return stages


def fewer(stage, nodes):
    """A stage of the thesis' four nodes on `nodes`: of the sequential jobs that fill
    the cluster together, as many of each as the cluster is smaller."""
    jobs = []
    for kind in dict.fromkeys(stage):
        app, low = kind
        count = stage.count(kind)
        ours = count if app in PARALLEL else max(1, count * nodes // paper.NODES)
        jobs += [Job(app, low, weight=count / ours)] * ours
    return jobs


def queue_jobs(number, nodes):
    """The jobs of s3, s6 and s7 in the order of their submission in s3."""
    return [job for stage in parse(QUEUES[number - 1]) for job in fewer(stage, nodes)]


def places(where, nodes):
    """Numbers of the nodes that `where` means."""
    return {FIRST: (0,), SECOND: (1,), ALL: tuple(range(nodes)),
            SLAVES: tuple(range(1, nodes))}[where]


def beside_jobs(number, nodes):
    """(primary, guests) of s2 and s5."""
    name, guests = BESIDE[number - 1]
    everywhere = tuple(range(nodes))
    primary = Job(name, places=everywhere if name in PARALLEL else (0,))
    jobs = []
    for app, where in guests:
        if app in PARALLEL:
            jobs.append(Job(app, True, everywhere))
        else:
            jobs += [Job(app, True, (place,)) for place in places(where, nodes)]
    return primary, jobs


def jobs_of(run, nodes):
    """The jobs of a run in the order of their submission."""
    if run.group == "queues":
        batch = queue_jobs(run.number, nodes)
        return sorted(batch, key=lambda job: job.low) if run.regime.guest else batch
    if run.group == "alone":
        return [Job(APPLICATIONS[run.number - 1])]
    primary, guests = beside_jobs(run.number, nodes)
    if run.group == "turns":
        primary = replace(primary, twins=True)
    return guests + [primary] if run.regime.guest else [primary]


def numbers(group):
    return range(1, 1 + {"alone": len(APPLICATIONS), "beside": len(BESIDE),
                         "turns": len(BESIDE), "queues": len(QUEUES)}[group])


def selected(words):
    """The names (s1e1, …) that a list such as s1, s3e4 means; ValueError for others.
    b2 comes with s2 and s5, which are nothing without it."""
    known = {f"{name}e{number}" for name, group in SETS.items()
             for number in numbers(group)}
    names = set()
    for word in words:
        found = {name for name in known if name == word or name.split("e")[0] == word}
        if not found:
            raise ValueError(f"no experiment \"{word}\"")
        names |= found
    names |= {"b2" + name[2:] for name in names if name[:2] in ("s2", "s5")}
    return names


def schedule(reps, seed, names):
    """All runs in their order.  The order within an experiment depends on seed,
    repetition and experiment alone, so that a run that is taken up again, or a
    selection, does not change it."""
    runs = []
    for rep in range(reps):
        for group, regimes in REGIMES.items():
            for number in numbers(group):
                rng = random.Random(f"{seed}/{rep}/{group}/{number}")
                runs += [Run(rep, group, number, regime)
                         for regime in rng.sample(regimes, len(regimes))]
    return [run for run in runs if run.name in names]


def thesis_seconds(run):
    """How long the thesis' machine took for it, or would have taken."""
    if run.group == "alone":
        return paper.MEANS[APPLICATIONS[run.number - 1]][1]
    if run.group == "queues":
        return paper.queue_seconds(run.regime.set.replace("c7", "s7"), run.number)
    alone = paper.MEANS[BESIDE[run.number - 1][0]][1]
    # With autogroup (Linux 2.6.38) a nice job of another session gets half of a CPU,
    # which the thesis' kernel did not give it.
    seconds = 1.8 * alone if run.regime.guest == "nice" else alone
    return seconds + alone if run.group == "turns" else seconds


def estimate(runs, scale, pace=1.0):
    """Seconds that the runs will take; pace: how much longer earlier ones took than
    this said."""
    return pace * sum(thesis_seconds(run) * scale + OVERHEAD[run.group] for run in runs)
