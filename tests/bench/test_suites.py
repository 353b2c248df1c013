# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""scripts/mpi-suites: how it reads testlists and the output of programs, its verdicts, and
whole runs with suites, MPIs and a library that are made up."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from unittest import mock

from suites import cases, comparison, outcomes, processes, verdicts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 240
P, F, H, S = "pass", "fail", "hang", "skip"
PROOF = "libhpcb_mpi: MPICH: waits sleep where it yields or polls UCX\n"


class Lines(unittest.TestCase):
    def test_a_case(self):
        case = cases.parse("mpich io/told 3 arg=-x=1,2 env=A=p=q arg=-y mpiexecarg=-odd "
                           "strict=false timeLimit=soon mem=9.5 color=red word # more")
        self.assertEqual((case.suite, case.program, case.ranks), ("mpich", "io/told", 3))
        self.assertEqual((case.arguments, case.environ), (["-x=1,2", "-y"], ["A=p=q"]))
        self.assertEqual((case.launch, case.unknown), (["-odd"], ["color=red"]))
        self.assertEqual(case.keys, {"strict": "false", "mem": "9.5"})
        self.assertEqual(case.name, "io/told 3 -x=1,2 -y A=p=q")
        self.assertIsNone(case.seconds())

    def test_defaults(self):
        for line in ("mpich good", "mpich good many", "mpich good 0"):
            self.assertEqual(cases.parse(line).ranks, 2)
        self.assertEqual(cases.parse("mpich good 2 timeLimit=70").seconds(), 70)
        for line in ("", "# mpich good", "mpich", "mpich ../good 2", "mpich -x 2"):
            self.assertIsNone(cases.parse(line), line)

    def test_obstacles(self):
        def reason(line, mpi="mpich", version="3.1"):
            return cases.obstacle(cases.parse(line), mpi, version, "/", 8)
        self.assertIsNone(reason("mpich bin/sh 2 mpiversion=3.1 mem=7.9 strict=false"))
        self.assertEqual(reason("mpich bin/sh 2 mpiversion=4.0"), "needs MPI 4.0")
        self.assertEqual(reason("mpich bin/sh 2 mem=8.5"), "needs 8.5 GB of memory")
        self.assertIn("t2", reason("mpich bin/sh 2 xfail=t1 xfail=t2"))
        self.assertIsNone(reason("mpich bin/sh 2 xfail=t1", "openmpi"))
        self.assertIn("standard", reason("mpich bin/sh 2 strict=false", "openmpi"))
        self.assertIn("compile", reason("mpich no/such"))
        self.assertIn("not in", reason("mpi4py test_none"))


