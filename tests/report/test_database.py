# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Reports and exports from the collector's database, which hpcbctl records import fills."""

import csv
import io
import json
import os
import sqlite3
import subprocess
import unittest

from tools import NOON, ReportCase, line, node_record

HPCBCTL = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "hpcbctl", "hpcbctl")


@unittest.skipUnless(os.access(HPCBCTL, os.X_OK), "hpcbctl is not built")
class DatabaseCase(ReportCase):
    RECORDS = (
        node_record(1, user="ada", job_name="x", nodes=1, submit=NOON - 30,
                    guests_beside=[], guest_cpu_seconds=0),
        node_record(2, user="ada", job_name="x", nodes=2, begin=NOON + 100,
                    end=NOON + 112.5, guests_beside=[5, 9], guest_cpu_seconds=1.5),
        node_record(2, node="n2", user="ada", job_name="x", nodes=2, begin=NOON + 100,
                    end=NOON + 110, guests_beside=[9], guest_cpu_seconds=1),
        node_record(3, user="eve", nodes=1, **{"class": "guest"}),
        node_record(3, user="eve", nodes=1, restart=1, begin=NOON + 50, end=NOON + 60,
                    **{"class": "guest"}),
        node_record(4, nodes=1, user_id=77, user=None, begin=NOON + 86400,
                    end=NOON + 86500),
    )

    def fill(self, *records, name="kept"):
        """A CollectorDir with a database of these."""
        place = os.path.join(self.dir, name)
        self.put(name + ".conf", f"CollectorDir={place}\n")
        lines = self.put(name + ".jsonl", "".join(
            item if isinstance(item, str) else json.dumps(item) + "\n"
            for item in records))
        subprocess.run([HPCBCTL, "--config", os.path.join(self.dir, name + ".conf"),
                        "records", "import", lines], check=True,
                       stdout=subprocess.DEVNULL)
        return place

    def export(self, place, *args):
        return self.report("--export=jsonl", "--records", place, *args)

    def change(self, place, *statements):
        db = sqlite3.connect(os.path.join(place, "records", "records.db"))
        for statement in statements:
            db.execute(statement)
        db.commit()
        db.close()


