# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Histograms as SVG, without any library: both axes logarithmic."""

from math import ceil, floor, log10

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 20, 50
COLOURS = ("#1b6ca8", "#52a675", "#c23b22", "#e08e0b", "#7b4ea3", "#666666")


def merge(histograms):
    """[[upper end, count], ...] of several runs as one, sorted."""
    counts = {}
    for buckets in histograms:
        for end, count in buckets:
            counts[end] = counts.get(end, 0) + count
    return sorted(counts.items())


class Axes:
    def __init__(self, curves):
        points = [point for curve in curves for point in curve if point[0] > 0]
        if not points:
            raise ValueError("nothing to draw")
        self.x0 = floor(log10(min(x for x, _ in points)))
        self.x1 = max(ceil(log10(max(x for x, _ in points))), self.x0 + 1)
        self.y1 = max(ceil(log10(max(y for _, y in points))), 1)

    def x(self, value):
        part = (log10(value) - self.x0) / (self.x1 - self.x0)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        part = log10(max(value, 0.5)) / self.y1
        return HEIGHT - BOTTOM - max(part, 0) * (HEIGHT - TOP - BOTTOM)

    def lines(self):
        for power in range(self.x0, self.x1 + 1):
            x = self.x(10.0 ** power)
            yield (f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" '
                   'stroke="#ddd"/>')
            yield (f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                   f'{10.0 ** power:g}</text>')
        for power in range(0, self.y1 + 1, 1 if self.y1 < 7 else 2):
            y = self.y(10 ** power)
            yield (f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" '
                   'stroke="#ddd"/>')
            yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>'


def curve_line(axes, curve, colour):
    points = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in curve if x > 0)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>'


def histogram_svg(named, unit="us of one reduction"):
    """named: {name: [buckets of a run, ...]}, buckets as [[upper end, count], ...]."""
    curves = {name: merge(runs) for name, runs in named.items()}
    axes = Axes(curves.values())
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *axes.lines()]
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts.append(curve_line(axes, curve, colour))
        parts.append(f'<text x="{WIDTH - RIGHT - 6}" y="{TOP + 14 * (number + 1)}" '
                     f'text-anchor="end" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 12}" '
                 f'text-anchor="middle">{unit}</text></svg>')
    return "\n".join(parts) + "\n"
