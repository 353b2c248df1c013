# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document of bench/memory/run."""

import sys
from statistics import median

from stats import median_interval

KIND = {"memory": 2}
PAIRS = 100
MORE_TO_DO = 3
MEDIAN_LIMIT, WORST_LIMIT = 1.02, 1.10
# Pairs in one run of which the host took more of a CPU than that, or before which others
# kept more of the CPUs busy, say nothing of times.
STEAL_LIMIT = BUSY_LIMIT = 0.05
KEPT, BROKEN, UNDECIDED = "kept", "**broken**", "undecided"

MEMORY = {"anon": "anonymous", "huge": "transparent huge pages", "file": "file, mapped",
          "shm": "memory file (memfd)"}
GUESTS = {"holds": "holds it", "hostile": "hostile"}


def failed(run):
    return run["seconds"] is None or run["primary_kills"] > 0


def is_whole(pair):
    return "without" in pair and pair["with"]["seconds"] and pair["without"]["seconds"]


def is_calm(pair):
    return is_whole(pair) and all(
        pair[name]["steal"] <= STEAL_LIMIT and pair[name]["busy"] <= BUSY_LIMIT
        for name in ("with", "without"))


def ratios(pairs, figure="seconds", counts=is_calm):
    return [pair["with"][figure] / pair["without"][figure]
            for pair in pairs if counts(pair)]


def case_of(pair):
    return pair["kind"], pair["all_cpus"], pair["guest"]


def noise(pairs):
    """Ratios of two runs without a guest of one case, each to the one before it: what the
    machine does alone.  They are further apart in time than the runs of a pair."""
    last, found = {}, []
    for pair in filter(is_calm, pairs):
        seconds = pair["without"]["seconds"]
        if case_of(pair) in last:
            found.append(seconds / last[case_of(pair)])
        last[case_of(pair)] = seconds
    return found


def verdict_of_median(found):
    """By the 95 % interval of the median."""
    if len(found) < 6:
        return UNDECIDED
    low, high = median_interval(found)
    return KEPT if high <= MEDIAN_LIMIT else BROKEN if low > MEDIAN_LIMIT else UNDECIDED


def verdict_of_worst(found):
    if found and max(found) > WORST_LIMIT:
        return BROKEN
    return KEPT if len(found) >= PAIRS else UNDECIDED


def verdict_of_failures(pairs):
    if any(failed(pair["with"]) for pair in pairs):
        return BROKEN
    return KEPT if len(pairs) >= PAIRS else UNDECIDED


