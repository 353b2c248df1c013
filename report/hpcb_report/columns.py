# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-sacct: sacct with columns of ours among its own.

What a job did is in its AdminComment (doc/record.md), or in the records.  sacct is called with the
caller's options and without our columns, its answer is taken apart and printed as
sacct would.
Whatever does not ask for a column of ours is sacct's own business.
"""

import os
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys

from . import settings
from .base import attach, clean, connect, find_database
from .sacct import tag_of
from .text import ReportError, fit, neutral, pad
from .times import Printed
from .version import VERSION

PROGRAM = "hpcb-sacct"

# Short options with a value, and long ones with (True) and without, of sacct 22.05 to
# 26.05: enough to tell values from options and to complete what is abbreviated.
_SHORT_WITH_VALUE = "ACEFgiIjkKMNoqrRsSuWx"
_LONG = {name: False for name in (
    "allusers", "allocations", "brief", "batch-script", "completion", "duplicates",
    "helpformat", "help-fields", "env-vars", "federation", "help", "local", "long",
    "allclusters", "noconvert", "noheader", "parsable", "parsable2", "truncate",
    "use-local-uid", "usage", "verbose", "version", "whole-hetjob", "json", "yaml",
    "array", "expand-patterns")}
_LONG.update({name: True for name in (
    "accounts", "constraints", "delimiter", "endtime", "file", "flags", "format",
    "fields", "gid", "group", "name", "nnodes", "ncpus", "jobs", "timelimit-min",
    "timelimit-max", "cluster", "clusters", "nodelist", "units", "qos", "partition",
    "reason", "state", "starttime", "uid", "user", "wckeys", "associations")})
_SAME = {"o": "format", "fields": "format", "p": "parsable", "P": "parsable2",
         "n": "noheader", "e": "helpformat", "help-fields": "helpformat",
         "h": "help", "U": "usage", "V": "version", "l": "long", "b": "brief",
         "B": "batch-script"}

# What is not a table of ours, whatever --format says.
_NOT_OURS = {"help", "usage", "version", "long", "brief", "batch-script", "env-vars",
             "json", "yaml", "completion", "helpformat"}

DEFAULT_FORMAT = "JobID,JobName,State,Class,Efficiency,Stolen,Guests"

# Fields of sacct that are asked for behind those that are shown.
_HIDDEN = ("Partition", "AdminComment", "Cluster", "Start", "End", "JobIDRaw")

# Seconds that a node's clock may differ from slurmctld's: munged takes no more.
_CLOCKS_APART = 300

# No job has such an id: it asks for the heading alone.
_NO_JOB = "67108863"
_DEFAULT_WIDTH = 10

# Behind a bandwidth that nobody measured in this run.
TYPED = "*"


def _text(value):
    return value if isinstance(value, str) else ""


def _ratio(value):
    return f"{value:.3f}" if _is_number(value) else ""


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and \
        0 <= value < 1e18


def bandwidth(value, convert):
    """Bytes a second as --bw-profile takes them."""
    if not _is_number(value):
        return ""
    if not convert:
        return str(int(value))
    for unit in ("", "K", "M", "G", "T"):
        if value < 1024 or unit == "T":
            break
        value /= 1024
    return f"{value:.2f}{unit}" if unit else str(int(value))


def _moved(tag, key, convert):
    """What was measured, else what the job was known to need, with a mark."""
    measured = bandwidth(tag.get(key), convert)
    needs = tag.get("bw")
    if measured or not isinstance(needs, dict):
        return measured
    typed = bandwidth(needs.get(key), convert)
    return typed and typed + TYPED


def _cost(tag):
    """In percent of the running time, with the interval."""
    cost, low, high = (tag.get(key) for key in ("cost", "cost_low", "cost_high"))
    if not all(isinstance(value, float) for value in (cost, low, high)):
        return ""
    return f"{100 * cost:+.1f}%[{100 * low:+.1f}..{100 * high:+.1f}]"


# {name in lower case: (heading, width, function of the tag)}
OURS = {name.lower(): (name, width, value) for name, width, value in (
    ("Class", 8, lambda tag, convert: _text(tag.get("class"))),
    ("Policy", 10, lambda tag, convert: _text(tag.get("policy"))),
    ("Efficiency", 10, lambda tag, convert: _ratio(tag.get("eff"))),
    ("Stolen", 8, lambda tag, convert: _ratio(tag.get("stolen"))),
    ("MemBW", 10, lambda tag, convert: _moved(tag, "mem", convert)),
    ("NetBW", 10, lambda tag, convert: _moved(tag, "net", convert)),
    ("Guests", 6, lambda tag, convert: str(int(tag["guests"]))
     if _is_number(tag.get("guests")) else ""),
    ("GuestCost", 18, lambda tag, convert: _cost(tag)),
    ("CostMethod", 12, lambda tag, convert: _text(tag.get("cost_method"))),
)}


class Options:
    """The command line: rest is what sacct gets, the others are ours to heed."""

    def __init__(self, argv):
        self.rest = []
        self.seen = {}
        self.formats = []
        at = 0
        while at < len(argv):
            word = argv[at]
            at += 1
            if word == "--":
                self.rest += argv[at - 1:]
                break
            if word.startswith("--"):
                at += self._long(word, argv[at:at + 1])
            elif word.startswith("-") and word != "-":
                at += self._short(word, argv[at:at + 1])
            else:
                self.rest.append(word)

    def _long(self, word, following):
        """How many of the words that follow belong to it."""
        given, equals, value = word[2:].partition("=")
        name = _complete(given)
        if not _LONG.get(name, False):
            self._take(_SAME.get(name, name), "", [word])
            return 0
        if equals:
            self._take(_SAME.get(name, name), value, [word])
            return 0
        self._take(_SAME.get(name, name), "".join(following), [word, *following])
        return len(following)

    def _short(self, word, following):
        for at, letter in enumerate(word[1:], 1):
            if letter in _SHORT_WITH_VALUE:
                value = word[at + 1:]
                words = ["-" + letter + value] if value else ["-" + letter, *following]
                self._take(_SAME.get(letter, letter), value or "".join(following),
                           words)
                return 0 if value else len(following)
            self._take(_SAME.get(letter, letter), "", ["-" + letter])
        return 0

    def _take(self, name, value, words):
        self.seen[name] = value
        if name == "format":
            self.formats.append(value)
        elif name not in ("parsable", "parsable2", "noheader", "delimiter"):
            self.rest += words

    @property
    def parsable(self):
        """The last of -p and -P counts."""
        return next((name for name in reversed(list(self.seen))
                     if name in ("parsable", "parsable2")), None)

    def fields(self):
        """[(field, width or None)], as --format, SACCT_FORMAT or we say."""
        text = (",".join(self.formats) or os.environ.get("SACCT_FORMAT") or
                DEFAULT_FORMAT)
        found = []
        for item in text.split(","):
            name, percent, width = item.strip().partition("%")
            if name:
                found.append((_whole(name), _width(width) if percent else None))
        return found


# What sacct takes for its own when it is abbreviated, as far as ours begin like it.
_THEIRS = ("cluster", "nnodes", "ncpus", "group", "gid", "state", "start", "partition",
           "priority", "elapsed", "eligible", "end", "exitcode", "maxrss")


def _whole(name):
    """A field of ours by its beginning, as sacct takes its own; its own go first."""
    given = name.lower()
    if any(known.startswith(given) for known in _THEIRS):
        return name
    longer = [own for known, (own, _, _) in OURS.items() if known.startswith(given)]
    return longer[0] if len(longer) == 1 else name


def _complete(name):
    """What getopt_long makes of an abbreviation; name where it is none."""
    if name in _LONG:
        return name
    longer = {_SAME.get(known, known): known for known in _LONG
              if known.startswith(name)}
    return longer.popitem()[1] if len(longer) == 1 else name


def _width(text):
    """%N of a field; below 0: aligned to the left."""
    try:
        return max(-1000, min(1000, int(text)))
    except ValueError:
        return 0


def _exec(argv):
    sys.stdout.flush()
    try:
        os.execvp("sacct", ["sacct", *argv])
    except OSError as error:
        raise ReportError(f"sacct: {error.strerror}") from None


class Figures:
    """What the records say of jobs whose AdminComment has no figures (yet): without
    slurmdbd, before the collector has come to them, or because somebody else has written
    his own text.  Those who may not read records get the class that follows from the
    partition."""

    def __init__(self, cost):
        """cost: what guests cost is asked for, which AdminComment does not have."""
        self.db = None
        self.cost = cost
        conf = settings.load(None)
        self.guest_partition = conf.guest_partition
        form = os.environ.get("SLURM_TIME_FORMAT") or "standard"
        self.seconds = Printed().seconds if form in ("standard", "%s") else lambda text: None
        try:
            path = find_database(conf.collector_dir)
            if path and os.access(path, os.R_OK):
                db = connect()
                attach(db, path)
                self.db = db
        except (ReportError, OSError):
            pass

    def of(self, record):
        """The tag of a record of sacct's, as far as it can be known."""
        partition, comment, cluster, start, end, job = record[-len(_HIDDEN):]
        if "." in job:
            return {}
        tag = self.add(tag_of(comment), cluster, job, self.seconds(start),
                       self.seconds(end))
        if partition and not _text(tag.get("class")):
            guest = self.guest_partition in partition.split(",")
            tag = {**tag, "class": "guest" if guest else "primary"}
        return tag

    def add(self, tag, cluster, job, start, end):
        """Slurm may give an id again: the run that was there at that time, or else the
        last one."""
        if self.db is None or ("wall" in tag and not self.cost) or not job.isdecimal():
            return tag
        try:
            found = self.db.execute(
                "SELECT class, policy, efficiency, stolen_fraction, guests_beside, "
                "json_extract(mem_bandwidth, '$.mean'), "
                "json_extract(net_bandwidth, '$.mean'), "
                "guest_cost, guest_cost_low, guest_cost_high, guest_cost_method "
                "FROM rec.run WHERE cluster = ?1 AND job_id = ?2 AND seq IS NOT NULL AND "
                'coalesce("end" >= ?3 - ?5, 1) AND coalesce(start <= ?4 + ?5, 1) '
                "ORDER BY abs(start - ?3), start DESC, restart DESC LIMIT 1",
                (clean(cluster), int(job), start, end, _CLOCKS_APART)).fetchone()
        except (sqlite3.Error, OverflowError):
            found = None
        if found is None:
            return tag
        mine = dict(zip(("class", "policy", "eff", "stolen", "guests", "mem", "net",
                         "cost", "cost_low", "cost_high", "cost_method"), found))
        if mine["policy"] == "none":
            del mine["policy"]
        return {**mine, **tag}


