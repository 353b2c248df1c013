# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/pairing's figures as tables and as JSON."""

import json

from pairing import kinds as pairing_kinds
from table import format_table, number, percent

# What --check holds us to.
MIN_OF_BEST = 0.97

# What part of the time, or of a job's speed, is noise.
NOISY = 0.05

LEGEND = """\
ours, random, best: mean progress of the mix's jobs, 1.00 is each one alone; ratios
within a repetition: median [least, most].  Ours is the mean over the orders in which
the jobs may have been queued, random over all pairings, best the pairing with the best
median."""

PLACEMENT_LEGEND = """\
primaries: their mean progress beside the guests that policy/fitness puts there; at
random: beside any of the guests; guests: mean progress of those that run; waiting:
guests that are not put anywhere, because they would saturate the node."""


def ratio(spread):
    return (f"{spread['median']:.3f} [{spread['min']:.3f}, {spread['max']:.3f}]")


def contention(kept):
    """How much there is to gain; kept: progress of the probe beside its like."""
    text = (f"Two of {pairing_kinds.PROBE} side by side keep {percent(kept, 0)} of "
            "their speed each")
    if kept < 1 - NOISY:
        return text + "."
    return (text + ": memory is no bottleneck for two CPUs here.  No pairing has much "
            "to gain, ratios show noise, and estimates of applications mean nothing.")


def show_progress(kinds, found):
    names = [kind.name for kind in kinds]
    print(f"\nCapacity {found['capacity'] / 1e9:.1f} GB/s: two of "
          f"{' or '.join(pairing_kinds.GREEDY)} together, whichever moved less.")
    print("Progress of a job beside another one, 1.00 is alone:\n")
    rows = [[name, number(found["demands"][name] / 1e9, 1) +
             (" (est.)" if kind.application else "")] +
            [number(found["progress"][name][other], 2) for other in names]
            for name, kind in zip(names, kinds)]
    for line in format_table(["", "GB/s"] + names, rows):
        print(line)
    beside_probe = found["progress"][pairing_kinds.PROBE]
    print(f"\n{contention(beside_probe[pairing_kinds.PROBE])}")


def show_pairings(reps, found):
    print(f"\nPairings, {reps} repetitions:\n")
    rows = [[row["mix"], number(row["ours"]["median"], 3),
             number(row["random"]["median"], 3), number(row["best"]["median"], 3),
             ratio(row["by_random"]), ratio(row["by_best"])] for row in found["mixes"]]
    for line in format_table(["mix", "ours", "random", "best", "ours / random",
                              "ours / best"], rows):
        print(line)
    print(f"\n{LEGEND}\n")


def show_placement(found):
    print("Placement: half of a mix are primaries on a node of two CPUs each, the rest "
          "guests:\n")
    rows = [[row["mix"], number(row["placement"]["primaries"]["median"], 3),
             number(row["placement"]["primaries_random"]["median"], 3),
             number(row["placement"]["guests"]["median"], 3)
             if row["placement"]["guests"] else None,
             percent(row["placement"]["waiting"], 0)] for row in found["mixes"]]
    for line in format_table(["mix", "primaries", "at random", "guests", "waiting"],
                             rows):
        print(line)
    print(f"\n{PLACEMENT_LEGEND}\n")


def show_noise(noise):
    print(f"Jobs were without their CPU for {percent(noise['median'], 1)} of the time "
          f"in the median, {percent(noise['most'], 1)} at most; measurements made "
          f"again because of that: {noise['repeated']}.")
    if noise["most"] > NOISY:
        print("Others used this machine meanwhile: do not trust these figures, run it "
              "again when the machine is idle.")


def show(kinds, found, reps, noise):
    show_progress(kinds, found)
    show_pairings(len(reps), found)
    show_placement(found)
    show_noise(noise)


def show_pairs(measured):
    """What there is before one repetition is complete."""
    print("\nNo repetition is complete: bytes/s, or runs of an application in a second,"
          "\nof a job beside another one:\n")
    rows = [[a, f"{rate:.4g}", b] for (first, second), rates in sorted(measured.items())
            for a, rate, b in ((first, rates[0], second), (second, rates[1], first))]
    for line in format_table(["job", "rate", "beside"], rows):
        print(line)


def as_json(args, cpus, found, reps, noise):
    return json.dumps({**found, "reps": len(reps), "seconds": args.seconds,
                       "cpus": cpus, "lost": noise,
                       "rates": [{f"{a}|{b}": rates for (a, b), rates
                                  in measured.items()} for measured in reps]})


def verdicts(found):
    """(text, kept) of what --check holds us to."""
    return [(f"{row['mix']}: {percent(row['by_best']['median'])} of the best pairing, "
             f"at least {percent(MIN_OF_BEST, 0)}",
             row["by_best"]["median"] >= MIN_OF_BEST) for row in found["mixes"]]
