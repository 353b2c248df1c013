# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""`hpcbctl guests stop|drain|resume`: guests off and on again, from the controller.

  drain    the guest partition is DOWN, or has the named nodes no more: no guest starts
  stop     drain; every guest there is requeued or, if Slurm cannot requeue it,
           cancelled; its epilog undoes on its nodes what was done to it; then
           `hpcbctl release` on each node undoes the rest (weights, windows)
  resume   the partition is UP and has the nodes again

slurmctld forgets both changes when it reads slurm.conf again: who wants guests to stay
off writes State=DOWN there.  The nodes that a partition had are noted in StateDir, so
that `resume` without --nodes knows them.
"""

import concurrent.futures
import json
import os
import time

from . import remote, slurm
from .hostlist import natural_key
from .text import ReportError, UsageError

VERBS = ("stop", "drain", "resume")

_AT_ONCE = 64       # remote commands
_REMOTE_SECONDS = 30
_LIST = 200         # jobs in one command
_POLL = 0.3

# squeue -t: whatever still has processes on a node.
_ALIVE = "RUNNING,SUSPENDED,STOPPED,COMPLETING,CONFIGURING,RESIZING,SIGNALING,STAGE_OUT"
_STARTED = "RUNNING,SUSPENDED,STOPPED,CONFIGURING"


class Switch:
    """One call of the verb.  found: what is printed."""

    def __init__(self, options, settings):
        self.options = options
        self.partition = settings.guest_partition
        self.note = os.path.join(settings.state_dir, "guest-nodes")
        self.now = slurm.partition(self.partition)
        self.asked = slurm.hostnames(options.nodes) if options.nodes else None
        self.found = {"verb": options.verb, "partition": self.partition, "state": "",
                      "partition_nodes": "", "nodes": [], "requeued": [],
                      "cancelled": [], "left": [], "released": [],
                      "not_released": [], "seconds": 0.0, "complete": True}

    # ---- The partition

    def _set(self, **values):
        args = [f"{key}={value}" for key, value in values.items()]
        code, _, said = slurm.run("scontrol", "update",
                                  f"PartitionName={self.partition}", *args)
        if code != 0:
            raise ReportError(f"scontrol update PartitionName={self.partition} "
                              f"{' '.join(args)}: {said}")

    def _had(self):
        """The partition's nodes before any were taken out."""
        try:
            with open(self.note, encoding="utf-8") as stream:
                return stream.read().split()
        except OSError:
            return []

    def _write_note(self, names):
        os.makedirs(os.path.dirname(self.note), mode=0o755, exist_ok=True)
        with open(self.note + ".new", "w", encoding="utf-8") as stream:
            stream.write("\n".join(names) + "\n")
        os.replace(self.note + ".new", self.note)

    def drain(self):
        present = slurm.hostnames(self.now.get("Nodes", ""))
        self.found["nodes"] = present if self.asked is None else self.asked
        if self.asked is None:
            self._set(State="DOWN")
            return
        known = set(present) | set(self._had())
        strange = [name for name in self.asked if name not in known]
        if strange:
            raise ReportError(f"--nodes: {', '.join(strange)}: not in partition "
                              f"{self.partition}, which has {self.now.get('Nodes')}")
        left = [name for name in present if name not in set(self.asked)]
        if len(left) == len(present):
            return
        if not self._had():
            self._write_note(present)
        if left:
            self._set(Nodes=slurm.hostlist(left))
        else:
            self._set(State="DOWN")

    def resume(self):
        present, had = slurm.hostnames(self.now.get("Nodes", "")), self._had()
        back = had if self.asked is None else self.asked
        wanted = present + [name for name in back if name not in set(present)]
        if len(wanted) > len(present):
            self._set(Nodes=slurm.hostlist(wanted))
        if had and set(had) <= set(wanted):
            os.unlink(self.note)
        self._set(State="UP")
        self.found["nodes"] = wanted if self.asked is None else self.asked

    # ---- The guests

    def _where(self):
        return [] if self.asked is None else ["-w", ",".join(self.asked)]

    def end_guests(self):
        rows = slurm.queue("-p", self.partition, "-t", _STARTED, *self._where(),
                           fields=("JobArrayID", "BatchFlag", "Requeue"))
        again = [job for job, batch, requeue in rows if batch == "1" and requeue == "1"]
        never = [job for job, batch, requeue in rows if batch != "1" or requeue != "1"]
        parts = [("requeued", ("scontrol", "requeue"), part) for part in _parts(again)]
        parts += [("cancelled", ("scancel",), part) for part in _parts(never)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for what, jobs in pool.map(self._end_part, parts):
                self.found[what] += jobs
        self._wait()

    @staticmethod
    def _end_part(part):
        """What the command refuses is still there: _wait cancels it."""
        what, verb, jobs = part
        slurm.run(*verb, ",".join(jobs), timeout=60)
        return what, jobs

    def _alive(self):
        return slurm.queue("-p", self.partition, "-t", _ALIVE, *self._where(),
                           fields=("JobArrayID",))

    def _wait(self):
        """Until no guest has a process or an epilog any more."""
        end, again = time.monotonic() + self.options.wait, time.monotonic() + 2
        while True:
            left = [row[0] for row in self._alive()]
            if not left or time.monotonic() >= end:
                break
            if time.monotonic() >= again:
                # Jobs that started while the partition was changed, or would not requeue.
                self._cancel_started()
                again = time.monotonic() + 2
            time.sleep(_POLL)
        self.found["left"] = left
        self.found["complete"] &= not left

    def _cancel_started(self):
        rows = slurm.queue("-p", self.partition, "-t", _STARTED, *self._where(),
                           fields=("JobArrayID",))
        for part in _parts([row[0] for row in rows]):
            self._end_part(("cancelled", ("scancel",), part))
            self.found["cancelled"] += [job for job in part
                                        if job not in self.found["cancelled"]]
            self.found["requeued"] = [job for job in self.found["requeued"]
                                      if job not in part]

    # ---- The nodes

    def release(self):
        for answer in remote.each(self.options.remote, self.found["nodes"],
                                  ["release", "--json"], _AT_ONCE, _REMOTE_SECONDS):
            if answer.why is None:
                self.found["released"].append(answer.node)
            else:
                self.found["not_released"].append({"node": answer.node,
                                                   "why": answer.why})
        self.found["complete"] &= not self.found["not_released"]

    def run(self):
        begun = time.monotonic()
        if self.options.verb == "resume":
            self.resume()
        else:
            self.drain()
        if self.options.verb == "stop":
            self.end_guests()
            self.release()
        after = slurm.partition(self.partition)
        self.found["state"] = after.get("State", "")
        self.found["partition_nodes"] = after.get("Nodes", "")
        self.found["seconds"] = round(time.monotonic() - begun, 3)
        return self.found


def _parts(jobs):
    return [jobs[at:at + _LIST] for at in range(0, len(jobs), _LIST)]


def _count(number, word):
    return f"{number} {word}" + ("" if number == 1 else "s")


def text(found):
    """What people read."""
    lines = [f"Partition {found['partition']}: State={found['state']} "
             f"Nodes={found['partition_nodes']}"]
    if found["verb"] == "stop":
        lines.append(f"{_count(len(found['requeued']), 'guest')} requeued, "
                     f"{len(found['cancelled'])} cancelled (no batch job, or submitted "
                     f"with --no-requeue), {len(found['left'])} left")
        if found["left"]:
            lines.append("left: " + " ".join(found["left"][:20]) + "; each ends when "
                         "KillWait of slurm.conf is over")
        lines.append(f"{_count(len(found['released']), 'node')} released")
        lines += [f"{row['node']}: NOT released: {row['why']}; guests have gone, for "
                  "windows and weights of primaries run there: hpcbctl release"
                  for row in found["not_released"]]
    if found["verb"] != "resume":
        lines.append(f"Back on: hpcbctl guests resume.  To stay off over a restart of "
                     f"slurmctld: State=DOWN for partition {found['partition']} in "
                     "slurm.conf.")
    return "\n".join(lines)


def add_options(made):
    made.add_argument("verb", choices=VERBS)
    made.add_argument("--nodes", metavar="LIST")
    made.add_argument("--remote", metavar="COMMAND", default=remote.REMOTE)
    made.add_argument("--wait", metavar="SECONDS", default="60")


def main(options, settings):
    """The exit code."""
    if not options.wait.isascii() or not options.wait.isdigit() or \
            not 1 <= int(options.wait) <= 3600:
        raise UsageError(f"--wait={options.wait}: allowed: 1 to 3600")
    options.remote = remote.words_of(options.remote)
    options.wait = int(options.wait)
    found = Switch(options, settings).run()
    found["nodes"].sort(key=natural_key)
    print(json.dumps(found, indent=2) if options.json else text(found), flush=True)
    return 0 if found["complete"] else 1
