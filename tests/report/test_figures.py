# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Figures from sacct, from records, and from both."""

import json
import os

from tools import NOON, ReportCase, line, node_record, record, tag


class Definitions(ReportCase):
    def test_thesis_definitions(self):
        # Two jobs of two CPUs, 10 s each, one after the other, both submitted at -5.
        said = self.from_lines(
            line(1, NCPUS=2, TotalCPU="00:00:16"),
            line(2, NCPUS=2, Start=NOON + 10, End=NOON + 20, TotalCPU="00:00:12"))
        totals = said["totals"]
        self.assertEqual(totals["jobs"], 2)
        self.assertEqual(totals["cpu_seconds"], 28)
        self.assertEqual(totals["period_seconds"], 25)
        self.assertAlmostEqual(totals["throughput_jobs_per_hour"], 2 * 3600 / 25, 5)
        self.assertEqual(totals["processors"], 2)
        self.assertAlmostEqual(totals["efficiency"], 28 / (2 * 25))
        self.assertAlmostEqual(totals["allocation_efficiency"], 28 / 40)
        self.assertEqual(totals["turnaround_mean_seconds"], 20)
        self.assertEqual(totals["turnaround_p50_seconds"], 15)
        self.assertEqual(totals["waiting_max_seconds"], 15)
        self.assertEqual(totals["running_mean_seconds"], 10)

    def test_guests_overlay_primaries(self):
        said = self.from_lines(
            line(1), line(2, AdminComment=tag("guest"), Partition="guest",
                          TotalCPU="00:02.000"))
        self.assertEqual(said["totals"]["processors"], 1)
        self.assertAlmostEqual(said["totals"]["efficiency"], 10 / 15, 5)
        self.assertAlmostEqual(said["totals"]["efficiency_without_guests"], 8 / 15, 5)
        self.assertEqual(said["totals"]["guest_cpu_seconds"], 2)
        self.assertEqual(said["totals"]["guest_cpu_fraction"], 0.2)
        guest = said["by_class"]["guest"]
        self.assertEqual((guest["jobs"], guest["cpu_seconds"]), (1, 2))
        self.assertEqual(guest["efficiency"], 0.2)

    def test_both_classes_are_always_there(self):
        for said in (self.from_lines(), self.from_records()):
            for klass in ("primary", "guest"):
                self.assertEqual(said["by_class"][klass]["jobs"], 0)
                self.assertIsNone(said["by_class"][klass]["efficiency"])
                self.assertIsNone(said["by_class"][klass]["turnaround_mean_seconds"])
                self.assertIsNone(said["by_class"][klass]["stolen_fraction"])
            self.assertEqual(said["totals"]["jobs"], 0)

    def test_cpus_option(self):
        said = self.from_lines(line(1), args=("--cpus", "8"))
        self.assertAlmostEqual(said["totals"]["efficiency"], 8 / (8 * 15), 5)

    def test_stolen_time_is_by_node_time(self):
        said = self.from_records(record(1, nodes=["n1", "n2"], delay=2.0),
                                 record(2, delay=0.0, wall=20.0))
        self.assertAlmostEqual(said["by_class"]["primary"]["stolen_fraction"], 2 / 40)

    def test_periods_add_up(self):
        lines = [line(n, End=NOON + n, TotalCPU="00:01.500") for n in range(1, 41)]
        whole = self.from_lines(*lines)["totals"]
        parts = [self.from_lines(*lines, args=("-S", f"@{NOON + a}", "-U",
                                               f"@{NOON + b}"))["totals"]
                 for a, b in ((0, 7), (7, 8), (8, 100))]
        for member in ("jobs", "cpu_seconds"):
            self.assertAlmostEqual(sum(part[member] for part in parts), whole[member])
        self.assertEqual(parts[1]["jobs"], 1)


