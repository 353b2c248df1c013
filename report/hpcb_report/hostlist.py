# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Slurm's n[1-3,7] as names, as far as NodeList of a job goes."""

import re

# More nodes than any cluster of this decade: what is longer is no host list.
MAX_NODES = 100000

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?\Z")


def expand(text):
    """Names of nodes.  What is no host list gives no names."""
    names = []
    for item in _items(text):
        names += _expand_item(item, MAX_NODES - len(names))
        if len(names) >= MAX_NODES:
            break
    return names


def _items(text):
    """The parts between the commas that stand outside of brackets."""
    depth, begin = 0, 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _expand_item(item, room):
    if not item or item == "None assigned":
        return []
    head, bracket, rest = item.partition("[")
    if not bracket:
        return [item]
    ranges, bracket, tail = rest.partition("]")
    if not bracket:
        return []
    tails = _expand_item(tail, room) if tail else [""]
    if not tails:
        return []
    numbers = _numbers(ranges, max(1, room // len(tails)))
    return [head + number + end for number in numbers for end in tails]


def _numbers(ranges, room):
    """At most room of them."""
    numbers = []
    for part in ranges.split(","):
        found = _RANGE.match(part)
        if not found:
            return []
        low, high = found[1], found[2] or found[1]
        end = min(int(high) + 1, int(low) + room - len(numbers))
        numbers += [str(n).zfill(len(low)) for n in range(int(low), end)]
    return numbers


def natural_key(name):
    """n2 before n10."""
    return [int(part) if part.isdecimal() else part
            for part in re.split(r"([0-9]+)", name)]