class Outcomes(unittest.TestCase):
    def check(self, expected, status, text, kind=None):
        self.assertEqual(outcomes.of_mpich(kind, status, text), expected, (status, text, kind))

    def test_no_errors(self):
        self.check(P, 0, " No Errors\n")
        self.check(P, 0, PROOF + "No errors\nFORTRAN STOP\n Test Passed\n\n")
        self.check(F, 0, "")
        self.check(F, 0, PROOF)
        self.check(F, 0, " No Errors\na word\n")
        self.check(F, 0, " No Errors\n No Errors\n")
        self.check(F, 1, " No Errors\n")
        self.check(F, 139, " No Errors\n")
        self.check(F, -11, " No Errors\n")
        self.check(H, None, " No Errors\n")
        self.check(F, 0, " No Errors\n" + "much more\n" * 100000)

    def test_a_status_is_wanted(self):
        for kind in ("TestStatus", "TestErrFatal"):
            self.check(P, 1, "", kind)
            self.check(P, 15, "BAD TERMINATION\n", kind)
            self.check(F, 0, "", kind)
            self.check(H, None, "", kind)
        self.check(P, 1, " No Errors\n No Errors\n", "TestStatusNoErrors")
        self.check(F, 1, "", "TestStatusNoErrors")
        self.check(F, 0, " No Errors\n", "TestStatusNoErrors")

    def test_a_crash_is_no_such_status(self):
        self.check(F, 139, "", "TestStatus")
        self.check(F, -6, "", "TestErrFatal")
        self.check(F, 1, "exited on signal 11 (Segmentation fault).", "TestStatus")
        self.check(F, 9, "EXIT STRING: Aborted (signal 6)", "TestErrFatal")
        self.check(P, 9, "EXIT STRING: Killed (signal 9)", "TestErrFatal")

    def test_proofs(self):
        self.assertEqual(outcomes.proofs(PROOF * 2 + "x " + PROOF), 2)
        self.assertEqual(outcomes.proofs("libhpcb_mpi: this MPI has no known hook: waits "
                                         "stay as they are\n"), 0)

    def rank_files(self, status, *texts, ranks=2):
        with tempfile.TemporaryDirectory() as directory:
            for number, text in enumerate(texts):
                with open(os.path.join(directory, str(number)), "w", encoding="ascii") as file:
                    file.write(text)
            return outcomes.of_mpi4py(directory, ranks, status)

    def test_mpi4py(self):
        good = "begin a\npass a\nbegin b\nskip b\nend\n"
        self.assertEqual(self.rank_files(0, good, good), {"a": P, "b": S, "whole": P})
        bad = "begin a\nfail a\nbegin b\nskip b\nend\n"
        self.assertEqual(self.rank_files(1, good, bad), {"a": F, "b": S, "whole": P})
        self.assertEqual(self.rank_files(0, good, ranks=2)["whole"], F)
        self.assertEqual(self.rank_files(139, good, good)["whole"], F)
        self.assertEqual(self.rank_files(0, good, "begin a\npass a\n")["whole"], F)

    def test_mpi4py_that_stops(self):
        stuck = "begin a\npass a\nbegin b\n"
        self.assertEqual(self.rank_files(None, stuck, stuck), {"a": P, "b": H, "whole": H})
        self.assertEqual(self.rank_files(139, stuck, stuck), {"a": P, "b": F, "whole": F})


class Verdicts(unittest.TestCase):
    def check(self, expected, pairs, final=False):
        self.assertEqual(verdicts.of_test(pairs, final), expected, pairs)

    def test_one_pair(self):
        self.check("kept", [(P, P)])
        self.check("skipped", [(S, S)])
        self.check(verdicts.FAILS, [(F, F)])
        self.check(verdicts.FAILS, [(F, P)])
        self.check(verdicts.UNPROVEN, [(P, verdicts.UNPROVEN)])
        self.check(verdicts.UNREACHED, [(P, None)])
        self.check(verdicts.FAILS, [(F, verdicts.UNPROVEN)])
        for bad in (F, H, S):
            self.check(None, [(P, bad)])

    def test_one_failure_is_enough(self):
        self.check(None, [(P, H)] + [(P, P)] * 8)
        self.check("broken", [(P, H)] + [(P, P)] * 9, True)
        self.check("broken", [(P, P)] * 2 + [(P, F)], True)

    def test_as_many_runs_without(self):
        self.check("undecided", [(P, P), (None, F)], True)

    def test_all_of_them_differ(self):
        self.check(None, [(P, F)] * 4)
        self.check("broken", [(P, F)] * 5)

    def test_flaky_in_both(self):
        self.check(verdicts.FLAKY, [(P, F), (F, P)])
        self.check(None, [(P, F), (P, F), (F, P)])
        self.check(verdicts.FLAKY, [(P, F), (P, F), (F, P)] + [(P, P)] * 7, True)
        self.check("broken", [(F, F)] + [(P, F)] * 9, True)

    def test_probability(self):
        self.assertAlmostEqual(verdicts.probability(0, 5, 5, 5), 1 / 252)
        self.assertAlmostEqual(verdicts.probability(1, 3, 1, 3), 1 - 3 / 15)

    def test_suites(self):
        self.assertEqual(verdicts.of_suite(["kept"] * 8 + ["skipped"] * 2), "kept")
        self.assertEqual(verdicts.of_suite(["kept"] * 79 + ["x"] * 21), "undecided")
        self.assertEqual(verdicts.of_suite(["kept"] * 9 + ["broken"]), "broken")
        self.assertEqual(verdicts.of_suite(["kept"] * 9 + ["undecided"]), "undecided")
        self.assertEqual(verdicts.of_suite([]), "undecided")


