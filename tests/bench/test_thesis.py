# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The pure parts of bench/thesis (plan, figures, tables, state file), its wrapper, and
what its command line does without a cluster."""

import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
import unittest.mock

from thesis import apps, figures, paper, plan, report
from thesis import runner as thesis_run
from thesis import sharing, turns
from cluster import BenchError
from thesis.state import State, read

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
EVERYTHING = plan.selected(plan.SETS)


def regime(name):
    return next(r for group in plan.REGIMES.values() for r in group if r.set == name)


def job(app, ranks, low=False, weight=1.0, answer="x"):
    return {"app": app, "low": low, "weight": weight, "ranks": ranks, "answer": answer}


def run_of(name, jobs, rep=0, **more):
    return {"rep": rep, "name": name, "jobs": jobs, "external": 0.01, "steal": 0.0,
            "disturbed": False, "failures": 0, **more}


class Notation(unittest.TestCase):
    def test_parentheses_and_brackets(self):
        self.assertEqual(
            plan.parse("HAL1, (PAUP, [GAUSS]), [HAL1]"),
            [[("HAL1", False)], [("PAUP", False), ("GAUSS", True)], [("HAL1", True)]])

    def test_what_nobody_knows(self):
        with self.assertRaisesRegex(ValueError, "HAL9"):
            plan.parse("HAL1, [HAL9]")

    def test_jobs_are_those_the_thesis_counted(self):
        # Except for e3, whose list has one more than its tables.
        for experiment in plan.numbers("queues"):
            for nodes in (2, 4):
                jobs = plan.queue_jobs(experiment, nodes)
                counted = paper.QUEUES["s3"][experiment - 1][0] + (experiment == 3)
                with self.subTest(experiment=experiment, nodes=nodes):
                    self.assertEqual(sum(job.weight for job in jobs), counted)

    def test_four_nodes_are_the_thesis_itself(self):
        self.assertEqual({job.weight for experiment in plan.numbers("queues")
                          for job in plan.queue_jobs(experiment, 4)}, {1})

    def test_half_the_nodes_half_of_each_application(self):
        names = [job.app for job in plan.queue_jobs(1, 2)]
        self.assertEqual(names, ["HAL1", "PAUP", "GAUSS", "HAL1", "HAL1"])

    def test_a_stage_fills_the_nodes(self):
        for stage in (stage for text in plan.QUEUES for stage in plan.parse(text)):
            for nodes in (2, 4):
                tasks = sum(job.tasks(nodes) for job in plan.fewer(stage, nodes))
                self.assertEqual(tasks, nodes, stage)

    def test_guests_are_placed_where_the_thesis_says(self):
        def where(experiment, nodes):
            return [job.places for job in plan.beside_jobs(experiment, nodes)[1]]

        self.assertEqual(where(6, 4), [(1,)])
        self.assertEqual(where(7, 4), [(0,), (1,), (2,), (3,)])
        self.assertEqual(where(8, 4), [(1,), (2,), (3,)])
        self.assertEqual(where(8, 2), where(6, 2))
        self.assertEqual(where(5, 2), [(0, 1)])
        self.assertEqual(where(4, 2), [(0,), (0,)])


class Schedule(unittest.TestCase):
    def test_every_regime_of_every_experiment_once_a_repetition(self):
        runs = plan.schedule(3, 1, EVERYTHING)
        self.assertEqual(len(runs), 3 * (6 * 3 + 8 * 3 + 8 * 2 + 8 * 4))
        self.assertEqual(len({run.key for run in runs}), len(runs))

    def test_regimes_of_an_experiment_are_neighbours(self):
        runs = plan.schedule(1, 1, EVERYTHING)
        changes = sum((run.group, run.number) != (after.group, after.number)
                      for run, after in zip(runs, runs[1:]))
        self.assertEqual(changes + 1, len({(run.group, run.number) for run in runs}))

    def test_order_differs_between_repetitions_not_between_calls(self):
        runs = plan.schedule(4, 1, EVERYTHING)
        self.assertEqual(runs, plan.schedule(4, 1, EVERYTHING))
        orders = {tuple(run.regime.set for run in runs
                        if (run.rep, run.name[2:]) == (rep, "e1")) for rep in range(4)}
        self.assertGreater(len(orders), 1)

    def test_a_selection_keeps_the_order(self):
        some = plan.selected(["s3", "s7"])
        self.assertEqual(plan.schedule(2, 1, some),
                         [run for run in plan.schedule(2, 1, EVERYTHING)
                          if run.name in some])

    def test_selection(self):
        self.assertEqual(plan.selected(["s3e4", "s1"]),
                         {"s3e4"} | {f"s1e{n}" for n in range(1, 7)})
        self.assertEqual(plan.selected(["s5e2"]), {"s5e2", "b2e2"})
        for words in (["s8"], ["s1e7"], [""], ["s3e"]):
            with self.subTest(words=words), self.assertRaises(ValueError):
                plan.selected(words)

    def test_estimate_follows_scale_and_pace(self):
        runs = plan.schedule(1, 1, EVERYTHING)
        small, large = (plan.estimate(runs, scale) for scale in (0.01, 0.02))
        overhead = plan.estimate(runs, 0)
        self.assertAlmostEqual(large - overhead, 2 * (small - overhead))
        self.assertAlmostEqual(plan.estimate(runs, 0.01, 1.5), 1.5 * small)

    def test_the_thesis_seconds_are_its_tables(self):
        runs = {run.name: run for run in plan.schedule(1, 1, EVERYTHING)}
        self.assertEqual(plan.thesis_seconds(runs["s1e3"]), 357)
        self.assertAlmostEqual(plan.thesis_seconds(runs["s3e4"]), 1295, delta=1)
        self.assertEqual(plan.thesis_seconds(runs["c7e4"]),
                         plan.thesis_seconds(runs["s7e4"]))
        self.assertEqual(plan.thesis_seconds(runs["s5e4"]), 392)
        self.assertEqual(plan.thesis_seconds(runs["t5e4"]), 2 * 392)
        self.assertAlmostEqual(plan.thesis_seconds(runs["t2e4"]), 2.8 * 392)


class Figures(unittest.TestCase):
    def test_application(self):
        found = figures.application(job("WRF", [[1, 5, 2.0, 0.4], [2, 6, 3.0, 0.0]]))
        self.assertEqual(found, {"cpu": 5, "wall": 5, "efficiency": 5 / 8,
                                 "pace": 1, "stolen": 0.05})

    def test_the_clock_stands_still_in_gaps(self):
        clock = figures.BusyClock([(0, 5), (7, 9), (3, 6)])
        self.assertEqual(clock.total(), 8)
        self.assertEqual(clock.gaps(), 1)
        self.assertEqual([clock.until(t) for t in (0, 4, 6.5, 8, 20)], [0, 4, 6, 7, 8])

    def test_one_after_the_other_as_table_3_4(self):
        # s3e4 from table 3-2: HPL, HAL1, WRF, (GAUSS, PAUP, PAUP, GAUSS), HAL1.
        jobs, at = [], 0
        for app, low, copies in (("HPL", 0, 1), ("HAL1", 1, 1), ("WRF", 0, 1),
                                 (("GAUSS", "PAUP", "PAUP", "GAUSS"), 1, 4),
                                 ("HAL1", 1, 1)):
            names = (app,) if copies == 1 else app
            for name in names:
                cpu, wall, _ = paper.MEANS[name]
                tasks = 4 // copies
                jobs.append(job(name, [[at, at + wall, cpu / tasks, 0]] * tasks,
                                bool(low)))
            at += max(paper.MEANS[name][1] for name in names)
        found = figures.queue(run_of("s3e4", jobs), 4)
        _, throughput, efficiency, turnaround, primary = paper.QUEUES["s3"][3]
        self.assertAlmostEqual(found["throughput"], throughput, delta=0.05)
        self.assertAlmostEqual(100 * found["efficiency"], efficiency, delta=0.5)
        self.assertAlmostEqual(found["turnaround"], turnaround, delta=11)
        self.assertAlmostEqual(found["primary"], primary, delta=10)

    def test_a_job_counts_for_those_that_it_stands_for(self):
        run = run_of("s7e1", [job("WRF", [[0, 10, 5, 0]] * 2),
                              job("PAUP", [[0, 4, 4, 0]], True, 2.0)])
        found = figures.queue(run, 2)
        self.assertEqual(found["jobs"], 3)
        self.assertEqual(found["throughput"], 3 * 360)
        self.assertEqual(found["turnaround"], (10 + 2 * 4) / 3)
        self.assertEqual(found["efficiency"], 14 / 20)
        self.assertEqual(found["primary"], 20)

    def results(self, walls):
        """{name: wall of each repetition} of a GAUSS."""
        runs = [run_of(name, [job("GAUSS", [[0, wall, 1, 0]])], rep)
                for name, found in walls.items() for rep, wall in enumerate(found)]
        return figures.Results({"nodes": 2, "scale": 0.01, "network": 100, "work": {}},
                               runs)

    def test_ratios_are_within_a_repetition(self):
        results = self.results({"b2e1": [10, 20, 40], "s5e1": [11, 20]})
        self.assertEqual(results.ratios("s5e1", "b2e1", "wall"), [1.1, 1.0])
        self.assertEqual(results.ratios("s5e2", "b2e2", "wall"), [])

    def test_a_primary_is_the_one_that_is_not_low(self):
        run = run_of("s5e1", [job("GAUSS", [[0, 9, 1, 0]], True),
                              job("GAUSS", [[0, 2, 1, 0]])])
        self.assertEqual(figures.of_run(run, 2)["wall"], 2)

    def test_answers_of_cancelled_guests_do_not_count(self):
        runs = [run_of("s5e1", [job("PAUP", [], True, answer=None),
                                job("GAUSS", [[0, 2, 1, 0]], answer="a")]),
                run_of("b2e1", [job("GAUSS", [[0, 2, 1, 0]], answer="b")])]
        results = figures.Results({"nodes": 2}, runs)
        self.assertEqual(results.answers(), {"GAUSS": {"a", "b"}})
        self.assertFalse(report.same_answers(results))

    def test_verdicts(self):
        text, kept = report.primary_verdicts(self.results(
            {"b2e1": [10, 10], "s2e1": [13, 14], "s5e1": [10.05, 10.1]}))[0]
        self.assertTrue(kept, text)
        self.assertIn("+0.8 %", text)
        text, kept = report.primary_verdicts(self.results(
            {"b2e1": [10, 10], "s2e1": [13, 14], "s5e1": [10.2, 10.2]}))[0]
        self.assertFalse(kept, text)
        self.assertEqual(report.primary_verdicts(self.results(
            {"b2e1": [10], "s2e1": [10.1], "s5e1": [11]})), [])

    def test_gains_against_chapter_5(self):
        def verdict(seconds, repetitions=2):
            runs = [run_of(name, [job("WRF", [[0, wall, 5, 0]] * 2)], rep=rep)
                    for name, wall in (("s3e3", 10), ("s7e3", seconds))
                    for rep in range(repetitions)]
            results = figures.Results({"nodes": 2, "scale": 0.01}, runs)
            return [kept for _text, kept in report.gain_verdicts(results)]

        self.assertEqual(verdict(5), [True, True, True])
        self.assertEqual(verdict(9.9), [False, False, False])
        self.assertEqual(verdict(5, 1), [None, None, None])

    def test_a_single_run_decides_nothing(self):
        _text, kept = report.primary_verdicts(self.results(
            {"b2e1": [10], "s2e1": [13], "s5e1": [11]}))[0]
        self.assertIsNone(kept)
        self.assertEqual(report.spread([1.02]), "+2.0 % (1 run)")
        self.assertEqual(report.spread([1.02, 1.0, 1.01]), "+1.0 % (+0.0 … +2.0; 3)")

    def test_what_others_took_is_not_less_than_nothing(self):
        runs = [{**run_of("s1e1", [job("GAUSS", [[0, 2, 1, 0]])]), "external": external,
                 "steal": 0.01} for external in (-0.2, -0.1, 0.3)]
        results = figures.Results({"nodes": 2}, runs)
        self.assertIn("cannot be told", report.taken_by_others(results))
        runs[1]["external"] = 0.1
        self.assertIn("10.0 % and 1.0 %", report.taken_by_others(results))


class Sharing(unittest.TestCase):
    SLURM = ("PartitionName=primary Nodes=ALL OverSubscribe=FORCE:1 State=UP\n"
             "PartitionName=guest Nodes=ALL OverSubscribe=FORCE:1 State=UP\n")

    def test_guests_share_cores_and_primaries_do_not(self):
        text = sharing.slurm_conf(self.SLURM, 3)
        self.assertIn("PartitionName=guest Nodes=ALL OverSubscribe=FORCE:3 State", text)
        self.assertIn("PartitionName=primary Nodes=ALL OverSubscribe=FORCE:1 State", text)
        self.assertEqual(sharing.slurm_conf(text, 1), self.SLURM)

    def test_the_last_number_counts(self):
        text = sharing.balance_conf("GuestPartition=guest\n", 3)
        self.assertEqual(text, "GuestPartition=guest\nGuestOversubscribe=3\n")
        self.assertEqual(sharing.balance_conf(text, 1),
                         "GuestPartition=guest\nGuestOversubscribe=1\n")

    def test_against_one_guest_a_core(self):
        runs = [run_of(name, [job("WRF", [[0, wall, 5, 0]] * 2)], rep=rep)
                for name, wall in (("s3e3", 10), ("s7e3", 8), ("c7e3", 4))
                for rep in range(2)]
        table = report.sharing_table(figures.Results({"nodes": 2, "scale": 0.01}, runs))
        row = next(row for row in table.rows if row[0].startswith("e3 "))
        self.assertIn("+100.0 %", row[1])
        self.assertIn("-60.0 %", row[5])

    def test_what_was_asked_for_is_not_there_for_that(self):
        results = figures.Results({"nodes": 2}, [])
        self.assertEqual(results.values("c7e1", "throughput"), [])
        self.assertFalse(results.has("c7e1"))


class InTurns(unittest.TestCase):
    def test_the_time_of_a_half_is_that_of_its_slices(self):
        slices = [turns.Slice(0, 1, "a"), turns.Slice(1, 2, "b"), turns.Slice(2, 4, "a")]
        self.assertEqual(turns.active(slices, "a", 0.5, 3), 1.5)
        self.assertEqual(turns.active(slices, "b", 0.5, 3), 1)
        self.assertEqual(turns.active(slices, "b", 2, 3), 0)

    def test_what_a_wrapper_has_started(self):
        def process(parent, name, cwd="/jobs/a"):
            return turns.Process(parent, name, cwd)

        processes = {1: process(0, "init", "/"), 2: process(1, "slurmstepd", "/"),
                     3: process(2, "thesis-getstats"), 4: process(3, "R"),
                     5: process(4, "R", "/tmp"), 6: process(2, "srun"),
                     7: process(2, "thesis-getstats", "/jobs/ab"),
                     8: process(7, "R", "/jobs/ab")}
        self.assertEqual(turns.applications(processes, "/jobs/a"), {4, 5})
        self.assertEqual(turns.applications(processes, "/jobs/ab"), {8})

    def test_a_twin_is_a_job_of_its_own_in_the_record(self):
        run = next(run for run in plan.schedule(1, 1, EVERYTHING) if run.name == "t5e2")
        batch = plan.jobs_of(run, 2)
        self.assertEqual([job.twins for job in batch], [False, False, True])
        submitted = [thesis_run.jobs.Submitted(str(n), f"/jobs/{n}", 1, None)
                     for n in range(3)]
        batch, submitted = thesis_run.parted(batch, submitted)
        self.assertEqual([job.app for job in batch], ["GAUSS", "GAUSS"] + ["MrBayes"] * 2)
        self.assertEqual([one.directory for one in submitted],
                         ["/jobs/0", "/jobs/1", "/jobs/2/a", "/jobs/2/b"])

    def test_its_ratio_is_of_one_run(self):
        run = run_of("t5e1", [job("GAUSS", [[0, 9, 1, 0]])] * 2, active=[4.04, 4.0])
        self.assertAlmostEqual(figures.of_run(run, 2)["ratio"], 1.01)


class Turns(unittest.TestCase):
    def setUp(self):
        program = os.path.abspath(os.path.join(os.environ.get("HPCB_BUILDDIR", "."),
                                               "bench", "thesis-getstats"))
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.places = [os.path.join(scratch.name, name) for name in ("a", "b", "guest")]
        for place in self.places:
            os.mkdir(place)
            one = subprocess.Popen([program, "stats", "sleep", "60"], cwd=place,
                                   start_new_session=True)
            self.addCleanup(one.wait)
            self.addCleanup(os.killpg, one.pid, signal.SIGKILL)

    def states(self):
        """{directory: the state of what runs there}"""
        processes = turns.read_processes()
        found = {}
        for place in self.places:
            for pid in turns.applications(processes, place):
                with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                    found[os.path.basename(place)] = stat.read().rpartition(") ")[2][0]
        return found

    def wait_for(self, wanted, seconds=20):
        deadline = time.monotonic() + seconds
        # One reading decides: the next turn may have begun at a second one.
        found = self.states()
        while found != wanted and time.monotonic() < deadline:
            time.sleep(0.01)
            found = self.states()
        self.assertEqual(found, wanted)

    def test_all_go_on_by_turns_and_afterwards(self):
        a, b, guest = self.places
        alone = {"a": "T", "b": "S", "guest": "T"}
        beside = {"a": "S", "b": "T", "guest": "S"}
        # Longer than it takes to read all states on a busy machine.
        slow = unittest.mock.patch.object(turns, "SLICE_SECONDS", 1.5)
        with slow, turns.Turns([guest], a, b, 1) as taken:
            for wanted in (alone, beside, alone):
                self.wait_for(wanted)
            # The primary with guests has ended: they stand still for the other one.
            with open(os.path.join(a, "done"), "w", encoding="ascii"):
                pass
            self.wait_for(alone)
            time.sleep(2 * turns.SLICE_SECONDS)
            self.assertEqual(self.states(), alone)
        self.wait_for({"a": "S", "b": "S", "guest": "S"})
        halves = "".join(one.half for one in taken.slices)
        self.assertTrue(halves.startswith("bab"), halves)
        self.assertTrue(halves.endswith("bbb"), halves)
        self.assertTrue(all(one.end > one.start for one in taken.slices))


class Tables(unittest.TestCase):
    def setUp(self):
        self.runs = []
        for rep in range(2):
            for run in plan.schedule(2, 1, EVERYTHING):
                if run.rep == rep:
                    self.runs.append(run_of(run.name, [
                        job("GAUSS", [[0, 10 + rep, 9, 0.1]] * 2)], rep,
                        **({"active": [10.1 + rep, 10]} if run.group == "turns"
                           else {})))
        self.results = figures.Results(
            {"nodes": 2, "scale": 0.01, "network": 100, "seed": 1,
             "work": {"HPL": 3}}, self.runs)

    def test_text_has_every_table(self):
        text = report.as_text(self.results)
        for words in ("3 systems", "Tables 3-1", "Tables 3-3 and 4-2", "Table 3-4",
                      "Table 3-5", "Table 4-3", "1084", "figure 4-9", "2 repetitions",
                      "in turns with its twin", "+6.0 % (+1.0 … +11.0; 2)",
                      "BROKEN     t5e8: in turns with its twin"):
            self.assertIn(words, text)

    def test_markdown_rows_have_as_many_cells_as_their_head(self):
        lines = report.as_markdown(self.results, "x.jsonl").splitlines()
        tables = [line for line in lines if line.startswith("|")]
        self.assertGreater(len(tables), 60)
        width = 0
        for before, line in zip([""] + lines, lines):
            if line.startswith("|"):
                cells = line.replace("\\|", "").count("|")
                if before.startswith("|"):
                    self.assertEqual(cells, width, line)
                width = cells

    def test_json(self):
        found = json.loads(report.as_json(self.results))
        self.assertEqual(len(found["figures"]["s7e8"]), 2)
        self.assertEqual(found["figures"]["s1e1"][0]["wall"], 10)

    def test_a_part_of_the_experiments(self):
        some = [run for run in self.runs if run["name"] in ("s1e1", "s3e2")]
        text = report.as_text(figures.Results(self.results.settings, some))
        self.assertIn("Table 3-4", text)
        self.assertNotIn("Tables 3-3", text)
        report.as_text(figures.Results(self.results.settings, []))


class StateFile(unittest.TestCase):
    SETTINGS = {"scale": 0.01, "nodes": 2}

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "state")

    def append(self, text):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(text)

    def test_what_was_added_is_there_again(self):
        state = State(self.path, self.SETTINGS, {"cpu": "this"})
        state.set_work("GAUSS", 7, 0.1, 0.2)
        state.add(run_of("s1e1", []))
        again = State(self.path, self.SETTINGS, {"cpu": "another"})
        self.assertEqual(again.done(), {(0, "s1e1")})
        self.assertEqual(again.settings["machine"], {"cpu": "this"})
        self.assertEqual(again.settings["work"], {"GAUSS": 7})
        again.add(run_of("s1e1", [], 1))
        self.assertEqual(len(read(self.path)[1]), 2)

    def test_a_line_that_a_crash_cut_off(self):
        State(self.path, self.SETTINGS).add(run_of("s1e1", []))
        self.append('{"rep":0,"name":"s1')
        self.assertEqual(len(read(self.path)[1]), 1)
        state = State(self.path, self.SETTINGS)
        state.add(run_of("s1e2", []))
        self.assertEqual(State(self.path, self.SETTINGS).done(),
                         {(0, "s1e1"), (0, "s1e2")})

    def test_a_whole_line_without_its_newline_is_run_again(self):
        State(self.path, self.SETTINGS)
        self.append(json.dumps(run_of("s1e1", [])))
        state = State(self.path, self.SETTINGS)
        self.assertEqual(state.done(), set())
        state.add(run_of("s1e2", []))
        self.assertEqual(State(self.path, self.SETTINGS).done(), {(0, "s1e2")})

    def test_other_settings_are_refused(self):
        State(self.path, self.SETTINGS)
        with self.assertRaisesRegex(BenchError, "scale 0.01, not 0.02"):
            State(self.path, {**self.SETTINGS, "scale": 0.02})

    def test_what_is_no_state_file(self):
        for text in ("", "{}\n", "hello\nyou\n", '{"thesis":1}\nrubbish\n{}\n'):
            with self.subTest(text=text):
                with open(self.path, "w", encoding="utf-8") as file:
                    file.write(text)
                with self.assertRaises(BenchError):
                    State(self.path, self.SETTINGS)
        with self.assertRaisesRegex(BenchError, "No such file"):
            read(self.path + ".not")


class Applications(unittest.TestCase):
    def test_inputs_are_the_same_every_time(self):
        for app in apps.APPS.values():
            with self.subTest(app=app.name):
                self.assertEqual(app.prepare(5, 2), app.prepare(5, 2))

    def test_work_for_a_time(self):
        work, fixed, each = apps.fit((100, 3.0), (300, 5.0), 10.0)
        self.assertEqual(work, 800)
        self.assertAlmostEqual(fixed, 2.0)
        self.assertAlmostEqual(each, 0.01)
        self.assertEqual(apps.fit((100, 3.0), (300, 5.0), 1.0)[0], 1)
        # On a machine that was disturbed more work took less time.
        self.assertLessEqual(apps.fit((100, 3.0), (300, 2.0), 10.0)[0], 30000)

    def test_hpl_input_has_as_many_systems_as_asked_for(self):
        for count in (1, 7, 20, 40):
            lines = apps.hpl_input(100, count, 2).splitlines()
            sizes, blocks = (int(lines[i].split()[0]) for i in (4, 6))
            self.assertEqual(len(lines[5].split()), sizes)
            self.assertEqual(len(lines[7].split()), blocks)
            self.assertLessEqual(sizes, apps.HPL_LIST)
            self.assertEqual(sizes * blocks, count)

    def test_answers(self):
        with tempfile.TemporaryDirectory() as scratch:
            with open(os.path.join(scratch, "out"), "w", encoding="ascii") as file:
                file.write("1 2\nanswer  1.5   2\nelapsed 3\n")
            self.assertEqual(apps.APPS["GAUSS"].read_answer(scratch), "1.5 2")
            for name in ("MrBayes", "HPL"):
                with self.assertRaises(BenchError):
                    apps.APPS[name].read_answer(scratch)


class Commands(unittest.TestCase):
    def options(self, found, name):
        return thesis_run.sbatch_options(found, regime(name), 2, 0)

    def test_only_ours_has_our_options(self):
        low, wrf = plan.Job("PAUP", True), plan.Job("WRF")
        self.assertIn("--guest", self.options(low, "s7"))
        self.assertIn("--partition=guest", self.options(low, "s6"))
        self.assertNotIn("--guest", self.options(low, "s3"))
        self.assertNotIn("--partition=guest", self.options(low, "s3"))
        self.assertIn("--hpc-balance", self.options(wrf, "s7"))
        self.assertNotIn("--hpc-balance", self.options(wrf, "s6"))
        self.assertNotIn("--hpc-balance", self.options(plan.Job("HAL1"), "s7"))
        self.assertNotIn("--hpc-balance", self.options(plan.Job("WRF", True), "s7"))
        self.assertNotIn("--hpc-balance",
                         self.options(plan.Job("WRF", twins=True), "t5"))

    def test_nice_is_for_low_jobs_of_one_regime(self):
        def line(found, name):
            return thesis_run.call(found, regime(name), "/getstats", "/lib.so")

        low = plan.Job("PAUP", True)
        self.assertTrue(line(low, "s6").startswith("nice -n 19 /getstats stats"))
        for name in ("s3", "s7"):
            self.assertTrue(line(low, name).startswith("/getstats stats"))
        self.assertNotIn("nice", line(plan.Job("PAUP"), "s6"))

    def test_waits_sleep_on_stock_slurm_too_but_in_s0(self):
        def preloads(name):
            return "/lib.so" in thesis_run.call(plan.Job("WRF"), regime(name), "/g",
                                                "/lib.so")

        self.assertEqual([preloads(name) for name in ("s0", "s1", "s3", "s4", "s7")],
                         [False, True, True, False, False])
        line = thesis_run.call(plan.Job("WRF", twins=True), regime("t5"), "/g", "/lib.so")
        self.assertIn("--overlap", line)
        self.assertIn("/lib.so", line)

    def test_a_later_job_has_a_later_limit(self):
        limits = [next(o for o in thesis_run.sbatch_options(
            plan.Job("PAUP"), regime("s3"), 2, number) if o.startswith("--time="))
            for number in range(3)]
        self.assertEqual(len(set(limits)), 3)


class GetStats(unittest.TestCase):
    def setUp(self):
        self.program = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench",
                                    "thesis-getstats")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.file = os.path.join(scratch.name, "stats")

    def call(self, *arguments, **environment):
        return subprocess.run([self.program, *arguments], capture_output=True,
                              text=True, timeout=120, check=False,
                              env={**os.environ, **environment})

    def stats(self, rank=0):
        with open(f"{self.file}.{rank}", encoding="ascii") as file:
            return json.loads(file.read())

    def test_what_a_process_and_its_children_took(self):
        burn = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
        done = self.call(self.file, "sh", "-c", f"({burn}); exit 3", SLURM_PROCID="5")
        self.assertEqual(done.returncode, 3, done.stderr)
        found = self.stats(5)
        self.assertGreater(found["cpu"], 0.02)
        self.assertGreater(found["end"] - found["start"], 0.02)
        self.assertGreaterEqual(found["run_delay"], 0)

    def test_killed_by_a_signal(self):
        self.assertEqual(self.call(self.file, "sh", "-c", "kill -9 $$").returncode, 137)
        self.assertIn("cpu", self.stats())

    def test_it_outlives_the_term_that_ends_its_program(self):
        done = self.call(self.file, "sh", "-c", "kill -TERM $PPID; kill -TERM $$")
        self.assertEqual(done.returncode, 143)
        self.assertIn("cpu", self.stats())

    def test_preload(self):
        done = self.call("--preload", "/nowhere.so", self.file, "sh", "-c",
                         "echo $LD_PRELOAD")
        self.assertEqual(done.stdout.strip(), "/nowhere.so")

    def test_bad_calls(self):
        for arguments in ([], [self.file], ["--preload", "x", self.file]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.call(*arguments).returncode, 2)
        self.assertEqual(self.call(self.file, "/no/such/program").returncode, 127)


class CommandLine(unittest.TestCase):
    def call(self, *arguments):
        return subprocess.run([os.path.join(TOP, "bench", "thesis", "run"), *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=240, check=False)

    def test_list(self):
        done = self.call("--list", "--experiments", "s7", "--reps", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 8 + 1)
        self.assertTrue(lines[-1].startswith("24 runs"), lines[-1])

    def test_ten_minutes_have_no_turns(self):
        self.assertNotIn("t5e1", self.call("--list", "--quick").stdout)
        self.assertIn("t5e1", self.call("--list").stdout)

    def test_bad_options(self):
        for arguments in (["--experiments", "s9"], ["--reps", "0"], ["--scale", "11"],
                          ["--nodes", "3"], ["--network", "-1"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.call(*arguments).returncode, 2)

    def test_report_without_a_state_file(self):
        done = self.call("--report", "--state", "/nowhere/state")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1)


@unittest.skipIf(apps.missing(["GAUSS"]), "R is not installed")
@unittest.skipIf((os.cpu_count() or 1) < 2, "one CPU")
class OnAFakeSandbox(unittest.TestCase):
    """Whole runs; figures mean nothing here."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(scratch.cleanup)
        self.jobs = os.path.join(scratch.name, "jobs")
        self.state = os.path.join(scratch.name, "state")
        os.mkdir(self.jobs)

    def call(self, *arguments, **environment):
        # On a fake sandbox tc would shape this machine's network: --network 0.
        return subprocess.run(
            [os.path.join(TOP, "bench", "thesis", "run"), "--sandbox",
             os.path.join(HERE, "fake-sandbox"), "--patience", "0", "--network", "0",
             "--scale", "0.0005", "--reps", "1", "--nodes", "2", "--state", self.state,
             *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300, check=False,
            env={**os.environ, "HPCB_BENCH_TMP": self.jobs, **environment})

    def test_three_regimes_and_a_resumption(self):
        done = self.call("--experiments", "s2e1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(json.loads(done.stdout)["figures"]), {"b2e1", "s2e1"})
        done = self.call("--experiments", "s2e1,s5e1,s1e1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(json.loads(done.stdout)["figures"]),
                         {"b2e1", "s2e1", "s5e1", "s1e1"})
        self.assertEqual(len(read(self.state)[1]), 4)
        self.assertEqual(os.listdir(self.jobs), [])

    def test_twins(self):
        done = self.call("--experiments", "t5e1", "--scale", "0.005", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        figures_of_it = json.loads(done.stdout)["figures"]["t5e1"][0]
        self.assertGreater(figures_of_it["ratio"], 0)
        self.assertEqual(os.listdir(self.jobs), [])

    def test_no_budget(self):
        done = self.call("--experiments", "s1e1", "--budget", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Not complete", done.stderr)
        self.assertEqual(read(self.state)[1], [])

    def test_what_fails_again_and_again(self):
        done = self.call("--experiments", "s1e1", FAKE_REFUSE="no such partition")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no such partition", done.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
