# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Tables and progress on a terminal."""

import sys
import time


def format_table(headers, rows, unit_row=None):
    """Lines of a table: first column left, the others right aligned.  A cell that is
    None shows as "-"."""
    cells = [[("-" if cell is None else str(cell)) for cell in row] for row in rows]
    head = [list(headers)] + ([list(unit_row)] if unit_row else [])
    widths = [max(len(row[i]) for row in head + cells) for i in range(len(headers))]

    def line(row):
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "  ".join([first] + rest).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return [line(row) for row in head] + [rule] + [line(row) for row in cells]


def markdown_table(headers, rows):
    """The same in Markdown.  A cell that is None shows as "–"."""
    def line(row):
        return "| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |"
    return [line(headers), "|" + "---|" * len(headers), *map(line, rows)]


def number(value, digits, sign=False):
    """A fixed-point cell; None stays None."""
    if value is None:
        return None
    return f"{value:{'+' if sign else ''}.{digits}f}"


def percent(value, digits=1, sign=False):
    """A fraction as a cell in percent; None stays None."""
    return None if value is None else number(100 * value, digits, sign) + " %"


def duration(seconds):
    """Roughly, for people who wait."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


class Progress:
    """One line on stderr that says what is going on: rewritten in place on a
    terminal, a line at most every `quiet` seconds elsewhere."""

    def __init__(self, stream=sys.stderr, quiet=10, elapsed=0):
        self.stream = stream
        self.quiet = quiet
        self.began = time.monotonic() - elapsed
        self.shown = None

    def show(self, text):
        now = time.monotonic()
        line = f"[{now - self.began:4.0f} s] {text}"
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{line[:79]}")
        elif self.shown is None or now - self.shown >= self.quiet:
            self.stream.write(line + "\n")
        else:
            return
        self.shown = now
        self.stream.flush()

    def clear(self):
        if self.stream.isatty():
            self.stream.write("\r\033[K")
            self.stream.flush()
