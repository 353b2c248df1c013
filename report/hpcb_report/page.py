# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The HTML file: one page that needs nothing else, no script and no network."""

import os
import tempfile
import time

from . import charts, layout, timeline, verdict
from .metrics import FEWEST
from .slowdown import SPAN_FEWEST, NodeLists
from .svg import escape
from .text import ReportError
from .times import iso
from .version import VERSION

STYLE = """
:root { --ink: #1c2430; --soft: #5b6675; --line: #dfe4ea; --paper: #fff;
  --card: #f6f8fa;
  --primary: #0072b2; --guest: #e69f00; --primary-ink: #fff; --guest-ink: #2b1d00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b5;
  --line: #333c48; --paper: #14181e; --card: #1c222b; --primary: #4aa3df;
  --guest: #e0a52e; --primary-ink: #06131d; --guest-ink: #221700; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 48px; max-width: 1120px; color: var(--ink);
  background: var(--paper); font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 22px; margin: 0 0 2px; } h2 { font-size: 17px; margin: 34px 0 2px; }
p { margin: 2px 0 10px; color: var(--soft); }
p.verdict { color: var(--ink); font-size: 17px; margin: 6px 0 4px; }
@media (max-width: 560px) { .tiles { grid-template-columns: 1fr 1fr !important; } }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(230px, 1fr));
  gap: 10px; margin-top: 16px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 9px 12px; }
.tile b { display: block; font-size: 21px; font-weight: 600; }
.tile span, .tile i { color: var(--soft); font-size: 12.5px; font-style: normal;
  display: block; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(440px, 1fr));
  gap: 18px; }
figure { margin: 0; } figcaption { font-weight: 600; font-size: 14px; }
figcaption small { font-weight: 400; color: var(--soft); font-size: 12.5px; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--soft); }
svg text.small { font-size: 10px; } svg text.inside { font-size: 9.5px; }
svg text.primary-text { fill: var(--primary-ink); }
svg text.guest-text { fill: var(--guest-ink); }
.span { stroke: var(--ink); stroke-width: 1.5; }
.grid { stroke: var(--line); stroke-width: 1; } .axis { stroke: var(--soft); }
.primary { fill: var(--primary); } .guest { fill: var(--guest); }
.scroll { overflow-x: auto; } .scroll figure { min-width: 720px; }
table { border-collapse: collapse; font-size: 13.5px; white-space: nowrap; }
th, td { text-align: right; padding: 4px 10px; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } td.left, th.left { text-align: left; }
@media (max-width: 520px) { .pictures { grid-template-columns: 1fr; } }
"""

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write(path, report, sources, before=None):
    """To path, whole or not at all; - is standard output.  before: the report of the time
    before, to compare.  ReportError where it cannot be written."""
    text = make(report, sources, before)
    if path == "-":
        print(text, end="")
        return
    folder = os.path.dirname(os.path.abspath(path))
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            # A device or a pipe.
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            return
        handle, temporary = tempfile.mkstemp(prefix=".hpcb-report.", dir=folder)
        try:
            with open(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ReportError(f"--html={path}: {error.strerror}") from None


def _umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def make(report, sources, before=None):
    body = [f"<h1>{escape(_title(report))}</h1>",
            *(f'<p class="verdict">{escape(said)}</p>' for said in
              verdict.sentences(report)),
            f"<p>{escape(_source(report, sources))}</p>", _tiles(report, before)]
    if report.all.runs:
        body += [_timeline(report), _pictures(report)]
    body += [_tables(report), _definitions()]
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            f"<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_POLICY}\">"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
            "<link rel=\"icon\" href=\"data:,\">"
            f"<title>hpcb-report</title><style>{STYLE}</style></head>\n<body>\n" +
            "\n".join(body) + "\n</body></html>\n")


def _title(report):
    said = report.totals
    if not report.all.runs:
        return "No job ended in this period"
    begin = report.since if report.since is not None else said["first_submit"]
    finish = report.until if report.until is not None else said["last_end"]
    return f"Jobs that ended {_times(begin, finish)}"


