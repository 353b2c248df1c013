# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-report's command line."""

import argparse
import contextlib
import copy
import io
import os
import pwd
import sqlite3
import sys
import time

from . import export, layout, records, sacct, settings, slurm, times
from .base import CLASS_CODES, Base
from .facts import Facts, Wanted
from .metrics import KEYS, Report
from .slowdown import Slowdown, find_guests
from .text import ReportError, UsageError, neutral
from .version import VERSION

PROGRAM = "hpcb-report"


class Parser(argparse.ArgumentParser):
    """One line for what is wrong with the command line."""

    def error(self, message):
        raise UsageError(message)


def parser():
    made = Parser(prog=PROGRAM, allow_abbrev=False, add_help=False, description=(
        "Throughput, efficiency, turnaround, and what guests cost primaries and "
        "gained, of the jobs that ended in a period; from sacct and the job records."))
    add = made.add_argument
    add("-S", "--since", "--starttime", metavar="TIME",
        help="jobs that ended at or after TIME (default: today 00:00; the beginning "
             "with --sacct-file or --no-sacct)")
    add("-U", "-E", "--until", "--endtime", metavar="TIME",
        help="jobs that ended before TIME (default: now)")
    add("-u", "--user", metavar="LIST", help="jobs of these users")
    add("-r", "--partition", metavar="LIST", help="jobs in these partitions")
    add("--class", dest="klass", metavar="LIST", help="primary, guest")
    add("-M", "--cluster", "--clusters", metavar="LIST", help="jobs of these clusters")
    add("--by", metavar="LIST", help="a row for each of: " + ", ".join(KEYS))
    add("--cpus", metavar="N", help="processors that the cluster has, for its "
        "efficiency (default: what slurmctld says, else the most that jobs have held "
        "at once)")
    add("-n", "--noheader", action="store_true", help="the table's rows alone")
    add("-P", "--parsable2", action="store_true", help="fields separated by |")
    add("--csv", action="store_true", help="comma-separated values")
    add("--json", action="store_true", help="one JSON object")
    add("--html", metavar="FILE", help="write a page with pictures to FILE (- for "
        "standard output)")
    add("--export", metavar="FORMAT", help="print the runs themselves, from the "
        "collector's records alone: jsonl (a run with its nodes a line) or csv (a run a "
        "line)")
    add("--records", metavar="DIR", help="directory of records (default: CollectorDir, "
        "without sacct else SpoolDir, of hpc-balance.conf)")
    add("--no-records", action="store_true", help="do without records")
    add("--sacct-file", metavar="FILE", help="read what sacct has printed from FILE "
        "(- for standard input) instead of calling it")
    add("--no-sacct", action="store_true", help="do without sacct")
    add("--sacct-fields", action="store_true", help="print the value of sacct's "
        "--format that --sacct-file needs")
    add("-c", "--config", metavar="FILE", help="hpc-balance.conf to use")
    add("-h", "--help", action="help", help="this text")
    add("-V", "--version", action="version", version=f"{PROGRAM} {VERSION}")
    return made


def _list(option, text, allowed=None):
    """The items of a list, None where the option was not given."""
    if text is None:
        return None
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise UsageError(f"{option}={text}: an item is empty; allowed: names separated "
                         "by commas")
    for item in items:
        if allowed and item not in allowed:
            raise UsageError(f"{option}={text}: unknown '{item}'; allowed: " +
                             ", ".join(allowed))
    return items


def _users(text):
    """Records and sacct have names; a number is also that user's."""
    names = _list("--user", text)
    for uid in [name for name in names or () if name.isdecimal()]:
        try:
            names.append(pwd.getpwuid(int(uid)).pw_name)
        except (KeyError, OverflowError, ValueError):
            pass
    return names


def _count(option, text):
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) < 1 << 31 and
            len(text) <= 10):
        raise UsageError(f"{option}={text}: allowed: 1 to 2147483647")
    return int(text)


def _check(options):
    """The options that exclude each other."""
    forms = [name for name in ("json", "csv", "parsable2") if getattr(options, name)]
    if len(forms) > 1:
        raise UsageError("--" + " and --".join(forms) + " exclude each other")
    if options.html == "-" and (forms or options.noheader):
        raise UsageError("--html=- and other output exclude each other")
    if options.export is not None:
        _check_export(options, forms)
    if options.no_records and options.records:
        raise UsageError("--no-records and --records exclude each other")
    if options.no_sacct and options.sacct_file:
        raise UsageError("--no-sacct and --sacct-file exclude each other")
    if options.no_sacct and options.no_records:
        raise UsageError("--no-sacct and --no-records leave nothing to read")


def _check_export(options, forms):
    if options.export not in export.FORMATS:
        raise UsageError(f"--export={options.export}: allowed: "
                         + ", ".join(export.FORMATS))
    if forms or options.html or options.by:
        raise UsageError("--export and other output exclude each other")
    if options.no_records or options.sacct_file:
        raise UsageError("--export reads records alone")


