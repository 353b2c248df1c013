# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/osu: its verdicts, and runs on a source tree of the test's own, which is built and
run with and without a library; what is slower, fails, hangs or compares nothing is said."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from osu import output, report

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HPCB_BUILDDIR", TOP)
LIMIT = 120

# $SLOW and $SMALL, of the environment that a library comes with, are what it does to a
# program; the ranks of $LOADED have it.
LOADED = ('for rank in ${LOADED:-}; do echo "libhpcb_mpi: Fake: waits sleep" >&2; done\n'
          '[ "$HPCB_DEBUG" = 1 ] || exit 9\n')
PROGRAMS = {
    "pt2pt/osu_latency": "echo '# OSU MPI Latency Test v9.1'; echo '# Size  Latency (us)'\n"
                         "for size in 1 2 4 8; do echo $size ${SLOW:-1}; done\n"
                         "echo 16 ${SMALL:-1}",
    "pt2pt/osu_bw": "echo '# Size  Bandwidth (MB/s)'; echo 8 100",
    "collective/osu_barrier": "[ -z \"$SLOW\" ] || exit 3\n"
                              "echo '# Avg Latency(us)'; echo 7",
    "collective/osu_bcast": "[ -z \"$SLOW\" ] || { setsid sleep 61.5 & exec sleep 61.5; }\n"
                            "echo '# Size Avg Latency(us)'; echo 1 2",
    "one-sided/osu_get_latency": "echo 'no window'; exit 1",
    "startup/osu_init": "exit 1",
}


class Parse(unittest.TestCase):
    def test_latencies(self):
        self.assertEqual(output.parse("# OSU MPI Latency Test v7\n# Datatype: MPI_CHAR.\n"
                                      "# Size       Avg Latency(us)\n1    0.5\n2  0.25\n"),
                         {"1": 0.5, "2": 0.25})

    def test_bandwidths_become_times(self):
        self.assertEqual(output.parse("# Size   MB/s   Messages/s\n1  4.0  4000000\n"),
                         {"1": 0.25})

    def test_without_sizes(self):
        self.assertEqual(output.parse("# Avg Latency(us)\n  1.5\n"), {"0": 1.5})
        self.assertEqual(output.parse("# Overall = Init + Test\n\n  Overall(us)  Compute(us)\n"
                                      "  8.5  3.5\n"), {"0": 8.5})

    def test_what_says_nothing(self):
        self.assertEqual(output.parse("1 2\nerror\n"), {})
        self.assertEqual(output.parse("# Size  Latency (us)\n8 0.00\n16\n4 nan\n2 inf\n"), {})

    def test_version(self):
        self.assertEqual(output.version("\n# OSU MPI Latency Test v5.3\n"), "5.3")
        self.assertEqual(output.version("# OSU MPI-CUDA Bandwidth Test v7.4\n"), "7.4")
        self.assertIsNone(output.version("# Size v5\n"))

    def test_ranks_with_the_library(self):
        self.assertEqual(output.loaded("0: libhpcb_mpi: MPICH: waits sleep where it\n"
                                       "libhpcb_mpi: this MPI: waits stay as they are\n"
                                       "libhpcb_mpi: MPI_Foo is called\nwaits sleep\n"), 2)
        self.assertTrue(output.observes("libhpcb_mpi: this MPI: waits stay as they are\n"))
        self.assertFalse(output.observes("libhpcb_mpi: MPICH: waits sleep\nwaits stay\n"))


class Reason(unittest.TestCase):
    def test_what_was_said_first(self):
        self.assertEqual(output.reason("", "-----\n\nMPI_ABORT was invoked\nwith errorcode 1.\n"
                                       "-----\n"), "MPI_ABORT was invoked")
        self.assertEqual(output.reason("# Size\nkilled\n", "libhpcb_mpi: MPICH: waits sleep\n"),
                         "killed")