class Limits(unittest.TestCase):
    def test_seconds_of_a_run(self):
        settings = mock.Mock(seconds=180, factor=2)
        case = comparison.Comparison(None, cases.parse("mpich good 2"), "key", None)
        self.assertEqual(case.limit(settings, {}), 360)
        good = {"without": {"seconds": 1.5, "outcomes": {"whole": P}}}
        self.assertEqual(case.limit(settings, good), 135)
        bad = {"without": {"seconds": 1.5, "outcomes": {"whole": F}}}
        self.assertEqual(case.limit(settings, bad), 360)
        case.records = [good, {"without": {"seconds": 2, "outcomes": {"whole": P}}}]
        self.assertEqual(case.limit(settings, {}), 140)
        case = comparison.Comparison(None, cases.parse("mpich good 2 timeLimit=7"), "key", None)
        self.assertEqual(case.limit(settings, good), 14)


def is_alive(mark):
    """Whether a process has this word in its command line."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    return True
        except OSError:
            continue
    return False


def new_seconds():
    """An argument of sleep(1) that nobody else uses."""
    return f"300.{uuid.uuid4().int % 10**12:012d}"


class Processes(unittest.TestCase):
    def ends(self, script, namespaces, seconds=20):
        runner = processes.Runner(namespaces)
        sleep = new_seconds()
        try:
            ended = runner.run(["sh", "-c", script, "sh", sleep], "/", dict(os.environ), seconds)
            self.assertFalse(is_alive(sleep))
        finally:
            runner.stop()
            runner.close()
        self.assertFalse(os.path.exists(runner.scratch))
        return ended

    def test_what_left_the_session(self):
        # One that stays in the session leaves its process group, without the mark.
        script = ("setsid sleep $1 & bash -c 'set -m; env -i sleep $0 &' $1; sleep 0.2; "
                  "echo out; echo err >&2; exit 3")
        for namespaces in {False, processes.has_namespaces()}:
            ended = self.ends(script, namespaces)
            self.assertEqual((ended.status, ended.out, ended.err), (3, "out\n", "err\n"))

    def test_what_does_not_end(self):
        for namespaces in {False, processes.has_namespaces()}:
            ended = self.ends("setsid sleep $1 & exec sleep $1", namespaces, 1)
            self.assertIsNone(ended.status)

    @unittest.skipUnless(processes.has_namespaces(), "no namespaces here")
    def test_what_has_no_mark(self):
        ended = self.ends("env -i setsid sleep $1 & sleep 0.1; touch /dev/shm/here; ls /dev/shm",
                          True)
        self.assertEqual(ended.out, "here\n")

    def test_nothing_begins_after_the_end(self):
        runner = processes.Runner(False)
        runner.stop()
        with self.assertRaises(processes.Stopped), tempfile.TemporaryDirectory() as directory:
            try:
                runner.run(["touch", "here"], directory, dict(os.environ), 5)
            finally:
                self.assertEqual(os.listdir(directory), [])
        runner.close()


# with, without and run NUMBER tell runs apart; proof: what the library says.
PRELUDE = r"""#!/bin/bash
[[ ${LD_PRELOAD:-} == *libfake.so* ]] && kind=with || kind=without
with() { [ $kind = with ]; }
without() { ! with; }
echo >> "$0.$RANKS.$kind.runs"
number=$(wc -l < "$0.$RANKS.$kind.runs")
proof() { with && for ((i = 0; i < ${1:-$RANKS}; i++)); do
    echo "libhpcb_mpi: Fake: waits sleep where it yields" >&2; done; }
