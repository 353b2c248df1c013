# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Reads what runs on platforms left in build/platforms, and writes tables of Markdown."""
import json
import os
import re

PASS, FAIL, SKIP, MISSING = "pass", "**FAIL**", "skip", "not run"

LINE = re.compile(
    r"^(?P<ok>ok|not ok) (?P<number>\d+)(?: -)? (?P<name>.*?)"
    r"(?:(?: #)? in \d+ ?ms)?(?: # (?P<word>skip|timeout)(?: ?(?P<why>.*))?)?$",
    re.IGNORECASE,
)

FIGURES = "# figures: "


class Run:
    """One TAP file: facts ("#: KEY VALUE"), results by (file, case) and in a list, and
    figures by case ("# figures: JSON")."""

    def __init__(self, path):
        self.facts, self.results, self.all, self.figures = {}, {}, [], {}
        first_tries, name = [], ""
        with open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                line = line.rstrip("\n\r")
                if line.startswith("#: "):
                    key, _, value = line[3:].partition(" ")
                    self.facts[key] = value
                elif line.startswith("# file "):
                    name = line[7:]
                elif line.startswith("# at first: "):
                    first_tries.append(LINE.match(line[12:])["name"])
                elif line.startswith("Bail out!"):
                    self.facts["ended"] = line[9:].strip() or "no reason given"
                elif line.startswith(FIGURES):
                    self.take_figures(line[len(FIGURES):])
                else:
                    self.take(name, LINE.match(line))
        for key, (result, _) in self.results.items():
            if result == PASS and key[1] in first_tries:
                self.results[key] = (PASS, "at the second try")

    def take(self, name, match):
        if not match:
            return
        word = (match["word"] or "").lower()
        if match["ok"] == "not ok":
            result = (FAIL, "time limit of the case" if word == "timeout" else "")
        elif word == "skip":
            result = (SKIP, match["why"] or "no reason given")
        else:
            result = (PASS, "")
        # Of a case that a loop runs several times, a failure is what counts.
        key = name, match["name"].strip()
        if self.results.get(key, (PASS, ""))[0] != FAIL:
            self.results[key] = result
        self.all.append((match["name"].strip(), result[0]))

    def take_figures(self, text):
        try:
            found = json.loads(text)
        except ValueError:
            return
        if isinstance(found, dict) and isinstance(found.get("case"), str):
            self.figures[found["case"]] = found


def load(directory, name):
    path = os.path.join(directory, name)
    return Run(path) if os.path.exists(path) else None


def row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(head, rows):
    yield row(head)
    yield row(["---"] * len(head))
    for cells in rows:
        yield row(cells)
