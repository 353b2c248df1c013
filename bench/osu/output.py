# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What a run of one of OSU's micro-benchmarks printed."""

import math
import re

from cluster import last_line

LOADED = re.compile(r"libhpcb_mpi: [^\n]*\bwaits (sleep|stay)\b")
VERSION = re.compile(r"^# OSU .*\bv(\d[\d.]*)", re.M)


def numbers(line):
    """The numbers of a line; None if it holds anything else."""
    try:
        return [float(word) for word in line.split()] or None
    except ValueError:
        return None


def parse(text):
    """{message size: seconds or the like, less is better} of what a benchmark prints; the
    size is "0" if it has none.  A bandwidth becomes its reciprocal.  The line above the
    numbers says what the columns are."""
    found, title = {}, ""
    for line in text.splitlines():
        row = numbers(line)
        if row is None:
            title = line if "(us)" in line or "/s" in line else title
            continue
        has_size = "Size" in title
        if not title or len(row) <= has_size:
            continue
        size, value = (row[0], row[1]) if has_size else (0, row[0])
        if 0 < value < math.inf:
            found[f"{size:.0f}"] = 1 / value if "/s" in title else value
    return found


def loaded(text):
    """How many ranks said, because of HPCB_DEBUG, that they have the library."""
    return len(LOADED.findall(text))


def observes(text):
    """Whether a rank said that its library leaves the waits of this MPI as they are."""
    return "stay" in LOADED.findall(text)


def reason(out, err):
    """Of a failure, as a program and its launcher say it.  These frame it and add what they
    do then: the first line with words says most."""
    lines = [line.strip() for line in err.splitlines()
             if re.search(r"\w", line) and not LOADED.search(line)]
    return lines[0] if lines else last_line(out)


def version(text):
    """Of the benchmarks, as one prints it; None if it does not."""
    found = VERSION.search(text)
    return found.group(1) if found else None
