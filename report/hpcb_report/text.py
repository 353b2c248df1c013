# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Text from jobs is their users': neutral for terminals, tables and spreadsheets."""

import re
import unicodedata

# Controls, formats (bidirectional overrides too), lone surrogates, private and
# unassigned characters, line and paragraph separators.
_BAD_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_PLAIN = re.compile(r"[ -~]*\Z")

# What spreadsheets take for the beginning of a formula.
_FORMULA = "=+-@\t\r|%"


class ReportError(Exception):
    """One sentence for people."""


class UsageError(ReportError):
    """About the command line: exit code 2."""


def neutral(text):
    """text with everything that a terminal might act on as \\x1b, \\u202e, …"""
    if _PLAIN.match(text):
        return text
    return "".join(_escaped(char) for char in text)


def _escaped(char):
    if unicodedata.category(char) not in _BAD_CATEGORIES:
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def csv_cell(value):
    """A cell by RFC 4180 that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return str(value)
    text = neutral(value)
    if text[:1] and text[0] in _FORMULA:
        text = "'" + text
    if any(char in text for char in ',"\n'):
        text = '"' + text.replace('"', '""') + '"'
    return text


def width(text):
    """Columns that text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else
               0 if unicodedata.combining(char) else 1 for char in text)


def fit(text, columns):
    """text in that many columns: cut with a + at its end, as sacct does."""
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text + "+"


def pad(text, columns, left=False):
    fill = " " * (columns - width(text))
    return text + fill if left else fill + text
