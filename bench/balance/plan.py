# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/balance/jobs runs: which regimes of which programs with which MPI, in what
order, and what each regime asks of Slurm."""

import os
import random
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from balance import app as application

RANKS = 4
CPUS = 2
MPIS = ("openmpi", "mpich")
NONE = "none"
AGAIN = "none-again"
SPIN = "-spin"
POLICIES = ("static", "uniform", "adaptive", "dlrb", "auto")

ALL = (NONE, AGAIN, "pinned", "wait", *POLICIES, *(name + SPIN for name in POLICIES))

# What tells most in the time that there is: all that balances with Open MPI, the ways to
# balance that are recommended with MPICH, and what could harm with a balanced program.
WITHOUT_SEARCH = ("dlrb", "auto", "dlrb" + SPIN, "auto" + SPIN)
MOST_TELLING = {
    "openmpi": (NONE, "wait", *POLICIES, *(name + SPIN for name in POLICIES)),
    "mpich": (NONE, "wait", "static", *WITHOUT_SEARCH),
}
HARMLESS = (NONE, AGAIN, "wait", *WITHOUT_SEARCH)
# Of the application: with ranks that spin, a search for the best setting takes minutes.
WITHOUT_SPINNING = (NONE, "wait", *POLICIES, "auto" + SPIN)


def load_model():
    """bench/balance, which is a script, as a module: programs, settings, prediction."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run")
    loader = SourceFileLoader("balance", path)
    module = module_from_spec(spec_from_loader("balance", loader))
    loader.exec_module(module)
    return module


model = load_model()

PROGRAMS = (*model.PROGRAMS, application.NAME)
PAPER = {**model.PAPER, application.NAME: "SIESTA: static 8 %, uniform and adaptive 6 %"}


@dataclass(frozen=True)
class Run:
    rep: int
    mpi: str
    program: str
    regime: str

    @property
    def key(self):
        return (self.rep, self.mpi, self.program, self.regime)

    @property
    def spins(self):
        return self.regime.endswith(SPIN)


def mpis_of(program):
    return (application.MPI,) if program == application.NAME else MPIS


def loads_of(program):
    return (list(application.LOADS) if program == application.NAME
            else model.loads_of(program))


def regimes_of(mpi, program, complete):
    if complete:
        return ALL
    return {"balanced": HARMLESS, application.NAME: WITHOUT_SPINNING}.get(
        program, MOST_TELLING[mpi])


def schedule(reps, mpis, programs, complete, only=None):
    """All runs in the order of measuring: the regimes of a program, which are compared,
    follow each other, in an order of its own in each repetition.  It is the same
    whenever it is asked for.  only: these regimes, and none."""
    runs = []
    for rep in range(reps):
        order = random.Random(rep)
        blocks = [(mpi, program) for mpi in mpis for program in programs
                  if mpi in mpis_of(program)]
        for mpi, program in order.sample(blocks, len(blocks)):
            names = [name for name in regimes_of(mpi, program, complete)
                     if only is None or name == NONE or name in only]
            runs += [Run(rep, mpi, program, name)
                     for name in order.sample(names, len(names))]
    return runs


def signature(setting, loads):
    """The same for settings that differ only by which of two equal ranks, or CPUs, is
    which."""
    return tuple(sorted(tuple(sorted((loads[rank], setting.shares(rank))
                                     for rank in range(RANKS)
                                     if setting.places[rank] == cpu))
                        for cpu in range(CPUS)))


def candidates(program, count):
    """Settings that can be the best static one: what the model of bench/balance says of
    ranks that poll, and of equal priorities the best placement, as ranks that sleep need
    no more."""
    loads = loads_of(program)
    ranked = sorted(model.settings(), key=lambda s: model.predicted(s, loads))
    level = min((s for s in ranked if len(set(s.priorities)) == 1),
                key=lambda s: max(sum(loads[rank] for rank in range(RANKS)
                                      if s.places[rank] == cpu) for cpu in range(CPUS)))
    found = {signature(level, loads): level}
    for setting in ranked:
        found.setdefault(signature(setting, loads), setting)
        if len(found) == count:
            break
    return list(found.values())


def searched(program):
    """Whose best static setting the program runs with: metbenchvar's is that of its
    first phase, as in the thesis."""
    return {"metbenchvar": "metbench"}.get(program, program)


def options_of(regime, setting=None):
    """Options of salloc, and of srun.  setting: (priorities, places) of static."""
    policy = regime.removesuffix(SPIN)
    if policy in (NONE, AGAIN):
        return [], []
    if policy == "pinned":
        return [], ["--cpu-bind=map_cpu:0,1,0,1"]
    if policy == "static":
        priorities, places = setting
        return (["--hpc-balance=static:" + ",".join(map(str, priorities))],
                ["--cpu-bind=map_cpu:" + ",".join(map(str, places))])
    return ["--hpc-balance=" + policy], []
