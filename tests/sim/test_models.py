# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The models queue, threads, pairs and memory: what can be worked out by hand."""

import hashlib
import importlib.machinery
import importlib.util
import json
import math
import os
import subprocess
import unittest

SOURCE = os.environ["HPCB_SRCDIR"]
PROGRAM = os.path.join(os.environ["HPCB_BUILDDIR"], "sim", "hpcb-sim")
SCENARIOS = os.path.join(SOURCE, "sim", "scenarios")


def run(name, *settings):
    command = [PROGRAM, "run", os.path.join(SCENARIOS, name + ".json"), "--json"]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=300)


def rows(name, *settings):
    done = run(name, *settings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]["rows"]


def load_results():
    """sim/results, which is a script, as a module."""
    loader = importlib.machinery.SourceFileLoader(
        "results", os.path.join(SOURCE, "sim", "results"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("results", loader))
    loader.exec_module(module)
    return module


class Models(unittest.TestCase):
    def bad(self, name, setting, wanted):
        done = run(name, setting)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(wanted, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_queue_by_hand(self):
        experiment = {"name": "x", "primaries": [["WRF"]], "guests": [["PAUP"]],
                      "dedicated_order": ["p0", "g0"]}
        found = {row["regime"]: row for row in rows(
            "001-queues", f"experiments={json.dumps([experiment])}", "nice_share=0.5")}
        self.assertAlmostEqual(found["dedicated"]["turnaround_mean_seconds"],
                               (392 + 392 + 212) / 2, 3)
        self.assertAlmostEqual(found["dedicated"]["primary_seconds"], 4 * 392, 3)
        # WRF leaves 1 - 864 / (4 * 392) of the processor; PAUP needs all of it.
        load = 864 / (4 * 392)
        left = 212 - 392 * (1 - load)
        self.assertAlmostEqual(found["guests"]["turnaround_mean_seconds"],
                               (392 + 392 + left) / 2, 2)
        self.assertAlmostEqual(found["guests"]["primary_seconds"], 4 * 392, 3)
        # Its process there computes at half the speed, and the others wait for it.
        longer = 2 * load + 1 - load
        ends = 212 / ((1 - load + load) / longer)
        slowed = ends + 392 - ends / longer
        self.assertAlmostEqual(found["nice"]["primary_seconds"] / 4, slowed, 1)

    def test_queue_others_have_their_time_before_guests(self):
        def guest_ends(others):
            applications = {
                "A": {"processes": 1, "cpu_seconds": 50, "others_seconds": others,
                      "wall_seconds": 100, "kind": "independent"},
                "B": {"processes": 1, "cpu_seconds": 10, "wall_seconds": 10,
                      "kind": "independent"}}
            experiment = {"name": "x", "primaries": [["A", None]],
                          "guests": [["B"]], "dedicated_order": ["p0", "g0"]}
            found = {row["regime"]: row for row in rows(
                "001-queues", "processors=2", f"applications={json.dumps(applications)}",
                f"experiments={json.dumps([experiment])}")}
            self.assertEqual(found["guests"]["primary_seconds"], 100)
            return 2 * found["guests"]["turnaround_mean_seconds"] - 100
        self.assertAlmostEqual(guest_ends(0), 10 / 0.5, 3)
        self.assertAlmostEqual(guest_ends(30), 10 / 0.2, 3)

    def test_queue_null_leaves_a_processor_empty(self):
        experiment = {"name": "x", "primaries": [["GAUSS"]], "guests": [[None, "GAUSS"]],
                      "dedicated_order": ["p0"]}
        found = {row["regime"]: row for row in rows(
            "001-queues", f"experiments={json.dumps([experiment])}")}
        self.assertEqual(found["nice"]["primary_seconds"],
                         found["dedicated"]["primary_seconds"])
        self.bad("001-queues", 'experiments=[{"name":"x","primaries":[[null]]}]',
                 "x: a group of 1 processes")

    def test_queue_a_coordinator_only_hands_out(self):
        def slowed(kind, guests):
            experiment = {"name": "x", "primaries": [["HAL1"]], "guests": [guests],
                          "dedicated_order": ["p0"]}
            found = {row["regime"]: row["primary_seconds"] for row in rows(
                "sandbox-beside", f"applications.HAL1.kind={kind}",
                f"experiments={json.dumps([experiment])}")}
            return found["nice"] / found["dedicated"]
        self.assertEqual(slowed("coordinated", ["PAUP"]), 1)
        self.assertAlmostEqual(slowed("coordinated", [None, "PAUP"]), 1.93, delta=0.03)
        self.assertAlmostEqual(slowed("irregular", ["PAUP"]), 1.32, delta=0.03)

    def cpus(self, loads, exchange="barrier", static=None):
        program = {"name": "p", "loads": loads, "exchange": exchange}
        if static:
            program["static"] = static
        return {row["case"]: row for row in rows(
            "sandbox-balance", f"programs={json.dumps([program])}", "slice_ns=10000",
            "acts_after_ns=0")}

    def test_cpus_by_hand(self):
        found = self.cpus([1, 4, 1, 4],
                          static={"priorities": [4, 5, 4, 5], "places": [0, 0, 1, 1]})
        # Each polls on half a CPU; asleep, both CPUs are busy all the time.
        self.assertAlmostEqual(found["none"]["seconds"], 120 * 2 * 4 * 0.008, delta=0.03)
        self.assertAlmostEqual(found["wait"]["seconds"], 120 * 5 * 0.008, delta=0.03)
        for policy in ("static", "dlrb", "auto"):
            self.assertAlmostEqual(found[policy]["seconds"], found["wait"]["seconds"],
                                   delta=0.05)

    def test_cpus_ring_waits_for_neighbours_only(self):
        static = {"priorities": [4] * 6, "places": [0, 1, 0, 1, 0, 1]}
        barrier = self.cpus([1, 1, 1, 1, 1, 8], static=static)
        ring = self.cpus([1, 1, 1, 1, 1, 8], "ring", static)
        # Three on a CPU until the short ones are done, then one alone; who wakes up
        # comes first.
        self.assertAlmostEqual(barrier["wait"]["seconds"], 120 * 10 * 0.008, delta=0.6)
        self.assertLess(ring["wait"]["seconds"], 0.96 * barrier["wait"]["seconds"])
        self.assertGreater(ring["wait"]["seconds"], 120 * 8 * 0.008)

    def test_cpus_who_spins_in_a_wait_gives_way(self):
        static = {"priorities": [4, 4], "places": [0, 0]}
        program = [{"name": "p", "loads": [1, 8], "exchange": "barrier", "static": static}]

        def seconds(**case):
            return rows("sandbox-balance", f"programs={json.dumps(program)}",
                        f"cases={json.dumps([{'name': 'x', 'policy': 'static', **case}])}",
                        "cpus=1", "slice_ns=1000000", "acts_after_ns=0")[0]["seconds"]
        asleep, spins, gives_way = (120 * length * 0.008 for length in (9, 16, 9))
        self.assertAlmostEqual(seconds(waits="sleep"), asleep, delta=0.1)
        self.assertAlmostEqual(seconds(waits="poll"), spins, delta=0.2)
        # Two scans in a wait, 4 ms each, and then one of 16 slices.
        self.assertAlmostEqual(seconds(waits="poll", waiters=True),
                               gives_way + 120 * (0.004 + 0.064 / 15), delta=0.35)

    def test_cpus_slices_delay_who_has_less_to_do(self):
        """Equal ranks that poll: the last one of a CPU is late by a slice."""
        program = [{"name": "p", "loads": [2.5] * 4, "exchange": "barrier"}]
        long, short = (next(row["seconds"] for row in rows(
            "sandbox-balance", f"programs={json.dumps(program)}", f"slice_ns={slice_}",
            'cases=[{"name":"none","waits":"poll"}]')) for slice_ in (2800000, 10000))
        self.assertGreater(long, 1.04 * short)
        self.assertAlmostEqual(short, 120 * 2 * 2.5 * 0.008, delta=0.03)

    def test_cpus_who_polls_takes_a_message_only_while_it_runs(self):
        """Two ranks on a CPU whose slices are far longer than their work: with a barrier
        for each iteration every slice does one of them; with two, each barrier needs the
        other rank to run once more.  Who sleeps leaves its slices."""
        def iteration(waits, barriers):
            program = [{"name": "p", "loads": [1, 1], "exchange": "barrier",
                        "barriers": barriers}]
            return rows("sandbox-balance", f"programs={json.dumps(program)}", "cpus=1",
                        "slice_ns=100000000",
                        f'cases=[{{"name":"x","waits":"{waits}"}}]')[0]["seconds"] / 120
        self.assertAlmostEqual(iteration("poll", 1), 0.1, delta=0.002)
        self.assertAlmostEqual(iteration("poll", 2), 0.2, delta=0.002)
        for barriers in (1, 2):
            self.assertAlmostEqual(iteration("sleep", barriers), 0.016, delta=0.001)

    def test_cpus_policies_act_from_some_time_on(self):
        def changes(after):
            return next(row["changes"] for row in rows(
                "sandbox-balance", f"acts_after_ns={after}") if row["case"] == "dlrb")
        self.assertGreater(changes(2000000000), 0)
        self.assertEqual(changes(1000000000000), 0)

    def test_cpus_output_is_the_same_with_every_compiler(self):
        text = json.dumps(rows("sandbox-balance"), sort_keys=True)
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], "af3da159e8ee8069", text)

    def test_threads_reference_case_computes_what_it_is_said_to(self):
        for waits in ("poll", "sleep"):
            first = rows("000-metbench", f"waits={waits}")[0]
            self.assertAlmostEqual(first["seconds"], 81.64, 3)
            for column, part in zip(("computes_1", "computes_2"), (0.2432, 0.9899)):
                self.assertAlmostEqual(first[column], part, 3)

    def test_threads_priorities_shift_speed(self):
        found = {row["case"]: row for row in rows("000-fft-lu")}
        # Alone 1: FFT at equal priorities 0.6, at +2 0.86, and LU at -3 0.15.
        self.assertAlmostEqual(found["6,4"]["relative"], 0.6 / 0.86, 4)
        self.assertAlmostEqual(found["6,3"]["relative"], 0.204878 * 0.6 / 0.15, 4)

    def test_threads_policies_balance(self):
        found = {row["case"]: row["relative"] for row in rows("000-metbench")}
        for policy in ("uniform", "adaptive", "dlrb"):
            self.assertLess(found[policy], 0.8)

    def test_pairs(self):
        found = [row for row in rows("000-fame") if row["pair"] == "h264ref+mcf"]
        self.assertEqual([row["difference"] for row in found], list(range(-5, 6)))
        self.assertEqual(found[5]["throughput"], 1)
        self.assertEqual([row["a_user_level"] for row in found],
                         [2, 2, 2, 2, 3, 4, 4, 4, 4, 4, 4])
        self.assertEqual([row["b_user_level"] for row in found],
                         [4, 4, 4, 4, 4, 4, 3, 2, 2, 2, 2])
        self.assertAlmostEqual(
            found[7]["throughput"],
            (0.92 * 0.86 / 0.6 + 0.144 * 0.25 / 0.6) / (0.92 + 0.144), 4)

    def test_pairs_of_micro_benchmarks_by_hand(self):
        found = {(row["pair"], row["difference"]): row for row in rows("000-fame")}
        # Table 2.5: cpu_int 1.14 alone, 0.65 next to cpu_fp, which has 0.41 and 0.40.
        even = found["cpu_int+cpu_fp", 0]
        self.assertEqual(even["throughput"], 1)
        self.assertAlmostEqual(even["a_by_alone"], 0.65 / 1.14, 4)
        # 31 of 32 slots: cpu_fp decodes 5 / 32 instructions a cycle at most.
        gone = 1 - 5 / 32 / 0.4
        faster = 0.65 + (1.14 - 0.65) * gone
        self.assertAlmostEqual(found["cpu_int+cpu_fp", 4]["a_by_alone"], faster / 1.14, 4)
        self.assertAlmostEqual(found["cpu_int+cpu_fp", 4]["throughput"],
                               (faster + 5 / 32) / 1.05, 4)
        self.assertAlmostEqual(found["cpu_fp+cpu_int", -4]["a_by_alone"], 5 / 32 / 0.41, 4)

    def test_results_say_how_many_runs_decide(self):
        """A control that is 1 % up or down: 1.96 times its deviation by 1 %, squared."""
        results = load_results()
        found = [{"alone": 100, "stopped": 101}, {"alone": 101, "stopped": 100}]
        self.assertEqual(results.runs_needed(found), math.ceil(2 * 1.96 ** 2))
        self.assertEqual(results.runs_needed([{"alone": 1, "stopped": 1}] * 3), 3)

    def test_results_say_more_than_1_percent_if_no_larger_size_contradicts(self):
        """Least and most of the repetitions, by size."""
        said = load_results().more_than_1
        self.assertEqual(said({2: [-1, 1], 16: [0, 0.9]}), "not up to 16")
        self.assertEqual(said({2: [0, 1], 16: [0, 2], 128: [0, 3]}), "undecided from 16 on")
        self.assertEqual(said({2: [0, 1], 16: [2, 3], 1024: [2, 4]}), "16 nodes")
        self.assertEqual(said({2: [0, 2], 16: [2, 3], 1024: [1.1, 4]}),
                         "16 nodes (undecided from 2)")
        self.assertEqual(said({2: [0, 1], 16: [2, 3], 1024: [-4, 7]}),
                         "undecided from 16 on")
        self.assertEqual(said({16: [2, 3], 128: [1, 7], 1024: [3, 8], 16384: [2, 9]}),
                         "1,024 nodes (undecided from 16)")
        # One that no repetition sees contradicts as well.
        self.assertEqual(said({2: [2, 3], 16: [0, 1]}), "undecided from 2 on")

    def test_memory_by_hand(self):
        found = {row["regime"]: row for row in rows("sandbox-memory", "touch_mib_s=300")}
        self.assertAlmostEqual(found["alone"]["seconds"], (1536 - 48) / 300, delta=0.01)
        self.assertEqual(found["alone"]["free_after_seconds"], 0)
        # 54 MiB are free above the reserve. hpcbd sees at a tick that half of it is gone, and
        # 25 ms later, or at its next tick, how fast it goes.
        guest = found["guest"]
        self.assertEqual(guest["slowdown"], 1)
        self.assertGreater(guest["killed_after_seconds"], 0.09)
        self.assertLess(guest["killed_after_seconds"], 0.2)
        self.assertAlmostEqual(guest["free_after_seconds"] - guest["killed_after_seconds"],
                               0.99 * 0.9 * 1024 / 4096, delta=0.01)

    def test_memory_that_comes_back_slowly_is_waited_for(self):
        found = {row["regime"]: row for row in rows(
            "sandbox-memory", "touch_mib_s=4000", "release_mib_s=100")}
        # 566 MiB are there; the others come at 100 MiB/s, from the kill on.
        guest = found["guest"]
        self.assertAlmostEqual(guest["seconds"], guest["killed_after_seconds"] + 9.22,
                               delta=0.02)

    def test_a_primary_that_is_faster_than_hpcbd_has_the_kernel_kill(self):
        found = {row["regime"]: row for row in rows("sandbox-memory", "touch_mib_s=20000")}
        # 566 MiB are there.
        guest = found["guest"]
        self.assertAlmostEqual(guest["killed_after_seconds"], 566 / 20000, delta=0.002)
        self.assertGreater(guest["slowdown"], 1)

    def test_document_is_as_its_generator_writes_it(self):
        """Without noise, detours and crumbs, which take minutes.  The verdicts are counted
        over all areas, that of noise by the table that the document has."""
        results = load_results()
        with open(os.path.join(SOURCE, "doc", "results-sim.md"),
                  encoding="utf-8") as stream:
            written = stream.read()
        sim, known, document = results.Sim(PROGRAM), results.papers(), results.Document()
        results.head(document, known)
        self.assertIn("\n".join(document.lines).split("VERDICTS")[0].strip(), written)
        for part in results.PARTS[1:]:
            begin = len(document.lines)
            part(sim, document, known)
            self.assertIn("\n".join(document.lines[begin:]).strip(), written)
        said = results.Document()
        results.speed(said)
        self.assertIn("\n".join(said.lines).strip(), written)
        for line in results.summary(document.verdicts):
            self.assertIn(line, written)
        self.assertIn(self.noise_summary(results, known, written), written)

    def noise_summary(self, results, known, written):
        """The line of the verdicts that the table of noise comes to."""
        verdicts = results.Counts()
        for figure in known["figures"]:
            line = next(line for line in written.split("\n")
                        if line.startswith(f"| {figure['what']} |"))
            said = line.split("|")[4].strip()
            change = figure["what"].endswith("%") and "open" not in figure
            verdicts.add("noise and windows (Jones 2009)", said.split(",")[0].split(":")[0],
                         no_change=abs(figure["paper"]) <= 1 if change else None,
                         wide="wide" in said)
        document = results.Document()
        document.row("noise and windows (Jones 2009)",
                     *verdicts.summary("noise and windows (Jones 2009)"))
        return document.lines[0]

    def test_what_is_wrong_is_named(self):
        self.bad("001-queues", "applications.HAL1.kind=odd", "HAL1: kind=odd")
        self.bad("001-queues", "processors=2", "processes=4: not a whole number of 1 to 2")
        self.bad("001-queues", 'experiments=[{"name":"x","primaries":[["NONE"]]}]',
                 "x: 'NONE' is none of the applications")
        self.bad("000-metbench", "waits=spin", "waits=spin: not poll or sleep")
        self.bad("000-metbench", "speed=[1]", "speed: not 11 numbers")
        self.bad("000-metbench", 'cases=[{"name":"x","seconds":1,"policy":"odd"}]',
                 "x: policy=odd: wrong from 'odd' on")
        self.bad("000-fame", "micro.together=[[1]]", "micro: together: not 6 rows")
        self.bad("000-fame", "micro.alone=[1,1,1,1,1,0]", "micro: alone=0: not a number of 1e-09")
        self.bad("000-fame", 'micro.alone=[1,1,1,1,1,"1"]', 'micro: alone="1": not a number')
        self.bad("000-metbench", "speed=" + json.dumps(["0.5"] * 11), 'speed="0.5": not a number')
        self.bad("000-metbench", "speed=" + json.dumps([0] * 11), "speed=0: not a number of 1e-09")
        for places in ([0, 1, 2, "x"], [0, 1, 2, None], [0, 1, 2, 2.5], [0, 1, 2, 9]):
            self.bad("000-metbench", "cases=" + json.dumps(
                [{"name": "x", "seconds": 1, "policy": "dlrb", "places": places}]),
                f"x: places={json.dumps(places[3])}: not a whole number of 0 to 3")
        self.bad("000-fame", 'pairs=[{"name":"x","a":-1,"b":1}]', "a=-1: not a number")
        self.bad("sandbox-balance", 'programs=[{"name":"p","loads":[1],"exchange":"x"}]',
                 "p: exchange=x: not barrier or ring")
        self.bad("sandbox-balance", 'programs=[{"name":"p","loads":[1],"exchange":"ring"}]',
                 "p: static is missing")
        self.bad("sandbox-balance", 'cases=[{"name":"x","waits":"poll","policy":"odd"}]',
                 "x: policy=odd: wrong from 'odd' on")
        self.bad("sandbox-balance", 'programs=[{"name":"p","loads":[0],"exchange":"ring"}]',
                 "p: loads=0: not a number of 0.001 to 1000")
        self.bad("sandbox-balance", 'programs=[{"name":"p","loads":["1"],"exchange":"ring"}]',
                 'p: loads="1": not a number')
        for places in ('"x"', "null", "1.5", "2"):
            self.bad("sandbox-balance", 'programs=[{"name":"p","loads":[1],"exchange":"barrier",'
                     '"static":{"priorities":[4],"places":[' + places + "]}}]",
                     f"p: places={places}: not a whole number of 0 to 1")
        self.bad("sandbox-balance", 'cases=[{"name":"x","waits":"poll","waiters":1}]',
                 "x: waiters=1: not true or false")
        self.bad("sandbox-memory", "guest_part=2", "guest_part=2: not a number of 0 to 1")
        self.bad("sandbox-memory", "kernel_mib=1500", "use more than the node has")


if __name__ == "__main__":
    unittest.main()
