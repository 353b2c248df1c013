# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Points in time as sacct's -S and -E take them, and as sacct prints them."""

import calendar
import re
import time

from .text import UsageError

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_WORDS = {"midnight": (0, 0), "noon": (12, 0), "fika": (15, 0), "teatime": (16, 0)}
_ALLOWED = ("YYYY-MM-DD[THH:MM[:SS]], MM/DD[/YY][-HH:MM], HH:MM[:SS], today, "
            "yesterday, midnight, noon, now[+-]N[minutes|hours|days|weeks] or @SECONDS")

_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?:[T ](.+))?\Z")
_US_DATE = re.compile(r"(\d\d?)[/.](\d\d?)(?:[/.](\d\d(?:\d\d)?))?(?:-(.+))?\Z")
_MMDDYY = re.compile(r"(\d\d)(\d\d)(\d\d)?\Z")
_CLOCK = re.compile(r"(\d\d?):(\d\d)(?::(\d\d))?(?:\s*([ap]m))?\Z", re.I)
_NOW = re.compile(r"now(?:([+-])(\d{1,9})([a-z]*))?\Z")
_EPOCH = re.compile(r"@(\d{1,11})\Z")


def parse(option, text, now):
    """Seconds since the epoch.  UsageError names option, text and what is allowed."""
    try:
        found = _parse(text.strip().lower(), now)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise UsageError(f"{option}={text}: not a time; allowed: {_ALLOWED}")
    return found


def _parse(text, now):
    for reader in (_epoch, _relative, _named, _date, _us_date, _mmddyy, _clock_only):
        found = reader(text, now)
        if found is not None:
            return found
    return None


def _epoch(text, _now):
    found = _EPOCH.match(text)
    return float(found[1]) if found else None


def _relative(text, now):
    found = _NOW.match(text)
    if not found:
        return None
    if not found[1]:
        return now
    unit = _unit(found[3])
    if unit is None:
        return None
    return now + (1 if found[1] == "+" else -1) * int(found[2]) * unit


def _unit(word):
    """Slurm takes any beginning of a unit's name; none means seconds."""
    for name, seconds in _UNITS.items():
        if (name + "s").startswith(word):
            return seconds
    return None


def _named(text, now):
    today = time.localtime(now)
    if text == "today":
        return _make(today.tm_year, today.tm_mon, today.tm_mday, 0, 0)
    if text == "yesterday":
        return _make(today.tm_year, today.tm_mon, today.tm_mday - 1, 0, 0)
    if text in _WORDS:
        return _make(today.tm_year, today.tm_mon, today.tm_mday, *_WORDS[text])
    return None


def _date(text, _now):
    found = _DATE.match(text.upper())
    if not found:
        return None
    clock = _clock(found[4])
    if clock is None:
        return None
    return _checked(int(found[1]), int(found[2]), int(found[3]), *clock)


def _us_date(text, now):
    found = _US_DATE.match(text)
    if not found:
        return None
    clock = _clock(found[4])
    if clock is None:
        return None
    return _checked(_year(found[3], now), int(found[1]), int(found[2]), *clock)


def _mmddyy(text, now):
    found = _MMDDYY.match(text)
    if not found:
        return None
    return _checked(_year(found[3], now), int(found[1]), int(found[2]), 0, 0)


def _year(digits, now):
    if not digits:
        return time.localtime(now).tm_year
    return int(digits) + (2000 if len(digits) == 2 else 0)


def _clock_only(text, now):
    clock = _clock(text) if text else None
    if clock is None:
        return None
    today = time.localtime(now)
    return _make(today.tm_year, today.tm_mon, today.tm_mday, *clock)


def _clock(text):
    """(hours, minutes, seconds), midnight for no text, None for what is no time."""
    if not text:
        return 0, 0, 0
    found = _CLOCK.match(text)
    if not found:
        return None
    hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3] or 0)
    if found[4]:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if found[4].lower() == "pm" else 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return hours, minutes, seconds


def _checked(year, month, day, hours, minutes, seconds=0):
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and
            1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return _make(year, month, day, hours, minutes, seconds)


def _make(year, month, day, hours, minutes, seconds=0):
    return time.mktime((year, month, day, hours, minutes, seconds, 0, 0, -1))


class Printed:
    """Times as sacct prints them: seconds (SLURM_TIME_FORMAT=%s) or, in local time,
    2026-11-21T14:06:26.  An hour is looked up once: a million lines name few."""

    def __init__(self):
        self.hours = {}

    def seconds(self, text):
        """None for Unknown, None and whatever else is no time."""
        if text.isdecimal():
            return float(text)
        base = self.hours.get(text[:13])
        if base is None:
            base = self._hour(text[:13])
            self.hours[text[:13]] = base
        try:
            return base + 60 * int(text[14:16]) + int(text[17:19])
        except (ValueError, TypeError):
            return None

    @staticmethod
    def _hour(text):
        try:
            return time.mktime(time.strptime(text, "%Y-%m-%dT%H"))
        except (ValueError, OverflowError):
            return None


def iso(seconds):
    """For people, in local time."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))
