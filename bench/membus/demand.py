# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What the NAS kernels ask of memory in bench/membus, measured once for all of a series."""

import glob
import json
import math
import os

import jobs
import machine
from cluster import command
from membus import plan

MIB = 2**20
CACHES = "/sys/devices/system/cpu/cpu0/cache"

# Of CG's memory a quarter is the vector that it goes to at random; IS's counts are a half.
# A vector of so many last-level caches is in them to a quarter at most.
VECTOR_PART = 0.25
VECTOR_CACHES = 4
LEAST_MIB, MOST_MIB = 160, 1024
# A job's memory besides, MPI's, and the part of a machine's that four jobs may have.
OTHER_MIB = 64
MPI_MIB = 256
PART_OF_MEMORY = 0.7
# So often is it measured what memory gives.
CALIBRATIONS = 3
# Rates differ by that much anyhow.
TOLERANCE = 0.01


def cache_bytes(directory=CACHES):
    """Of the largest cache of a CPU; 0: Linux does not say."""
    factors = {"K": 2**10, "M": 2**20, "G": 2**30}
    texts = [jobs.read_text(path).strip()
             for path in glob.glob(os.path.join(directory, "index*", "size"))]
    return max((int(text[:-1]) * factors[text[-1]] for text in texts
                if text[:-1].isdigit() and text[-1] in factors), default=0)


def memory_mib():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB


def size_mib(cache, memory, nodes=1):
    """--size of nas: that no cache holds if four jobs of it on each node fit into the machine's
    MiB."""
    wanted = math.ceil(cache * VECTOR_CACHES / VECTOR_PART / MIB) if cache else MOST_MIB
    bound = min(MOST_MIB, int(memory * PART_OF_MEMORY / 4 / nodes) - OTHER_MIB)
    return max(LEAST_MIB, min(wanted, bound))


def nas_work(rates, units_a_second):
    """{kernel: --work of nas}: units of computing after each MiB, so that memory bandwidths
    are in proportion to the paper's.  rates: bytes in a second of CPU time without any."""
    whole = rates["CG"] / plan.NAS_MB_S["CG"]
    return {kernel: max(0, round((1 / (whole * plan.NAS_MB_S[kernel]) - 1 / rate)
                                 * MIB * units_a_second))
            for kernel, rate in rates.items()}


def meet_mib(rates):
    """{kernel: --meet of nas}, so that ranks meet every plan.MEET_SECONDS."""
    whole = rates["CG"] / plan.NAS_MB_S["CG"]
    return {kernel: max(1, round(min(whole * plan.NAS_MB_S[kernel], rate) * plan.MEET_SECONDS
                                 / MIB)) for kernel, rate in rates.items()}


def slower(rates):
    """{kernel: the part of its share that it reaches}, of those that compute nothing between
    and do not reach it."""
    whole = rates["CG"] / plan.NAS_MB_S["CG"]
    parts = {kernel: rate / (whole * plan.NAS_MB_S[kernel]) for kernel, rate in rates.items()}
    return {kernel: part for kernel, part in parts.items() if part < 1 - TOLERANCE}


def said(*argv):
    return json.loads(command(argv, 60))


def memory_bandwidth(build):
    """(bytes/s of all CPUs, was nobody else at work).  Others only take from it: the most of
    several measurements counts, of those that nobody disturbed if there are such."""
    # --force: jobs of other sandboxes are others at work, and no reason to refuse.
    found = [said(os.path.join(build, "hpcbctl", "hpcbctl"), "calibrate", "--json", "--force",
                  "--seconds", "2") for _ in range(CALIBRATIONS)]
    quiet, most = max((one["quiet"] and not one["primaries"], one["mem_bytes_per_second"])
                      for one in found)
    return int(most), quiet


def measure(build, nodes, patience, progress):
    """{"size": MiB, "cache": bytes, "work": as nas_work(), "meet": as meet_mib(), "slower": as
    slower()}, of the programs in the build directory."""
    progress.show("measuring what the kernels ask of memory")
    machine.wait_idle(0.05, patience)
    cache, rates = cache_bytes(), {}
    size = size_mib(cache, memory_mib(), nodes)
    for kernel in plan.NAS_MB_S:
        found = said(os.path.join(build, "bench", "nas"), f"--kernel={kernel}",
                     f"--size={size}", "--seconds=2")
        rates[kernel] = found["bytes"] / found["cpu"]
    speed = said(os.path.join(build, "bench", "primary-cpu"), "--calibrate")
    return {"size": size, "cache": cache, "slower": slower(rates), "meet": meet_mib(rates),
            "work": nas_work(rates, speed["units_per_second"])}
