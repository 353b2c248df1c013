# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The parts of doc/platforms.md that are no end-to-end cases: hardware threads, unit
tests on running kernels, stolen time and weights on cgroup v2.

Nothing is said here that no file says: a file that is not there is "not run", with the
command that makes it, a figure that is not in it is "-".
"""
import json
import os

from results import FAIL, SKIP, load, table

ROOTFS = "$(tests/platforms/rootfs {suite})"
TREE = "build/platforms/{suite}/tree"
NOT_RUN = "not run: `{command}` makes {file}."

KERNELS = {
    "core": "a kernel of ours with core scheduling (qemu)",
    "qemu": "Debian's kernel, without core scheduling (qemu)",
    "uml": "User-Mode Linux",
}

SMT = (
    ("core", "evidence", "the mechanisms alone"),
    ("core", "slurm", "jobs of a real Slurm"),
    ("qemu", "evidence", "the mechanisms alone"),
    ("qemu", "slurm", "jobs of a real Slurm"),
)


def number(value, digits, factor=1):
    """A cell; "-" for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "-"
    return f"{factor * value:.{digits}f}"


def percent(value, digits=1):
    text = number(value, digits, 100)
    return text if text == "-" else text + " %"


def made_by(facts):
    """What a file says of itself."""
    words = [f"{title} {facts[key]}".strip() for key, title in (
        ("kernel", "Linux"), ("cpus", "CPUs:"), ("slurm", "Slurm"), ("commit", "commit"),
        ("date", "run at (UTC)")) if facts.get(key)]
    machines = str(facts.get("machine", "")).split()
    words[:0] = [KERNELS.get(machine, machine) for machine in machines]
    command = facts.get("command")
    yield (f"`{command}`" if command else "The command is not recorded") + \
        (": " + "; ".join(words) if words else "") + "."
    if facts.get("ended"):
        yield ""
        yield f"**The run ended early: {facts['ended']}.**"


# --- hardware threads -------------------------------------------------------------------

def of_time(figures, *keys):
    """Those CPU seconds as a part of the time that passed."""
    values = [figures.get(key) for key in keys] + [figures.get("seconds")]
    if any(number(value, 1) == "-" for value in values) or values[-1] <= 0:
        return "-"
    return percent(sum(values[:-1]) / values[-1])


def expected(figures):
    low, high = percent(figures.get("least"), 1), percent(figures.get("most"), 1)
    return "-" if "-" in (low, high) else f"{low.removesuffix(' %')} to {high}"


def smt_rows(run):
    for (_, name), (result, why) in run.results.items():
        figures = run.figures.get(name, {})
        yield [name, f"{result}: {why}" if result == SKIP else result,
               number(figures.get("seconds"), 2), number(figures.get("primary"), 2),
               number(figures.get("guest"), 3), of_time(figures, "guest"),
               expected(figures), of_time(figures, "primary", "guest"),
               figures.get("state") or "-"]


def smt(directory):
    yield "## Hardware threads"
    yield ""
    yield ("A virtual machine with one core of two threads: a primary that spins, if there is"
           " one, on the first, a guest that spins on the second, or where it is kept. CPU"
           " seconds of both in a while, and parts of that time. Where *both* is above 100 %,"
           " they were at work at the same time, side by side on the core.")
    for kind, what, title in SMT:
        name = f"smt-{kind}-{what}.tap"
        run = load(directory, name)
        yield ""
        yield f"### {KERNELS[kind][0].upper()}{KERNELS[kind][1:]}: {title}"
        yield ""
        if not run:
            command = f"tests/platforms/smt/run {kind} {what} {ROOTFS.format(suite='bookworm')}"
            yield NOT_RUN.format(command=command, file=name)
            continue
        yield from made_by(run.facts)
        yield ""
        yield from table(["case", "result", "time, s", "primary, s", "guest, s", "guest",
                          "expected", "both", "in force"], smt_rows(run))


# --- unit tests on running kernels --------------------------------------------------------

def kernel_columns(directory, platforms):
    """(heading, results by name) of each machine that ran them."""
    for platform in platforms:
        for name in (f"{platform}.tap", f"{platform}-qemu.tap"):
            run = load(directory, name)
            found = {case: result for (file, case), result in run.results.items()
                     if file == "kernel"} if run else {}
            if found:
                yield f"{platform}, {run.facts.get('machine', '-')}", found