class Table:
    """What is printed: sacct's columns and ours in the order that was asked for."""

    def __init__(self, options):
        self.options = options
        self.asked = options.fields()
        self.theirs = [name for name, _ in self.asked if name.lower() not in OURS]
        self.convert = "noconvert" not in options.seen
        self.columns = []
        self.figures = Figures(any(name.lower() in ("guestcost", "costmethod")
                                   for name, _ in self.asked))

    def command(self, delimiter):
        return ["sacct", *self.options.rest, "--parsable2", "--delimiter=" + delimiter,
                "--format=" + ",".join([*self.theirs, *_HIDDEN])]

    def place(self, heading, widths):
        """Columns as [(name, width, function of a record and its tag)].  heading: the
        names of what sacct has given, ALL taken apart; widths: [(width, left)] of the
        same, none where they do not matter."""
        alls = sum("all".startswith(name.lower()) for name in self.theirs)
        each = (len(heading) - len(_HIDDEN) - (len(self.theirs) - alls)) // alls if alls else 0
        at = 0
        for name, width in self.asked:
            own = OURS.get(name.lower())
            if own:
                self._add(own[0], own[1] if width is None else width, own[2])
                continue
            for _ in range(each if "all".startswith(name.lower()) else 1):
                known = widths[at] if at < len(widths) else _DEFAULT_WIDTH
                self._add(heading[at], known if width is None else width, at)
                at += 1

    def _add(self, name, width, source):
        self.columns.append((neutral(name), width, source))

    def cells(self, record):
        tag = self.figures.of(record)
        return [neutral(record[source]) if isinstance(source, int)
                else source(tag, self.convert) for _, _, source in self.columns]

    def line(self, cells):
        if self.options.parsable:
            delimiter = self.options.seen.get("delimiter") or "|"
            end = delimiter if self.options.parsable == "parsable" else ""
            return delimiter.join(cells) + end
        return " ".join(pad(fit(cell, abs(width)), abs(width), width < 0)
                        for cell, (_, width, _) in zip(cells, self.columns)) + " "

    def heading(self):
        if "noheader" in self.options.seen:
            return []
        lines = [self.line([name for name, _, _ in self.columns])]
        if not self.options.parsable:
            lines.append("".join("-" * abs(width) + " "
                                 for _, width, _ in self.columns))
        return lines


