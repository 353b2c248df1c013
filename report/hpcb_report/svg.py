# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Shapes of a picture in a page.  How they look is the page's style sheet's (page.py):
a shape names its class."""

import html
import math
import time

from .text import neutral

# Width of a character of the labels (11 px), on average.
CHAR = 6.0

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800,
               21600, 43200, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400,
               91 * 86400, 364 * 86400)


def escape(text):
    return html.escape(neutral(str(text)), quote=True)


def _n(value):
    return f"{value:.1f}".removesuffix(".0")


def shorten(text, room):
    """text cut to that many pixels; "" where not even three characters fit."""
    count = int(room / CHAR)
    if len(text) <= count:
        return text
    return text[:count - 1] + "…" if count >= 3 else ""


class Picture:
    """title is what a screen reader says of it."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def rect(self, x, y, width, height, cls, tip=None):
        body = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self.parts.append(f'<rect class="{cls}" x="{_n(x)}" y="{_n(y)}" '
                          f'width="{_n(max(width, 0.5))}" height="{_n(height)}"{body}')

    def line(self, x1, y1, x2, y2, cls):
        self.parts.append(f'<line class="{cls}" x1="{_n(x1)}" y1="{_n(y1)}" '
                          f'x2="{_n(x2)}" y2="{_n(y2)}"/>')

    def text(self, x, y, text, cls="label", anchor="start"):
        self.parts.append(f'<text class="{cls}" x="{_n(x)}" y="{_n(y)}" '
                          f'text-anchor="{anchor}">{escape(text)}</text>')

    def area(self, points, base, cls):
        """A filled shape between points (x, y) and base, a y or another such row of
        points."""
        back = ([(points[-1][0], base), (points[0][0], base)]
                if isinstance(base, (int, float)) else base[::-1])
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points + back)
        self.parts.append(f'<polygon class="{cls}" points="{path}"/>')

    def legend(self, x, y, items):
        """[(class, text)] from left to right."""
        for cls, text in items:
            self.rect(x, y - 9, 10, 10, cls)
            self.text(x + 14, y, text)
            x += 14 + CHAR * len(text) + 16

    def render(self):
        return (f'<svg role="img" aria-label="{escape(self.title)}" '
                f'viewBox="0 0 {_n(self.width)} {_n(self.height)}" '
                'xmlns="http://www.w3.org/2000/svg">' + "".join(self.parts) + "</svg>")


def ticks(low, high, count=5):
    """Round values that span low to high, about count of them."""
    if not high > low:
        high = low + 1
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * part for part in (1, 2, 2.5, 5, 10)
                if power * part >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [at * step for at in range(first, last + 1)]


def time_step(period, most):
    """The shortest of the usual pieces of time of which at most `most` are in
    period."""
    for step in _TIME_STEPS:
        if period / step <= most:
            return step
    return math.ceil(period / most / _TIME_STEPS[-1]) * _TIME_STEPS[-1]


def floor_time(seconds, step):
    """The last multiple of step in local time (weeks begin on Monday)."""
    offset = time.localtime(seconds).tm_gmtoff
    if step % (7 * 86400) == 0:
        offset += 3 * 86400
    return (seconds + offset) // step * step - offset


def time_label(seconds, step):
    """A point in time as exactly as the step to the next one asks for."""
    local = time.localtime(seconds)
    if step >= 86400:
        return time.strftime("%b %d" if step < 91 * 86400 else "%b %Y", local)
    if step < 60:
        return time.strftime("%H:%M:%S", local)
    if step >= 3600 and local.tm_hour == 0 and local.tm_min == 0:
        return time.strftime("%b %d", local)
    return time.strftime("%H:%M", local)


def value_label(value, step):
    """A number with as many digits as the step between two needs."""
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0
    if step and abs(step * 10 ** digits - round(step * 10 ** digits)) > 1e-6:
        digits += 1
    return f"{value:,.{digits}f}".replace(",", "\u202f") if abs(value) >= 10000 \
        else f"{value:.{digits}f}"
