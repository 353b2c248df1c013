# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Who was on which node when (figures 3-10 and 4-3 of the thesis): a row a node, the
primaries' jobs above, the guests' below.  Where that would be too many bars, a row
shows how much of its CPUs primaries and guests used over time, and stands for several
nodes."""

import math

from .hostlist import natural_key
from .base import CLASSES, GUEST, PRIMARY
from .svg import CHAR, Picture, floor_time, shorten, time_label, time_step
from .layout import duration

WIDTH = 1060
_TOP, _BOTTOM, _RIGHT = 26, 30, 12
_MAX_LEFT = 170

# What remains readable.
MAX_BARS = 1500
MAX_ROWS = 40
MAX_LANES = 4
_LANE = 15
_AREA = 30
_BINS = 265


class _Bar:
    __slots__ = ("node", "klass", "start", "end", "run", "lane")

    def __init__(self, node, klass, start, end, run):
        self.node, self.klass, self.start, self.end = node, klass, start, end
        self.run, self.lane = run, 0


def draw(found, lists):
    """The picture and a sentence about it, or (None, why there is none)."""
    nodes = set()
    count = 0
    for (text,) in found.rows(found.nodes()):
        names = lists.names(text)
        nodes.update(names)
        count += len(names)
    if not nodes:
        return None, "Nothing tells on which nodes the jobs were."
    first, last = found.span()
    span = first, max(last, first + 1)
    order = sorted(nodes, key=natural_key)
    bars = None
    if count <= MAX_BARS and len(order) <= MAX_ROWS:
        bars = _bars(found, lists)
        if max(bar.lane for bar in bars) >= MAX_LANES:
            bars = None
    if bars:
        return (_draw_bars(order, span, bars),
                "A row a node: above, the jobs of primaries; below, those of guests.")
    return _draw_areas(found, lists, order, span)


def _bars(found, lists):
    """A bar a run and node, in lanes so that those of a class do not overlap."""
    bars = []
    for nodes, start, end, *run in found.rows(
            f'{found.nodes()}, f.start, f."end", f.klass, f.job, f.name, f.user'):
        for node in lists.names(nodes):
            bars.append(_Bar(node, GUEST if run[0] == GUEST else PRIMARY, start, end,
                             run))
    bars.sort(key=lambda bar: bar.start)
    lanes = {}
    # sacct knows whole seconds: jobs that follow each other may share one.
    for bar in bars:
        ends = lanes.setdefault((bar.node, bar.klass), [])
        free = next((lane for lane, end in enumerate(ends) if end <= bar.start + 1),
                    None)
        if free is None:
            free = len(ends)
            ends.append(0)
        bar.lane = free
        ends[free] = bar.end
    return bars


def _frame(rows, heights, span, title):
    """A picture with its axis of time and names of rows.  Returns it, the rows' y and
    the function from time to x."""
    left = min(_MAX_LEFT, 14 + CHAR * max(len(name) for name in rows))
    height = _TOP + sum(heights) + _BOTTOM
    picture = Picture(WIDTH, height, title)
    scale = (WIDTH - left - _RIGHT) / (span[1] - span[0])

    def x_of(seconds):
        return left + (seconds - span[0]) * scale

    step = time_step(span[1] - span[0], 11)
    mark = floor_time(span[0], step)
    while mark <= span[1]:
        if mark >= span[0]:
            picture.line(x_of(mark), _TOP, x_of(mark), height - _BOTTOM, "grid")
            picture.text(x_of(mark), height - _BOTTOM + 15, time_label(mark, step),
                         anchor="middle")
        mark += step
    tops, y = [], _TOP
    for name, tall in zip(rows, heights):
        tops.append(y)
        picture.text(left - 6, y + tall / 2 + 4, shorten(name, left - 8), anchor="end")
        y += tall
        picture.line(left, y, WIDTH - _RIGHT, y, "grid")
    picture.line(left, height - _BOTTOM, WIDTH - _RIGHT, height - _BOTTOM, "axis")
    return picture, tops, x_of


def _draw_bars(order, span, bars):
    lanes = {node: [0, 0] for node in order}
    for bar in bars:
        used = lanes[bar.node]
        used[bar.klass] = max(used[bar.klass], bar.lane + 1)
    guests = any(used[GUEST] for used in lanes.values())
    for used in lanes.values():
        used[PRIMARY] = max(1, used[PRIMARY])
        used[GUEST] = max(1 if guests else 0, used[GUEST])
    heights = [_LANE * sum(lanes[node]) + 6 for node in order]
    picture, tops, x_of = _frame(order, heights, span, "Timeline of jobs per node")
    top_of = dict(zip(order, tops))
    for bar in bars:
        lane = bar.lane + (lanes[bar.node][PRIMARY] if bar.klass == GUEST else 0)
        y = top_of[bar.node] + 3 + _LANE * lane
        _draw_bar(picture, bar, x_of(bar.start), x_of(bar.end), y)
    picture.legend(WIDTH - _RIGHT - 170, 15, [("primary", "primaries"),
                                              ("guest", "guests")])
    return picture


def _draw_bar(picture, bar, x, x_end, y):
    klass, job, name, user = bar.run
    picture.rect(x, y, max(1.0, x_end - x - 0.6), _LANE - 2, CLASSES[bar.klass],
                 f"job {job} {name} of {user}, {CLASSES[klass]}, "
                 f"{duration(bar.end - bar.start)}")
    label = shorten(name, x_end - x - 6)
    if label:
        picture.text(x + 3, y + _LANE - 5, label,
                     "inside " + CLASSES[bar.klass] + "-text")


def _draw_areas(found, lists, order, span):
    together = math.ceil(len(order) / MAX_ROWS)
    rows = [order[at:at + together] for at in range(0, len(order), together)]
    names = [group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}"
             for group in rows]
    row_of = {node: at for at, group in enumerate(rows) for node in group}
    used, held = _bins(found, lists, row_of, len(rows), span)
    tall = _AREA if len(rows) > 12 else 2 * _AREA
    picture, tops, x_of = _frame(names, [tall] * len(rows), span,
                                 "CPUs used per node over time")
    width = (span[1] - span[0]) / _BINS
    for at, top in enumerate(tops):
        most = max(max(held[PRIMARY][at]), max(held[GUEST][at]), 1e-9)
        _draw_area(picture, used[PRIMARY][at], used[GUEST][at], most,
                   (x_of(span[0]), x_of(span[0] + width) - x_of(span[0])),
                   (top + 3, tall - 4))
    picture.legend(WIDTH - _RIGHT - 170, 15, [("primary", "primaries"),
                                              ("guest", "guests")])
    told = ("A row a node" if together == 1 else f"A row is {together} nodes")
    return picture, (f"{told}: the part of its CPUs that primaries used over time, and "
                     "above it what guests used.")


def _draw_area(picture, primary, guest, most, across, down):
    x, step = across
    top, tall = down
    base = top + tall

    def y_of(value):
        return base - tall * min(1.0, value / most)

    def outline(values):
        points = []
        for at, value in enumerate(values):
            y = y_of(value)
            points += [(x + step * at, y), (x + step * (at + 1), y)]
        return points

    lower = outline(primary)
    upper = outline([a + b for a, b in zip(primary, guest)])
    picture.area(upper, lower, "guest")
    picture.area(lower, base, "primary")


def _bins(found, lists, row_of, count, span):
    """(used, held): [class][row][bin] in CPUs, on average over the bin."""
    used = [[[0.0] * _BINS for _ in range(count)] for _ in range(2)]
    held = [[[0.0] * _BINS for _ in range(count)] for _ in range(2)]
    width = (span[1] - span[0]) / _BINS
    for text, code, start, end, cpu, cpus in found.rows(
            f'{found.nodes()}, f.klass, f.start, f."end", f.cpu, f.cpus'):
        names = lists.names(text)
        if not names or end <= start:
            continue
        klass = GUEST if code == GUEST else PRIMARY
        rate = cpu / (end - start) / len(names)
        share = cpus / len(names)
        first = int((start - span[0]) / width)
        last = min(_BINS - 1, int((end - span[0]) / width))
        for name in names:
            use, hold = used[klass][row_of[name]], held[klass][row_of[name]]
            for at in range(first, last + 1):
                part = (min(end, span[0] + width * (at + 1)) -
                        max(start, span[0] + width * at)) / width
                use[at] += rate * part
                hold[at] += share * part
    return used, held