def kernel_cell(found, name):
    result, why = found.get(name, ("-", ""))
    return f"{result}: {why}" if result in (SKIP, FAIL) and why else result


def kernels(directory, platforms):
    columns = list(kernel_columns(directory, platforms))
    yield "## Unit tests on running kernels"
    yield ""
    if not columns:
        yield "Not run: `tests/platforms/run --full --files kernel PLATFORM` makes PLATFORM.tap."
        return
    names = dict.fromkeys(name for _, found in columns for name in found)
    yield from table(["case"] + [head for head, _ in columns], (
        [name] + [kernel_cell(found, name) for _, found in columns] for name in names))


# --- figures of vm/measure ------------------------------------------------------------------

def measured(directory, name):
    """The object of a JSON file: None where there is none, and what is wrong with it."""
    path = os.path.join(directory, name)
    if not os.path.exists(path):
        return None, ""
    try:
        with open(path, encoding="utf-8") as stream:
            found = json.load(stream)
    except (OSError, ValueError):
        return None, f"{name} is not readable, or no JSON."
    if not isinstance(found, dict) or not isinstance(found.get("figures"), list) or \
            not all(isinstance(figures, dict) for figures in found["figures"]):
        return None, f"{name} has no figures."
    return found, ""


def dicts(value):
    return [item for item in value if isinstance(item, dict)] \
        if isinstance(value, list) else []


def stolen_rows(figures):
    for one in dicts(figures.get("summary")):
        yield [one.get("primary", "-"), one.get("regime", "-"), number(one.get("wall"), 2),
               number(one.get("ratio"), 3), percent(one.get("stolen"), 2),
               percent(one.get("added"), 2), percent(one.get("guest_share"), 2),
               percent(one.get("external")), percent(one.get("steal"))]


def stolen_of(found):
    yield from made_by(found)
    for figures in found["figures"]:
        yield ""
        yield (f"Medians of {number(figures.get('reps'), 0)} repetitions;"
               f" runs repeated because the machine was not idle:"
               f" {number(figures.get('repeated'), 0)}.")
        yield ""
        yield from table(["primary", "regime", "wall, s", "× alone", "stolen", "added",
                          "guest's CPU", "others", "steal"], stolen_rows(figures))
        yield ""
        for verdict in dicts(figures.get("verdicts")):
            kept = "kept" if verdict.get("kept") is True else "**broken**"
            yield f"- {kept}: {verdict.get('text', '-')}"


def stolen(directory, names, suite_of):
    yield "## Stolen time on cgroup v2"
    yield ""
    yield ("A CPU-bound primary of a real Slurm in a virtual machine, with a guest beside it on"
           " its CPUs: stolen is run_delay ÷ wall of the primary, added the same less that of"
           " the primary alone.")
    for platform in names:
        name = f"stolen-{platform}.json"
        found, wrong = measured(directory, name)
        yield ""
        yield f"### {platform}"
        yield ""
        if found:
            yield from stolen_of(found)
        else:
            suite = suite_of(platform)
            yield wrong or NOT_RUN.format(
                command=f"tests/platforms/vm/measure stolen --rootfs "
                        f"{ROOTFS.format(suite=suite)} --tree {TREE.format(suite=suite)}",
                file=name)


def weights(directory):
    found, wrong = measured(directory, "weights.json")
    yield "## Idle groups beside wide primaries, cgroup v2"
    yield ""
    if not found:
        yield wrong or NOT_RUN.format(
            command="tests/platforms/vm/measure weights --rootfs " +
            ROOTFS.format(suite="bookworm"), file="weights.json")
        return
    yield from made_by(found)
    yield ""
    yield from table(
        ["case", "CPUs of the primary", "guests", "time, s", "guest on CPU 0", "by the rule",
         "all guests of the primary's"],
        ([one.get("case", "-"), number(one.get("primary_cpus"), 0),
          number(one.get("guests"), 0), number(one.get("seconds"), 1),
          percent(one.get("share_of_cpu0"), 2), percent(one.get("expected"), 2),
          percent(one.get("all_guests_of_primary"), 2)] for one in found["figures"]))


def page(directory, platforms, suite_of):
    yield from smt(directory)
    yield ""
    on_v2 = [name for name in platforms if name.endswith("-v2")]
    yield from kernels(directory, on_v2)
    yield ""
    yield from stolen(directory, on_v2, suite_of)
    yield ""
    yield from weights(directory)
