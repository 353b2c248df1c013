# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What the tests share: directories, records and lines of sacct made from few words."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT = os.path.join(HERE, "..", "..", "report")

# A Friday at noon, UTC.
NOON = 1763726400

sys.path.insert(0, REPORT)

from hpcb_report.sacct import FIELDS  # noqa: E402


def record(job_id, **given):
    """A collector's record: a primary of one node and one CPU, 10 s long."""
    start = given.pop("start", NOON)
    wall = given.pop("wall", 10.0)
    cpu = given.pop("cpu", 8.0)
    delay = given.pop("delay", 0.1)
    nodes = given.pop("nodes", ["n1"])
    cpus = given.pop("cpus", 1)
    made = {"version": 1, "kind": "job", "cluster": "c", "job_id": job_id, "restart": 0,
            "array_job_id": None, "array_task_id": None, "het_job_id": None,
            "user_id": 1000, "user": "ada", "partition": "primary", "job_name": "app",
            "executable": "a.out", "class": "primary", "policy": "none",
            "submit": start - 5, "start": start, "end": start + wall, "complete": True,
            "nodes": len(nodes), "cpus": cpus * len(nodes), "wall_seconds": wall,
            "cpu_seconds": cpu, "run_delay_seconds": delay, "memory_peak_bytes": 1,
            "efficiency": None, "stolen_fraction": None, "mem_bandwidth": None,
            "net_bandwidth": None, "guests_beside": None, "guest_cpu_seconds": None,
            "evictions": 0,
            "node_records": [
                {"node": node, "begin": start, "end": start + wall,
                 "wall_seconds": wall, "cpus": cpus, "cpu_seconds": cpu / len(nodes),
                 "run_delay_seconds": delay / len(nodes)} for node in nodes]}
    if made["class"] != given.get("class", "primary"):
        made["partition"] = given["class"]
    made.update(given)
    return made


def node_record(job_id, **given):
    """What a node writes."""
    made = {"version": 1, "job_id": job_id, "node": "n1", "cluster": "c",
            "class": "primary", "policy": "none", "user_id": 1000,
            "partition": "primary", "begin": NOON, "end": NOON + 10.0,
            "wall_seconds": 10.0, "cpus": 1, "cpu_seconds": 8.0,
            "run_delay_seconds": 0.1, "memory_peak_bytes": 1, "efficiency": 0.8,
            "stolen_fraction": 0.01}
    made.update(given)
    return made


def line(job_id, delimiter="|", **given):
    """A line of sacct about the same job; times in seconds."""
    made = dict(zip(FIELDS, [str(job_id), "c", "ada", "primary", "COMPLETED", "1",
                             str(NOON - 5), str(NOON), str(NOON + 10), "00:00:08", "n1",
                             "", "app", "1000"]))
    made.update({key: str(value) for key, value in given.items()})
    return delimiter.join(made[name] for name in FIELDS) + "\n"


def tag(klass):
    return json.dumps({"hpcb": {"v": 1, "class": klass}})


class ReportCase(unittest.TestCase):
    """A directory of its own for each test, and the programs with no surroundings."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.env = {"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8",
                    "HPC_BALANCE_CONF": self.put("none.conf",
                                                 f"CollectorDir={self.dir}/none\n"
                                                 f"SpoolDir={self.dir}/none\n")}

    def put(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)
        return path

    def put_records(self, *records, day="2025-11-21"):
        return os.path.dirname(self.put(
            f"records/{day}.jsonl",
            "".join(json.dumps(item) + "\n" for item in records)))

    def put_lines(self, *lines):
        return self.put("sacct.txt", "".join(lines))

    def call(self, program, *args, code=0, text=True, **more):
        """(stdout, stderr) of a program that ends with code."""
        done = subprocess.run(
            [sys.executable, "-B", os.path.join(REPORT, program), *args],
            stdin=subprocess.DEVNULL, capture_output=True, env=self.env, timeout=120,
            check=False, **more)
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        self.assertEqual(done.returncode, code, out + err)
        return out, err

    def report(self, *args, **more):
        return self.call("hpcb-report", *args, **more)[0]

    def json(self, *args):
        return json.loads(self.report("--json", *args))

    def from_lines(self, *lines, args=()):
        """--json of what sacct says alone."""
        return self.json("--no-records", "--sacct-file", self.put_lines(*lines), *args)

    def from_records(self, *records, args=()):
        return self.json("--no-sacct", "--records", self.put_records(*records), *args)

    def from_both(self, records, lines, args=()):
        return self.json("--records", self.put_records(*records), "--sacct-file",
                         self.put_lines(*lines), *args)

    def fake_sacct(self, jobs, exit_code=None):
        """Put tests/report/fake-sacct first in PATH; it knows these jobs."""
        place = os.path.join(self.dir, "bin")
        os.makedirs(place, exist_ok=True)
        link = os.path.join(place, "sacct")
        if not os.path.lexists(link):
            os.symlink(os.path.join(HERE, "fake-sacct"), link)
        # No slurmctld, or one that says what $FAKE_SINFO has.
        sinfo = self.put("bin/sinfo", '#!/bin/sh\necho "${FAKE_SINFO?}"\n')
        os.chmod(sinfo, 0o755)
        self.env.update(PATH=place + os.pathsep + os.environ["PATH"],
                        FAKE_SACCT=self.put("jobs.json", json.dumps(jobs)),
                        FAKE_SACCT_LOG=os.path.join(self.dir, "calls"))
        if exit_code:
            self.env["FAKE_SACCT_EXIT"] = str(exit_code)

    def sacct_calls(self):
        with open(os.path.join(self.dir, "calls"), encoding="utf-8") as stream:
            return [json.loads(text) for text in stream]
