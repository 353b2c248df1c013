# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/gang runs: jobs of one to four nodes that share cores, and what is done to
the nodes meanwhile."""

import random
from dataclasses import dataclass

NODES = ("n1", "n2", "n3", "n4")
QUANTUM_SECONDS = 0.5

# The nodes of each job: of each width two, and on each node narrow ones and wide ones.
JOBS = (
    ("n1",),
    ("n3",),
    ("n1", "n2"),
    ("n3", "n4"),
    ("n1", "n2", "n3"),
    ("n2", "n3", "n4"),
    NODES,
    NODES,
)

# So long after a disturbance nothing may be stopped any more without a reason, and so long
# a disturbance lasts.
CALM_SECONDS = 2.0

KINDS = ("kill", "cut", "step", "hang")
# hpcbd more often than those that it works with.
DAEMONS = ("hpcbd", "hpcbd", "hpcbd", "slurmd", "munged", "slurmctld")
# Less than a quantum, some quanta, more than any limit of time.
STEPS_SECONDS = (0.013, 0.2, 1.7, 30.0, 3600.0)


def round_limit(depth, jobs, cycle=0):
    """A job is elected at least once in so many rounds, if a CPU has up to depth jobs, the
    node has jobs, and the job owns a quantum of each cycle that was dealt (0: none was).
    From round 2 depth on, or after two cycles, it is overdue, and each of the others goes
    before it once at most (policy/gang.c, next_overdue)."""
    return 2 * max(depth, cycle) + jobs - 1


def stop_limit(node, cycle):
    """For so many seconds may a job be stopped there without a break, come what may, if no
    job has a longer cycle.  All jobs of a node share its one core."""
    jobs = sum(node in nodes for nodes in JOBS)
    return round_limit(jobs, jobs, cycle) * QUANTUM_SECONDS + CALM_SECONDS


@dataclass(frozen=True)
class Disturbance:
    number: int
    kind: str       # of KINDS
    target: str     # a node, or ctl
    daemon: str     # of a kill or a hang
    step: float     # seconds, of a step of the clock
    pause: float    # seconds before it, so that it hits any moment of a quantum


def disturbance(number, seed):
    """The same for the same number and seed, however many there are; each kind is one of
    as many as there are kinds that follow each other."""
    turn, index = divmod(number, len(KINDS))
    kind = random.Random(seed * 7919 + turn).sample(KINDS, len(KINDS))[index]
    rng = random.Random(seed * 104729 + number)
    target = rng.choice(NODES)
    daemon = {"kill": rng.choice(DAEMONS), "hang": "hpcbd"}.get(kind, "")
    step = rng.choice(STEPS_SECONDS) * rng.choice((-1, 1)) if kind == "step" else 0.0
    return Disturbance(number, kind, "ctl" if daemon == "slurmctld" else target, daemon,
                       step, rng.uniform(0, 1.5))