class Sources(ReportCase):
    def test_class_by_tag_then_partition(self):
        said = self.from_lines(line(1, Partition="guest"), line(2, Partition="batch"),
                               line(3, Partition="guest", AdminComment=tag("primary")),
                               line(4, AdminComment='{"hpcb":{"class":7}}'),
                               line(5, AdminComment='{"hpcb":'))
        self.assertEqual(said["by_class"]["guest"]["jobs"], 1)
        self.assertEqual(said["by_class"]["primary"]["jobs"], 4)

    def test_steps_are_not_counted_twice(self):
        said = self.from_lines(line(1), line("1.batch"), line("1.extern"), line("1.0"))
        self.assertEqual(said["totals"]["jobs"], 1)
        self.assertEqual(said["totals"]["cpu_seconds"], 8)

    def test_records_have_the_cpu_time_where_they_are_whole(self):
        said = self.from_both([record(1, cpu=8.5), record(2, cpu=0.0),
                               record(3, cpu=4.0, complete=False)],
                              [line(1), line(2), line(3), line(4)])
        self.assertEqual(said["totals"]["jobs"], 4)
        self.assertEqual(said["totals"]["runs_measured"], 3)
        self.assertEqual(said["totals"]["cpu_seconds"], 8.5 + 8 + 8 + 8)

    def test_bytes_are_those_of_runs_that_were_measured(self):
        blind = record(3)
        for node in blind["node_records"]:
            node["network_reason"] = "no BPF"
        said = self.from_records(record(1, network_bytes=5), record(2, network_bytes=7),
                                 blind, record(4, **{"class": "guest"}))
        totals, guest = said["totals"], said["by_class"]["guest"]
        self.assertEqual((totals["network_bytes"], totals["network_runs"],
                          totals["network_reason"]), (12, 2, None))
        self.assertEqual((guest["network_bytes"], guest["network_reason"]),
                         (None, "no BPF"))
        self.assertEqual((totals["memory_bytes"], totals["memory_reason"]),
                         (None, "the records do not say"))
        said = self.from_lines(line(1))
        self.assertEqual(said["totals"]["network_reason"], "no record tells of a run")

    def test_bytes_of_nodes_add_up_if_all_have_measured(self):
        for second, total in ((20, 30), (None, None)):
            with self.subTest(second):
                for node, moved in (("n1", 10), ("n2", second)):
                    path = self.put(f"spool/records/1.{node}.json", json.dumps(
                        node_record(1, node=node, network_bytes=moved)) + "\n")
                said = self.json("--no-sacct", "--records", os.path.dirname(path))
                self.assertEqual(said["totals"]["network_bytes"], total)

    def test_a_later_line_replaces_an_earlier_one(self):
        said = self.from_records(record(1, cpu=1.0, complete=False), record(2),
                                 record(1, cpu=9.0))
        self.assertEqual(said["totals"]["jobs"], 2)
        self.assertEqual(said["totals"]["cpu_seconds"], 17)

    def test_in_other_files_too_and_compressed_ones(self):
        import gzip
        import os
        self.put_records(record(1, cpu=1.0), day="2025-11-20")
        path = self.put_records(record(1, cpu=3.0), day="2025-11-22")
        with gzip.open(os.path.join(path, "2025-11-19.jsonl.gz"), "wt") as stream:
            stream.write(json.dumps(record(2, cpu=4.0)) + "\n")
        said = self.json("--no-sacct", "--records", path)
        self.assertEqual(said["totals"]["cpu_seconds"], 7)

    def test_half_a_line_is_no_record(self):
        path = self.put("records/2025-11-21.jsonl",
                        json.dumps(record(1)) + "\n" + json.dumps(record(2)))
        out, err = self.call("hpcb-report", "--json", "--no-sacct", "--records",
                             path.rpartition("/")[0])
        self.assertEqual(json.loads(out)["totals"]["jobs"], 1)
        self.assertEqual(err, "")

    def test_what_is_no_record_is_passed_over_and_counted(self):
        bad = [{}, [], 7, None, record(1, version=2), record(2, kind="step"),
               record(3, cpu_seconds="x"), record(4, wall_seconds=-1),
               record(-1), record(6, node_records=None),
               record(7, node_records=[{}]), record(8, start=1e300),
               record(9, evictions=1 << 40), record(10, user=7, cluster=None)]
        text = "".join(json.dumps(item) + "\n" for item in bad)
        text += "not json\n" + json.dumps(record(11))[:-1] + "\n" + "[" * 5000 + "\n"
        text += json.dumps(record(12)).replace("8.0", "NaN") + "\n" + \
            json.dumps(record(13)).replace("8.0", "1e999") + "\n"
        path = self.put("records/2025-11-21.jsonl",
                        text + json.dumps(record(99)) + "\n")
        out, err = self.call("hpcb-report", "--json", "--no-sacct", "--records",
                             path.rpartition("/")[0])
        self.assertEqual(json.loads(out)["totals"]["jobs"], 1, out)
        self.assertIn(f"{len(bad) + 5} lines are no records", err)

    def test_what_else_the_daemons_keep_there_is_not_taken_for_records(self):
        path = self.put_records(record(1))
        top = os.path.dirname(path)
        for name in ("stats.json", "writer.json", "profiles.json"):
            self.put(name, '{"version":1,"records":9}\n')
        self.put("journal.jsonl", json.dumps(node_record(2)) + "\n" +
                 json.dumps(record(3, complete=False)) + "\n")
        for place in (path, top):
            out, err = self.call("hpcb-report", "--json", "--no-sacct", "--records",
                                 place)
            self.assertEqual(json.loads(out)["totals"]["jobs"], 1)
            self.assertEqual(err, "")

    def test_records_of_nodes(self):
        path = self.put("spool/records/5.n1.json", json.dumps(node_record(5)) + "\n")
        self.put("spool/records/5.n2.json", json.dumps(node_record(
            5, node="n2", cpu_seconds=4.0, end=NOON + 12.0, wall_seconds=12.0)) + "\n")
        self.put("spool/records/6.n1.json", json.dumps(node_record(
            6, **{"class": "guest"})) + "\n")
        said = self.json("--no-sacct", "--records", path.rpartition("/records/")[0])
        self.assertEqual(said["totals"]["jobs"], 2)
        self.assertEqual(said["by_class"]["primary"]["cpu_seconds"], 12)
        self.assertEqual(said["by_class"]["primary"]["running_max_seconds"], 12)
        self.assertAlmostEqual(said["by_class"]["primary"]["efficiency"], 12 / 22, 5)

    def test_records_without_a_cluster_name_meet_sacct(self):
        said = self.from_both([record(1, cluster="")], [line(1)])
        self.assertEqual(said["totals"]["jobs"], 1)

    def test_arrays_and_hetjobs(self):
        said = self.from_both([record(11), record(12), record(20), record(21)],
                              [line(11), line(12), line(20), line(21)])
        self.assertEqual(said["totals"]["jobs"], 4)


