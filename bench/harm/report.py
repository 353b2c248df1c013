# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document of bench/harm."""

from statistics import mean, median, stdev

from stats import KEPT, BROKEN, UNDECIDED

RUNS = 50
COVERED = 0.90
GUARD_SECONDS, GUARD_LEAST = 120, 0.02
WIDTH_SECONDS = (120, 600, 3600)
SKEW_LIMIT = 0.005
PART_LIMIT = 0.02


def rate(figures):
    """The part of the time in which it wanted a CPU that the primary had one."""
    computed, waited = figures
    return computed / (computed + waited)


def truth(record):
    """By how much the guest and the helper made the primary longer, by its run delay in
    all of the time."""
    return rate(record["alone"]) / rate(record["beside"]) - 1


def covers(record, cost):
    return record["low"] <= cost <= record["high"]


def together(records):
    """What guest and helper cost in all of these runs, as one."""
    return truth({phase: [sum(record[phase][index] for record in records) for index in (0, 1)]
                  for phase in ("alone", "beside")})


def covered(records):
    """How many of the intervals cover what guest and helper cost in all runs with the same
    helper.  One run does not show that: the machine disturbs the primary by other amounts
    while it is alone than beside the guest, and by others in each run (scatter)."""
    return sum(covers(record, together([other for other in records
                                        if other["part"] == record["part"]]))
               for record in records if record["low"] is not None)


def scatter(records):
    """By how much runs with the same helper differ in what they cost: the mean standard
    deviation of those with two or more; None: there are none."""
    found = [stdev(truth(record) for record in records if record["part"] == part)
             for part in levels(records)
             if sum(record["part"] == part for record in records) > 1]
    return mean(found) if found else None


def of(records, mode):
    return [record for record in records if record["mode"] == mode]


def levels(records):
    return sorted({record["part"] for record in records})


def estimates(records):
    yield ("| the helper takes | runs | without an estimate | true cost, all runs | intervals that "
           "contain it | true cost, median of runs | intervals that contain the cost of their run | "
           "estimate, median | estimate minus true cost of all runs, median, points | width, mean, "
           "points |")
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for part in levels(records):
        runs = [record for record in records if record["part"] == part]
        known = [record for record in runs if record["low"] is not None]
        cost = together(runs)
        cells = [f"{100 * part:g} %", len(runs), len(runs) - len(known), f"{100 * cost:.2f} %",
                 covered(runs), f"{100 * median(map(truth, runs)):.2f} %",
                 sum(covers(r, truth(r)) for r in known),
                 f"{100 * median(r['cost'] for r in known):.2f} %" if known else "-",
                 f"{100 * median(r['cost'] - cost for r in known):+.2f}" if known else "-",
                 f"{100 * mean(r['high'] - r['low'] for r in known):.2f}" if known else "-"]
        yield "| " + " | ".join(map(str, cells)) + " |"
    yield ""
    yield ("Estimates exclude hpcbd's own work for guests, such as samples of the node's memory, "
           "because it continues while guests are stopped. On these nodes of one CPU it is part "
           "of what guest and helper cost.")
    if scatter(records) is not None:
        yield ""
        yield (f"The cost varies by {100 * scatter(records):.2f} points (standard deviation) "
               "between runs with the same helper, because threads of the machine disturb the "
               "primary in some of them more than in others. The verdict uses the cost of all "
               "runs with the same helper.")


def guard(records):
    yield ("| the helper takes | runs | first step within 120 s | later | none | median time to the "
           "first step, s |")
    yield "|---|---|---|---|---|---|"
    for part in levels(records):
        runs = [record for record in records if record["part"] == part]
        acted = [record["step_after"] for record in runs if record["step_after"] is not None]
        intime = sum(seconds <= GUARD_SECONDS for seconds in acted)
        cells = [f"{100 * part:g} %", len(runs), intime, len(acted) - intime,
                 len(runs) - len(acted), f"{median(acted):.0f}" if acted else "-"]
        yield "| " + " | ".join(map(str, cells)) + " |"
    yield from steps_on_nothing([record for record in records if record["part"] == 0])


def steps_on_nothing(records):
    """The helper takes nothing, but the guest may: how long the primary waited next to it."""
    waits = {stepped: [100 * (1 - rate(record["beside"])) for record in records
                       if (record["step_after"] is not None) == stepped]
             for stepped in (True, False)}
    if all(waits.values()):
        yield ""
        yield (f"Even if the helper takes nothing, the guest itself may harm the primary. In runs "
               f"in which the guard acted on that, the primary waited for "
               f"{median(waits[True]):.2f} % of the time in which it wanted a CPU next to the guest "
               f"(median). In the other runs it waited for {median(waits[False]):.2f} % "
               f"({min(waits[False]):.2f} to {max(waits[False]):.2f}).")


