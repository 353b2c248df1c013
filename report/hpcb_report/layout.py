# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The report as text, CSV and JSON."""

import json

from .base import CLASSES
from .text import csv_cell, fit, neutral, pad, width
from .times import iso

JSON_VERSION = 1

# Heading, member, form, of the table for people; of the page, which has room for all.
_TABLE = (
    ("Jobs", "jobs", "count"),
    ("CPUHours", "cpu_seconds", "hours"),
    ("Effic", "efficiency", "percent"),
    ("Jobs/h", "throughput_jobs_per_hour", "real"),
    ("Turnaround", "turnaround_mean_seconds", "time"),
    ("(95%)", "turnaround_p95_seconds", "time"),
    ("Waiting", "waiting_mean_seconds", "time"),
    ("Running", "running_mean_seconds", "time"),
    ("(95%)", "running_p95_seconds", "time"),
    ("Stolen", "stolen_fraction", "percent"),
    ("Slowdown", "slowdown_median", "ratio"),
    ("Evict", "evictions", "count"),
)
_APPLICATIONS = (
    ("User", "user", "text"), ("JobName", "name", "text"), ("CPUs", "cpus", "count"),
    ("Alone", "runs_alone", "count"), ("Beside", "runs_with_guests", "count"),
    ("RunAlone", "alone_median_seconds", "time"),
    ("RunBeside", "with_guests_median_seconds", "time"),
    ("Slowdown", "slowdown", "ratio"),
)
# A terminal has 80 columns.
_PAGE_ALONE = ("throughput_jobs_per_hour", "turnaround_p95_seconds", "running_p95_seconds")
MAX_APPLICATIONS = 10
_MAX_TEXT = 24


