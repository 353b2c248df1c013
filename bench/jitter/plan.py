# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/jitter measures: the regimes, and what of them is left to do."""

import random
import re
import statistics

SWEEP = (0.5, 0.7, 0.8, 0.9, 0.95)
STRETCH_PERIODS = 2
# The first one is for hpcbd to begin or to end.
SWITCHED_PERIODS = 3
ALTERNATING = ", alternating"
SWITCHED = ", on and off"


class Regime:
    """What runs beside the job, and the windows that it asks for (None: none).
    alternating: noise in every other stretch of time (bench/jitter/stretch.h); switched:
    hpcbd, and so windows, in every other stretch."""

    def __init__(self, noise, window, alternating=False, switched=False):
        self.noise = noise
        self.window = window
        self.alternating = alternating
        self.switched = switched

    @property
    def name(self):
        if self.switched:
            return self.plain_name + SWITCHED
        return self.plain_name + (ALTERNATING if self.alternating else "")

    @property
    def plain_name(self):
        what = f"noise {self.noise:g} %" if self.noise else "quiet"
        if self.window is None:
            return what
        return f"{what}, windows {self.window}" if self.noise else f"windows {self.window}"


def regimes(args):
    noises = [float(word) for word in args.noise.split(",") if word]
    found = [Regime(0, None), Regime(0, args.window)]
    for noise in noises:
        found += [Regime(noise, None), Regime(noise, args.window)]
    if args.sweep:
        period = args.window.split(":")[0]
        found += [Regime(noises[-1], f"{period}:{100 * duty:g}%") for duty in SWEEP
                  if f"{period}:{100 * duty:g}%" != args.window]
    elif not args.glob:
        found += [Regime(noise, args.window, True) for noise in noises]
        if not args.quick:
            found.append(Regime(0, args.window, switched=True))
    return found


def period_ms(window):
    number, unit = re.match(r"([0-9.]+)([a-z]+)", window).groups()
    return max(1, round(float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]))


def stretch_arguments(regime):
    """Arguments that cut time into stretches of whole periods, of the job and, but for
    --settle, of noise."""
    if not regime.switched and not regime.alternating:
        return []
    period = period_ms(regime.window)
    if regime.switched:
        return ["--stretch", str(SWITCHED_PERIODS * period), "--settle", str(period)]
    return ["--stretch", str(STRETCH_PERIODS * period)]


def missing(args, state):
    """[(repetition, regime), ...] in the order of measuring: each repetition has all its
    regimes, in an order of its own that is the same when it is resumed."""
    found, done = regimes(args), state.done()
    return [(repetition, regime) for repetition in range(args.repetitions)
            for regime in random.Random(repetition).sample(found, len(found))
            if (repetition, regime.name) not in done]


def estimate(state, left):
    """Seconds that so many runs take, as far as runs have shown."""
    times = [run["took"] for run in state.runs()]
    return left * statistics.mean(times) if times else None