no_errors() { proof; echo " No Errors"; exit 0; }
"""
PROGRAMS = {
    "coll/good": "no_errors",
    "io/file": "no_errors",
    "coll/bad": "with && exit 1; no_errors",
    "coll/silent": "proof; with || no_errors",
    "coll/crash": "proof; with && kill -SEGV $$; exit 1",
    "coll/fatal": "proof; exit 1",
    "coll/third": "echo $kind >> ORDER; with && [ $number -eq 3 ] && exec sleep 30; no_errors",
    "coll/once": "with && [ $number -eq 1 ] && exec sleep 30; no_errors",
    "coll/turns": "[ $number -eq $(with && echo 1 || echo 2) ] && exit 1; no_errors",
    "coll/both": "exit 1",
    "coll/hangs": "exec sleep 30",
    "coll/unseen": "proof 1; echo ' No Errors'",
    "coll/told": "[ \"$* $A $RANKS$HPCB_YIELD\" = '-x=1,2 -y p=q 3' ] && no_errors",
    "coll/leaves": "setsid sleep SLEEP & no_errors",
    "coll/waits": "echo > STARTED; exec sleep SLEEP",
}
MAKEFILE = """
programs = $(patsubst %.sh,%,$(wildcard *.sh))
all: $(programs)
%: %.sh
\tcp $< $@ && chmod +x $@
"""


# As of mpi4py's suite; a test says what the library would, since nothing is preloaded.
MAIN = """
import sys, unittest
def main(module, testRunner):
    tests = unittest.defaultTestLoader.loadTestsFromName(sys.argv[-1])
    sys.exit(not testRunner.run(tests).wasSuccessful())
"""
MODULE = """
import os, sys, unittest
LIBRARY = bool(os.environ.get("LD_PRELOAD"))
sys.stderr.write(PROOF if LIBRARY else "")
class T(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): self.assertFalse(LIBRARY)
    def test_c(self): self.fail()
    def test_d(self): self.skipTest("no")
    @unittest.expectedFailure
    def test_e(self): self.fail()
    def test_f(self):
        with self.subTest(1): pass
        with self.subTest(2): self.assertFalse(LIBRARY)
    def test_g(self): os._exit(3) if LIBRARY else None
    def test_h(self): pass
