# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What a page says first: what guests got, and what that cost primaries."""

from .layout import cell
from .metrics import FEWEST


def sentences(report):
    """Two sentences, or none without any job."""
    if not report.all.runs:
        return []
    return [_gain(report), _cost(report.by_class["primary"])]


def _gain(report):
    said, guests = report.totals, report.by_class["guest"]
    if not guests["jobs"]:
        return "No guest ended in this time."
    hours = cell(said["guest_cpu_seconds"], "hours")
    left = report.processors * said["period_seconds"] - \
        (said["cpu_seconds"] - said["guest_cpu_seconds"])
    got = f"Guests got {hours} CPU hours"
    if left <= 0:
        return got + "."
    part = cell(said["guest_cpu_seconds"] / left, "percent")
    return f"{got}, {part} of what primaries left of {report.processors} CPUs."


def _percent(ratio):
    return f"{100 * (ratio - 1):+.1f}%"


def _cost(primary):
    """The interval is of the median, without assumptions about how ratios are spread."""
    runs = primary["slowdown_runs"]
    if runs < FEWEST:
        return (f"What primaries lost is not known: {runs} of their runs with guests "
                f"beside them can be compared, {FEWEST} are needed.")
    low, high = primary["slowdown_low"], primary["slowdown_high"]
    median = _percent(primary["slowdown_median"])
    span = f"{_percent(low)} to {_percent(high)} with 95% confidence, {runs} runs"
    if low <= 1 <= high:
        return ("Primaries ran no longer beside guests than alone, as far as these runs "
                f"tell: {median} in the median ({span}).")
    word = "longer" if low > 1 else "shorter"
    return f"Primaries ran {word} beside guests than alone: {median} in the median ({span})."
