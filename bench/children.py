# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Processes that a bench starts and has to end, whenever a signal ends the bench."""

import contextlib
import os
import secrets
import signal
import subprocess
import time

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MARK = "HPCB_BENCH_RUN"  # in the environment of what running() starts
END_SECONDS = 10
POLL_SECONDS = 0.05


@contextlib.contextmanager
def uninterrupted():
    """Signals that would end the bench wait until this is left.  Gives the mask of signals
    before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        # One that has come just now ends this when it is blocked.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(keep, argv, prepare=lambda: None, **options):
    """Popen(argv, **options), in the hands of keep(process) before a signal can end us:
    answered inside Popen() it would leave a process behind that nobody has heard of.
    prepare() is called in the child."""
    with uninterrupted() as before:
        def begin():
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            prepare()

        keep(subprocess.Popen(argv, preexec_fn=begin, **options))


def has_mark(pid, mark):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark.encode() in file.read().split(b"\0")
    except OSError:  # it has ended, or is another user's
        return False


def kill_marked(mark):
    """How many processes there were."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if not has_mark(pid, mark):
            continue
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(int(pid))
            try:
                # The number may be another process's by now.
                if has_mark(pid, mark):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    count += 1
            finally:
                os.close(descriptor)
    return count


def end(process, mark):
    """And all that has its mark."""
    with uninterrupted():
        # A launcher that is told to end ends its ranks in order.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        deadline = time.monotonic() + END_SECONDS
        while kill_marked(mark) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)


@contextlib.contextmanager
def running(argv, env, **options):
    """with running(argv, env, **options of Popen) as process: at the end it and all that it
    has started are gone.  A launcher of MPI puts its ranks into groups and sessions of their
    own, so that these say nothing: what belongs together has a mark in its environment."""
    value = secrets.token_hex(16)
    started = []
    try:
        start(started.append, argv, env={**env, MARK: value}, start_new_session=True,
              **options)
        yield started[0]
    finally:
        for process in started:
            end(process, f"{MARK}={value}")