class Plan:
    """What the command line asks for, checked."""

    def __init__(self, options):
        _check(options)
        now = time.time()
        self.options = options
        self.since = self.until = None
        if options.since is not None:
            self.since = times.parse("--since", options.since, now)
        elif not (options.sacct_file or options.no_sacct or options.export):
            self.since = times.parse("--since", "today", now)
        if options.until is not None:
            self.until = times.parse("--until", options.until, now)
        if None not in (self.since, self.until) and self.since >= self.until:
            raise UsageError(f"--until={options.until}: is not after --since; "
                             "allowed: a later time")
        self.users = _users(options.user)
        self.partitions = _list("--partition", options.partition)
        self.classes = _list("--class", options.klass, tuple(CLASS_CODES))
        self.clusters = _list("--cluster", options.cluster)
        self.keys = _list("--by", options.by, KEYS) or ()
        if len(set(self.keys)) < len(self.keys):
            raise UsageError(f"--by={options.by}: twice the same; allowed: each once")
        self.cpus = _count("--cpus", options.cpus)

    def wanted(self):
        classes = self.classes and {CLASS_CODES[name] for name in self.classes}
        return Wanted(self.since, self.until, self.users, self.partitions, classes,
                      self.clusters)

    def sacct_selection(self):
        """Every user is asked for, because guests of others count as company."""
        return {"--clusters": self.options.cluster} if self.clusters else {}


def note(text):
    print(f"{PROGRAM}: {neutral(str(text))}", file=sys.stderr)


def _read_records(plan, base, path):
    """The directory that was read, or None.  ReportError where one was asked for and
    cannot be read."""
    options = plan.options
    path = options.records or path
    if options.no_records:
        return None
    if records.closed(path):
        if options.records:
            raise ReportError(f"--records={path}: Permission denied")
        note(f"{path}: its records are root's; without them no stolen time is known")
        return None
    if not (options.records or records.there(path)):
        return None
    if options.records and not os.path.isdir(path):
        raise ReportError(f"--records={path}: is no directory")
    reader = records.Reader(base)
    reader.read(path, plan.since, plan.until)
    if reader.bad:
        note(f"{path}: {reader.bad} lines are no records and were passed over")
    return path


def _read_sacct(plan, conf, base, alone):
    """What was read, or None where records have to do.  alone: the only one."""
    options = plan.options
    if options.no_sacct:
        return None
    reader = sacct.Reader(base, conf)
    if options.sacct_file:
        reader.read_file(options.sacct_file)
    else:
        try:
            reader.run(plan.since, plan.until, plan.sacct_selection())
        except ReportError as error:
            if alone:
                raise
            note(f"{error}; from records alone")
            return None
    if reader.bad:
        note(f"sacct: {reader.bad} lines cannot be read and were passed over")
    return options.sacct_file or "sacct"


def _cpus(plan, read):
    """The processors of the cluster: --cpus, else what slurmctld says if all that was
    read is about its cluster as it is now; None if nobody knows."""
    if plan.cpus or read["sacct"] != "sacct" or plan.clusters:
        return plan.cpus
    try:
        return slurm.cluster_cpus() or None
    except ReportError:
        return None


def make_report(plan):
    """(Report, {source: what was read or null})"""
    conf = settings.load(plan.options.config)
    base = Base()
    read = {"records": _read_records(plan, base, conf.collector_dir)}
    alone = read["records"] is None and not records.there(conf.spool_dir)
    read["sacct"] = _read_sacct(plan, conf, base, alone or plan.options.no_records)
    if read["records"] is None and read["sacct"] is None:
        # What this node has not sent, or never will: a part of a cluster.
        read["records"] = _read_records(plan, base, conf.spool_dir)
    if read["records"] is None and read["sacct"] is None:
        raise ReportError("there are no records here; name their directory with "
                          "--records")
    base.settle()
    find_guests(base)
    wanted = plan.wanted()
    found = Facts(base, wanted)
    return Report(found, Slowdown(found), wanted, plan.keys,
                  _cpus(plan, read)), read


def _before(plan):
    """The report of the time of the same length before; None if no job ended in it, or if
    what was read cannot be read again."""
    if plan.since is None or plan.options.sacct_file == "-":
        return None
    earlier = copy.copy(plan)
    earlier.until = plan.since
    earlier.since = 2 * plan.since - (time.time() if plan.until is None else plan.until)
    # What is wrong with the sources has been said.
    with contextlib.redirect_stderr(io.StringIO()):
        report, _ = make_report(earlier)
    return report if report.all.runs else None


def _print(lines):
    for line in lines:
        print(line)


def show(plan, report, read):
    options = plan.options
    if options.html:
        from . import page
        page.write(options.html, report, read, _before(plan))
    if options.json:
        print(layout.as_json(report, read))
    elif options.csv:
        _print(layout.csv(report, not options.noheader))
    elif options.parsable2:
        _print(layout.parsable(report, not options.noheader))
    elif not options.html or options.noheader:
        _print(layout.text(report, not options.noheader))


def main(argv):
    """The exit code: 0; 1 where something cannot be read or written; 2 for a wrong
    command line."""
    try:
        options = parser().parse_args(argv)
        if options.sacct_fields:
            print(",".join(sacct.FIELDS))
            return 0
        plan = Plan(options)
        if options.export:
            export.write(plan, settings.load(options.config).collector_dir)
        else:
            show(plan, *make_report(plan))
        sys.stdout.flush()
    except UsageError as error:
        note(f"{error} (see {PROGRAM} --help)")
        return 2
    except ReportError as error:
        note(error)
        return 1
    except sqlite3.Error as error:
        damaged = isinstance(error, sqlite3.DatabaseError) and \
            not isinstance(error, sqlite3.OperationalError)
        note(f"{error}: hpcbctl records verify says more" if damaged else error)
        return 1
    except BrokenPipeError:
        # The reader has had enough; nothing more is to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    return 0
