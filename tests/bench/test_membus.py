# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""netbench as a program, and what bench/membus plans and computes."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from importlib.machinery import SourceFileLoader
from types import SimpleNamespace
from unittest import mock

from cluster import BenchError
from membus import demand, plan, report, runner

BENCH = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench")
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIMIT = 60


def load_run():
    """bench/membus/run as a module."""
    loader = SourceFileLoader("membus_run", os.path.join(TOP, "bench", "membus", "run"))
    spec = importlib.util.spec_from_loader("membus_run", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


RUN = load_run()


def netbench(*arguments):
    return subprocess.run([os.path.join(BENCH, "netbench"), *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Netbench(unittest.TestCase):
    def start_receiver(self):
        port = free_port()
        receiver = subprocess.Popen([os.path.join(BENCH, "netbench"), "--listen", port],
                                    stdin=subprocess.DEVNULL)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.terminate)
        for _ in range(LIMIT * 10):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                    return port
            time.sleep(0.1)
        self.fail("the receiver does not listen")

    def test_bytes_are_counted_and_traced(self):
        port = self.start_receiver()
        for wait in plan.WAITS:
            for size in ("1", "65536", "1048576"):
                with tempfile.NamedTemporaryFile("r") as trace:
                    done = netbench("--connect", "127.0.0.1", "--port", port, "--size",
                                    size, "--wait", wait, "--seconds", "0.2", "--trace",
                                    trace.name, "--every-ms", "1")
                    lines = [line.split() for line in trace.read().splitlines()]
                self.assertEqual(done.returncode, 0, done.stderr)
                found = json.loads(done.stdout)
                self.assertEqual(found["size"], int(size))
                self.assertEqual(found["polls"], wait == "poll")
                self.assertGreater(found["bytes"], 0)
                counts = [int(count) for _when, count in lines]
                self.assertGreater(len(counts), 0)
                self.assertEqual(counts, sorted(counts))
                self.assertLessEqual(counts[-1], found["bytes"])

    def test_refused(self):
        for arguments, words in (
                ((), "give either"), (("--listen", "0"), "listen"),
                (("--listen", "70000"), "listen"), (("--connect", "localhost"), "give either"),
                (("--listen", "1", "--connect", "localhost"), "give either"),
                (("--size", "0"), "size"), (("--size", "1048577"), "size"),
                (("--wait", "nap"), "neither sleep nor poll"), (("--seconds", "0"), "seconds"),
                (("--nothing",), "nothing"), (("--help", "more"), "Usage")):
            done = netbench(*arguments)
            self.assertIn(words, done.stdout + done.stderr)
            self.assertEqual(done.returncode, 0 if "--help" in arguments else 2)

    def test_nobody_listens(self):
        done = netbench("--connect", "127.0.0.1", "--port", free_port())
        self.assertEqual(done.returncode, 1)
        self.assertIn("Connection refused", done.stderr)


def nas(*arguments):
    return subprocess.run([os.path.join(BENCH, "nas"), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False)


class Nas(unittest.TestCase):
    def test_results_are_right_and_damage_is_found(self):
        for kernel in plan.NAS_MB_S:
            done = nas("--kernel", kernel, "--size=2", "--seconds=0.2", "--work=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            # Each pass several times.
            self.assertGreater(json.loads(done.stdout)["bytes"], 2**24)
            done = nas("--kernel", kernel, "--size=2", "--seconds=60", "--damage")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{kernel}: a result is wrong", done.stderr)

    def test_damage_is_found_whatever_the_size(self):
        for kernel in plan.NAS_MB_S:
            for size in range(1, 13):
                done = nas("--kernel", kernel, f"--size={size}", "--seconds=3", "--damage")
                self.assertEqual(done.returncode, 1, (kernel, size))

    def test_refused(self):
        for arguments in ((), ("--kernel=XY",), ("--kernel=CG", "--size=0"),
                          ("--kernel=CG", "more")):
            self.assertEqual(nas(*arguments).returncode, 2, arguments)


GROUPS = [(name, wait) for name in plan.SETS for wait in plan.waits_of(name)]


def mixes(units):
    return [unit for unit in units if isinstance(unit, plan.Mix)]


class Plan(unittest.TestCase):
    def test_each_set_has_all_regimes_in_each_round(self):
        units = plan.schedule(GROUPS, 3, 1)
        self.assertEqual(len({unit.key() for unit in units}), len(units))
        found = mixes(units)
        self.assertEqual(len(found), 3 * len(GROUPS))
        for unit in found:
            self.assertEqual(sorted(unit.regimes), sorted(plan.REGIMES))

    def test_what_sets_are_compared_with_comes_before_them(self):
        units = plan.schedule([("CG + IS", "sleep"), ("net + min", "poll")], 2, 1)
        kinds = [isinstance(unit, plan.Mix) for unit in units if unit.round == 0]
        self.assertEqual(kinds, sorted(kinds))
        found = {(unit.jobs, unit.wait) for unit in units if isinstance(unit, plan.Together)}
        for one in ((("CG",), "sleep"), (("net",), "poll"), (("CG", "IS"), "sleep"),
                    (("CG", "CG"), "sleep"), (("CG", "max"), "sleep"), (("max",), "sleep"),
                    (("min", "net"), "poll"), (("min", "min"), "sleep")):
            self.assertIn(one, found)
        self.assertNotIn((("min", "min"), "poll"), found)

    def test_more_rounds_begin_alike(self):
        few, many = (plan.schedule([("max + min", "sleep")], rounds, 7) for rounds in (2, 5))
        self.assertEqual(many[:len(few)], few)

    def test_of_two_rounds_each_arrangement_has_one(self):
        found = mixes(plan.schedule(GROUPS, 4, 3))
        for group in GROUPS:
            seen = [unit.arrangement for unit in found if (unit.set, unit.wait) == group]
            for pair in (seen[:2], seen[2:]):
                self.assertEqual(sorted(pair), sorted(plan.ARRANGEMENTS))

    def test_each_cpu_has_one_of_both_however_they_are_arranged(self):
        for arrangement in plan.ARRANGEMENTS:
            unit = plan.Mix(0, "max + min", "sleep", arrangement, ())
            first, second, third, fourth = unit.submitted()
            self.assertEqual({first, third}, {"max", "min"})
            self.assertEqual({second, fourth}, {"max", "min"})
            self.assertEqual(first == second, arrangement == "likes first")
            self.assertEqual(unit.sorted(unit.submitted()), list(plan.SETS["max + min"]))

    def test_sets_that_can_be_asked_for(self):
        self.assertEqual(plan.parse_set("net + min:poll", 1), ("net + min", "poll"))
        self.assertEqual(plan.parse_set("CG + IS", 1), ("CG + IS", "sleep"))
        self.assertEqual(plan.parse_set("CG.mpi + IS.mpi:poll", 2), ("CG.mpi + IS.mpi", "poll"))
        for text in ("CG + XY", "CG + IS:poll", "net + min:nap", "", "CG.mpi + IS.mpi"):
            with self.assertRaises(ValueError):
                plan.parse_set(text, 1)
        for nodes in (1, 2, 4):
            for text in plan.usual(nodes):
                plan.parse_set(text, nodes)

    def test_a_usual_round_is_short(self):
        units = plan.schedule([plan.parse_set(text, 1) for text in plan.USUAL], 1, 1)
        self.assertLess(RUN.TimeLeft(units, 20, 1).seconds(units), 33 * 60)

    def test_the_first_two_jobs_are_alike(self):
        for name, programs in plan.SETS.items():
            self.assertEqual(len(programs), 4)
            self.assertEqual(name == "one of each", programs[0] != programs[1])

    def test_the_papers_figures_are_of_sets_that_run(self):
        for name, program in report.PAPER:
            self.assertIn(program, plan.SETS[name])
        # Section 6: "from about 6% (for the CG-CG workload) to 44% (for the CG-IS workload)",
        # 39 % next to membench-min, 4 % with EP and 25 % with MG.
        for one, gain in ((("CG + CG", "CG"), 0.06), (("CG + IS", "CG"), 0.44),
                          (("membench-min + CG", "CG"), 0.39), (("myribench + EP", "net"), 0.04),
                          (("myribench + MG", "net"), 0.25)):
            self.assertEqual(report.PAPER[one], (gain, gain))
            self.assertIn(one[0], plan.USUAL)

    def test_demands_are_in_proportion_to_the_papers(self):
        rates = {"CG": 6.74e9, "EP": 18e9, "LU": 4e9}
        work = demand.nas_work(rates, 1e6)
        self.assertEqual((work["CG"], work["LU"]), (0, 0))
        took = 2**20 / rates["EP"] + work["EP"] / 1e6
        self.assertAlmostEqual(2**20 / took / 1.62e9, 1, delta=0.01)

    def test_who_cannot_reach_its_share_is_named(self):
        slow = demand.slower({"CG": 6.74e9, "EP": 18e9, "LU": 2.455e9, "MG": 5.65e9})
        self.assertEqual(list(slow), ["LU"])
        self.assertAlmostEqual(slow["LU"], 0.5)

    def test_memory_of_the_kernels(self):
        mib = 2**20
        self.assertEqual(demand.size_mib(32 * mib, 24000), 512)
        self.assertEqual(demand.size_mib(2 * mib, 24000), demand.LEAST_MIB)
        self.assertEqual(demand.size_mib(300 * mib, 24000), demand.MOST_MIB)
        self.assertEqual(demand.size_mib(0, 24000), demand.MOST_MIB)
        # Four jobs have to be on the node.
        for memory in (2000, 4000):
            size = demand.size_mib(300 * mib, memory)
            self.assertLess(4 * (size + demand.OTHER_MIB), 0.8 * memory)
        size = demand.size_mib(300 * mib, 8000, 2)
        self.assertLess(2 * 4 * (size + demand.OTHER_MIB), 0.8 * 8000)

    def test_the_last_cache(self):
        with tempfile.TemporaryDirectory() as scratch:
            self.assertEqual(demand.cache_bytes(scratch), 0)
            for index, size in enumerate(("32K", "1024K", "32M")):
                os.mkdir(os.path.join(scratch, f"index{index}"))
                with open(os.path.join(scratch, f"index{index}", "size"), "w",
                          encoding="ascii") as file:
                    file.write(size + "\n")
            self.assertEqual(demand.cache_bytes(scratch), 32 * 2**20)

    def test_arguments(self):
        found = plan.arguments_of(plan.PROGRAMS["EP"], "host", "sleep", DEMAND)
        self.assertEqual(found, ("--kernel=EP", "--size=512", "--work=77", "--meet=9"))
        self.assertEqual(plan.arguments_of(plan.PROGRAMS["EP.mpi"], "host", "sleep", DEMAND),
                         found)
        self.assertIn("--size=160M", plan.arguments_of(plan.PROGRAMS["min"], "host", "sleep",
                                                       DEMAND))

    def test_the_papers_mixes_have_its_names(self):
        with open(os.path.join(TOP, "sim", "scenarios", "002-mixes.json"),
                  encoding="utf-8") as file:
            scenario = json.load(file)
        for kernel, demand in plan.NAS_MB_S.items():
            self.assertEqual(scenario["applications"][kernel]["memory_mb_s"], demand)
        names = {f"{first} + {last}" for first, _, _, last in scenario["mixes"]}
        ours = {name for name, kinds in plan.SETS.items() if set(kinds) & set(plan.NAS_MB_S)}
        self.assertLessEqual(ours, names)


DEMAND = {"size": 512, "cache": 32 * 2**20, "work": {"CG": 0, "EP": 77, "LU": 0},
          "meet": {"CG": 60, "EP": 9, "LU": 40}, "slower": {"LU": 0.5}}
CAPACITY = {"mem": 12000000000, "net": 50000000}
FACTS = {"demand": DEMAND, "capacity": CAPACITY, "quiet": True}


class Demand(unittest.TestCase):
    """Measured once for all of a series."""

    def arguments(self, state):
        return SimpleNamespace(state=[state], build=None, patience=0, nodes=1, mbit=400)

    def test_it_is_kept(self):
        with tempfile.TemporaryDirectory() as scratch:
            state = os.path.join(scratch, "state")
            with mock.patch.object(RUN.demand, "measure", return_value=DEMAND) as measure, \
                    mock.patch.object(RUN.demand, "memory_bandwidth",
                                      return_value=(CAPACITY["mem"], True)), \
                    mock.patch.object(RUN.session, "build_directory", return_value="build"):
                first = RUN.facts_of(self.arguments(state), mock.Mock())
                RUN.Journal(state, RUN.KIND, {"seed": 1}, first)
                again = RUN.facts_of(self.arguments(state), mock.Mock())
            self.assertEqual((first, again), (FACTS, FACTS))
            measure.assert_called_once()

    def test_memory_that_nobody_disturbs_counts(self):
        for speeds, expected in ((((20, False), (12, True), (11, True)), (12, True)),
                                 (((20, False), (12, False), (11, False)), (20, False)),
                                 (((20, False), (12, True), (30, False)), (12, True))):
            found = [json.dumps({"mem_bytes_per_second": speed, "quiet": quiet or speed == 30,
                                 "primaries": speed // 30})
                     for speed, quiet in speeds]
            with mock.patch.object(demand, "command", side_effect=found):
                self.assertEqual(demand.memory_bandwidth("build"), expected)

    def test_it_is_measured(self):
        def said(argv, _timeout):
            if "--calibrate" in argv:
                return '{"units_per_second": 1000000}'
            self.assertTrue(any(word.startswith("--size=") for word in argv))
            return '{"bytes": 1000000000, "cpu": 2}'

        with mock.patch.object(demand, "command", side_effect=said), \
                mock.patch.object(demand.machine, "wait_idle"):
            found = demand.measure("build", 1, 0, mock.Mock())
        self.assertEqual(set(found["work"]), set(plan.NAS_MB_S))
        self.assertEqual(found["work"]["CG"], 0)
        self.assertGreater(found["work"]["EP"], found["work"]["FT"])
        self.assertEqual(found["slower"], {})


class End(unittest.TestCase):
    def setUp(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def test_one_sandbox_that_fails_does_not_keep_the_other(self):
        bench = runner.Bench.__new__(runner.Bench)
        bench.progress, bench.workspace = mock.Mock(), mock.Mock()
        bench.home = tempfile.mkdtemp()
        bench.hosts = {False: mock.Mock(), True: mock.Mock()}
        bench.hosts[False].cluster.down.side_effect = BenchError("down fails")
        with mock.patch("sys.stderr"):
            bench.close()
        bench.hosts[True].cluster.down.assert_called_once()
        bench.workspace.remove.assert_called_once()
        self.assertFalse(os.path.exists(bench.home))
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)


class FakeBench:
    """Measures what `plan` says, or raises it: one entry a call."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.progress = mock.Mock()
        self.anew = 0

    def start_anew(self):
        self.anew += 1

    def measure(self, unit):
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome:
            raise outcome
        return [{"round": unit.round, "together": unit.jobs, "wait": unit.wait, "rates": [1.0],
                 "steal": 0.0}]


class Failures(unittest.TestCase):
    UNITS = [plan.Together(0, (name,), "sleep") for name in ("net", "max", "min")]

    def run_units(self, *outcomes):
        bench, records = FakeBench(*outcomes), []
        with mock.patch("sys.stderr"):
            RUN.run_units(bench, self.UNITS, SimpleNamespace(seconds=20, nodes=1),
                          records.append)
        return bench, records

    def test_what_fails_once_is_measured_again(self):
        for error in (BenchError("no"), ValueError("no"), OSError("no")):
            bench, records = self.run_units(error)
            self.assertEqual(["failed" in record for record in records], [False] * 3)
            self.assertEqual(bench.anew, 1)

    def test_what_fails_twice_is_recorded_and_the_rest_goes_on(self):
        bench, records = self.run_units(BenchError("one"), KeyError("two"))
        self.assertEqual([record.get("failed") for record in records], ["'two'", None, None])
        self.assertEqual(bench.anew, 1)
        self.assertEqual(report.complete(records), {unit.key() for unit in self.UNITS})

    def test_two_in_a_row_end_the_series(self):
        bench, records = FakeBench(*[BenchError("broken")] * 4), []
        with mock.patch("sys.stderr"), self.assertRaisesRegex(BenchError, "2 .* in a row.*broken"):
            RUN.run_units(bench, self.UNITS, SimpleNamespace(seconds=20, nodes=1),
                          records.append)
        self.assertEqual(["failed" in record for record in records], [True, True])

    def test_the_end_is_no_failure(self):
        for error in (SystemExit(130), KeyboardInterrupt()):
            with self.assertRaises(type(error)):
                self.run_units(error)

    def test_nobody_gets_a_traceback(self):
        args = SimpleNamespace(report=False, seconds=10, mbit=400, nodes=1, seed=1, state=None,
                               write=None)
        for error in (KeyError("inet"), subprocess.TimeoutExpired("x", 1), OSError()):
            with mock.patch.object(RUN, "parse_arguments", return_value=args), \
                    mock.patch.object(RUN, "facts_of", return_value=FACTS), \
                    mock.patch.object(RUN, "run_all", side_effect=error), \
                    self.assertRaisesRegex(BenchError, "."):
                RUN.run()


class TimeLeft(unittest.TestCase):
    def test_it_learns(self):
        units = plan.schedule([("max + min", "sleep")], 2, 1)
        left = RUN.TimeLeft(units, 20, 1)
        self.assertIn("round 1: 3 min left, in all 6 min", left.text(0))
        mix = next(index for index, unit in enumerate(units) if isinstance(unit, plan.Mix))
        left.note(units[mix], 600)
        self.assertIn("round 1: 10 min left, in all 21 min", left.text(mix))


class Runner(unittest.TestCase):
    def test_cpus_that_jobs_share(self):
        zero, one = {"0"}, {"1"}
        for cpus in ([zero], [zero, one], [zero, one, zero, one], [one, zero, one, zero]):
            runner.check_cpus(cpus)
        for cpus in ([set()], [zero, zero], [zero, one, one, zero], [zero, zero, one, one],
                     [zero, one, zero, set()]):
            with self.assertRaises(BenchError, msg=cpus):
                runner.check_cpus(cpus)

    def test_cpus_are_read_from_slurm(self):
        host = runner.Host.__new__(runner.Host)
        host.cluster = mock.Mock(**{"execute.return_value":
                                    "JobId=12 JobName=x\n  Nodes=n1 CPU_IDs=0 Mem=256\n"
                                    "  Nodes=n2 CPU_IDs=1 Mem=256\n\nJobId=13 JobName=y\n"
                                    "  Nodes=n[1-2] CPU_IDs=1 Mem=256\n\n"})
        found = host.cpus_of([SimpleNamespace(job="12"), SimpleNamespace(job="13"),
                              SimpleNamespace(job="14")])
        self.assertEqual(found, [{"0", "1"}, {"1"}, set()])

    def host(self, **listed):
        host = runner.Host.__new__(runner.Host)
        host.nodes, host.capacity = ["n1"], CAPACITY
        text = json.dumps({"mem_capacity": CAPACITY["mem"], "net_capacity": CAPACITY["net"],
                           "decisions": [{}], "jobs": [{"mem": None, "net": 1}, {}], **listed})
        host.on = mock.Mock(return_value=text)
        return host

    def test_what_hpcbd_elects_by(self):
        self.assertEqual(self.host().basis(), {"capacity": CAPACITY, "known": ["net"]})
        with self.assertRaisesRegex(BenchError, "bandwidth"):
            self.host(mem_capacity=None).basis()
        with self.assertRaisesRegex(BenchError, "no decision"):
            self.host(decisions=[]).basis()

    def test_on_several_nodes_turns_are_those_of_a_deal(self):
        for cycles in ([2, 2], [2, 0]):
            host = self.host(decisions=[{"jobs": [{"cycle": cycle} for cycle in cycles]}])
            host.nodes = ["n1", "n2"]
            if all(cycles):
                self.assertEqual(host.basis()["known"], ["net"])
            else:
                with self.assertRaisesRegex(BenchError, "dealt"):
                    host.basis()
        for regime in plan.REGIMES.values():
            self.assertEqual(runner.settle_seconds(regime, ["n1", "n2"]) > 40,
                             regime.name in ("order", "ours"))
            self.assertLess(runner.settle_seconds(regime, ["n1"]), 10)

    def test_a_job_of_several_nodes_is_what_its_processes_do(self):
        with tempfile.TemporaryDirectory() as scratch:
            job = runner.jobs.Submitted("1", scratch, 2, None)
            self.assertFalse(all(runner.traces(job)))
            for rank in range(2):
                with open(job.file(f"trace.{rank}"), "w", encoding="ascii") as file:
                    file.write("1.0 100\n2.5 250\n3.0 9")
            uses = [runner.machine.Use(when, 0, when / 10, 0) for when in (1.0, 3.0)]
            with mock.patch.object(runner.machine, "use", side_effect=uses), \
                    mock.patch.object(runner.time, "sleep"):
                rates, steal = runner.Bench.watch([job], 2)
        self.assertEqual(rates, [150.0])
        self.assertAlmostEqual(steal, 0.1 / (os.cpu_count() or 1))

    def test_a_job_of_several_nodes_has_a_task_on_each(self):
        bench = runner.Bench.__new__(runner.Bench)
        bench.args = SimpleNamespace(seconds=20, mpi="mpich")
        bench.workspace = mock.Mock(**{"program.side_effect": lambda name: f"/{name}"})
        bench.demand = DEMAND
        host = mock.Mock(nodes=["n1"])
        self.assertTrue(bench.call(host, "max", "sleep")[-1].startswith("exec /membench"))
        host.nodes = ["n1", "n2"]
        self.assertIn("srun", bench.call(host, "max", "sleep")[-1])
        self.assertIn("trace.$SLURM_PROCID", bench.call(host, "max", "sleep")[-1])
        self.assertNotIn("LD_PRELOAD", bench.call(host, "max", "sleep")[-1])
        waits = bench.call(host, "CG.mpi", "sleep")
        self.assertIn("UCX_TLS", waits[0])
        self.assertIn("--mpi=pmi2", waits[1])
        self.assertIn("HPCB_YIELD=on LD_PRELOAD=/libhpcb_mpi.so /nas.mpich --kernel=CG", waits[1])
        self.assertIn("HPCB_YIELD=off /nas.mpich", bench.call(host, "CG.mpi", "poll")[1])
        self.assertEqual(bench.memory_of("CG.mpi"),
                         [f"--mem-per-cpu={512 + demand.OTHER_MIB + demand.MPI_MIB}"])
        self.assertEqual(bench.memory_of("net"), [])


def records_of(name, progress, rounds=8, wait="sleep"):
    """Both rounds of two have another arrangement; each job does 100 alone."""
    arrangements = list(plan.ARRANGEMENTS)
    found = [{"round": number, "set": name, "wait": wait, "regime": regime, "steal": 0,
              "arrangement": arrangements[number % 2], "known": ["net"], "capacity": CAPACITY,
              "rates": [100 * (value + 0.001 * number) for value in values]}
             for number in range(rounds) for regime, values in progress.items()]
    return [*together_of(name, rounds, wait), *found]


def together_of(name, rounds, wait):
    """Likes take half of each other, others a tenth."""
    return [{"round": number, "together": list(jobs), "wait": one_wait, "steal": 0,
             "rates": [100.0 if len(jobs) == 1 else 50.0 if jobs[0] == jobs[1] else 90.0
                       for _ in jobs]}
            for number in range(rounds)
            for jobs, one_wait in plan.combinations([(name, wait)])]


class Report(unittest.TestCase):
    PROGRESS = {"linux": [0.3, 0.3, 0.5, 0.5], "slurm": [0.25, 0.25, 0.5, 0.5],
                "order": [0.3, 0.3, 0.5, 0.5], "ours": [0.4, 0.4, 0.5, 0.5]}

    def regimes(self, records, name="max + min"):
        return report.groups(records).get((name, "sleep"))

    def test_gains_are_those_of_a_round(self):
        regimes = self.regimes(records_of("max + min", self.PROGRESS))
        self.assertAlmostEqual(regimes["linux"][0][0], 0.3)
        figure = dict(report.figures("max + min"))["max"]
        gains = report.gains(regimes, "linux", figure)
        self.assertEqual(len(gains), 8)
        self.assertAlmostEqual(gains[0], 0.4 / 0.3 - 1)
        del regimes["linux"][3]
        self.assertEqual(len(report.gains(regimes, "linux", figure)), 7)

    def test_ratios_need_no_measure(self):
        """sim/results takes the runs alone."""
        records = [record for record in records_of("max + min", self.PROGRESS)
                   if "regime" in record]
        figure = dict(report.figures("max + min"))["max"]
        self.assertAlmostEqual(report.gains(self.regimes(records), "linux", figure)[0],
                               0.4 / 0.3 - 1)

    def test_sets_that_are_cut_short_or_disturbed_do_not_count(self):
        records = records_of("max + min", self.PROGRESS)
        records.remove(next(record for record in records
                            if record["round"] == 7 and record.get("regime") == "linux"))
        self.assertEqual(sorted(self.regimes(records)["ours"]), list(range(7)))
        key = (7, "max + min", "sleep")
        self.assertNotIn(key, report.complete(records))
        next(record for record in records if record.get("regime") == "slurm")["steal"] = 0.5
        self.assertEqual(sorted(self.regimes(records)["ours"]), list(range(1, 7)))
        text = "\n".join(report.left_out(records))
        self.assertIn("1 of 8 sets in which", text)
        self.assertIn("1 that were cut short", text)

    def test_what_is_measured_again_counts(self):
        records = records_of("max + min", self.PROGRESS)
        again = dict(records[-1], rates=[1.0] * 4)
        self.assertAlmostEqual(self.regimes([*records, again])[again["regime"]][7][0], 0.01)

    def test_failures_are_told(self):
        unit = plan.Mix(0, "max + min", "sleep", "mixed", ())
        records = [report.failure(unit, "no job has begun")]
        self.assertEqual(report.complete(records), {unit.key()})
        self.assertIn("1 measurements that failed twice (the last: no job has begun)",
                      "\n".join(report.left_out(records)))
        self.assertIn("| limit |", self.document_of(records))

    def test_who_stands_still_counts(self):
        self.assertLess(report.of_mix([2.0, 2.0, 2.0, 0.0]), 0.1)
        self.assertAlmostEqual(report.of_mix([0.5] * 4), 0.5)

    def test_three_verdicts(self):
        self.assertEqual(report.decide([0.3] * 8, 0.2), "kept")
        self.assertEqual(report.decide([0.1] * 8, 0.2), "broken")
        self.assertEqual(report.decide([0.1, 0.3] * 4, 0.2), "undecided")
        self.assertEqual(report.decide([0.3] * 5, 0.2), "undecided")

    def verdict(self, name, words, rounds=8, **changed):
        text = self.document_of(records_of(name, {**self.PROGRESS, **changed}, rounds))
        row = next(line for line in text.splitlines() if words in line and line.startswith("|"))
        return row.split("|")[-2].strip()

    def test_the_papers_gains(self):
        words = "net of myribench + MG gains at least +25.0 % against Linux"
        self.assertEqual(self.verdict("myribench + MG", words), "kept")
        self.assertEqual(self.verdict("myribench + MG", words, ours=[0.31] * 4), "broken")
        self.assertEqual(self.verdict("myribench + MG", words, rounds=5), "undecided")
        self.assertNotIn("the paper: +", self.document_of(records_of("max + min", self.PROGRESS)))

    def test_ranks_of_mpi_count_as_the_papers(self):
        progress = {regime: [value] * 4 for regime, value in
                    (("linux", 0.2), ("slurm", 0.2), ("order", 0.2), ("ours", 0.3))}
        rows = list(report.paper_rows(report.groups(records_of("CG.mpi + IS.mpi", progress))))
        self.assertEqual(len(rows), 1)
        self.assertIn("CG.mpi of CG.mpi + IS.mpi gains at least +44", rows[0])
        self.assertIn("kept", rows[0])

    def test_turns_in_order_are_compared_over_both_arrangements(self):
        words = "no less than by turns in their order"
        self.assertEqual(self.verdict("max + min", words, 12), "kept")
        self.assertEqual(self.verdict("max + min", words, 12, ours=[0.2] * 4), "broken")
        # Six rounds are three of each.
        self.assertEqual(self.verdict("max + min", words, 6), "undecided")
        records = records_of("max + min", self.PROGRESS, 12)
        for record in records:
            if record.get("regime") == "order" and record["arrangement"] == "mixed":
                record["rates"] = [50.0] * 4
        seen = self.both_orders(records)
        self.assertEqual(len(seen), 6)
        self.assertEqual(self.both_orders(
            [dict(record, arrangement="mixed") if "regime" in record else record
             for record in records]), [])
        # +15.5 % against one, -10.6 % against the other.
        self.assertAlmostEqual(seen[0], (0.2 / 0.25 * 0.2 / 0.15) ** 0.25 - 1, delta=0.01)

    def both_orders(self, records):
        return report.both_orders(self.regimes(records), report.arrangements(records),
                                  "max + min", "sleep")

    def test_who_differs_less(self):
        words = "differs less from round to round"
        for regime, sign in (("linux", "kept"), ("ours", "broken")):
            records = records_of("max + min", self.PROGRESS, 12)
            for record in records:
                if record.get("regime") == regime:
                    record["rates"] = [(1 + record["round"] % 3) * rate
                                       for rate in record["rates"]]
            text = self.document_of(records)
            row = next(line for line in text.splitlines() if words in line)
            self.assertTrue(row.endswith(f"| {sign} |"), row)
        self.assertEqual(self.verdict("max + min", words, 5), "undecided")

    def test_what_turns_could_show(self):
        text = self.document_of(records_of("max + min", self.PROGRESS))
        self.assertIn("| max + min | 0.250 | 0.450 | max +80.0 %, min +80.0 % | +80.0 % |", text)
        self.assertLess(text.index("What turns could show"), text.index("What they showed"))
        self.assertIn("| max | 100.0 % | 100.0 % | - |", text)
        self.assertIn("| max + min | - | - | - | - |",
                      self.document_of([record for record in
                                        records_of("max + min", self.PROGRESS)
                                        if "together" not in record]))

    def test_what_each_of_two_loses(self):
        records = records_of("max + min", self.PROGRESS)
        for record in records:
            if record.get("together") == ["max", "min"]:
                record["rates"] = [80.0, 95.0]
        pairs = report.together(records)
        self.assertEqual(report.progress_with(pairs, "max", "min", "sleep"), 0.8)
        self.assertEqual(report.progress_with(pairs, "min", "max", "sleep"), 0.95)

    def test_what_hpcbd_could_measure_is_said(self):
        text = self.document_of(records_of("max + min", self.PROGRESS))
        self.assertIn("move to and from memory in 0, and over the network in 8", text)
        self.assertNotIn("others were at work", text)
        self.assertIn("others were at work",
                      self.document_of(records_of("max + min", self.PROGRESS), quiet=False))

    def test_several_nodes(self):
        text = self.document_of(records_of("max + min", self.PROGRESS), nodes=4)
        self.assertIn("a 4th of a CPU", text)
        self.assertIn("from data/membus-4.jsonl.", text)

    def test_several_numbers_of_nodes(self):
        records = records_of("max + min", self.PROGRESS)
        series = [(self.settings(nodes=nodes), records) for nodes in (4, 1)]
        text = "\n".join(report.document(series))
        self.assertIn("from data/membus.jsonl, data/membus-4.jsonl.", text)
        self.assertLess(text.index("## One node"), text.index("## 4 nodes"))

    def test_the_document(self):
        text = self.document()
        self.assertIn("12 rounds of 40 s", text)
        self.assertIn("512 MiB", text)
        self.assertIn("EP 77", text)
        self.assertIn("LU asks for 50 % of its share", text)
        self.assertIn("| kept |", text)
        self.assertIn("| max | 0.30", text)

    def test_what_a_cache_may_hold_is_said(self):
        self.assertIn("of 32 MiB may hold 25 % of that vector", self.document())
        self.assertIn("may hold 50 % of that vector", self.document(cache=64 * 2**20))
        self.assertIn("may hold all of that vector", self.document(cache=2**30))
        self.assertIn("may hold any part of that vector", self.document(cache=0))

    def document(self, **changed):
        return self.document_of(records_of("max + min", self.PROGRESS, 12), **changed)

    @staticmethod
    def settings(nodes=1, quiet=True, **changed):
        return {"seconds": 40, "mbit": 400, "nodes": nodes,
                "machine": {**FACTS, "quiet": quiet, "demand": {**DEMAND, **changed}}}

    def document_of(self, records, **settings):
        return "\n".join(report.document([(self.settings(**settings), records)]))


if __name__ == "__main__":
    unittest.main()
