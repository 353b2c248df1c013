# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What guests gave and what they cost, from sacct and the job records (hpcb-report),
and the same beside sacct's own columns (hpcb-sacct).

Modules, each of which uses those above it only:

  version    what configure has decided
  text       neutral text for people, widths, CSV cells
  times      points in time as sacct's options take them
  hostlist   n[1-3,7] and back
  settings   the few keys of hpc-balance.conf that a reader needs
  base       the working database of all runs of jobs
  records    what the collector's database says, or files of records
  sacct      what sacct says
  facts      which runs count, and what is true of each
  metrics    figures of groups of jobs
  slowdown   primaries with guests beside the same ones without
  timeline   who was on which node when
  layout     text, CSV and JSON
  svg        shapes
  charts     pictures
  page       the HTML file
  export     runs out of the collector's database, for other programs
  command    hpcb-report's command line
  columns    hpcb-sacct
"""