def pair(number, with_, without=None, name="osu_bcast", loaded=(0, 2), **more):
    """A record.  with_, without: figures, or why there are none."""
    record = {"pair": f"mpich/shm/hook/{name}/{number}", "mpi": "mpich", "transport": "shm",
              "library": "hook", "benchmark": name, "expected": 2, **more}
    for side, found, count in zip(report.SIDES, ({"8": 1.0} if without is None else without,
                                                 with_), loaded):
        key = "failed" if isinstance(found, str) else "figures"
        record[side] = {"loaded": count, key: found}
    return record


def pairs(ratios, **more):
    """Pairs of a benchmark with one size."""
    return [pair(number, {"8": ratio}, **more) for number, ratio in enumerate(ratios)]


def row_of(records):
    (row,) = report.rows_of(records)
    return row


class Verdict(unittest.TestCase):
    def test_one_size_breaks_a_benchmark(self):
        """An audit: 420 times as slow at one size of many was kept."""
        sizes = {str(2 ** power): 1.0 for power in range(20)}
        row = row_of([pair(number, {**sizes, "1024": 420.0}, sizes) for number in range(6)])
        self.assertEqual((row.verdict, row.worst, row.worst_size, row.broken_sizes),
                         ("broken", (420, 420, 420), "1024", ["1024"]))

    def test_the_interval_is_over_pairs(self):
        for ratios, expected in (([1.0] * 5 + [1.19], "kept"), ([1.0] * 5 + [1.3], "undecided"),
                                 ([1.21] * 6, "broken"), ([1.19] + [2.0] * 5, "undecided"),
                                 # Of many pairs the extremes do not count.
                                 ([0.5, 9.0] + [1.0] * 18, "kept"),
                                 ([0.5, 9.0] + [1.3] * 18, "broken")):
            with self.subTest(ratios=ratios):
                self.assertEqual(row_of(pairs(ratios)).verdict, expected)

    def test_five_pairs_decide_nothing(self):
        self.assertEqual(row_of(pairs([1.0] * 5)).verdict, "undecided")
        self.assertEqual(row_of(pairs([9.0] * 5)).verdict, "undecided")

    def test_a_size_that_few_pairs_have_decides_nothing(self):
        both = {"8": 1.0, "16": 1.0}
        some = [pair(number, both if number else {"8": 1.0}, both) for number in range(6)]
        self.assertEqual(row_of(some).verdict, "undecided")
        none = [pair(number, {"8": 1.0}, both) for number in range(6)]
        self.assertEqual(row_of(none).verdict, "undecided")
        # But it does not hide another one.
        bad = [pair(number, {"8": 9.0}, both) for number in range(6)]
        self.assertEqual(row_of(bad).verdict, "broken")

    def test_a_failure_with_the_library_alone(self):
        for count in (1, 6):
            records = pairs([1.0] * 6) + [
                pair(6 + number, "not done after 2 s") for number in range(count)]
            row = row_of(records)
            self.assertEqual((row.verdict, row.pairs), ("broken", 6 + count))
        self.assertFalse(report.fails_by_itself(records))

    def test_a_failure_on_both_sides_is_not_judged(self):
        records = pairs([9.0] * 6) + [pair(6, "status 1: x"),
                                      pair(7, {"8": 1.0}, "status 1: x")]
        row = row_of(records)
        self.assertEqual((row.verdict, row.bound), ("not judged", None))
        self.assertTrue(report.fails_by_itself(records))

    def test_a_failure_with_nothing_alone(self):
        records = pairs([1.0] * 6) + [pair(6, {"8": 1.0}, "status 1: x")]
        self.assertEqual(row_of(records).verdict, "kept")
        self.assertEqual(row_of([pair(0, {"8": 1.0}, "status 1: x")]).verdict, "undecided")

    def test_void_pairs(self):
        for loaded, words in (((0, 2), None), ((0, 1), "1 of 2 ranks"),
                              ((0, 0), "0 of 2 ranks"), ((0, 3), "3 of 2 ranks"),
                              ((1, 2), "1 ranks had the library in the run without it")):
            with self.subTest(loaded=loaded):
                found = report.void(pair(0, {"8": 1.0}, loaded=loaded))
                self.assertIn(words, found) if words else self.assertIsNone(found)
        self.assertIsNone(report.void(pair(0, {"8": 1.0}, loaded=(0, 0), expected=0)))
        # It can fail before it says anything; a library in the other run is one all the same.
        self.assertIsNone(report.void(pair(0, "status 1: x", loaded=(0, 0))))
        self.assertIsNotNone(report.void(pair(0, "status 1: x", loaded=(2, 0))))

    def test_void_pairs_count_for_nothing(self):
        bad = [pair(6, {"8": 99.0}, loaded=(0, 1)),
               pair(7, {"8": 1.0}, "status 1: x", loaded=(2, 2))]
        row = row_of(pairs([1.0] * 6) + bad)
        self.assertEqual((row.verdict, row.pairs, len(row.voids)), ("kept", 6, 2))
        self.assertEqual(row.failures, {"with": [], "without": []})
        row = row_of(pairs([1.0] * 6, loaded=(0, 0)))
        self.assertEqual((row.verdict, row.pairs), ("undecided", 0))
        self.assertTrue(report.is_broken(pairs([1.0] * 6) + bad))
        self.assertFalse(report.is_broken(pairs([1.0] * 6)))

    def test_a_void_pair_that_is_made_again_counts(self):
        row = row_of(pairs([9.0] * 6, loaded=(0, 1)) + pairs([1.0] * 6))
        self.assertEqual((row.verdict, row.voids), ("kept", []))


