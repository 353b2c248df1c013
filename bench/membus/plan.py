# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/membus runs: programs, sets of four of them, regimes, and in which order."""

import random
from dataclasses import dataclass

PORT = 7411

# A block that no cache holds, and that fits into a job's memory.
BLOCK = "--size=160M"


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
)}

# In the order in which they are submitted: with two CPUs the first two have one each, the
# others the same ones again.  Who takes them in order runs likes together.
SETS = {
    "net + min": ("net", "net", "min", "min"),
    "net + max": ("net", "net", "max", "max"),
    "max + min": ("max", "max", "min", "min"),
    "one of each": ("net", "reuse", "max", "min"),
    # The paper's (sim/scenarios/002-mixes.json has them by the same names): of two
    # applications each, and of one with membench-min or myribench.
    **{f"CG + {kernel}": ("CG", "CG", kernel, kernel) for kernel in NAS_MB_S},
    "membench-min + CG": ("min", "min", "CG", "CG"),
    "myribench + CG": ("net", "net", "CG", "CG"),
}
# What runs unless other sets are asked for.
USUAL = ("net + min", "net + max", "max + min", "one of each", "CG + EP", "myribench + CG")


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

# How netbench waits; the other programs never do.
WAITS = ("sleep", "poll")


def waits_of(name):
    return WAITS if "net" in SETS[name] else WAITS[:1]


def schedule(sets, rounds, seed):
    """[(round, set, wait, regime)]: the regimes of a set follow each other, in random
    order, so that a slow minute of the machine hits all of them."""
    rng = random.Random(seed)
    steps = []
    for number in range(rounds):
        groups = [(name, wait) for name in sets for wait in waits_of(name)]
        for name, wait in rng.sample(groups, len(groups)):
            steps += [(number, name, wait, regime)
                      for regime in rng.sample(list(REGIMES), len(REGIMES))]
    return steps


def arguments_of(program, host, wait, demand):
    """demand: of demand.measure()."""
    if program.command == "nas":
        return (*program.arguments, f"--size={demand['size']}",
                f"--work={demand['work'][program.name]}")
    if program.command != "netbench":
        return program.arguments
    return (*program.arguments, f"--connect={host}", f"--port={PORT}", f"--wait={wait}")
