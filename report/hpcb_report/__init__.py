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
  runs       the table of all runs of jobs, a column per array
  records    fills it from the collector's files, or a node's
  sacct      fills it from sacct
  select     which runs count, and where each belongs
  metrics    figures of groups of jobs
  slowdown   primaries with guests beside the same ones without
  timeline   who was on which node when
  layout     text, CSV and JSON
  svg        shapes
  charts     pictures
  page       the HTML file
  command    hpcb-report's command line
  columns    hpcb-sacct
"""