class Requeues(ReportCase):
    LINES = (line(1, Partition="guest", State="PREEMPTED", End=NOON + 4,
                  TotalCPU="00:03.000"),
             line(1, Partition="guest", Submit=NOON + 4, Start=NOON + 30,
                  End=NOON + 40))
    RECORDS = (record(1, restart=0, wall=4.0, cpu=3.0, **{"class": "guest"}),
               record(1, restart=1, start=NOON + 30, submit=NOON - 5, evictions=1,
                      **{"class": "guest"}))

    def check(self, said):
        guest = said["by_class"]["guest"]
        self.assertEqual((guest["jobs"], guest["runs"], guest["evictions"]), (1, 2, 1))
        self.assertEqual(guest["cpu_seconds"], 11)
        self.assertEqual(guest["turnaround_mean_seconds"], 45)
        self.assertEqual(guest["waiting_mean_seconds"], 35)
        self.assertEqual(guest["running_mean_seconds"], 10)

    def test_sacct_alone(self):
        self.check(self.from_lines(*self.LINES))

    def test_records_alone(self):
        self.check(self.from_records(*self.RECORDS))

    def test_ended_for_memory(self):
        records = ({**self.RECORDS[0], "ended_for": "memory"},
                   {**self.RECORDS[1], "ended_for": None},
                   record(2, **{"class": "guest"}, ended_for="harm"))
        for said in (self.from_records(*records), self.from_both(records, self.LINES)):
            self.assertEqual(said["totals"]["ended_for_memory"], 1)
            self.assertEqual(said["totals"]["ended_for_memory_cpu_seconds"], 3.0)
            self.assertEqual(said["by_class"]["primary"]["ended_for_memory"], 0)

    def test_what_guests_cost_primaries(self):
        def cost(job, mean, half, wall, method):
            return record(job, wall=wall, **{"class": "primary"},
                          guest_cost=mean, guest_cost_low=mean - half,
                          guest_cost_high=mean + half, guest_cost_method=method)
        records = (cost(1, 0.01, 0.03, 100.0, "run_delay"),
                   cost(2, 0.04, 0.04, 300.0, "iterations"), record(3))
        said = self.from_records(*records)["by_class"]["primary"]
        walls = [sum(node["wall_seconds"] for node in one["node_records"])
                 for one in records]
        whole = walls[0] + walls[1]
        mean = (0.01 * walls[0] + 0.04 * walls[1]) / whole
        half = ((0.03 * walls[0]) ** 2 + (0.04 * walls[1]) ** 2) ** 0.5 / whole
        self.assertEqual(said["guest_cost_runs"], 2)
        self.assertEqual([said[f"guest_cost_by_{method}_runs"]
                          for method in ("run_delay", "instructions", "iterations")],
                         [1, 0, 1])
        self.assertAlmostEqual(said["guest_cost"], mean, 5)
        self.assertAlmostEqual(said["guest_cost_low"], mean - half, 5)
        self.assertAlmostEqual(said["guest_cost_high"], mean + half, 5)
        nothing = self.from_records(record(3))["totals"]
        self.assertEqual(nothing["guest_cost_runs"], 0)
        self.assertIsNone(nothing["guest_cost_high"])

    def test_what_the_guard_did(self):
        harmed = record(1, **{"class": "primary"}, guard_steps=5, guests_requeued=2,
                        sliced_seconds=7.5)
        guests = (record(2, **{"class": "guest"}, throttled_seconds=1.5,
                         stopped_seconds=2.0, starved_seconds=0.25, ended_for="harm"),
                  record(3, **{"class": "guest"}, throttled_seconds=1.0,
                         ended_for="starved"), record(4))
        said = self.from_records(harmed, *guests)
        primaries, given = said["by_class"]["primary"], said["by_class"]["guest"]
        self.assertEqual((primaries["guard_steps"], primaries["guests_requeued"],
                          primaries["sliced_seconds"]), (5, 2, 7.5))
        self.assertEqual((given["throttled_seconds"], given["stopped_seconds"],
                          given["starved_seconds"]), (2.5, 2.0, 0.25))
        self.assertEqual((given["ended_for_harm"], given["ended_for_starving"],
                          given["ended_for_memory"]), (1, 1, 0))
        self.assertEqual(said["totals"]["guard_steps"], 5)
        self.assertEqual(said["totals"]["throttled_seconds"], 2.5)

    def test_both_in_any_order(self):
        for lines in (self.LINES, self.LINES[::-1]):
            for records in (self.RECORDS, self.RECORDS[::-1]):
                self.check(self.from_both(records, lines))

    def test_one_of_the_records_is_missing(self):
        for left in self.RECORDS:
            self.check(self.from_both([left], self.LINES))

    def test_slurm_has_lost_the_start_of_the_first_run(self):
        lines = (line(1, Partition="guest", State="PREEMPTED", Start="None",
                      End=NOON + 4, TotalCPU="00:00:00"), self.LINES[1])
        for order in (lines, lines[::-1]):
            self.check(self.from_both(self.RECORDS, order))
            said = self.from_both(self.RECORDS[1:], order)["by_class"]["guest"]
            self.assertEqual((said["jobs"], said["runs"]), (1, 1))
            self.assertEqual(said["turnaround_mean_seconds"], 45)
            self.assertEqual(said["running_mean_seconds"], 10)

    def test_one_of_the_lines_is_missing(self):
        said = self.from_both(self.RECORDS, self.LINES[1:])
        self.assertEqual(said["totals"]["jobs"], 1)
        self.assertEqual(said["totals"]["cpu_seconds"], 11)

    def test_three_runs_with_one_record(self):
        lines = [line(1, Partition="guest", State="PREEMPTED", Start=NOON + 100 * n,
                      End=NOON + 100 * n + 10, TotalCPU="00:01.000") for n in range(3)]
        said = self.from_both([record(1, restart=1, start=NOON + 100.2, cpu=1.5,
                                      **{"class": "guest"})], lines)
        self.assertEqual(said["totals"]["runs"], 3)
        self.assertEqual(said["totals"]["cpu_seconds"], 3.5)
        self.assertEqual(said["totals"]["evictions"], 3)

    def test_requeued_and_not_there_again(self):
        said = self.from_lines(line(1, State="REQUEUED"))
        self.assertEqual(said["totals"]["jobs"], 0)
        self.assertEqual(said["totals"]["unfinished"], 1)
        self.assertEqual(said["totals"]["cpu_seconds"], 8)

    def test_waiting_again_is_unfinished(self):
        said = self.from_lines(self.LINES[0], line(1, State="PENDING", Start="Unknown",
                                                   End="Unknown", NodeList=""))
        self.assertEqual(said["totals"]["jobs"], 0)
        self.assertEqual(said["totals"]["unfinished"], 1)
        self.assertEqual(said["totals"]["cpu_seconds"], 3)


