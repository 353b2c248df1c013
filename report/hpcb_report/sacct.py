# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Takes what sacct says, or has printed before, into the working database."""

import json
import os
import secrets
import shutil
import subprocess
import tempfile

from .base import CLASS_CODES, GUEST, PRIMARY, clean, state_code
from .text import ReportError, neutral
from .times import Printed, iso

# A user's text may hold anything, line ends and what separates fields included: it
# stands between fields that hold numbers only.
FIELDS = ("JobIDRaw", "Cluster", "User", "Partition", "State", "NCPUS", "Submit",
          "Start", "End", "TotalCPU", "NodeList", "AdminComment", "JobName", "UID")
_FREE_TEXT = 11

# A record of sacct that goes on over more lines than this is none.
_MAX_LINES = 1000

# Rows that go into the database together.
_AT_ONCE = 5000

# How the tag of job_submit begins.
_TAGS = tuple(('{"hpcb":{"v":1,"class":"%s"' % name, code)
              for name, code in CLASS_CODES.items())


def cpu_seconds(text):
    """[D-]HH:MM:SS, or MM:SS.mmm where there are no hours; ValueError for others."""
    days, dash, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * int(days) if dash else total


def tag_of(comment):
    """The object that AdminComment has under "hpcb", {} where there is none."""
    if '"hpcb"' not in comment:
        return {}
    try:
        tag = json.loads(comment)["hpcb"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return tag if isinstance(tag, dict) else {}


def plain_name(text):
    """A job's name as records have it: %XX for what is not printable ASCII."""
    if text.isascii() and text.isprintable() and "%" not in text:
        return text
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x25 else
                   f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))


def split_comment(text, delimiter):
    """AdminComment and JobName, which stand beside each other and may both hold what
    separates fields."""
    if text.startswith("{"):
        try:
            end = json.JSONDecoder().raw_decode(text)[1]
        except (ValueError, RecursionError):
            end = 0
        if text.startswith(delimiter, end):
            return text[:end], text[end + len(delimiter):]
    comment, _, name = text.partition(delimiter)
    return comment, name


def command(since, until, selection, delimiter):
    """sacct's arguments.  selection: {option: value} of what it selects itself."""
    args = ["sacct", "--noheader", "--duplicates", "--parsable2",
            "--delimiter=" + delimiter, "--format=" + ",".join(FIELDS)]
    if "--user" not in selection:
        args.append("--allusers")
    args += [f"{option}={value}" for option, value in selection.items()]
    args.append("--starttime=" + iso(since))
    if until is not None:
        args.append("--endtime=" + iso(until))
    return args


class Reader:
    """bad counts records that cannot be read."""

    def __init__(self, base, settings):
        self.base = base
        self.rows = []
        self.guest_partition = settings.guest_partition
        self.seconds = Printed().seconds
        self.bad = 0
        self.any = False

    def run(self, since, until, selection):
        """Ask sacct.  ReportError with what it says where it fails."""
        if shutil.which("sacct") is None:
            raise ReportError("sacct is not installed")
        delimiter = secrets.token_hex(8)
        env = {**os.environ, "SLURM_TIME_FORMAT": "%s"}
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(command(since, until, selection, delimiter),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=errors, env=env, encoding="utf-8",
                                  errors="surrogateescape") as process:
                self.read(process.stdout, delimiter)
            if process.returncode != 0:
                raise ReportError(f"sacct: {_first_line(errors)}")

    def read_file(self, path):
        """What sacct has printed with our fields; - is standard input."""
        try:
            with open(0 if path == "-" else path, encoding="utf-8",
                      errors="surrogateescape", newline="\n") as stream:
                self._read_saved(path, stream)
        except OSError as error:
            raise ReportError(f"--sacct-file={path}: {error.strerror}") from None

    def _read_saved(self, path, stream):
        first = stream.readline()
        delimiter = "|"
        if first.startswith("JobIDRaw"):
            delimiter = first[len("JobIDRaw"):].partition("Cluster")[0]
            if not delimiter or first.rstrip("\n").split(delimiter) != list(FIELDS):
                raise ReportError(f"--sacct-file={path}: has other fields; allowed: "
                                  "the output of sacct -P with those that hpcb-report "
                                  "--sacct-fields prints")
            first = ""
        before = self.bad
        self.read(_after(first, stream), delimiter)
        if self.bad > before and not self.any:
            raise ReportError(f"--sacct-file={path}: is no output of sacct -P with the "
                              "fields that hpcb-report --sacct-fields prints")

    def read(self, lines, delimiter):
        """lines are what sacct prints."""
        self.any = False
        wanted = len(FIELDS) - 1
        held, count = "", 0
        for line in lines:
            if held:
                line = held + line
            if line.count(delimiter) < wanted and count < _MAX_LINES:
                held, count = line, count + 1
                continue
            held, count = "", 0
            if line.find(".", 0, line.find(delimiter)) > 0:
                # A step: its job has the sum.
                self.any = True
                continue
            try:
                self._add(line.rstrip("\n").split(delimiter), delimiter)
                self.any = True
            except (ValueError, OverflowError):
                self.bad += 1
        self.bad += bool(held.strip())
        self._flush()

    def _flush(self):
        self.base.add_told(self.rows)
        self.rows.clear()

    def _add(self, parts, delimiter):
        """ValueError where they are no run."""
        if not parts[0].isdecimal():
            raise ValueError
        if len(parts) > len(FIELDS):
            text = delimiter.join(parts[_FREE_TEXT:-1])
            parts[_FREE_TEXT:-1] = split_comment(text, delimiter)
        elif len(parts) < len(FIELDS):
            raise ValueError
        (job_id, cluster, user, partition, state, cpus, submit, start, end, cpu, nodes,
         comment, name, uid) = parts
        number = int(job_id)
        if number >= 1 << 32:
            raise ValueError
        at = self.seconds
        if nodes == "None assigned":
            nodes = ""
        self.rows.append((
            clean(cluster), number, clean(user or uid), clean(partition),
            plain_name(name), clean(nodes), self._class_of(comment, partition),
            at(submit), at(start), at(end), cpu_seconds(cpu) if cpu else 0.0,
            int(cpus or 0), state_code(state)))
        if len(self.rows) >= _AT_ONCE:
            self._flush()

    def _class_of(self, comment, partition):
        """What job_submit has decided; else what the partition says."""
        for tag, code in _TAGS:
            if comment.startswith(tag):
                return code
        klass = CLASS_CODES.get(tag_of(comment).get("class"))
        if klass is not None:
            return klass
        return GUEST if partition == self.guest_partition else PRIMARY


def _after(first, stream):
    if first:
        yield first
    yield from stream


def _first_line(errors):
    errors.seek(0)
    text = errors.read(4096).decode("utf-8", "replace").strip()
    return neutral(text.partition("\n")[0].removeprefix("sacct: ")) or "has failed"