def _times(begin, finish):
    return f"{iso(begin)} – {iso(finish)}".replace("T", " ")


def _span(report):
    return _times(report.since, report.until)


def _source(report, sources):
    read = [f"{name}: {path}" for name, path in sources.items() if path]
    clusters = [row[0] for row in report.found.rows(
        "DISTINCT f.cluster", "WHERE f.cluster <> '' ORDER BY 1 LIMIT 10")]
    of = f"Cluster {', '.join(clusters)}. " if clusters else ""
    return (f"{of}hpcb-report {VERSION}, {iso(time.time()).replace('T', ' ')}, from "
            + "; ".join(read))


def _figures(report):
    """(name, value, what else there is to say) of each tile."""
    said, primary = report.totals, report.by_class["primary"]
    show = layout.cell
    gain = charts.gains(([said["throughput_primaries_per_hour"]],
                         [said["throughput_jobs_per_hour"]]))[0]
    slow = primary["slowdown_median"]
    if primary["slowdown_runs"] < FEWEST:
        slow = None
    return [
        ("CPU hours to guests", show(said["guest_cpu_seconds"], "hours"),
         show(said["guest_cpu_fraction"], "percent") + " of all"),
        ("Primaries beside guests",
         "-" if slow is None else f"{100 * (slow - 1):+.1f}%",
         f"running time, median of {primary['slowdown_runs']} runs" if slow is not None
         else f"fewer than {FEWEST} runs to compare"),
        ("Stolen from primaries", show(primary["stolen_fraction"], "percent"),
         "of their running time"),
        ("Throughput", show(said["throughput_jobs_per_hour"], "real") + " /h",
         "guests add " + ("-" if gain is None else f"{gain:.1f}%")),
        ("Efficiency", show(said["efficiency"], "percent"),
         "without guests " + show(said["efficiency_without_guests"], "percent")),
        ("Turnaround, mean", show(said["turnaround_mean_seconds"], "time"),
         "95%: " + show(said["turnaround_p95_seconds"], "time")),
        ("Jobs", str(said["jobs"]), f"{primary['jobs']} primaries, "
         f"{report.by_class['guest']['jobs']} guests"),
        ("Evictions", str(said["evictions"]), "of guests; for memory "
         f"{said['ended_for_memory']}, lost "
         f"{show(said['ended_for_memory_cpu_seconds'], 'hours')} CPU h"),
    ]


def _tiles(report, before):
    earlier = {name: value for name, value, _ in _figures(before)} if before else {}
    told = "" if not before else (
        f"<p>Before: {escape(_span(before))}, a time of the same length.</p>")
    return '<div class="tiles">' + "".join(
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b>'
        f"<i>{escape(more)}</i>" +
        (f"<i>before: {escape(earlier[name])}</i>" if name in earlier else "") + "</div>"
        for name, value, more in _figures(report)) + "</div>" + told


def _timeline(report):
    picture, told = timeline.draw(report.found, NodeLists())
    drawn = "" if picture is None else (
        f'<div class="scroll"><figure>{picture.render()}</figure></div>')
    return f"<h2>Jobs per node</h2><p>{escape(told)}</p>{drawn}"


def figure(caption, small, picture):
    return (f"<figure><figcaption>{escape(caption)} <small>{escape(small)}</small>"
            f"</figcaption>{picture.render()}</figure>")