def shown(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def row(pairs):
    found = ratios(pairs)
    free = free_times(pairs)
    alone = [pair["without"]["seconds"] for pair in pairs if is_calm(pair)]
    cpu = ratios(pairs, "cpu_seconds", is_whole)
    interval = "{:.3f} to {:.3f}".format(*median_interval(found)) if found else "-"
    cells = [len(pairs), sum(failed(pair["with"]) for pair in pairs),
             shown(median(alone), 2) if alone else "-", len(found),
             shown(median(found)) if found else "-", interval,
             shown(max(found)) if found else "-", shown(median(cpu)) if cpu else "-",
             shown(median(free), 2) if free else "-", shown(max(free), 2) if free else "-"]
    return " | ".join(map(str, cells))


HEAD = ("runs", "primaries killed or failed", "alone, s", "timed pairs",
        "time ÷ without: median", "95 % of it", "worst", "CPU time ÷ without: median",
        "guest's memory free after, s: median", "worst")


def table(pairs):
    yield "| memory of the primary | CPUs | guest | " + " | ".join(HEAD) + " |"
    yield "|---" * (len(HEAD) + 3) + "|"
    for case in sorted(set(map(case_of, pairs))):
        kind, everywhere, guest = case
        yield (f"| {MEMORY[kind]} | {'all' if everywhere else 'one'} | {GUESTS[guest]} | "
               + row([pair for pair in pairs if case_of(pair) == case]) + " |")
    for guest in GUESTS:
        yield f"| all | | {GUESTS[guest]} | " + row(
            [pair for pair in pairs if pair["guest"] == guest]) + " |"
    yield "| all | | all | " + row(pairs) + " |"


def free_times(pairs):
    return [pair["with"]["free_after"] for pair in pairs
            if pair["with"]["free_after"] is not None]


def place(settings):
    """The hierarchy, and the machine if it is a virtual one of ours."""
    facts = settings["machine"]
    where = f" ({facts['virtual']})" if facts.get("virtual") else ""
    return f"cgroup v{facts['cgroup']}{where}"


def failures(settings, pairs):
    return (f"| no primary is killed or fails in {PAIRS} runs, {place(settings)} | "
            f"{sum(failed(pair['with']) for pair in pairs)} of {len(pairs)} | "
            f"{verdict_of_failures(pairs)} |")


SIDE_BY_SIDE = ("cgroup", "Linux", "CPUs", "guest", "runs", "primaries killed or failed",
                "guest's memory free after, s: median", "worst",
                "runs in which the kernel killed of the guest")


def side_by_side(measured):
    """A row for each [(settings, pairs)] and kind of guest."""
    yield "| " + " | ".join(SIDE_BY_SIDE) + " |"
    yield "|---" * len(SIDE_BY_SIDE) + "|"
    for settings, all_pairs in measured:
        for guest in GUESTS:
            pairs = [pair for pair in all_pairs if pair["guest"] == guest]
            free = free_times(pairs)
            yield "| " + " | ".join(map(str, (
                place(settings), settings["machine"]["kernel"], settings["machine"]["cpus"],
                GUESTS[guest], len(pairs), sum(failed(pair["with"]) for pair in pairs),
                shown(median(free), 2) if free else "-", shown(max(free), 2) if free else "-",
                sum(pair["with"]["guest_kills"] > 0 for pair in pairs)))) + " |"


def middle_of(found):
    low, high = median_interval(found)
    return f"{median(found):.3f} ({low:.3f} to {high:.3f}, {len(found)} pairs)"


def worst_of(found):
    above = sum(ratio > WORST_LIMIT for ratio in found)
    return f"{max(found):.3f}; above: {above} of {len(found)}"


def verdicts(settings, pairs, machines):
    found, alone = ratios(pairs), noise(pairs)
    yield "| limit | seen | verdict |"
    yield "|---|---|---|"
    for measured in [(settings, pairs), *machines]:
        yield failures(*measured)
    middle = worst = "no pair on an idle machine"
    if found:
        middle, worst = middle_of(found), worst_of(found)
    yield (f"| time ÷ without guests: median at most {MEDIAN_LIMIT} | {middle} | "
           f"{verdict_of_median(found)} |")
    yield f"| the worst at most {WORST_LIMIT:.2f} | {worst} | {verdict_of_worst(found)} |"
    if alone:
        yield (f"| without guests ÷ without guests, one case, 14 pairs apart | "
               f"{middle_of(alone)}; worst {worst_of(alone)} | noise |")


def earlier(pairs):
    free = free_times(pairs)
    return (f"Before hpcbd made killed guests exit ahead of everything else, "
            f"{sum(failed(pair['with']) for pair in pairs)} of {len(pairs)} primaries were "
            "killed, because shared memory of a killed guest is free only when it has "
            "exited, for which it waited for a CPU; a guest's memory was free after "
            f"{median(free):.2f} s in the median and {max(free):.2f} s at worst "
            "(data/memory-before.jsonl, on a busy machine).")


def document(settings, pairs, before=(), machines=()):
    machine = settings["machine"]
    lent = [pair["with"]["guest_mib"] for pair in pairs]
    kernel = sum(pair["with"]["guest_kills"] > 0 for pair in pairs)
    yield "# Memory lent to guests: what a primary sees that takes it back"
    yield ""
    yield "This page is made by `bench/memory/run --report` from data/memory.jsonl."
    yield ""
    yield (f"Begun on {machine['date']}: {machine['cpus']} CPUs ({machine['machine']}), Linux "
           f"{machine['kernel']}, cgroup v{machine['cgroup']}. A small node of "
           f"{settings['mib']} MiB is a group of the memory controller with that limit; "
           "hpcbd sees its memory in the place of the machine's, and its settings are the "
           "defaults. A guest uses 90 % of what the node lends, then a primary that has been "
           "there for some time touches all of the node's memory, but 48 MiB that the kernel "
           "needs for it, as fast as it can. In pairs, in random order, the same without a "
           "guest.")
    yield ""
    yield (f"Times count of pairs on a machine that others kept busy for at most "
           f"{BUSY_LIMIT:.0%}, and from which the host took at most {STEAL_LIMIT:.0%} of a "
           "CPU; CPU time of all pairs. A hostile guest locks its memory, fills a "
           "memory file and page cache, forks all the time, allocates and gives back 64 MiB "
           "again and again, and ignores SIGTERM.")
    yield ""
    yield from verdicts(settings, pairs, machines)
    yield ""
    yield from table(pairs)
    yield ""
    yield (f"Guests used {median(lent):.0f} MiB in the median when the primary began. In "
           f"{kernel} of {len(pairs)} runs the kernel ended a process of the guest, because "
           "the node, or what Slurm or hpcbd let the guest have, was full; in the others "
           "hpcbd ended it, or page cache was enough.")
    if machines:
        yield ""
        yield ("On both versions of cgroups, side by side (`bench/memory/in-vm`; times in a "
               "virtual machine are no promise for a real one):")
        yield ""
        yield from side_by_side([(settings, pairs), *machines])
    if before:
        yield ""
        yield earlier(before)


def write(settings, pairs, before, machines, path):
    """machines: [(settings, pairs)] of runs in virtual machines."""
    text = "\n".join(document(settings, pairs, before, machines)) + "\n"
    if path:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
    else:
        sys.stdout.write(text)
    return 0 if len(pairs) >= PAIRS else MORE_TO_DO
