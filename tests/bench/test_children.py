# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/children.py: what a run has started is gone at its end, in whatever session it is,
and whatever ends the bench."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import children

# As launchers of MPI do: one rank in a session of its own, and one that does not listen.
LAUNCHER = """\
setsid sh -c 'echo $$ > $0/far; exec sleep 60' "$1" &
sh -c 'trap "" TERM; echo $$ > $0/deaf; for i in $(seq 20); do sleep 1; done' "$1" &
echo $$ > "$1/launcher"
wait
"""
NAMES = ("far", "deaf", "launcher")
SECONDS = 10


def wait_pids(directory):
    """Of all processes, when they are there."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        texts = []
        for name in NAMES:
            path = os.path.join(directory, name)
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    texts.append(file.read().strip())
        if len(list(filter(None, texts))) == len(NAMES):
            return list(map(int, texts))
        time.sleep(0.02)
    raise AssertionError("the launcher does not start")


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Running(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def assert_gone(self, pids):
        deadline = time.monotonic() + SECONDS
        while any(map(is_alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.02)
        left = [pid for pid in pids if is_alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [])

    def test_all_are_gone_at_the_end(self):
        with children.running(["sh", "-c", LAUNCHER, "sh", self.directory], os.environ) as one:
            pids = wait_pids(self.directory)
            self.assertTrue(all(map(is_alive, pids)))
        self.assertIsNotNone(one.poll())
        self.assert_gone(pids)

    def test_also_when_their_launcher_is_gone(self):
        with children.running(["sh", "-c", LAUNCHER, "sh", self.directory], os.environ) as one:
            pids = wait_pids(self.directory)
            one.kill()
            one.wait()
        self.assert_gone(pids)

    def test_others_are_left_alone(self):
        with subprocess.Popen(["sleep", "60"]) as other:
            with children.running(["sleep", "60"], os.environ) as outer:
                with children.running(["true"], os.environ) as inner:
                    inner.wait()
                time.sleep(0.1)
                self.assertIsNone(outer.poll())
            self.assertTrue(is_alive(other.pid))
            other.kill()

    def test_no_such_program(self):
        with self.assertRaises(OSError):
            with children.running(["/nowhere/mpiexec"], os.environ):
                pass

    def test_signals_to_the_bench_leave_nothing(self):
        """timeout(1) sends two, and people press ctrl-C again."""
        code = (f"import sys, os; sys.path.insert(0, {os.path.dirname(children.__file__)!r})\n"
                "import children, session, time\n"
                "def run():\n"
                f"    with children.running(['sh', '-c', {LAUNCHER!r}, 'sh', "
                f"{self.directory!r}], os.environ):\n"
                "        time.sleep(60)\n"
                "session.main(run)")
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number), \
                    subprocess.Popen(
                        [sys.executable, "-c", code],
                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                    ) as bench:
                pids = wait_pids(self.directory)
                for _ in range(3):
                    bench.send_signal(number)
                    time.sleep(0.02)
                self.assertEqual(bench.wait(60), 130)
                self.assert_gone(pids)
            for name in NAMES:
                os.unlink(os.path.join(self.directory, name))


if __name__ == "__main__":
    unittest.main()