class Exports(DatabaseCase):
    def test_jsonl_is_what_was_taken(self):
        runs = [json.loads(text) for text in
                self.export(self.fill(*self.RECORDS)).splitlines()]
        self.assertEqual([(run["job_id"], run["restart"]) for run in runs],
                         [(1, 0), (2, 0), (3, 0), (3, 1), (4, 0)])
        two = runs[1]
        self.assertEqual((two["version"], two["kind"], two["complete"]),
                         (1, "job", True))
        self.assertEqual((two["wall_seconds"], two["cpus"], two["guests_beside"],
                          two["guest_cpu_seconds"]), (12.5, 2, 2, 2.5))
        self.assertEqual([node["node"] for node in two["node_records"]], ["n1", "n2"])
        self.assertEqual(two["node_records"][0]["guests_beside"], [5, 9])
        self.assertIsNone(runs[4]["user"])
        self.assertEqual(runs[3]["evictions"], 1)

    def test_what_guests_cost_is_the_mean_of_the_nodes_that_know(self):
        cost = {"guest_cost": 0.02, "guest_cost_low": -0.01, "guest_cost_high": 0.05,
                "guest_cost_method": "run_delay"}
        more = {"guest_cost": 0.04, "guest_cost_low": 0.03, "guest_cost_high": 0.07,
                "guest_cost_method": "iterations"}
        run, = [json.loads(text) for text in self.export(self.fill(
            node_record(1, nodes=3, **cost), node_record(1, nodes=3, node="n2", **more),
            node_record(1, nodes=3, node="n3"))).splitlines()]
        self.assertEqual([run[key] for key in cost], [0.03, 0.01, 0.06, "run_delay"])
        self.assertEqual([node["guest_cost_low"] for node in run["node_records"]],
                         [-0.01, 0.03, None])

    def test_a_guest_that_was_ended_on_one_node_was_ended(self):
        parts = [node_record(1, nodes=2, node=node, ended_for=why, **{"class": "guest"})
                 for node, why in (("n1", None), ("n2", "memory"))]
        place = self.fill(*parts)
        run, = [json.loads(text) for text in self.export(place).splitlines()]
        self.assertEqual(run["ended_for"], "memory")
        totals = self.json("--no-sacct", "--records", place)["totals"]
        self.assertEqual(totals["ended_for_memory"], 1)
        self.assertEqual(totals["ended_for_memory_cpu_seconds"], 16.0)
        text = self.report("--no-sacct", "--records", place)
        self.assertIn("Guests ended for memory 1, CPU hours that they lost 0.00", text)

    def test_what_guests_cost_is_in_the_text(self):
        place = self.fill(node_record(1, guest_cost=0.02, guest_cost_low=-0.01,
                                      guest_cost_high=0.05, guest_cost_method="run_delay"))
        text = self.report("--no-sacct", "--records", place)
        self.assertIn("Guests cost primaries 2.00% of their time (95%: -1.00% to 5.00%), "
                      "by experiment, in 1 runs (1 by run_delay)", text)

    def test_what_the_guard_did_is_in_the_text(self):
        place = self.fill(node_record(1, guard_steps=4, guests_requeued=1,
                                      sliced_seconds=3600.0),
                          node_record(2, throttled_seconds=1800.0, stopped_seconds=0.0,
                                      starved_seconds=0.0, ended_for="harm"))
        text = self.report("--no-sacct", "--records", place)
        self.assertIn("Guests restricted 4 times, throttled 0.50 h, stopped 0.00 h, "
                      "requeued for harm 1; stopped for want of CPU time 0.00 h, "
                      "requeued for it 0; primaries with long slices 1.00 h", text)

    def test_a_database_of_an_older_release_is_read(self):
        place = self.fill(*self.RECORDS)
        self.change(place, "ALTER TABLE run DROP COLUMN ended_for")
        self.change(place, "ALTER TABLE run DROP COLUMN guest_cost_low")
        self.change(place, "ALTER TABLE run DROP COLUMN starved_seconds")
        totals = self.json("--no-sacct", "--records", place)["totals"]
        self.assertEqual((totals["runs"], totals["ended_for_memory"]), (5, 0))

    def test_an_export_is_imported_as_the_same(self):
        first = self.export(self.fill(*self.RECORDS))
        again = self.export(self.fill(*first.splitlines(keepends=True), name="other"))
        self.assertEqual(first, again)

    def test_csv_has_a_line_a_run(self):
        out = self.report("--export=csv", "--records", self.fill(*self.RECORDS))
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(len(rows), 5)
        self.assertEqual((rows[1]["job_id"], rows[1]["cpu_seconds"], rows[1]["user"]),
                         ("2", "16.000000", "ada"))

    def test_options_select(self):
        place = self.fill(*self.RECORDS)
        for args, jobs in ((["-S", f"@{NOON + 86400}"], [4]), (["--user=eve"], [3, 3]),
                           (["--user=77"], [4]), (["--class=guest"], [3, 3]),
                           (["-U", f"@{NOON + 11}", "--class=primary"], [1])):
            self.assertEqual([json.loads(text)["job_id"] for text in
                              self.export(place, *args).splitlines()], jobs, args)

    def test_fields_of_a_later_release_are_exported(self):
        place = self.fill(*self.RECORDS)
        self.change(place, "ALTER TABLE run ADD COLUMN later_bytes INTEGER",
                    "UPDATE run SET later_bytes = 7",
                    "INSERT INTO field VALUES ('run', 'later_bytes', 99, 'count', "
                    "'bytes', 'moved')")
        self.assertEqual(json.loads(self.export(place).splitlines()[0])["later_bytes"],
                         7)

    def test_refusals(self):
        for args, code, words in (
                (["--export=xml"], 2, "--export=xml: allowed: jsonl, csv"),
                (["--export=csv", "--json"], 2, "exclude each other"),
                (["--export=csv", "--no-records"], 2, "reads records alone"),
                (["--export=csv", "--records", self.dir], 1, "holds no database")):
            _, err = self.call("hpcb-report", *args, code=code)
            self.assertIn(words, err)
            self.assertEqual(err.count("\n"), 1)


