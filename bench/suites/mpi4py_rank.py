# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What a rank of mpi4py's suite runs, in the directory of its tests: its main program, with
the begin and the outcome of each test in a file of this rank's own in $HPCB_SUITES_RESULTS.
The ranks' output cannot tell: their lines mix."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path[0] = os.getcwd()


class Result(unittest.TextTestResult):
    file = None

    def write(self, word, test=""):
        name = test.id() if hasattr(test, "id") else str(test)
        self.file.write(f"{word} {name.splitlines()[0] if name else ''}\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.write("begin", test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write("pass", test)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.write("pass", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.write("fail", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.write("fail", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.write("fail", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write("skip", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.write("fail", test)


def run():
    import main  # of mpi4py's suite
    path = os.path.join(os.environ["HPCB_SUITES_RESULTS"], str(os.getpid()))
    with open(path, "w", encoding="utf-8") as Result.file:
        runner = unittest.TextTestRunner(verbosity=0, resultclass=Result)
        try:
            main.main(module=None, testRunner=runner)
        finally:
            Result.file.write("end\n")


if __name__ == "__main__":
    run()
