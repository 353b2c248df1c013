# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/membus runs: programs, sets of four of them, regimes, and in which order."""

import random
from dataclasses import dataclass

PORT = 7411

# A block that no cache holds, and that fits into a job's memory.
BLOCK = "--size=160M"


# So long ranks compute before they go on with the others.
MEET_SECONDS = 0.01

# What these ask of memory in the paper, MB/s (figure 1).  bench/nas has them in proportion:
# CG asks for what it can, the others compute as much between as their part of that allows.
NAS_MB_S = {"CG": 674, "EP": 162, "FT": 384, "IS": 475, "LU": 491, "MG": 565}


@dataclass(frozen=True)
class Program:
    name: str
    title: str
    command: str
    arguments: tuple


PROGRAMS = {program.name: program for program in (
    Program("max", "membench, each line read and written", "membench",
            (BLOCK, "--stride=line", "--write")),
    Program("min", "membench, each word, 64 times", "membench",
            (BLOCK, "--stride=1", "--reuse=64")),
    Program("reuse", "membench, each word, 8 times", "membench",
            (BLOCK, "--stride=1", "--reuse=8", "--write")),
    Program("net", "netbench, messages of 64 KiB", "netbench", ("--size=65536",)),
    *(Program(kernel, f"goes to memory as {kernel} of the NAS benchmarks", "nas",
              (f"--kernel={kernel}",)) for kernel in NAS_MB_S),
    *(Program(f"{kernel}.mpi", f"the same as ranks of MPI, which meet every {MEET_SECONDS:g} s",
              "nas.mpi", (f"--kernel={kernel}",)) for kernel in NAS_MB_S),
)}

MPI_PROGRAMS = tuple(name for name in PROGRAMS if name.endswith(".mpi"))
# Those that wait for others: they sleep or poll.  The other programs never wait.
WAITING = ("net", *MPI_PROGRAMS)

# With two CPUs the first two that are submitted have one each, the others the same ones
# again.
SETS = {
    "net + min": ("net", "net", "min", "min"),
    "net + max": ("net", "net", "max", "max"),
    "max + min": ("max", "max", "min", "min"),
    "one of each": ("net", "reuse", "max", "min"),
    # The paper's (sim/scenarios/002-mixes.json has them by the same names): of two
    # applications each, and of one with membench-min or myribench.
    **{f"CG + {kernel}": ("CG", "CG", kernel, kernel) for kernel in NAS_MB_S},
    **{f"membench-min + {kernel}": ("min", "min", kernel, kernel) for kernel in NAS_MB_S},
    **{f"myribench + {kernel}": ("net", "net", kernel, kernel) for kernel in NAS_MB_S},
    # The same of programs whose ranks wait for each other, on several nodes.
    **{f"CG.mpi + {kernel}.mpi": ("CG.mpi", "CG.mpi", f"{kernel}.mpi", f"{kernel}.mpi")
       for kernel in NAS_MB_S},
    **{f"membench-min + {kernel}.mpi": ("min", "min", f"{kernel}.mpi", f"{kernel}.mpi")
       for kernel in NAS_MB_S},
    **{f"myribench + {kernel}.mpi": ("net", "net", f"{kernel}.mpi", f"{kernel}.mpi")
       for kernel in NAS_MB_S},
}
# What runs unless other sets are asked for: those whose gains the paper says and of which the
# programs are here, and ours.  A set whose programs poll has :poll behind its name.
USUAL = ("net + min", "net + min:poll", "net + max", "max + min", "one of each", "CG + CG",
         "CG + IS", "membench-min + CG", "myribench + EP", "myribench + MG")
# On several nodes.
USUAL_WIDE = ("net + min", "net + min:poll", "CG.mpi + CG.mpi", "CG.mpi + CG.mpi:poll",
              "CG.mpi + IS.mpi", "CG.mpi + IS.mpi:poll", "membench-min + CG.mpi",
              "myribench + EP.mpi", "myribench + MG.mpi")

# In which order the programs of a set are submitted.  Who takes jobs in their order runs
# the first two at once, and the others: with likes first that is the worst that turns can do,
# mixed it is the best.  Either way each CPU has one of both.
ARRANGEMENTS = {"likes first": (0, 1, 2, 3), "mixed": (0, 2, 3, 1)}

# Who runs with whom, of the four jobs of a set: likes with likes, or mixed.
PARTNERS = ((1, 0, 3, 2), (3, 2, 1, 0))