def _widths(theirs):
    """How wide sacct makes these columns; below 0: aligned to the left."""
    done = subprocess.run(["sacct", "--allocations", "--jobs=" + _NO_JOB,
                           "--format=" + ",".join(theirs)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          encoding="utf-8", errors="replace", check=False,
                          env=_environment())
    lines = done.stdout.split("\n")
    if len(lines) < 2 or not lines[1].startswith("-"):
        return []
    widths, at = [], 0
    for rule in lines[1].split():
        name = lines[0][at:at + len(rule)]
        widths.append(-len(rule) if name.endswith(" ") else len(rule))
        at += len(rule) + 1
    return widths


def _environment():
    """sacct's, without what would say again what is said by options."""
    env = dict(os.environ)
    env.pop("SACCT_FORMAT", None)
    return env


def _records(stream, delimiter):
    """Lists of fields.  A user's text may hold line ends, but nobody knows the
    delimiter; the last field is a number."""
    held, count = "", None
    for line in stream:
        line = held + line
        fields = line.rstrip("\n").split(delimiter)
        if count is None:
            count = len(fields)
        if len(fields) < count:
            held = line
            continue
        held = ""
        if len(fields) == count:
            yield fields


def run(options):
    """sacct's exit code."""
    table = Table(options)
    delimiter = secrets.token_hex(8)
    widths = [] if options.parsable else _widths(table.theirs)
    with subprocess.Popen(table.command(delimiter), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, encoding="utf-8",
                          errors="surrogateescape", env=_environment()) as process:
        records = _records(process.stdout, delimiter)
        heading = next(records, None)
        if heading:
            table.place(heading, widths)
            for line in table.heading():
                print(line)
            for record in records:
                print(table.line(table.cells(record)))
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _show_fields():
    """After sacct's own list."""
    sys.stdout.flush()
    done = subprocess.run(["sacct", "--helpformat"], check=False)
    print("\n" + " ".join(f"{name:<18}" for name, _, _ in OURS.values()).rstrip())
    return done.returncode


def main(argv):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        options = Options(argv)
        if "version" in options.seen:
            print(f"{PROGRAM} {VERSION}", flush=True)
        if shutil.which("sacct") is None:
            raise ReportError("sacct is not installed")
        if "helpformat" in options.seen:
            return _show_fields()
        ours = any(name.lower() in OURS for name, _ in options.fields())
        if not ours or _NOT_OURS & set(options.seen):
            _exec(argv)
        return run(options)
    except ReportError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 1
