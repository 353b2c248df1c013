# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-sim run: figures, formats, seeds, and what is wrong with a scenario."""

import copy
import csv
import hashlib
import io
import json
import os
import subprocess
import tempfile
import unittest

SOURCE = os.environ["HPCB_SRCDIR"]
PROGRAM = os.path.join(os.environ["HPCB_BUILDDIR"], "sim", "hpcb-sim")
SCENARIOS = os.path.join(SOURCE, "sim", "scenarios")

SMALL = {
    "model": "noise", "title": "small", "nodes": [2, 64],
    "job": {"work_ns": 10000, "level_ns": 100, "operations": 100000, "seconds": 1},
    "slice_ns": 0, "clock_offset_ns": {"uniform": [-1000, 1000]},
    "edge_late_ns": {"exponential": 10000},
    "regimes": [
        {"name": "quiet"},
        {"name": "stock", "noise": [{"pause_ns": {"exponential": 10000000},
                                     "length_ns": {"trace": [100000, 200000]}}]},
        {"name": "windows", "window": {"period_ns": 10000000, "favoured_ns": 9000000},
         "noise": [{"pause_ns": {"exponential": 10000000},
                    "length_ns": {"trace": [100000, 200000]}}]}]}


def sim(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                          check=False, timeout=300)


class Run(unittest.TestCase):
    def scenario(self, content):
        handle, path = tempfile.mkstemp(suffix=".json")
        self.addCleanup(os.unlink, path)
        with open(handle, "w", encoding="utf-8") as stream:
            if isinstance(content, str):
                stream.write(content)
            else:
                json.dump(content, stream)
        return path

    def good(self, *arguments):
        done = sim("run", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def bad(self, content, *wanted, arguments=()):
        done = sim("run", self.scenario(content), *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in wanted:
            self.assertIn(part, done.stderr)

    def test_same_seed_same_bytes_and_as_many_seeds_as_wanted(self):
        path = self.scenario(SMALL)
        once = self.good(path, "--seeds", "5", "--seed", "3", "--json")
        self.assertEqual(once, self.good(path, "--seeds", "5", "--seed", "3", "--json"))
        runs = json.loads(once)["runs"]
        self.assertEqual([run["seed"] for run in runs], [3, 4, 5, 6, 7])
        alone = json.loads(self.good(path, "--seed", "5", "--json"))["runs"]
        self.assertEqual(alone[0], runs[2])
        self.assertNotEqual(runs[0]["rows"], runs[1]["rows"])

    def test_output_is_the_same_with_every_compiler(self):
        # Written down once (gcc 12); clang and other releases have to say the same.
        text = self.good(self.scenario(SMALL), "--csv", "--seed", "2026")
        self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], "0911b84d3868490e", text)

    def test_windows_help_and_more_nodes_lose_more(self):
        rows = json.loads(self.good(self.scenario(SMALL), "--json"))["runs"][0]["rows"]
        slow = {(row["nodes"], row["regime"]): row["slowdown"] for row in rows}
        self.assertEqual(slow[2, "quiet"], 1)
        self.assertLess(slow[2, "stock"], slow[64, "stock"])
        self.assertLess(slow[64, "windows"], slow[64, "stock"])

    def test_csv_and_table_say_the_same(self):
        path = self.scenario(SMALL)
        rows = list(csv.DictReader(io.StringIO(self.good(path, "--csv"))))
        self.assertEqual(len(rows), 6)
        table = self.good(path)
        for row in rows:
            self.assertIn(row["mean_ns"], table)

    def test_page(self):
        page = tempfile.mktemp(suffix=".html")
        environment = {**os.environ,
                       "HPCB_SIM_PAGE": os.path.join(SOURCE, "sim", "hpcb-sim-page")}
        path = self.scenario(SMALL)
        done = subprocess.run([PROGRAM, "run", path, "--html", page, "--seeds", "3"],
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        with open(page, encoding="utf-8") as stream:
            text = stream.read()
        os.unlink(page)
        # One of slowdown over nodes for each regime.
        self.assertEqual(text.count("<svg"), len(SMALL["regimes"]))
        self.assertIn("3 seeds", text)
        done = subprocess.run([PROGRAM, "run", path, "--html", "/nowhere/x"],
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/nowhere/x: no page has been written", done.stderr)

    def test_set_replaces_a_member(self):
        path = self.scenario(SMALL)
        rows = json.loads(self.good(path, "--json", "--set", "nodes=[1]", "--set",
                                    "job.work_ns=20000"))["runs"][0]["rows"]
        self.assertEqual((rows[0]["nodes"], rows[0]["mean_ns"]), (1, 20000))
        self.bad(SMALL, "--set=a.b=1", "no object 'a'", arguments=["--set", "a.b=1"])
        self.bad(SMALL, "--set=x: not MEMBER=VALUE", arguments=["--set", "x"])

    def test_bad_scenarios(self):
        self.bad("", "not JSON")
        self.bad('{"model": "noise",\n "nodes": [1\n', ":3: not JSON")
        self.bad("[]", "not a JSON object")
        self.bad({"model": "magic"}, "model=magic: not one of cpus, gang, memory, noise")
        for path, value, wanted in (
                (("nodes",), [0], "nodes=0: not a whole number of 1 to 16777216"),
                (("nodes",), [], "nodes: not a list"),
                (("nodes",), ["2"], 'nodes="2"'),
                (("job", "work_ns"), -5, "work_ns=-5: not a whole number of 100 to"),
                (("job", "kind"), "odd", "kind=odd: not synchronous, irregular or"),
                (("job", "spin"), 1, "job: nothing knows the member 'spin'"),
                (("job", "lost"), 2, "lost=2: not a number of 0 to 1"),
                (("clock_offset_ns",), {"uniform": [2, 1]}, "not [LEAST, MOST]"),
                (("clock_offset_ns",), {"normal": 1}, "the member 'constant' is missing"),
                (("regimes", 2, "window", "favoured_ns"), 10000000, "favoured_ns="),
                (("regimes", 1, "noise", 0, "length_ns"), {"trace": []}, "trace"),
                (("regimes", 1, "noise", 0), 5, "not a list of objects")):
            scenario = copy.deepcopy(SMALL)
            inner = scenario
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            self.bad(scenario, wanted)

    def recording(self, *lines):
        handle, path = tempfile.mkstemp(suffix=".jsonl")
        self.addCleanup(os.unlink, path)
        with open(handle, "w", encoding="utf-8") as stream:
            stream.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n"
                              for line in lines)
        return path

    @staticmethod
    def recorded(path, *noise):
        return {**copy.deepcopy(SMALL), "recording": path, "nodes": [1], "regimes": [
            {"name": "quiet"}, {"name": "guest", "noise": list(noise)}]}

    RUN = {"regime": "guest", "elapsed_ns": 1000000, "at_ns": [0, 500000],
           "length_ns": [100000, 60000]}

    def test_detours_that_were_measured(self):
        path = self.recording({"detour": 1}, {"regime": "none", "elapsed_ns": 5, "at_ns": [],
                                              "length_ns": []}, self.RUN)
        scenario = self.recorded(os.path.basename(path), {"recorded": "guest"})
        # The file lies in the directory of the scenario.
        where = self.scenario(scenario)
        self.assertEqual(os.path.dirname(where), os.path.dirname(path))
        slow = json.loads(self.good(where, "--json"))["runs"][0]["rows"][1]["slowdown"]
        self.assertAlmostEqual(slow, 1 / 0.84, 2)
        scenario["regimes"][1]["noise"][0]["recorded"] = "none"
        rows = json.loads(self.good(self.scenario(scenario), "--json"))["runs"][0]["rows"]
        self.assertEqual((rows[1]["slowdown"], rows[1]["detours"]), (1, 0))

    def test_noise_of_the_system_is_there_in_boosted_parts(self):
        path = self.recording(self.RUN)
        slow = []
        for system in (False, True):
            scenario = self.recorded(path, {"recorded": "guest", "system": system})
            scenario["regimes"][1]["window"] = {"period_ns": 10000000, "favoured_ns": 9000000}
            rows = json.loads(self.good(self.scenario(scenario), "--json"))["runs"][0]["rows"]
            slow.append(rows[1]["slowdown"])
        self.assertLess(slow[0], 1.05)
        self.assertAlmostEqual(slow[1], 1 / 0.84, 2)

    def test_bad_recordings(self):
        head = {"detour": 1}
        for line, wanted in (
                ("{", ":2: not a JSON object"), ("[1]", ":2: not a JSON object"),
                ("", ":2: not a JSON object"),
                ({**self.RUN, "regime": 7}, ":2: run: regime=7: not a text"),
                ({**self.RUN, "elapsed_ns": 0}, ":2: run: elapsed_ns=0: not a whole"),
                ({**self.RUN, "at_ns": 3}, ":2: run: at_ns and length_ns: two lists"),
                ({**self.RUN, "at_ns": [1]}, ":2: run: 1 of at_ns, but 2 of length_ns"),
                ({**self.RUN, "at_ns": [0, 99999]}, ":2: run: at_ns: 99999: not a whole"),
                ({**self.RUN, "at_ns": [0, 1000000]}, ":2: run: at_ns: 1000000: not"),
                ({**self.RUN, "at_ns": [0, 1.5]}, ":2: run: at_ns: 1.5: not a whole"),
                ({**self.RUN, "length_ns": [-1, 5]}, ":2: run: length_ns: -1: not a"),
                ({**self.RUN, "length_ns": [500000, 499999]}, "leave hardly anything"),
                ({**self.RUN, "regime": "other"}, ": no run of the regime 'guest'")):
            path = self.recording(head, line)
            self.bad(self.recorded(path, {"recorded": "guest"}), path + (
                wanted if wanted.startswith(":") else ""), wanted)
        self.bad(self.recorded("/nowhere", {"recorded": "guest"}), "/nowhere: No such file")
        self.bad(self.recorded(path, {"recorded": "guest", "pause_ns": {"constant": 5000}}),
                 "noise: nothing knows the member 'pause_ns'")
        self.bad(self.recorded(path, {"recorded": "guest", "system": 1}),
                 "noise: system=1: not true or false")
        scenario = self.recorded(path, {"recorded": "guest"})
        del scenario["recording"]
        self.bad(scenario, "recorded=guest: the scenario names no file")

    def test_bad_arguments(self):
        path = self.scenario(SMALL)
        for arguments, wanted in (
                (["run"], "one scenario is needed"),
                (["run", path, "--seed", "-1"], "--seed=-1: not a whole number of 0"),
                (["run", path, "--seeds", "0"], "--seeds=0: not a whole number of 1"),
                (["walk"], "'walk' is not a verb")):
            done = sim(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(wanted, done.stderr)
        self.assertIn("No such file", sim("run", "/nowhere").stderr)

    def test_noise_scenarios_of_the_papers_run(self):
        for name in ("003-allreduce", "003-glob", "003-duty", "crumbs"):
            text = self.good(os.path.join(SCENARIOS, name + ".json"), "--json", "--set",
                             "nodes=[2,16]", "--set", "job.seconds=1")
            self.assertTrue(json.loads(text)["runs"][0]["rows"])


if __name__ == "__main__":
    unittest.main()