@dataclass(frozen=True)
class Regime:
    name: str
    title: str
    stock: bool      # Slurm's own gang scheduling
    lines: tuple     # of hpc-balance.conf


REGIMES = {regime.name: regime for regime in (
    Regime("linux", "Linux: all four at once", False, ()),
    Regime("slurm", "Slurm's gang scheduling, slices of 5 s", True, ()),
    Regime("order", "turns of 0.5 s in their order", False,
           ("GangPartitions=primary", "GangWindow=0")),
    Regime("ours", "turns of 0.5 s by bandwidth", False, ("GangPartitions=primary",)),
)}

# How programs wait.
WAITS = ("sleep", "poll")


def waits_of(name):
    return WAITS if waits(SETS[name]) else WAITS[:1]


def waits(programs):
    """Whether one of them does."""
    return bool(set(programs) & set(WAITING))


def kernels(text):
    """The set or program of the paper's that is meant."""
    return text.replace(".mpi", "")


def usual(nodes):
    return USUAL if nodes == 1 else USUAL_WIDE


def parse_set(text, nodes):
    """(set, wait) of one of USUAL's form, or a ValueError.  On one node a job is one rank, which
    waits for nobody."""
    name, _, wait = text.partition(":")
    wait = wait or WAITS[0]
    if name not in SETS or wait not in waits_of(name):
        raise ValueError(text)
    if nodes == 1 and set(SETS[name]) & set(MPI_PROGRAMS):
        raise ValueError(text)
    return name, wait


@dataclass(frozen=True)
class Together:
    """One or two programs at once, each on a CPU of its own: what a job does alone, and what
    it loses to another (figure 2)."""
    round: int
    jobs: tuple
    wait: str

    def key(self):
        return self.round, self.jobs, self.wait


@dataclass(frozen=True)
class Mix:
    """Four jobs on two CPUs, once under each regime, one after the other."""
    round: int
    set: str
    wait: str
    arrangement: str
    regimes: tuple   # in their order

    def key(self):
        return self.round, self.set, self.wait

    def submitted(self):
        return [SETS[self.set][index] for index in ARRANGEMENTS[self.arrangement]]

    def sorted(self, values):
        """Of the jobs as they are submitted, as SETS has them."""
        places = ARRANGEMENTS[self.arrangement]
        return [values[places.index(index)] for index in range(len(places))]


def pair(one, other, wait):
    return tuple(sorted((one, other))), wait if waits((one, other)) else WAITS[0]


def combinations(groups):
    """[(programs, wait)] of all that Together measures for these (set, wait)."""
    pairs = set()
    for name, wait in groups:
        programs = SETS[name]
        for partners in PARTNERS:
            pairs |= {pair(program, programs[partner], wait)
                      for program, partner in zip(programs, partners)}
        for program in programs:
            if program in (*NAS_MB_S, *MPI_PROGRAMS):
                pairs |= {pair(program, other, WAITS[0]) for other in (program, "max", "net")}
    singles = {((program,), wait if waits((program,)) else WAITS[0])
               for both, wait in pairs for program in both}
    return sorted(singles) + sorted(pairs)


def schedule(groups, rounds, seed):
    """Rounds of Together and Mix for these (set, wait), in random order.  The regimes of a mix
    follow each other, so that a slow minute of the machine hits all of them.  Of two rounds a
    set has one arrangement in each."""
    rng = random.Random(seed)
    units, turn = [], {}
    for number in range(rounds):
        found = combinations(groups)
        units += [Together(number, *one) for one in rng.sample(found, len(found))]
        if number % 2 == 0:
            turn = {group: rng.sample(list(ARRANGEMENTS), 2) for group in groups}
        units += [Mix(number, *group, turn[group][number % 2],
                      tuple(rng.sample(list(REGIMES), len(REGIMES))))
                  for group in rng.sample(groups, len(groups))]
    return units


def arguments_of(program, host, wait, demand):
    """demand: of demand.measure()."""
    kernel = kernels(program.name)
    if kernel in NAS_MB_S:
        return (*program.arguments, f"--size={demand['size']}",
                f"--work={demand['work'][kernel]}", f"--meet={demand['meet'][kernel]}")
    if program.command != "netbench":
        return program.arguments
    return (*program.arguments, f"--connect={host}", f"--port={PORT}", f"--wait={wait}")