LATER = NOON + 40 * 86400


class IdsGivenAgain(ReportCase):
    """Slurm may give a job's id to another job: MaxJobId, slurmctld -c."""

    RECORDS = (record(1, cpu=3.0), record(1, start=LATER, cpu=5.0))
    LINES = (line(1), line(1, Submit=LATER - 5, Start=LATER, End=LATER + 10))

    def check(self, said, cpu=8):
        primary = said["by_class"]["primary"]
        self.assertEqual((primary["jobs"], primary["runs"]), (2, 2))
        self.assertEqual(primary["cpu_seconds"], cpu)
        self.assertEqual(primary["turnaround_max_seconds"], 15)
        self.assertEqual(primary["waiting_mean_seconds"], 5)

    def test_records_alone(self):
        self.check(self.from_records(*self.RECORDS))
        self.check(self.from_records(*self.RECORDS, *self.RECORDS))

    def test_submit_is_not_known(self):
        said = self.from_records(*({**one, "submit": None} for one in self.RECORDS * 2))
        self.assertEqual(said["totals"]["jobs"], 2)
        self.assertEqual(said["totals"]["cpu_seconds"], 8)
        said = self.from_records(self.RECORDS[0], {**self.RECORDS[0], "submit": None})
        self.assertEqual(said["totals"]["jobs"], 1)

    def test_records_of_nodes(self):
        for number, given in enumerate((
                {"submit": NOON - 5}, {"submit": NOON - 5, "node": "n2"},
                {"submit": LATER - 5, "begin": LATER, "end": LATER + 10}, {"node": "n3"})):
            path = self.put(f"spool/records/1.{number}.n1.json",
                            json.dumps(node_record(1, **given)) + "\n")
        said = self.json("--no-sacct", "--records", path.rpartition("/records/")[0])
        self.assertEqual(said["totals"]["jobs"], 2)
        self.assertEqual(said["totals"]["cpu_seconds"], 32)

    def test_both_in_any_order(self):
        for lines in (self.LINES, self.LINES[::-1]):
            for records in (self.RECORDS, self.RECORDS[::-1]):
                self.check(self.from_both(records, lines))

    def test_each_is_known_to_one_only(self):
        self.check(self.from_both(self.RECORDS[:1], self.LINES[1:]), 11)
        self.check(self.from_both(self.RECORDS[1:], self.LINES[:1]), 13)
        self.check(self.from_both(self.RECORDS, self.LINES[1:]))
        self.check(self.from_both(self.RECORDS[1:], self.LINES), 13)

    def test_the_first_was_requeued(self):
        again = record(1, restart=1, start=NOON + 30, submit=NOON - 5, cpu=1.0)
        for order in ((self.RECORDS[0], again, self.RECORDS[1]),
                      (self.RECORDS[1], again, self.RECORDS[0])):
            said = self.from_records(*order)["totals"]
            self.assertEqual((said["jobs"], said["runs"]), (2, 3))
            self.assertEqual(said["turnaround_max_seconds"], 45)


