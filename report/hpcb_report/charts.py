# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Throughput, efficiency, turnaround and the primaries' running time side by side
(figures 4-4 to 4-9 of the thesis).  Its baseline is a history without guests; here it
is the primaries of the same history, and the runs of primaries that no guest shared."""

from .base import GUEST, PRIMARY
from .svg import CHAR, Picture, floor_time, shorten, ticks, time_label, time_step, \
    value_label

WIDTH, HEIGHT = 520, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 10, 30, 26
MAX_BUCKETS = 16
MAX_APPLICATIONS = 8
_ROW = 30


class Buckets:
    """Figures by pieces of time: jobs and turnaround by when they ended, CPU time by
    when they ran."""

    def __init__(self, found):
        first, last = found.span()
        self.step = time_step(last - first, MAX_BUCKETS - 1)
        self.begin = floor_time(first, self.step)
        self.count = int((last - self.begin) // self.step) + 1
        self.jobs = [[0] * self.count for _ in range(2)]
        self.turnaround = [[0.0] * self.count for _ in range(2)]
        self.turned = [[0] * self.count for _ in range(2)]
        self.cpu = [[0.0] * self.count for _ in range(2)]
        # The first and the last one are not all there.
        self.seconds = [min(last, self.begin + self.step * (at + 1)) -
                        max(first, self.begin + self.step * at)
                        for at in range(self.count)]
        for klass, submit, start, end, cpu, final in found.rows(
                'f.klass, f.submit, f.start, f."end", f.cpu, f.final'):
            kind = GUEST if klass == GUEST else PRIMARY
            self._spread(kind, start, end, cpu)
            if final:
                at = int((end - self.begin) // self.step)
                self.jobs[kind][at] += 1
                if submit is not None:
                    self.turnaround[kind][at] += max(0.0, end - submit)
                    self.turned[kind][at] += 1

    def _spread(self, kind, start, end, cpu):
        first = int((start - self.begin) // self.step)
        last = int((end - self.begin) // self.step)
        column = self.cpu[kind]
        if first == last or end <= start:
            column[last] += cpu
            return
        rate = cpu / (end - start)
        for at in range(first, last + 1):
            column[at] += rate * (min(end, self.begin + self.step * (at + 1)) -
                                  max(start, self.begin + self.step * at))

    def labels(self):
        return [time_label(self.begin + self.step * at, self.step)
                for at in range(self.count)]

    def throughput(self):
        """Jobs an hour: of primaries, and of all."""
        hours = [max(seconds, 1.0) / 3600 for seconds in self.seconds]
        return ([jobs / hour for jobs, hour in zip(self.jobs[PRIMARY], hours)],
                [(a + b) / hour for a, b, hour in zip(*self.jobs, hours)])

    def efficiency(self, processors):
        """Percent of the processors: without what guests used, and with."""
        percent = max(1, processors) / 100
        whole = [max(seconds, 1.0) * percent for seconds in self.seconds]
        return ([cpu / all_ for cpu, all_ in zip(self.cpu[PRIMARY], whole)],
                [(a + b) / all_ for a, b, all_ in zip(*self.cpu, whole)])

    def mean_turnaround(self):
        """Seconds, of primaries and of guests; None where none ended."""
        return tuple([total / count if count else None
                      for total, count in zip(self.turnaround[kind], self.turned[kind])]
                     for kind in (PRIMARY, GUEST))


def gains(pair):
    """By how many percent the second is above the first."""
    return [100.0 * (b - a) / a if a and b is not None else None
            for a, b in zip(*pair)]


def columns(title, labels, series):
    """Bars side by side over labels.  series: [(class, name, values)], a value is None
    where there is none."""
    picture = Picture(WIDTH, HEIGHT, title)
    values = [value for _, _, row in series for value in row if value is not None]
    marks = ticks(min([0, *values]), max([0, *values]) or 1)
    low, high = marks[0], marks[-1]
    deep = HEIGHT - _TOP - _BOTTOM

    def y_of(value):
        return _TOP + deep * (high - value) / (high - low)

    for mark in marks:
        picture.line(_LEFT, y_of(mark), WIDTH - _RIGHT, y_of(mark), "grid")
        picture.text(_LEFT - 6, y_of(mark) + 4, value_label(mark, marks[1] - marks[0]),
                     anchor="end")
    slot = (WIDTH - _LEFT - _RIGHT) / len(labels)
    _column_labels(picture, labels, slot)
    wide = min(26.0, slot * 0.8 / len(series))
    for number, (cls, name, row) in enumerate(series):
        for at, value in enumerate(row):
            if value is not None:
                x = _LEFT + slot * (at + 0.5) + wide * (number - len(series) / 2)
                picture.rect(x, min(y_of(value), y_of(0)), wide - 1,
                             abs(y_of(value) - y_of(0)), cls,
                             f"{labels[at]}, {name}: {_shown(value)}")
    picture.line(_LEFT, y_of(0), WIDTH - _RIGHT, y_of(0), "axis")
    if len(series) > 1:
        picture.legend(_LEFT, 15, [(cls, name) for cls, name, _ in series])
    return picture


def _shown(value):
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _column_labels(picture, labels, slot):
    """As many as there is room for."""
    widest = CHAR * max(len(label) for label in labels) + 8
    every = max(1, -int(-widest // slot))
    for at in range(0, len(labels), every):
        picture.text(_LEFT + slot * (at + 0.5), HEIGHT - _BOTTOM + 16, labels[at],
                     anchor="middle")


def rows(title, labels, series, unit, spans=None):
    """Bars side by side, a row a label, for names.  spans: from where to where the value
    of each label may be, drawn as a line."""
    height = _TOP + _ROW * len(labels) + _BOTTOM
    picture = Picture(WIDTH, height, title)
    left = min(170.0, 14 + CHAR * max(len(label) for label in labels))
    values = [value for _, _, row in series for value in row]
    values += [value for span in spans or () for value in span]
    marks = ticks(min([0, *values]), max([0, *values]) or 1)
    low, high = marks[0], marks[-1]
    right = WIDTH - 58

    def x_of(value):
        return left + (right - left) * (value - low) / (high - low)

    for mark in marks:
        picture.line(x_of(mark), _TOP, x_of(mark), height - _BOTTOM, "grid")
        picture.text(x_of(mark), height - _BOTTOM + 16,
                     value_label(mark, marks[1] - marks[0]), anchor="middle")
    tall = 22.0 / len(series)
    for at, label in enumerate(labels):
        top = _TOP + _ROW * at + 4
        picture.text(left - 6, top + 15, shorten(label, left - 8), anchor="end")
        for number, (cls, name, row) in enumerate(series):
            x, zero = x_of(row[at]), x_of(0)
            picture.rect(min(x, zero), top + tall * number, abs(x - zero), tall - 1,
                         cls, f"{label}, {name}: {_shown(row[at])} {unit}")
            end = max(x, zero)
            if spans:
                middle = top + tall * number + tall / 2
                picture.line(x_of(spans[at][0]), middle, x_of(spans[at][1]), middle, "span")
                end = max(end, x_of(spans[at][1]))
            picture.text(end + 4, top + tall * number + tall / 2 + 4, _shown(row[at]),
                         "small")
    picture.line(x_of(0), _TOP, x_of(0), height - _BOTTOM, "axis")
    if len(series) > 1:
        picture.legend(left, 15, [(cls, name) for cls, name, _ in series])
    return picture
