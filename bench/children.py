# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Processes that a bench starts and has to end, whenever a signal ends the bench."""

import signal
import subprocess
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ending_later():
    """A signal that is to end us waits until this is over.  Answered inside Popen() it
    would leave a process behind that nobody has heard of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(keep, argv, prepare=lambda: None, **options):
    """Popen(argv, **options), returned and in the hands of keep(process) before a signal
    can end us; prepare() is called in the child."""
    def begin():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        prepare()

    with ending_later():
        process = subprocess.Popen(argv, preexec_fn=begin, **options)
        keep(process)
        return process
