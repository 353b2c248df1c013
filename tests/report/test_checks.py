# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcbctl check --nodes: what several hosts find, told once."""

import contextlib
import io
import json
import os
import unittest.mock

from hpcb_report import guests, remote
from test_guests import GuestsCase

CLUSTER = {"rule": "preempt-type", "verdict": "fail", "file": "/etc/slurm/slurm.conf",
           "found": "PreemptType=preempt/qos", "mend": "PreemptType=preempt/none",
           "protects": "guests run on"}
MUNGE = {"rule": "munge", "verdict": "warn", "file": None, "found": "munged is not there",
         "mend": "systemctl start munge", "protects": "records arrive"}


def found(*rows, ok=False):
    return json.dumps({"node": "x", "ok": ok, "findings": list(rows)})


def verdict(rule, said):
    return {"rule": rule, "verdict": said, "file": None, "found": "", "mend": None,
            "protects": "x"}


class Checks(GuestsCase):
    def setUp(self):
        super().setUp()
        self.cluster["answers"] = {
            "n1": found(CLUSTER, MUNGE, verdict("kernel", "ok")),
            "n2": found(CLUSTER, verdict("munge", "ok"), verdict("kernel", "ok")),
            "n3": found(CLUSTER, MUNGE, verdict("kernel", "ok"))}
        self.here(found(CLUSTER, verdict("munge", "ok"), verdict("kernel", "elsewhere"),
                        verdict("slurmdbd", "elsewhere")))

    def here(self, text, code=1):
        """What hpcbctl of this host prints."""
        with open(f"{self.dir}/answer", "w", encoding="utf-8") as stream:
            stream.write(text)
        with open(f"{self.dir}/hpcbctl", "w", encoding="utf-8") as stream:
            stream.write(f"#!/bin/sh\ncat {self.dir}/answer\nexit {code}\n")
        os.chmod(f"{self.dir}/hpcbctl", 0o755)

    def check(self, *args, code=1):
        """(stdout, stderr), in this process: the host's hpcbctl is one of the test."""
        path = f"{self.dir}/cluster.json"
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(self.cluster, stream)
        env = {"PATH": f"{self.dir}/bin:{os.environ['PATH']}", "FAKE_SLURM": path,
               "HPC_BALANCE_CONF": f"{self.dir}/conf"}
        out, err = io.StringIO(), io.StringIO()
        with unittest.mock.patch.dict(os.environ, env), \
                unittest.mock.patch.object(remote, "SBINDIR", self.dir), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            self.assertEqual(guests.main(["--check", *args]), code, err.getvalue())
        return out.getvalue(), err.getvalue()

    def test_equal_findings_are_told_once_with_their_nodes(self):
        said = json.loads(self.check("--json", "--nodes=n[1-3]")[0])
        nodes = {row["found"]: row["nodes"] for row in said["findings"]
                 if row["verdict"] in ("warn", "fail")}
        self.assertEqual(nodes, {"PreemptType=preempt/qos": ["this host", "n1", "n2", "n3"],
                                 "munged is not there": ["n1", "n3"]})
        self.assertEqual((said["ok"], said["not_checked"]), (False, []))

    def test_as_text(self):
        out, _ = self.check("--nodes=ALL")
        self.assertEqual(out, """\
WARN  munge: munged is not there
      on: n1,n3
      mend: systemctl start munge
      protects: records arrive
FAIL  preempt-type: PreemptType=preempt/qos (/etc/slurm/slurm.conf)
      on: all
      mend: PreemptType=preempt/none
      protects: guests run on
SKIP  tested on none of these hosts: slurmdbd
4 hosts: 1 rules ok, 1 warnings, 1 failed; 0 hosts not checked
""")

    def test_good_when_all_are(self):
        good = found(verdict("kernel", "ok"), ok=True)
        self.cluster["answers"] = dict.fromkeys(("n1", "n2", "n3"), good)
        self.here(good, code=0)
        self.assertIn("4 hosts: 1 rules ok, 0 warnings, 0 failed; 0 hosts not checked",
                      self.check("--nodes=n[1-3]", code=0)[0])
        self.cluster["deaf"] = ["n2"]
        self.assertIn("n2: NOT checked: ssh: connect to host: No route to host\n",
                      self.check("--nodes=n[1-3]")[0])

    def test_answers_that_are_none(self):
        for answer in ("", "Welcome to n1\n", "[1]", '{"findings":7}', '{"findings":[{}]}'):
            self.cluster["answers"]["n1"] = answer
            said = json.loads(self.check("--json", "--nodes=n1")[0])
            self.assertEqual([row["node"] for row in said["not_checked"]], ["n1"], answer)

    def test_what_a_node_says_is_neutral(self):
        self.cluster["answers"]["n1"] = found({**MUNGE, "found": "\x1b[31m"})
        self.assertIn("munge: \\x1b[31m", self.check("--nodes=n1")[0])

    def test_options_reach_the_node(self):
        self.check("--nodes=n2", f"--config={self.dir}/conf", "--remote=ssh -l adm")
        self.assertIn(f"ssh -l adm n2 {self.dir}/hpcbctl --config {self.dir}/conf --json "
                      "check", self.log())

    def test_refusals(self):
        for args, words in ((["--nodes=a b"], "'a b' is no list of nodes"),
                            (["--nodes=n1", "--remote="], "--remote: allowed: a command"),
                            (["--nodes=n1", "--remote='"], "--remote: No closing")):
            out, err = self.check(*args, code=2 if "--remote" in words else 1)
            self.assertEqual((out, err.count("\n")), ("", 1))
            self.assertIn(words, err)
