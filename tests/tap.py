# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""tap.py ROOM: runs tests/ROOM/test_*.py, which import the modules of ROOM/, and reports
in TAP."""

import os
import sys
import unittest

TESTS = os.path.dirname(os.path.abspath(__file__))


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.bad = 0

    def report(self, good, test, note=""):
        self.count += 1
        self.bad += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {test}{note}", flush=True)

    def complain(self, test, error):
        self.report(False, test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print(f"# {line}")

    def addSuccess(self, test):
        self.report(True, test)

    def addSkip(self, test, reason):
        self.report(True, test, f" # SKIP {reason}")

    def addFailure(self, test, err):
        self.complain(test, err)

    def addError(self, test, err):
        self.complain(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.complain(subtest, err)


def main():
    here = os.path.join(TESTS, sys.argv[1])
    sys.path[:0] = [os.path.join(TESTS, "..", sys.argv[1]), here]
    suite = unittest.defaultTestLoader.discover(here, "test_*.py")
    result = TapResult()
    suite.run(result)
    # Last, since a test reports each of its failed or skipped parts.
    print(f"1..{result.count}")
    sys.exit(result.bad > 0)


if __name__ == "__main__":
    main()