def duration(seconds):
    """[D-]HH:MM:SS as sacct has it."""
    whole = int(seconds + 0.5)
    days, rest = divmod(whole, 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock


def cell(value, form):
    """A figure for people; a dash for what nothing tells."""
    if value is None:
        return "-"
    if form == "time":
        return duration(value)
    if form == "percent":
        return f"{100 * value:.1f}%"
    if form == "share":
        return f"{100 * value:.2f}%"
    if form == "hours":
        return f"{value / 3600:.2f}"
    if form == "real":
        return f"{value:.1f}"
    if form == "ratio":
        return f"{value:.3f}"
    return fit(neutral(value), _MAX_TEXT) if form == "text" else str(value)


def _lines(headings, left, rows):
    """A table as sacct prints it; left: the columns aligned to the left."""
    widths = [max(width(row[at]) for row in [headings] + rows)
              for at in range(len(headings))]

    def line(cells):
        return " ".join(pad(text, columns, at in left) for at, (text, columns)
                        in enumerate(zip(cells, widths))).rstrip()

    rule = " ".join("-" * columns for columns in widths)
    return [line(headings), rule] + [line(row) for row in rows]


def table_rows(report, wide=True):
    """(headings, rows) for people, with the total as the last row."""
    table = [row for row in _TABLE if wide or row[1] not in _PAGE_ALONE]
    keys = report.keys or ("class",)
    rows = report.rows or [{"class": name, **said} for name, said
                           in report.by_class.items()]
    headings = [_heading(key) for key in keys] + [name for name, _, _ in table]
    cells = [[fit(neutral(str(row[key])), _MAX_TEXT) for key in keys] +
             [cell(row[member], form) for _, member, form in table] for row in rows]
    total = {**report.totals, "efficiency": report.totals["allocation_efficiency"]}
    cells.append(["total"] + [""] * (len(keys) - 1) +
                 [cell(total[member], form) for _, member, form in table])
    return headings, cells


def application_rows(applications):
    """(headings, how many of them are text, rows) for people."""
    return ([name for name, _, _ in _APPLICATIONS], 2,
            [[cell(row[member], form) for _, member, form in _APPLICATIONS]
             for row in applications])


def _heading(key):
    return {"name": "JobName", "cpus": "CPUs"}.get(key, key.capitalize())


def _methods(said):
    """" (2 by run_delay)", if it is known."""
    runs = {method: said[f"guest_cost_by_{method}_runs"]
            for method in ("run_delay", "instructions", "iterations")}
    parts = [f"{count} by {method}" for method, count in runs.items() if count]
    return f" ({', '.join(parts)})" if parts else ""


def _summary(report):
    said = report.totals
    yield "-" * 80
    if report.all.runs:
        begin = report.since if report.since is not None else said["first_submit"]
        finish = report.until if report.until is not None else said["last_end"]
        yield f"Jobs that ended {iso(begin)} - {iso(finish)}"
    else:
        yield "No job ended in this period"
    yield "-" * 80
    yield (f"Jobs {said['jobs']}, unfinished {said['unfinished']}, cancelled before "
           f"they started {said['never_started']}, evictions of guests "
           f"{said['evictions']}")
    if said["ended_for_memory"]:
        yield (f"Guests ended for memory {said['ended_for_memory']}, CPU hours that they "
               f"lost {cell(said['ended_for_memory_cpu_seconds'], 'hours')}")
    if not report.all.runs:
        return
    yield (f"Throughput {cell(said['throughput_jobs_per_hour'], 'real')} jobs/h, of "
           f"primaries alone {cell(said['throughput_primaries_per_hour'], 'real')}")
    yield (f"Efficiency {cell(said['efficiency'], 'percent')} of {said['processors']} "
           f"CPUs, without guests {cell(said['efficiency_without_guests'], 'percent')}")
    if said["guest_cost_runs"]:
        yield (f"Guests cost primaries {cell(said['guest_cost'], 'share')} of their time "
               f"(95%: {cell(said['guest_cost_low'], 'share')} to "
               f"{cell(said['guest_cost_high'], 'share')}), by experiment, in "
               f"{said['guest_cost_runs']} runs{_methods(said)}")
    if said["guard_steps"] or said["guests_requeued"] or said["starved_seconds"]:
        yield (f"Guests restricted {said['guard_steps']} times, throttled "
               f"{cell(said['throttled_seconds'], 'hours')} h, stopped "
               f"{cell(said['stopped_seconds'], 'hours')} h, requeued for harm "
               f"{said['ended_for_harm']}; stopped for want of CPU time "
               f"{cell(said['starved_seconds'], 'hours')} h, requeued for it "
               f"{said['ended_for_starving']}; primaries with long slices "
               f"{cell(said['sliced_seconds'], 'hours')} h")
    yield (f"CPU hours {cell(said['cpu_seconds'], 'hours')}, given to guests "
           f"{cell(said['guest_cpu_seconds'], 'hours')} "
           f"({cell(said['guest_cpu_fraction'], 'percent')})")


def text(report, header):
    """Lines; without header the table alone."""
    headings, rows = table_rows(report, wide=False)
    keys = len(report.keys or ("class",))
    lines = _lines(headings, set(range(keys)), rows)
    if not header:
        return lines[2:]
    shown = report.slowdown.applications[:MAX_APPLICATIONS]
    more = len(report.slowdown.applications) - len(shown)
    lines = [*_summary(report), "", *lines]
    if shown:
        lines += ["", "Primaries with guests beside them and without (medians)"]
        headings, left, rows = application_rows(shown)
        lines += _lines(headings, set(range(left)), rows)
    if more > 0:
        lines.append(f"and {more} more applications (--json has all)")
    return lines


def _plain_rows(report):
    """(headings, rows) of the table with all figures, as numbers."""
    keys = report.keys or ("class",)
    rows = report.rows or [{"class": name, **said} for name, said
                           in report.by_class.items()]
    members = [member for member in report.by_class[CLASSES[0]]]
    return ([*keys, *members],
            [[row[member] for member in (*keys, *members)] for row in rows])


def number(value):
    """A figure for programs: as short as six digits after the point allow."""
    if isinstance(value, float):
        shown = f"{value:.6f}".rstrip("0").rstrip(".")
        return "0" if shown == "-0" else shown
    return "" if value is None else str(value)


def parsable(report, header):
    """Lines as sacct -P prints them."""
    headings, rows = _plain_rows(report)
    lines = ["|".join(headings)] if header else []
    return lines + ["|".join(_parsable_cell(value) for value in row) for row in rows]


def _parsable_cell(value):
    if isinstance(value, str):
        return neutral(value).replace("|", "\\x7c")
    return number(value)


def csv(report, header):
    headings, rows = _plain_rows(report)
    lines = [",".join(headings)] if header else []
    return lines + [",".join(csv_cell(value) if isinstance(value, str)
                             else number(value) for value in row) for row in rows]


def _rounded(value):
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value


def as_json(report, sources):
    """One object; doc/report-json.md describes it."""
    said = {"version": JSON_VERSION, "since": report.since, "until": report.until,
            "sources": sources, "totals": report.totals, "by_class": report.by_class,
            "applications": report.slowdown.applications}
    if report.keys:
        said["by"] = list(report.keys)
        said["groups"] = report.rows
    return json.dumps(_rounded(said), indent=1)
