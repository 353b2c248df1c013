# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/waits measures: rows, and the limits that they are held to."""

import itertools
from dataclasses import dataclass

PATTERNS = ("recv", "sendrecv", "waitall", "allreduce", "barrier")
CHAIN = "chain"  # the ranks compute one after the other, and so wait with equal loads too
# Messages for which the sender must wait: whoever sleeps keeps it waiting.
RENDEZVOUS = "rendezvous"
LOADS = (1, 2, 4)
GRAINS_US = (200, 300, 1000, 10000)
SCATTERS = (0, 25)
COLLECTIVES = ("bcast", "reduce", "allreduce", "gather", "scatter", "allgather",
               "alltoall", "reduce_scatter")
MIB = 1 << 20
SMALL = 8
LARGE = (MIB, 16 * MIB)

MAX_WALL = 1.005
MAX_SMALL = 1.05
MAX_LARGE = 1.01
# Of the time in waits of at least 1 ms, and in those from 200 us to 1 ms.
MIN_FREED = {"long": 0.85, "middle": 0.60}

LEAST_STEPS = 5
SMALL_TRIAL = 100  # rounds
WARM = 0.1  # of a turn's steps, in advance


@dataclass(frozen=True)
class Exchange:
    """A program that computes and exchanges (waits_exchange.c)."""
    pattern: str
    load: int
    grain_us: int
    scatter: int
    program = "exchange"
    limit = MAX_WALL

    @property
    def key(self):
        return (f"exchange/{self.pattern}/{self.load}:1/{self.grain_us}us/"
                f"{self.scatter}%")

    def turn(self, units_per_us, seconds, seed):
        """Of about so many seconds."""
        step_us = self.grain_us * (1 + self.load if self.pattern == CHAIN else self.load)
        steps = max(LEAST_STEPS, round(seconds * 1e6 / step_us))
        return (f"{self.pattern} {self.load} {self.scatter} "
                f"{round(self.grain_us * units_per_us)} {steps} "
                f"{1 + round(WARM * steps)} {seed}")


@dataclass(frozen=True)
class Call:
    """A call that nobody is late for (waits_calls.c)."""
    name: str
    bytes: int
    program = "calls"

    @property
    def limit(self):
        return MAX_SMALL if self.bytes == SMALL else MAX_LARGE

    @property
    def key(self):
        size = f"{self.bytes // MIB}MiB" if self.bytes >= MIB else f"{self.bytes}B"
        return f"call/{self.name}/{size}"

    def turn(self, us, seconds, _seed):
        """us: what a round takes."""
        rounds = max(LEAST_STEPS, round(seconds * 1e6 / us))
        return self.rounds(rounds)

    def rounds(self, rounds):
        return f"{self.name} {self.bytes} {rounds} {1 + round(WARM * rounds)}"

    def trial(self):
        """A turn that says what a round takes."""
        return self.rounds(LEAST_STEPS if self.bytes >= MIB else SMALL_TRIAL)


LATENCIES = (Call("pingpong", SMALL), Call("allreduce", SMALL))

FULL = (*(Exchange(*one) for one in itertools.product(PATTERNS, LOADS, GRAINS_US,
                                                      SCATTERS)),
        Exchange(RENDEZVOUS, 2, 1000, 25),
        *(Exchange(CHAIN, 1, *one) for one in itertools.product(GRAINS_US, SCATTERS)),
        *LATENCIES, *(Call(*one) for one in itertools.product(COLLECTIVES, LARGE)))

QUICK = (*(Exchange(pattern, 2, grain, scatter) for pattern, grain, scatter in (
            ("sendrecv", 200, 0), ("sendrecv", 1000, 25), ("recv", 1000, 0),
            ("waitall", 300, 0), ("allreduce", 1000, 0), ("barrier", 1000, 0))),
         Exchange("allreduce", 1, 300, 0), Exchange("sendrecv", 4, 1000, 0),
         *LATENCIES, *(Call(name, MIB) for name in ("bcast", "reduce", "allreduce",
                                                    "alltoall")))
