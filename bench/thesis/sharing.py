# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""How many guests may have the same core of the sandbox (GuestOversubscribe)."""

import os
import re

from cluster import command


def slurm_conf(text, number):
    return re.sub(r"(?m)^(PartitionName=guest .*OverSubscribe=FORCE):\d+", rf"\1:{number}", text)


def balance_conf(text, number):
    kept = [line for line in text.splitlines() if not line.startswith("GuestOversubscribe=")]
    return "\n".join([*kept, f"GuestOversubscribe={number}", ""])


class Sharing:
    """One cluster with us, whose guests have a core each when it is given."""

    def __init__(self, cluster, nodes):
        self.cluster = cluster
        self.hosts = [f"n{number}" for number in range(1, nodes + 1)]
        self.number = 1

    def choose(self, number):
        """For jobs that are submitted from now on."""
        if number == self.number:
            return
        self.rewrite("slurm.conf", slurm_conf, number)
        self.rewrite("hpc-balance.conf", balance_conf, number)
        self.on("ctl", "scontrol", "reconfigure")
        for host in self.hosts:
            self.on(host, "sh", "-c", 'kill -HUP "$(cat /run/pids/hpcbd)"')
        self.number = number

    def rewrite(self, name, change, number):
        path = os.path.join(self.cluster.directory, "etc", name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text, number))

    def on(self, host, *argv):
        command([self.cluster.sandbox, "exec", "--dir", self.cluster.directory, "--host",
                 host, "--", *argv], 60)
