# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A command whose processes all end with it, also those that left its process group or its
session: spawned by MPI_Comm_spawn, or the daemons of a singleton.

As root it gets PID, IPC and mount namespaces of its own, with its own /dev/shm: the kernel
ends what is in there.  Without root they are known by their session and by a mark in their
environment."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

MARK = "HPCB_SUITES_RUN"
END_SECONDS = 10
NAMESPACES = ("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child",
              "--ipc", "--mount-proc")
# As process 1 it waits for the command and for all that loses its parent.
FIRST = ("sh", "-c", '[ ! -d /dev/shm ] || mount -t tmpfs tmpfs /dev/shm || exit 126; "$@"; '
         "exit $?", "sh")


class Stopped(Exception):
    """No run can begin any more."""


@dataclass
class Ended:
    status: int       # as subprocess has it; None: it had to be ended
    out: str
    err: str
    seconds: float

    @property
    def text(self):
        return self.out + self.err


def members(session, mark):
    """PIDs of a session and of what carries the mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                state, _, _, of = stat.read().rpartition(")")[2].split()[:4]
            with open(f"/proc/{pid}/environ", "rb") as environ:
                marked = f"{MARK}={mark}".encode() in environ.read().split(b"\0")
            if state != "Z" and (int(of) == session or marked):
                found.append(int(pid))
    return found


def end_members(session, mark, seconds=END_SECONDS):
    """A process that leaves the session, or begins a program, may be missed once."""
    deadline, none = time.monotonic() + seconds, 0
    while none < 2 and time.monotonic() < deadline:
        pids = members(session, mark)
        none = 0 if pids else none + 1
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def has_namespaces():
    with contextlib.suppress(OSError):
        done = subprocess.run([*NAMESPACES, *FIRST, "true"], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        return done.returncode == 0
    return False


class Runner:
    """Runs commands, from several threads if need be, until stop() is called."""

    def __init__(self, namespaces=None):
        self.namespaces = has_namespaces() if namespaces is None else namespaces
        self.lock = threading.Lock()
        self.running = {}   # {Popen: its mark}
        self.stopped = False
        # Short: sockets are below it.
        self.scratch = tempfile.mkdtemp(prefix="hpcb-s.")

    def directory(self):
        """A new one, which stop() removes if its owner does not."""
        return tempfile.mkdtemp(prefix="", dir=self.scratch)

    def begin(self, argv, directory, environ, out, err):
        mark = f"{os.getpid()}.{os.path.basename(environ['TMPDIR'])}"
        argv = [*NAMESPACES, *FIRST, *argv] if self.namespaces else argv
        with self.lock:
            if self.stopped:
                raise Stopped()
            process = subprocess.Popen(argv, cwd=directory, env={**environ, MARK: mark},
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       start_new_session=True)
            self.running[process] = mark
        return process

    def end(self, process):
        """Nothing of it is left afterwards."""
        mark = self.running[process]
        # `unshare` ends after all that are in the namespaces, unless it is killed.
        if self.namespaces and process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end_members(process.pid, mark)

    def run(self, argv, directory, environ, seconds):
        """An Ended."""
        own = self.directory()
        with tempfile.TemporaryFile("w+", errors="replace", dir=own) as out, \
                tempfile.TemporaryFile("w+", errors="replace", dir=own) as err:
            began = time.monotonic()
            process = self.begin(argv, directory, {**environ, "TMPDIR": own}, out, err)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                took = time.monotonic() - began
                self.end(process)
                with self.lock:
                    del self.running[process]
            if self.stopped:
                raise Stopped()
            out.seek(0)
            err.seek(0)
            found = Ended(status, out.read(), err.read(), took)
        shutil.rmtree(own, ignore_errors=True)
        return found

    def stop(self):
        with self.lock:
            self.stopped = True
            running = list(self.running)
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def close(self):
        """When all threads have ended."""
        shutil.rmtree(self.scratch, ignore_errors=True)
