# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/pairing computes from its measurements.  Nothing here measures.

A measurement of a repetition is {(a, b): (rate of a, rate of b)} with a <= b, both
kinds of jobs: what each one did in a second while the other ran on the other CPU.  Jobs
run alone beside FILLER, which needs a CPU and no memory.  Where two rates follow, a and
b took turns with a filler in that measurement: what each did beside it.
"""

import itertools
import random
from statistics import mean, median

import stats

FILLER = "filler"

# Of long lists so many orders stand for all.
ORDERS = 200
SHORT = 5


def pair_of(a, b):
    return (a, b) if a <= b else (b, a)


def rate_beside(measured, kind, neighbour):
    """What `kind` did in a second beside `neighbour`."""
    return of_kind(measured[pair_of(kind, neighbour)][:2], kind, neighbour)


def of_kind(rates, kind, neighbour):
    first, second = rates
    if kind == neighbour:
        return (first + second) / 2
    return first if kind < neighbour else second


def progress(measured, kind, neighbour):
    """The same as a part of what it did alone, in the same measurement or at least in
    the same repetition."""
    alone = measured[pair_of(kind, neighbour)][2:]
    return (rate_beside(measured, kind, neighbour) /
            (of_kind(alone, kind, neighbour) if alone else
             rate_beside(measured, kind, FILLER)))


def all_pairs(kinds):
    """Every pair of two jobs, of one kind or of two, and each kind alone."""
    both = itertools.combinations_with_replacement(sorted(kinds), 2)
    return list(both) + [pair_of(kind, FILLER) for kind in kinds]


def matchings(count):
    """All ways to part 0 .. count-1 (an even number) into pairs."""
    def part(left):
        if not left:
            yield ()
            return
        for i in range(1, len(left)):
            for rest in part(left[1:i] + left[i + 1:]):
                yield ((left[0], left[i]),) + rest
    return list(part(tuple(range(count))))


def throughput(measured, mix, matching):
    """Mean progress of the jobs of a mix when they run in these pairs, one pair after
    the other for the same time: 1 is as if each had the node for itself (the paper's
    ideal)."""
    return mean(progress(measured, mix[i], mix[j])
                for pair in matching for i, j in (pair, pair[::-1]))


def orders(count, seed):
    """Orders in which the jobs of a mix may have arrived."""
    if count <= SHORT:
        return list(itertools.permutations(range(count)))
    rng = random.Random(seed)
    return [tuple(rng.sample(range(count), count)) for _ in range(ORDERS)]


def estimate(pressures, pressure):
    """The demand of a job of which only the pressure is known: what the probe loses
    beside it, as a part of what it does alone.  pressures: (pressure, demand) of jobs
    whose demand is known.  In between, linear; more pressure never means less
    demand."""
    points, most = [], 0
    for found, demand in sorted([(0.0, 0)] + [(max(p, 0.0), d) for p, d in pressures]):
        most = max(most, demand)
        points.append((found, most))
    return stats.interpolate(points, pressure)


def pressure_on(reps, probe, kind):
    """What the probe loses beside that kind: median over the repetitions."""
    return median(1 - progress(measured, probe, kind) for measured in reps)


def profiles(reps, known, others, probe):
    """{kind: bytes/s}: of the `known`, what they moved alone, of the `others` an
    estimate from their pressure on the probe."""
    found = {kind: median(rate_beside(measured, kind, FILLER) for measured in reps)
             for kind in known}
    points = [(pressure_on(reps, probe, kind), found[kind]) for kind in known]
    for kind in others:
        found[kind] = estimate(points, pressure_on(reps, probe, kind))
    return {kind: round(demand) for kind, demand in found.items()}


def capacity(reps, kinds):
    """What memory moves in any case in a second: the least of what two of a kind, of
    those that ask for as much as they can, move together."""
    return round(min(median(sum(measured[(kind, kind)][:2]) for measured in reps)
                     for kind in kinds))


def spread(figures):
    return {"median": median(figures), "min": min(figures), "max": max(figures)}


def judge(reps, mix, ours):
    """The figures of a mix; ours: the matchings that we chose, one for each order of
    arrival.  Best is the one matching with the best median."""
    every = matchings(len(mix))
    values = {matching: [throughput(measured, mix, matching) for measured in reps]
              for matching in every}
    best = max(every, key=lambda matching: median(values[matching]))
    chosen = [[values[canonical(matching)][rep] for matching in ours]
              for rep in range(len(reps))]
    mine = [mean(rep) for rep in chosen]
    chance = [mean(values[matching][rep] for matching in every)
              for rep in range(len(reps))]
    return {
        "ours": spread(mine),
        "random": spread(chance),
        "best": spread(values[best]),
        "by_random": spread([a / b for a, b in zip(mine, chance)]),
        "by_best": spread([a / b for a, b in zip(mine, values[best])]),
        "best_pairs": [[mix[i], mix[j]] for i, j in best],
    }


def canonical(matching):
    """As matchings() writes it."""
    return tuple(sorted(tuple(sorted(pair)) for pair in matching))


def parse_pairs(line, order):
    """fit-pairs' words about a list in this order: jobs of the mix, in pairs or alone.
    """
    return [tuple(order[int(place)] for place in word.split("+"))
            for word in line.split()]


def judge_placement(reps, mix, placements):
    """How primaries and guests fare; placements: one (order, groups) for each order of
    the mix, whose first half are primaries, one on a node each, the rest guests.
    Random: every guest goes to any of the nodes."""
    primaries, guests, chance, waiting = [], [], [], []
    for measured in reps:
        ours, theirs, random_ours = [], [], []
        for order, groups in placements:
            half = (len(order) + 1) // 2
            beside = {job: group[group[0] == job] for group in groups
                      if len(group) == 2 for job in group}
            for place, job in enumerate(order):
                if place < half:
                    ours.append(progress(measured, mix[job], mix[beside[job]])
                                if job in beside else 1.0)
                    random_ours += [progress(measured, mix[job], mix[guest])
                                    for guest in order[half:]]
                elif job in beside:
                    theirs.append(progress(measured, mix[job], mix[beside[job]]))
        primaries.append(mean(ours))
        chance.append(mean(random_ours))
        guests.append(mean(theirs) if theirs else None)
    for order, groups in placements:
        half = (len(order) + 1) // 2
        alone = {group[0] for group in groups if len(group) == 1}
        waiting.append(len(alone & set(order[half:])) / (len(order) - half))
    return {"primaries": spread(primaries), "primaries_random": spread(chance),
            "guests": spread(guests) if None not in guests else None,
            "waiting": mean(waiting)}
