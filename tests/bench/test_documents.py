# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Generated documents are as their generators write them from doc/data, and the figures
of README.md and the manual pages stand in them."""

import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# (generator, state, document)
GENERATED = (
    ("balance/jobs", "balance", "results-balance.md"),
    ("gang/run", "gang", "results-gang.md"),
    ("memory/run", "memory", "results-memory.md"),
    ("records", "records", "results-records.md"),
    ("thesis/run", "thesis", "results-thesis.md"),
    ("thesis/run", "thesis-network", "results-thesis-network.md"),
)

# As soon as there are data or a document.
LATER = (
    ("harm/run", "harm", "results-harm.md"),
    ("membus/run", "membus", "results-membus.md"),
)

# The exit code of a report of a series that is not complete.
MORE_TO_DO = 3

# (where it is said, the words around the figures, the document, the row's begin, the
# figures' columns from the left).  A column holds the figure, or begins with it.
SAID = (
    ("README.md", r"ran (\S+ %) longer in the median of (\d+) runs "
                  r"\(95 % interval: (\S+ … \S+ %)\)",
     "results-thesis.md", "all", (5, 4, 6)),
    ("README.md", r"stock Slurm and `nice -n 19` \| (\S+ %) \| (\d+) \|",
     "results-thesis.md", "all", (2, 1)),
    ("README.md", r"with a guest, slurm-hpc-balance \| (\S+ %) \| (\d+) \|",
     "results-thesis.md", "all", (5, 4)),
    ("README.md", r"others took (\S+ %) and \S+ % of its time",
     "results-thesis.md", "e4 WRF, [PAUP] first, [PAUP] first", (11,)),
    ("README.md", r"others took \S+ % and (\S+ %) of its time",
     "results-thesis.md", "e5 WRF, [HAL1] all", (11,)),
)

# What stands in README.md and the manual pages with a sign and a percent sign is a
# result, and must be in SAID.
RESULT = re.compile(r"[+−-]\d+(?:\.\d+)? (?:…|%)")
PAGES = ("README.md", "NEWS.md", "doc/hpc_balance.7", "doc/hpc-balance.conf.5",
         "doc/hpcbctl.8", "doc/hpcbd.8", "doc/hpcb-report.1", "doc/hpcb-sacct.1")


def text_of(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def flat(text):
    return " ".join(text.replace("\\-", "-").split())


def rows_of(document, begin):
    """The cells of the rows whose first cell is begin, in all tables."""
    return [[cell.strip() for cell in line.strip("| \n").split("|")]
            for line in text_of("doc", document).splitlines()
            if line.startswith(f"| {begin} |")]


# What no table shows, and what is not so any more.
NOT_SO = (
    "without the primary jobs noticing",
    "nothing here measures what a job moves",
    "The primary does not wait for the guest",
    "today these are primaries without windows",
)
PACKAGES = ("packaging/slurm-hpc-balance.spec", "packaging/debian/control")


def states(top, state):
    """Names of its data files; those of several nodes have their number in the name."""
    data = os.path.join(glob.escape(top), "doc", "data")
    found = [os.path.basename(path) for name in (f"{state}.jsonl", f"{state}-[0-9].jsonl")
             for path in glob.glob(os.path.join(data, name))]
    return found or [f"{state}.jsonl"]


def is_there(top, state, document):
    """Whether there are data or a document."""
    return any(os.path.exists(os.path.join(top, "doc", name))
               for name in (*(f"data/{one}" for one in states(top, state)), document))


def generate(top, generator, state, document):
    """The text that the generator makes of the data of the tree top."""
    options = [word for name in states(top, state) for word in ("--state", f"doc/data/{name}")]
    with tempfile.TemporaryDirectory() as scratch:
        written = os.path.join(scratch, document)
        done = subprocess.run(
            [sys.executable, "-B", os.path.join("bench", generator), "--report", *options,
             "--write", written],
            cwd=top, check=False, stdout=subprocess.DEVNULL)
        if done.returncode not in (0, MORE_TO_DO):
            raise AssertionError(f"bench/{generator} exits with {done.returncode}")
        with open(written, encoding="utf-8") as file:
            return file.read()


def differing(top, rows):
    """[(document, what it should be, what it is)]; None for one that is missing."""
    found = []
    for generator, state, document in rows:
        path = os.path.join(top, "doc", document)
        wanted = generate(top, generator, state, document)
        text = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
        if text != wanted:
            found.append((document, wanted, text))
    return found


class Generated(unittest.TestCase):
    def test_documents_are_fresh(self):
        later = [row for row in LATER if is_there(TOP, *row[1:])]
        for document, wanted, text in differing(TOP, (*GENERATED, *later)):
            with self.subTest(document=document):
                self.assertEqual(text, wanted)

    def test_those_that_come_later(self):
        row = ("harm/run", "harm", "results-harm.md")
        with tempfile.TemporaryDirectory() as scratch:
            os.symlink(os.path.join(os.path.abspath(TOP), "bench"),
                       os.path.join(scratch, "bench"))
            os.makedirs(os.path.join(scratch, "doc", "data"))
            self.assertFalse(is_there(scratch, *row[1:]))
            with open(os.path.join(scratch, "doc", "data", "harm.jsonl"), "w",
                      encoding="ascii") as file:
                file.write('{"harm":2,"seconds":150}\n')
            self.assertTrue(is_there(scratch, *row[1:]))
            wanted = generate(scratch, *row)
            self.assertEqual(differing(scratch, [row]), [(row[2], wanted, None)])
            page = os.path.join(scratch, "doc", row[2])
            for text, found in ((wanted, []), (f"{wanted}\n", [(row[2], wanted, f"{wanted}\n")])):
                with open(page, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(differing(scratch, [row]), found)


class Said(unittest.TestCase):
    def test_figures_are_those_of_the_tables(self):
        for page, words, document, begin, columns in SAID:
            with self.subTest(page=page, words=words):
                match = re.search(words, flat(text_of(page)))
                self.assertIsNotNone(match, f"{page} does not say {words}")
                rows = [row for row in rows_of(document, begin) if len(row) > max(columns)]
                self.assertTrue(
                    any(all(row[column] == figure or row[column].startswith(f"{figure} (")
                            for figure, column in zip(match.groups(), columns))
                        for row in rows), (match.groups(), rows))

    def test_nobody_says_more(self):
        for page in PAGES + PACKAGES:
            for words in NOT_SO:
                with self.subTest(page=page, words=words):
                    self.assertNotIn(words, flat(text_of(page)))

    def test_no_other_figure_is_a_result(self):
        for page in PAGES:
            text = flat(text_of(page))
            for part in RESULT.finditer(text):
                spans = [match.span() for where, words, *_ in SAID if where == page
                         for match in re.finditer(words, text)]
                self.assertTrue(any(first <= part.start() < last for first, last in spans),
                                f"{page}: where does {part[0]} come from?")


if __name__ == "__main__":
    unittest.main()