class States(ReportCase):
    def test_jobs_that_never_ran(self):
        for start, nodes in (("None", "None assigned"), ("Unknown", ""),
                             (NOON + 10, "None assigned")):
            said = self.from_lines(line(1, State="CANCELLED by 1000", Start=start,
                                        NodeList=nodes, TotalCPU="00:00:00"), line(2))
            self.assertEqual(said["totals"]["jobs"], 1)
            self.assertEqual(said["totals"]["never_started"], 1)

    def test_jobs_that_go_on(self):
        said = self.from_lines(line(1, State="RUNNING", End="Unknown"),
                               line(2, State="PENDING", Start="Unknown", End="Unknown"))
        self.assertEqual(said["totals"]["jobs"], 0)
        self.assertEqual(said["totals"]["unfinished"], 2)

    def test_the_epilog_is_over_before_slurmdbd_knows(self):
        said = self.from_both([record(1)], [line(1, State="RUNNING", End="Unknown")])
        self.assertEqual(said["totals"]["jobs"], 1)
        self.assertEqual(said["totals"]["unfinished"], 0)


class QualityOfService(ReportCase):
    def test_slowdown_against_the_same_application_alone(self):
        runs = [record(n, start=NOON + 100 * n, wall=wall, guests_beside=beside)
                for n, (wall, beside) in enumerate(
                    ((10.0, 0), (10.0, 0), (12.0, 0), (11.0, 2), (15.0, 1)))]
        runs.append(record(10, job_name="other", wall=99.0, guests_beside=1))
        runs.append(record(11, cpus=4, wall=99.0, guests_beside=1))
        runs.append(record(12, user="eve", wall=99.0, guests_beside=1))
        said = self.from_records(*runs)
        primary = said["by_class"]["primary"]
        self.assertEqual(primary["slowdown_runs"], 2)
        self.assertAlmostEqual(primary["slowdown_median"], 1.1)
        self.assertEqual(len(said["applications"]), 1)
        row = said["applications"][0]
        self.assertEqual((row["name"], row["runs_alone"], row["runs_with_guests"]),
                         ("app", 3, 2))
        self.assertAlmostEqual(row["slowdown"], 1.3)
        self.assertEqual(said["by_class"]["guest"]["slowdown_runs"], 0)

    def test_failures_do_not_compare(self):
        said = self.from_both(
            [record(1, guests_beside=0), record(2, wall=5.0, guests_beside=1)],
            [line(1), line(2, State="FAILED", End=NOON + 5)])
        self.assertEqual(said["by_class"]["primary"]["slowdown_runs"], 0)

    def test_guests_are_found_by_time_and_node(self):
        guest = {"AdminComment": tag("guest"), "Partition": "guest"}
        said = self.from_lines(
            line(1), line(2, Start=NOON + 100, End=NOON + 112, NodeList="n[1-3]"),
            line(3, Start=NOON + 90, End=NOON + 101, NodeList="n[03,2]", **guest),
            line(4, Start=NOON + 10, End=NOON + 90, **guest),
            line(5, Start=NOON, End=NOON + 50, NodeList="m1", **guest))
        self.assertEqual(said["by_class"]["primary"]["slowdown_runs"], 1)
        self.assertAlmostEqual(said["by_class"]["primary"]["slowdown_median"], 1.2)

    def test_a_guest_that_still_runs_is_company(self):
        said = self.from_lines(
            line(1), line(2, Start=NOON + 100, End=NOON + 110),
            line(3, Start=NOON + 105, End="Unknown", State="RUNNING",
                 Partition="guest"))
        self.assertEqual(said["by_class"]["primary"]["slowdown_runs"], 1)