def widths(records):
    yield "| the helper takes | true cost | " + " | ".join(
        f"interval after {seconds / 60:g} min | width, points" for seconds in WIDTH_SECONDS) + " |"
    yield "|---" * (2 + 2 * len(WIDTH_SECONDS)) + "|"
    for record in records:
        cells = [f"{100 * record['part']:g} %", f"{100 * truth(record):.2f} %"]
        for _, low, high in record["intervals"]:
            cells += ["-", "-"] if low is None else [
                f"{100 * low:.2f} to {100 * high:.2f} %", f"{100 * (high - low):.2f}"]
        yield "| " + " | ".join(cells) + " |"


# Switches of both nodes that belong together are less far apart than that.
SAME_SECONDS = 0.1


def distances(record):
    """Between each switch of the first node and the same one of the second, in seconds;
    and how many of both have no like."""
    first, second = record["switches"]
    left = list(second)
    found = []
    for when, stopped in first:
        near = [other for other in left
                if other[1] == stopped and abs(other[0] - when) < SAME_SECONDS]
        if near:
            nearest = min(near, key=lambda other: abs(other[0] - when))
            found.append(abs(nearest[0] - when))
            left.remove(nearest)
    return found, len(first) - len(found) + len(left)


def stopped_part(record):
    """Of the time, on the node on which that is more."""
    parts = []
    for switches in record["switches"]:
        total = begin = 0
        for when, stopped in switches:
            total += 0 if stopped else when - (begin or when)
            begin = when if stopped else 0
        parts.append(total / record["seconds"])
    return max(parts)


def skew(records):
    found = sorted(distance for record in records for distance in distances(record)[0])
    alone = sum(distances(record)[1] for record in records)
    worst = max(map(stopped_part, records))
    yield "| limit | measured | verdict |"
    yield "|---|---|---|"
    if found:
        p99 = found[min(len(found) - 1, int(0.99 * len(found)))]
        yield (f"| both nodes switch within {1000 * SKEW_LIMIT:g} ms of each other (p99) | "
               f"median {1000 * median(found):.2f} ms, p99 {1000 * p99:.2f}, worst "
               f"{1000 * found[-1]:.2f}, of {len(found)} switches; {alone} switches of one node only "
               f"| {UNDECIDED if len(found) < 100 else KEPT if p99 <= SKEW_LIMIT else BROKEN} |")
    yield (f"| guests are stopped for at most {PART_LIMIT:.0%} of the time | {100 * worst:.4f} % | "
           f"{KEPT if worst <= PART_LIMIT else BROKEN} |")


def verdict(good, runs, least):
    """Of a part of the runs; nothing is decided before there are as many as were asked
    for, unless so many failed already that they cannot be reached."""
    if good + max(RUNS - runs, 0) < round(least * max(RUNS, runs), 6):
        return BROKEN
    return KEPT if runs >= RUNS else UNDECIDED


def verdicts(records):
    known = [record for record in of(records, "estimate") if record["low"] is not None]
    acted = [record for record in of(records, "guard") if record["part"] >= GUARD_LEAST]
    quiet = [record for record in of(records, "guard") if record["part"] == 0]
    intime = sum(record["step_after"] is not None and record["step_after"] <= GUARD_SECONDS
                 for record in acted)
    alarms = sum(record["step_after"] is not None for record in quiet)
    rows = (("the interval contains the cost of guest and helper in 90 % of 50 runs",
             covered(of(records, "estimate")), len(known), COVERED),
            ("the guard acts within 2 minutes if the helper takes 2 % or more", intime,
             len(acted), 1.0),
            ("the guard does not act if the helper takes nothing", len(quiet) - alarms,
             len(quiet), 1.0))
    yield "| limit | measured | verdict |"
    yield "|---|---|---|"
    for title, good, runs, least in rows:
        yield f"| {title} | {good} of {runs} | {verdict(good, runs, least)} |"


def document(settings, records):
    yield "# Cost of guests by experiment, compared with a known harm"
    yield ""
    yield "`bench/harm/run --report` generates this page from data/harm.jsonl."
    yield ""
    yield (f"A primary that computes for 8 ms and sleeps for 2 ms shares the CPU of a node with a "
           f"guest that computes all the time. While the guest may run, a helper takes a part of the "
           f"CPU at a higher priority than both. The primary's run delay with guest and helper, and "
           f"before and after, gives the true cost of both, which hpcbd does not know. A run takes "
           f"{settings['seconds']:g} s after the start of the guest, or less if the guard takes its "
           f"first step on both nodes. Two nodes run at a time.")
    yield ""
    yield from verdicts(records)
    for mode, title, rows in (("estimate", "The estimate", estimates),
                              ("width", "The width of the interval within an hour", widths),
                              ("guard", "The guard (GuestMaxSlowdown=1%)", guard),
                              ("skew", "Two nodes, with a restart of one hpcbd",
                               skew)):
        if of(records, mode):
            yield ""
            yield f"## {title}"
            yield ""
            yield from rows(of(records, mode))