""".replace("PROOF", repr(PROOF))


@unittest.skipUnless(shutil.which("cc"), "no compiler")
class Run(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.sleep = new_seconds()
        self.write("bin/mpiexec.mpich", "#!/bin/bash\n[ \"$1\" != --version ] || { echo "
                   "'HYDRA: Version: 1.2.3'; exit; }\n[ \"$1\" != -odd ] || shift\n[ \"$1\" = "
                   "-n ] && export RANKS=$2 && shift 2 && exec \"$@\"")
        self.write("bin/mpicc.mpich", "#!/bin/sh\necho ': 3 . 1'")
        self.write("bin/mpicc.openmpi", "#!/bin/sh\nexit 1")
        self.write("suite/configure", "#!/bin/sh\n")
        self.library = os.path.join(self.scratch, "libfake.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", self.library, "-"],
                       input=b"int none;", check=True)
        for directory in ("coll", "io"):
            self.write(f"suite/{directory}/Makefile", MAKEFILE)
        for name, text in PROGRAMS.items():
            for word, value in (("SLEEP", self.sleep), ("STARTED", self.path("started")),
                                ("ORDER", self.path("order"))):
                text = text.replace(word, value)
            self.write(f"suite/{name}.sh", f"{PRELUDE}{text}\n")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)

    def tests(self, *lines):
        """The suite's testlist."""
        self.write("suite/testlist", "#basic\ncoll\nio\n")
        self.write("suite/io/testlist", "")
        self.write("suite/coll/testlist", "\n".join(lines))

    def argv(self, *arguments):
        return [sys.executable, "-B", os.path.join(TOP, "scripts", "mpi-suites"), "--suite",
                "mpich", "--mpi", "mpich", "--work", self.path("work"), "--library",
                self.library, "--from", self.path("suite"), *arguments]

    def environ(self):
        return {**os.environ, "PATH": f"{self.path('bin')}:{os.environ['PATH']}",
                "CK_TIMEOUT_MULTIPLIER": "1", "HPCB_YIELD": "off"}

    def call(self, *arguments):
        return subprocess.run(self.argv(*arguments), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=LIMIT, check=False,
                              env=self.environ())

    def found(self, *arguments):
        """(exit code, {name: verdict}, verdicts on the suite)"""
        done = self.call("--json", *arguments)
        found = json.loads(done.stdout)
        return (done.returncode, {one["name"]: one["verdict"] for one in found if "name" in one},
                [one for one in found if "name" not in one])

    def test_verdicts(self):
        self.tests("good 2", "bad 4", "silent 2", "crash 1 resultTest=TestStatus",
                   "fatal 1 resultTest=TestErrFatal", "turns 2", "both 2", "hangs 2 timeLimit=1",
                   "once 2 timeLimit=2", "unseen 2", "missing 2", "good 2", "good 3 xfail=t1",
                   "told 3 arg=-x=1,2 env=A=p=q arg=-y mpiexecarg=-odd color=red",
                   "leaves 2")
        done = self.call()
        self.assertEqual((done.returncode, is_alive(self.sleep)), (1, False), done.stderr)
        lines = done.stdout.splitlines()
        found = [line.split(" - ")[1] for line in lines if line[:1] != "#" and " - " in line]
        names = [line.replace(" (MPICH, shm)", "") for line in found]
        self.assertEqual(names, [
            "coll/good 2", "coll/bad 4", "coll/silent 2", "coll/crash 1", "coll/fatal 1",
            "coll/turns 2 # SKIP flaky in both",
            "coll/both 2 # SKIP fails without the library",
            "coll/hangs 2 # SKIP fails without the library", "coll/once 2",
            "coll/unseen 2 # SKIP the library is not seen in all ranks",
            "coll/missing 2 # SKIP does not compile with this MPI", "coll/good 2",
            "coll/good 3 # SKIP expected to fail: t1", "coll/told 3 -x=1,2 -y A=p=q",
            "coll/leaves 2"])
        bad = [line.split()[4] for line in lines if line.startswith("not ok")]
        self.assertEqual(bad, ["coll/bad", "coll/silent", "coll/crash", "coll/once"])
        self.assertIn("#   fails 5 of 5 with the library, 0 of 5 without; by chance 0.4 %", lines)
        self.assertIn("#   fails 1 of 10 (1 did not end) with the library, 0 of 10 without; "
                      "by chance 50.0 %", lines)
        self.assertIn("# unknown to mpi-suites: color=red", lines)
        self.assertEqual(lines[-1], "1..15")
        self.assertIn("# mpich's suite with MPICH over shm: broken: 9 of 15 tests compared "
                      "(60 %), 4 broken; 2 fails without the library; 1 flaky in both; "
                      "1 the library is not seen in all ranks; 1 does not compile with this "
                      "MPI; 1 expected to fail: t1", lines)
        self.assertEqual(os.listdir(self.path("work")), ["lock"])

    def test_a_hang_in_one_of_three(self):
        self.tests("third 2 timeLimit=2")
        for most in ("3", "4"):  # goes on with one pair more
            code, found, (suite,) = self.found("--pairs", "3", "--most-pairs", most, "--state",
                                               self.path("state"))
            self.assertEqual((code, *found.values(), suite["verdict"]),
                             (1, "broken", "broken"))
        with open(self.path("order"), encoding="ascii") as file:
            self.assertEqual(file.read().split(), ["without", "with", "with", "without"] * 2)

    def test_the_share_that_was_compared(self):
        self.tests(*["good 2"] * 4, "missing 2")
        code, _, (suite,) = self.found()
        self.assertEqual((code, suite["verdict"], suite["compared"]), (0, "kept", 4))
        self.tests(*["good 2"] * 3, "missing 2")
        # With MPICH shm is ucx.
        code, _, suites = self.found("--jobs", "2", "--transport", "shm,ucx,tcp")
        self.assertEqual(code, 4)
        self.assertEqual([(one["transport"], one["verdict"], one["tests"]) for one in suites],
                         [("shm", "undecided", 4), ("tcp", "undecided", 4)])

    def test_a_run_goes_on(self):
        state = self.path("state")
        self.tests("good 2", "bad 2")
        self.assertEqual(self.call("--state", state).returncode, 1)
        with open(state, encoding="ascii") as file:
            lines = file.readlines()
        self.assertEqual(len(lines), 1 + 1 + 5)
        with open(state, "w", encoding="ascii") as file:
            file.writelines([*lines[:4], lines[4][:20]])
        again = self.call("--state", state)
        self.assertEqual(again.returncode, 1, again.stderr)
        with open(state, encoding="ascii") as file:
            records = [json.loads(line) for line in file.readlines()[1:]]
        self.assertEqual([one["run"].rpartition("#")[2] for one in records],
                         ["0", "0", "1", "2", "3", "4"])
        self.write("other.c", "int other;")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, self.path("other.c")],
                       check=True)
        other = self.call("--state", state)
        self.assertEqual((other.returncode, other.stdout), (1, ""))
        self.assertIn("was begun with library", other.stderr)

    def test_who_ends_it_ends_what_it_runs(self):
        self.tests("waits 2")
        with subprocess.Popen(self.argv(), env=self.environ(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 60
            while not os.path.exists(self.path("started")) and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            try:
                self.assertEqual(process.wait(30), 130)
            finally:
                process.kill()
        self.assertTrue(os.path.exists(self.path("started")))
        self.assertFalse(is_alive(self.sleep))

    def test_mpi4py(self):
        with open(os.path.join(TOP, "scripts", "mpi-suites.bash"), encoding="utf-8") as file:
            version = re.search(r"^MPI4PY=(.*)$", file.read(), re.M)[1]
        tree = f"work/mpi4py-{version}/mpich-1.2.3"
        self.write(f"work/mpi4py-{version}/source/setup.py", "")
        self.write(f"{tree}/.ready", "")
        self.write(f"{tree}/test/main.py", MAIN)
        self.write(f"{tree}/test/test_x.py", MODULE)
        os.makedirs(self.path(f"{tree}/venv/bin"))
        os.symlink(sys.executable, self.path(f"{tree}/venv/bin/python"))
        self.write("bin/mpiexec.mpich", "#!/bin/bash\n[ \"$1\" != --version ] || { echo "
                   "'HYDRA: Version: 1.2.3'; exit; }\nranks=$2; shift 2; status=0\nfor ((i = "
                   "0; i < ranks; i++)); do \"$@\" & done\nfor ((i = 0; i < ranks; i++)); "
                   "do wait -n || status=$?; done\nexit $status\n")
        done = self.call("--suite", "mpi4py", "--only", "mpi4py/test_x 2", "--json")
        case, suite = json.loads(done.stdout)
        tests = {test.rpartition(".")[2]: one["verdict"] for test, one in case["tests"].items()}
        self.assertEqual(tests, {
            "test_a": "kept", "test_b": "broken", "test_c": verdicts.FAILS,
            "test_d": "skipped", "test_e": "kept", "test_f": "broken", "test_g": "broken",
            "test_h": verdicts.UNREACHED, "whole": "broken"})
        self.assertEqual((done.returncode, suite["verdict"], suite["tests"]), (1, "broken", 9))

    def test_only(self):
        self.tests("good 2", "bad 2")
        code, found, (suite,) = self.found("--only", "*good*")
        self.assertEqual((code, list(found), suite["tests"]), (0, ["coll/good 2 (MPICH, shm)"], 1))

    def test_what_cannot_be_had(self):
        self.tests("good 2")
        done = self.call("--mpi", "openmpi")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("ok 1 - Open MPI # SKIP is not installed", done.stdout)
        self.write("suite/configure", "#!/bin/sh\necho reason >&2\nexit 1\n")
        done = self.call()
        self.assertEqual(done.returncode, 1)
        self.assertIn("not ok 1 - mpich's suite with MPICH builds", done.stdout)
        self.assertIn("# reason", done.stderr)

    def test_usage(self):
        for arguments in (["--other"], ["--suite", "other"], ["--jobs", "0"], ["--pairs", "0"],
                          ["--pairs", "11"], ["--transport", "shm,smoke"],
                          ["--library", self.path("none")], ["--from", self.path("bin")]):
            done = self.call(*arguments)
            self.assertEqual(done.returncode, 2, arguments)


if __name__ == "__main__":
    unittest.main()
