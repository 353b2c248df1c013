# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Processes that a bench starts and has to end, whenever a signal ends the bench."""

import signal
import subprocess

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(keep, argv, prepare=lambda: None, **options):
    """Popen(argv, **options), in the hands of keep(process) before a signal can end us:
    answered inside Popen() it would leave a process behind that nobody has heard of.
    prepare() is called in the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def begin():
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        prepare()

    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        keep(subprocess.Popen(argv, preexec_fn=begin, **options))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