def many(*ratios):
    """Records of one benchmark for each ratio; None: it fails with the library alone,
    "both": with nothing too."""
    found = []
    for index, ratio in enumerate(ratios):
        name = f"osu_{index}"
        if ratio is None:
            found.append(pair(0, "status 1: x", name=name))
        elif ratio == "both":
            found.append(pair(0, "status 1: x", "status 1: x", name=name))
        else:
            found += pairs([ratio] * 6, name=name)
    return found


class Overall(unittest.TestCase):
    def judged(self, *ratios):
        rows = report.rows_of(many(*ratios))
        return report.overall(rows)[0], report.judge_overall(rows), report.judge_all(rows)

    def test_median_of_all_benchmarks(self):
        self.assertEqual(self.judged(1.0, 1.04, 1.19), (1.04, "kept", "kept"))
        self.assertEqual(self.judged(1.0, 1.06, 1.1), (1.06, "broken", "kept"))
        self.assertEqual(self.judged(1.0, 1.0, 1.3), (1.0, "kept", "broken"))

    def test_it_is_of_the_worst_sizes(self):
        records = [pair(number, {"8": 1.0, "16": 1.0, "32": 1.1},
                        {"8": 1.0, "16": 1.0, "32": 1.0}) for number in range(6)]
        self.assertEqual(report.judge_overall(report.rows_of(records)), "broken")

    def test_what_fails_is_slower_than_any_other(self):
        self.assertEqual(self.judged(1.0, None, 1.0), (1.0, "kept", "broken"))
        self.assertEqual(self.judged(1.0, None, None), (float("inf"), "broken", "broken"))

    def test_what_fails_by_itself_is_left_out(self):
        self.assertEqual(self.judged(1.0, "both", "both"), (1.0, "kept", "kept"))
        self.assertEqual(self.judged("both")[1:], ("undecided", "undecided"))

    def test_what_is_not_known_is_not_kept(self):
        records = many(1.0) + pairs([1.0] * 5, name="a") + pairs([1.0] * 6, name="b",
                                                                loaded=(0, 0))
        rows = report.rows_of(records)
        self.assertEqual((report.judge_overall(rows), report.judge_all(rows)),
                         ("undecided", "undecided"))


SETTINGS = {"iterations": 100, "max_size": 65536,
            "machine": {"cpu": "z80", "cpus": 2, "kernel": "6", "date": "d"}}


