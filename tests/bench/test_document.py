# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/NAME/run --report: what the file of a measurement becomes, printed or written."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import session
import test_gang
import test_harm
import test_membus

# Of each bench the begin of its file, and records.
FILES = {
    "gang": ({"gang": 3, "seed": 1}, [test_gang.calm(5), test_gang.disturbed(0)]),
    "harm": ({"harm": 2, "seconds": 150},
             [test_harm.estimate(0.02, 0.01, 0.03), test_harm.guard(0.02, 80.0)]),
    "membus": ({"membus": 4, "seconds": 40, "mbit": 400, "nodes": 1, "seed": 1,
                "machine": test_membus.FACTS},
               test_membus.records_of("max + min", test_membus.Report.PROGRESS)),
}


def call(bench, *arguments):
    program = os.path.join(session.TOP, "bench", bench, "run")
    return subprocess.run([sys.executable, "-B", program, "--report", *arguments],
                          capture_output=True, text=True, timeout=60, check=False)


def write_state(path, bench):
    settings, records = FILES[bench]
    with open(path, "w", encoding="ascii") as file:
        for line in (settings, *records):
            file.write(json.dumps(line) + "\n")


class Report(unittest.TestCase):
    def test_written_or_printed(self):
        for bench in FILES:
            with self.subTest(bench=bench), tempfile.TemporaryDirectory() as scratch:
                state, page = (os.path.join(scratch, name) for name in ("state", "page.md"))
                write_state(state, bench)
                printed = call(bench, "--state", state)
                self.assertEqual(printed.returncode, 0, printed.stderr)
                self.assertTrue(printed.stdout.startswith("# "), printed.stdout)
                self.assertTrue(printed.stdout.endswith("|\n"), printed.stdout)
                written = call(bench, "--state", state, "--write", page)
                self.assertEqual((written.returncode, written.stdout), (0, ""),
                                 written.stderr)
                with open(page, encoding="utf-8") as file:
                    self.assertEqual(file.read(), printed.stdout)

    def test_refused_in_one_line(self):
        for bench in FILES:
            with self.subTest(bench=bench), tempfile.TemporaryDirectory() as scratch:
                state = os.path.join(scratch, "state")
                write_state(state, bench)
                for arguments, words in (
                        (("--state", state, "--write", scratch), "Is a directory"),
                        (("--state", scratch), "Is a directory"),
                        (("--state", os.path.join(scratch, "none")), "No such file")):
                    done = call(bench, *arguments)
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1),
                                     done.stderr)
                    self.assertIn(words, done.stderr)
                self.assertEqual(call(bench).returncode, 2)


if __name__ == "__main__":
    unittest.main()