class Reports(DatabaseCase):
    def both(self, *args):
        """--json of the database, and of its export."""
        place = self.fill(*self.RECORDS)
        self.put("files/records/2025-11-21.jsonl", self.export(place))
        said = []
        for path in (place, os.path.join(self.dir, "files")):
            one = self.json("--records", path, *args)
            del one["sources"]
            said.append(one)
        return said

    def test_says_what_files_said(self):
        lines = [line(1), line(2, NCPUS=2, NodeList="n[1-2]"), line(9, State="RUNNING",
                                                                    End="Unknown"),
                 line(3, State="REQUEUED", Start=NOON, End=NOON + 10),
                 line(3, Start=NOON + 50, End=NOON + 60)]
        for args in (["--no-sacct"], ["--no-sacct", "--by=user,name,hour"],
                     ["--no-sacct", "-S", f"@{NOON}", "-U", f"@{NOON + 70}"],
                     ["--sacct-file", self.put_lines(*lines)]):
            first, second = self.both(*args)
            self.assertEqual(first, second)
            self.assertGreater(first["totals"]["jobs"], 1)

    def test_runs_that_wait_are_in_no_report(self):
        place = self.fill(*self.RECORDS)
        self.change(place, "UPDATE run SET seq = NULL WHERE job_id = 1")
        self.assertEqual(self.json("--no-sacct", "--records", place)["totals"]["jobs"],
                         3)
        self.assertNotIn('"job_id":1,', self.export(place))

    def test_damage_and_later_versions_are_told(self):
        place = self.fill(*self.RECORDS)
        self.change(place, "PRAGMA user_version = 3")
        _, err = self.call("hpcb-report", "--no-sacct", "--records", place, code=1)
        self.assertIn("is of version 3; this release reads 2", err)
        path = os.path.join(place, "records", "records.db")
        with open(path, "r+b") as stream:
            stream.seek(4096)
            stream.write(b"rubbish " * 4096)
        self.change_version_back(path)
        _, err = self.call("hpcb-report", "--no-sacct", "--records", place, code=1)
        self.assertIn("malformed", err)
        self.assertEqual(err.count("\n"), 1)

    def change_version_back(self, path):
        """By hand: SQLite would not write to it."""
        for suffix in ("-wal", "-shm"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
        with open(path, "r+b") as stream:
            stream.seek(60)
            stream.write((1).to_bytes(4, "big"))

    def test_sacct_gets_figures_that_admincomment_lacks(self):
        place = self.fill(*self.RECORDS)
        self.put("none.conf", f"CollectorDir={place}\n")
        jobs = [{"JobIDRaw": str(job), "Cluster": "c", "JobID": str(job),
                 "AdminComment": comment, "JobName": "x", "State": "COMPLETED"}
                for job, comment in ((1, ""), (2, '{"hpcb":{"v":1,"class":"primary",'
                                                  '"eff":0.5,"wall":1}}'), (8, ""))]
        self.fake_sacct(jobs)
        out = self.call("hpcb-sacct", "-nP", "--format=JobID,Class,Efficiency,Guests")[0]
        self.assertEqual(out, "1|primary|0.800|0\n2|primary|0.500|\n8|||\n")

    def test_sacct_gets_what_guests_cost(self):
        cost = {"guest_cost": 0.0212, "guest_cost_low": -0.004, "guest_cost_high": 0.05,
                "guest_cost_method": "run_delay"}
        place = self.fill(node_record(1, nodes=1, **cost), node_record(2, nodes=1))
        self.put("none.conf", f"CollectorDir={place}\n")
        self.fake_sacct([{"JobIDRaw": job, "Cluster": "c", "JobID": job, "JobName": "x",
                          "AdminComment": '{"hpcb":{"v":1,"class":"primary","wall":1}}',
                          "State": "COMPLETED"} for job in "12"])
        out = self.call("hpcb-sacct", "-nP", "--format=JobID,GuestCost,CostMethod")[0]
        self.assertEqual(out, "1|+2.1%[-0.4..+5.0]|run_delay\n2||\n")
        out = self.call("hpcb-sacct", "-nP", "--format=JobID,CostMethod")[0]
        self.assertEqual(out, "1|run_delay\n2|\n")

    def test_ids_that_slurm_gave_again(self):
        later = NOON + 40 * 86400
        place = self.fill(node_record(1, nodes=1, submit=NOON - 5),
                          node_record(1, nodes=1, submit=later - 5, begin=later,
                                      end=later + 10, cpu_seconds=5.0))
        said = self.json("--no-sacct", "--records", place)["totals"]
        self.assertEqual((said["jobs"], said["cpu_seconds"]), (2, 13))
        said = self.json("--records", place, "--sacct-file", self.put_lines(
            line(1), line(1, Submit=later - 5, Start=later, End=later + 10)))["totals"]
        self.assertEqual((said["jobs"], said["cpu_seconds"]), (2, 13))
        self.put("none.conf", f"CollectorDir={place}\n")
        for start, end, shown in ((NOON, NOON + 10, "0.800"), (later, later + 10, "0.500"),
                                  (later + 1000, "Unknown", ""), (NOON - 999, NOON - 998, ""),
                                  ("2025-11-21T12:00:01", "2025-11-21T12:00:11", "0.800"),
                                  ("Unknown", "Unknown", "0.500")):
            self.fake_sacct([{"JobIDRaw": "1", "Cluster": "c", "JobID": "1", "Start": str(start),
                              "End": str(end)}])
            out = self.call("hpcb-sacct", "-nP", "--format=JobID,Efficiency")[0]
            self.assertEqual(out, f"1|{shown}\n", start)
        self.env["SLURM_TIME_FORMAT"] = "%Y%m%d"
        self.fake_sacct([{"JobIDRaw": "1", "Cluster": "c", "JobID": "1", "Start": "20251121",
                          "End": "20251121"}])
        out = self.call("hpcb-sacct", "-nP", "--format=JobID,Efficiency")[0]
        self.assertEqual(out, "1|0.500\n")


if __name__ == "__main__":
    unittest.main()