class Document(unittest.TestCase):
    def text(self, records):
        return "\n".join(report.document(SETTINGS, records))

    def test_limits_rows_and_remarks(self):
        records = [*many(1.0, 1.5),
                   pair(0, "not done after 2 s", name="osu_hung"),
                   pair(0, "status 1: x", "status 1: y", name="osu_both"),
                   pair(0, {"8": 1.0}, loaded=(0, 1), name="osu_void")]
        records[0]["with"].update({"osu": "7.4", "observes": True})
        text = self.text(records)
        for line in (
                "z80, 2 CPUs, Linux 6, d; OSU 7.4; 100 iterations, collectives of up to 65536 "
                "bytes.",
                "| no benchmark above 1.2 | mpich | shm | hook | 1 kept, 1 undecided, 2 broken, "
                "1 not judged | broken |",
                "| median of all benchmarks at most 1.05 | mpich | shm | hook | "
                "1.500 [1.250..∞] | broken |",
                "## hook: mpich, shm",
                "| osu_1 | 6 | 1.500 [1.500..1.500] | 8 | 1.500 | 8 | broken |",
                "| osu_hung | 1 | – | – | – | – | broken |",
                "| osu_both | 1 | – | – | – | – | not judged |",
                "| osu_void | 0 | – | – | – | – | undecided |",
                "- mpich/shm/hook/osu_hung: 1 of 1 runs with the library failed, the last one: "
                "not done after 2 s.",
                "- mpich/shm/hook/osu_both: 1 of 1 runs without the library failed, the last "
                "one: status 1: y.",
                "- mpich/shm/hook/osu_0: the library only observed in 1 pairs, it knows no hook "
                "of this MPI.",
                "- mpich/shm/hook/osu_void: 1 pairs are void, the last one: 1 of 2 ranks had "
                "the library."):
            self.assertIn(line, text)

    def test_no_record(self):
        self.assertIn("OSU of unknown version", self.text([]))