def _pictures(report):
    buckets = charts.Buckets(report.found)
    labels = buckets.labels()
    throughput = buckets.throughput()
    efficiency = buckets.efficiency(report.processors)
    turnaround = [[None if value is None else value / 60 for value in row]
                  for row in buckets.mean_turnaround()]
    pairs = ("primaries alone", "with guests")
    drawn = [
        figure("Throughput", "jobs/h", charts.columns("Throughput", labels, [
            ("primary", pairs[0], throughput[0]), ("guest", pairs[1], throughput[1])])),
        figure("Throughput gained by guests", "percent of primaries alone",
                charts.columns("Throughput gained by guests", labels, [
                    ("guest", "gain", charts.gains(throughput))])),
        figure("Efficiency", f"percent of {report.processors} CPUs", charts.columns(
            "Efficiency", labels, [("primary", "without guests", efficiency[0]),
                                   ("guest", pairs[1], efficiency[1])])),
        figure("Turnaround", "mean, minutes", charts.columns("Turnaround", labels, [
            ("primary", "primaries", turnaround[0]),
            ("guest", "guests", turnaround[1])])),
        *_application_pictures(report.slowdown.applications)]
    return '<h2>Side by side</h2><div class="pictures">' + "".join(drawn) + "</div>"


def _application_pictures(applications):
    shown = applications[:charts.MAX_APPLICATIONS]
    if not shown:
        return ["<figure><figcaption>Running time of primaries</figcaption><p>No "
                "application has run both with guests beside it and without.</p>"
                "</figure>"]
    labels = [f"{row['name']} ×{row['cpus']} {row['user']}" for row in shown]
    unit, by = ("minutes", 60.0) if max(row["alone_median_seconds"]
                                        for row in shown) >= 600 else ("seconds", 1.0)
    times = [[row[member] / by for row in shown] for member in
             ("alone_median_seconds", "with_guests_median_seconds")]
    return [
        figure("Running time of primaries", f"median, {unit}", charts.rows(
            "Running time of primaries", labels, [("primary", "alone", times[0]),
                                                  ("guest", "with guests", times[1])],
            unit)), _change_picture(shown, labels)]


def _change_picture(shown, labels):
    """Of the applications whose median has an interval."""
    found = [(label, [100.0 * (row[member] - 1) for member in
                      ("slowdown", "slowdown_low", "slowdown_high")])
             for label, row in zip(labels, shown) if row["slowdown_low"] is not None]
    if not found:
        return ("<figure><figcaption>Running time with guests</figcaption><p>No "
                f"application has {SPAN_FEWEST} runs with guests beside it.</p></figure>")
    return figure("Running time with guests", "percent above that alone; the line is the "
                  "95% interval of the median", charts.rows(
                      "Change of running time", [label for label, _ in found],
                      [("guest", "change", [values[0] for _, values in found])],
                      "percent", [values[1:] for _, values in found]))


def table_html(headings, left, rows):
    def row(tag, cells):
        return "<tr>" + "".join(
            f"<{tag}{' class=left' if at < left else ''}>{escape(text)}</{tag}>"
            for at, text in enumerate(cells)) + "</tr>"

    return ('<div class="scroll"><table>' + row("th", headings) +
            "".join(row("td", cells) for cells in rows) + "</table></div>")


_WORDS = (
    ("CPU hours to guests", "CPU time that guests used, by their records or sacct."),
    ("Primaries beside guests", "running time of a primary that shared a node with a guest "
     "over the median of the same user's runs of the same name and CPUs without; the "
     "median of these ratios."),
    ("Stolen from primaries", "time in which a primary's tasks could run and waited for a "
     "CPU. Guests are one cause of several."),
    ("Efficiency", "CPU time that jobs used over the time of all CPUs of the cluster."),
    ("Turnaround", "from submission to end."),
    ("Evictions", "guests that were requeued or ended for a primary."),
)


def _definitions():
    return "<h2>What the words mean</h2>" + "".join(
        f"<p><b>{escape(word)}</b>: {escape(said)}</p>" for word, said in _WORDS)


def _tables(report):
    headings, rows = layout.table_rows(report)
    keys = report.keys or ("class",)
    text = f"<h2>By {escape(', '.join(keys))}</h2>" + table_html(headings, len(keys), rows)
    shown = report.slowdown.applications[:layout.MAX_APPLICATIONS]
    if shown:
        text += ("<h2>Primaries with guests beside them and without</h2>" +
                 table_html(*layout.application_rows(shown)))
    return text