def is_running(word):
    """Whether a process has that argument."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if word.encode() in file.read().split(b"\0"):
                    return True
        except OSError:
            continue
    return False


class Bench(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.state = os.path.join(self.scratch, "state")

    def script(self, name, text):
        path = os.path.join(self.scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, stat.S_IRWXU)
        return path

    def command(self, *arguments):
        return [sys.executable, "-B", os.path.join(TOP, "bench", "osu", "run"), *arguments]

    def call(self, *arguments):
        return subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT, check=False)

    def records(self):
        with open(self.state, encoding="utf-8") as file:
            settings, *records = map(json.loads, file)
        self.assertEqual(settings["osu"], 2)
        return records


class Run(Bench):
    def setUp(self):
        super().setUp()
        self.sources = os.path.join(self.scratch, "sources")
        os.mkdir(self.sources)
        self.script("sources/configure", "cp -r \"$(dirname \"$0\")/built/.\" .\n"
                    "printf 'all:\\n\\ttouch made\\n' > Makefile")
        for name, text in PROGRAMS.items():
            self.script(f"sources/built/mpi/{name}", LOADED + text)
        self.launcher = self.script("launcher", "exec \"$@\"")
        # The loader ignores what is no library.
        self.library = self.script("library", "")
        self.arguments = ["--sources", self.sources, "--mpi", "openmpi", "--transport", "shm",
                          "--launcher", f"openmpi={self.launcher}", "--state", self.state]

    def libraries(self, *settings):
        return [word for name, more in settings
                for word in ("--library", f"{name}={self.library},LOADED=1 2{more}")]

    def rows(self):
        return {(row.group[2], row.benchmark): row for row in report.rows_of(self.records())}

    def test_all_kinds(self):
        page = os.path.join(self.scratch, "page")
        done = self.call(*self.arguments, *self.libraries(("slow", ",SLOW=2"),
                                                          ("small", ",SMALL=1.5")),
                         "--library", "again=", "--repetitions", "6", "--timeout", "2",
                         "--check", "--write", page, "--only", "osu_*")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = self.rows()
        self.assertEqual(len(found), 3 * 5)
        self.assertEqual(found["slow", "osu_latency"].worst, (2, 2, 2))
        self.assertEqual(found["small", "osu_latency"].verdict, "broken")
        self.assertEqual(found["small", "osu_latency"].broken_sizes, ["16"])
        self.assertEqual(found["slow", "osu_bw"].verdict, "kept")
        self.assertEqual(found["again", "osu_latency"].verdict, "kept")
        self.assertEqual([why.partition(":")[0] for why in
                          found["slow", "osu_barrier"].failures["with"]], ["status 3"] * 6)
        self.assertEqual(found["slow", "osu_bcast"].failures["with"],
                         ["not done after 2 s"] * 6)
        self.assertEqual(found["slow", "osu_bcast"].verdict, "broken")
        for library in ("slow", "small", "again"):
            self.assertEqual(found[library, "osu_get_latency"].verdict, "not judged")
            self.assertEqual(found[library, "osu_get_latency"].pairs, 1)
        self.assertFalse(is_running("61.5"))
        self.check_document(page)

    def check_document(self, page):
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("; OSU 9.1; ", text)
        self.assertIn("no window", text)
        done = self.call("--report", "--state", self.state)
        self.assertEqual((done.returncode, done.stdout), (0, text), done.stderr)
        self.assertEqual(self.call("--report", "--check", "--state", self.state).returncode, 1)

    def test_the_order_within_a_pair_is_random(self):
        self.call(*self.arguments, *self.libraries(("one", "")), "--repetitions", "12",
                  "--only", "osu_bw")
        first = [record["first"] for record in self.records()]
        self.assertEqual(set(first), set(report.SIDES))

    def test_a_pair_is_void_without_proof_of_the_library(self):
        arguments = [*self.arguments, "--repetitions", "6", "--only", "osu_bw", "--check"]
        for loaded, status in (("1", 1), ("1 2", 0)):
            done = self.call(*arguments, "--library", f"x={self.library},LOADED={loaded}",
                             "--state", self.state + loaded)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual("6 pairs are void, the last one: 1 of 2 ranks had the library."
                             in done.stdout, status == 1)

    def test_a_library_of_the_caller_is_in_neither_run(self):
        environ = {**os.environ, "HPCB_DEBUG": "2", "LD_PRELOAD": self.library}
        self.script("sources/built/mpi/pt2pt/osu_seen",
                    "[ -z \"$LD_PRELOAD\" ] || exit 5\n" + LOADED +
                    "echo '# Size Latency (us)'; echo 1 1")
        done = subprocess.run(
            self.command(*self.arguments, "--library", "again=", "--repetitions", "1",
                         "--only", "osu_seen"), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=LIMIT, check=False, env=environ)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows()["again", "osu_seen"].failures,
                         {"with": [], "without": []})

    def test_goes_on_where_it_was_ended(self):
        programs = os.path.join(self.scratch, "programs")
        arguments = [*self.arguments, "--programs", programs, *self.libraries(("one", "")),
                     "--only", "osu_bw", "--only", "osu_latency", "--repetitions", "100"]
        with subprocess.Popen(
                self.command(*arguments), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as bench:
            deadline = time.monotonic() + LIMIT
            while not (os.path.exists(self.state) and len(self.lines()) > 4):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            told = len(self.lines())
            bench.send_signal(signal.SIGINT)
            status = bench.wait(LIMIT)
        before = self.lines()
        self.assertEqual(status, 130, f"told at line {told} of {len(before)}: {before[-3:]}")
        count = (len(before) - 1 + 1) // 2 + 1
        done = self.call(*arguments[:-1], str(count))
        self.assertEqual(done.returncode, 0, done.stderr)
        after = self.lines()
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(sorted(record["pair"] for record in self.records()), sorted(
            f"openmpi/shm/one/{name}/{number}" for name in ("osu_bw", "osu_latency")
            for number in range(count)))

    def lines(self):
        with open(self.state, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_void_pairs_are_made_again(self):
        arguments = [*self.arguments, "--library", f"x={self.library}", "--repetitions", "6",
                     "--only", "osu_bw", "--check"]
        self.assertEqual(self.call(*arguments).returncode, 1)
        self.script("sources/built/mpi/pt2pt/osu_bw",
                    "[ -z \"$LD_PRELOAD\" ] || LOADED='1 2'\n" + LOADED +
                    PROGRAMS["pt2pt/osu_bw"])
        done = self.call(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.records()), 12)

    def test_other_libraries_do_not_get_mixed(self):
        arguments = [*self.arguments, *self.libraries(("one", "")), "--repetitions", "1",
                     "--only", "osu_bw"]
        self.assertEqual(self.call(*arguments).returncode, 0)
        self.script("library", "true")
        done = self.call(*arguments)
        self.assertEqual(done.returncode, 1)
        self.assertIn("was begun with libraries", done.stderr)

    def test_programs_are_built_once(self):
        programs = os.path.join(self.scratch, "programs")
        arguments = ["--programs", programs, "--mpi", "openmpi", "--transport", "shm",
                     "--launcher", f"openmpi={self.launcher}", "--library", "again=",
                     "--repetitions", "1", "--only", "osu_bw", "--check"]
        done = self.call("--sources", self.sources, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(programs, "openmpi", "made")))
        self.assertEqual(self.call(*arguments).returncode, 0)

    def test_errors_are_one_line(self):
        old = os.path.join(self.scratch, "old")
        with open(old, "w", encoding="ascii") as file:
            file.write('{"osu": 1}\n')
        for arguments, status, words in (
                (["--library", "again="], 2, "--sources is needed"),
                (["--report"], 2, "--report needs --state"),
                (["--report", "--state", old], 1, "not a file of this bench/osu"),
                (["--sources", self.scratch, "--library", "again="], 1, "no configure"),
                (["--sources", self.sources, "--library", "x=/nowhere"], 2, "no such file"),
                (["--sources", self.sources, "--library", "a=", "--library", "a="], 2,
                 "another name"),
                (["--sources", self.sources, "--library", "again=", "--only", "x"], 1,
                 "no such benchmark")):
            with self.subTest(arguments=arguments):
                done = self.call(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(words, done.stderr.splitlines()[-1])


class Real(Bench):
    """With an MPI and our library: both ranks of the run with it say that they have it."""

    def test_proof_of_the_library(self):
        library = os.path.join(BUILD, ".libs", "libhpcb_mpi.so")
        for mpi in ("openmpi", "mpich"):
            program = os.path.join(BUILD, "bench", f"primary-mpi.{mpi}")
            with self.subTest(mpi=mpi):
                if not (os.path.exists(library) and os.path.exists(program)
                        and shutil.which(f"mpiexec.{mpi}")):
                    self.skipTest(f"{mpi} is not there")
                with open(library, "rb") as file:
                    if b"__asan_init" in file.read():
                        self.skipTest("built with sanitizers: cannot be preloaded")
                self.check(mpi, program)

    def check(self, mpi, program):
        self.script(f"programs/{mpi}/pt2pt/osu_latency",
                    "echo '# Size Latency (us)'; echo 8 1\n"
                    f"exec {program} --pattern sweep --iterations 1 --grain-us 1 --rate 1000000")
        done = self.call("--programs", os.path.join(self.scratch, "programs"), "--build",
                         BUILD, "--mpi", mpi, "--transport", "shm", "--repetitions", "2",
                         "--timeout", "60", "--state", f"{self.state}.{mpi}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("void,", done.stdout)
        self.assertIn("| osu_latency | 2 | ", done.stdout)


if __name__ == "__main__":
    unittest.main()
