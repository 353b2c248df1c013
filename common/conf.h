/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf: Slurm's Key=Value style, one pair per line, '#' starts a comment,
 * keys are case-insensitive.  Lines about nodes begin with NodeName and contain several
 * pairs (common/capacity.h).  doc/hpc-balance.conf.5 describes each key.
 */
#ifndef HPCB_COMMON_CONF_H
#define HPCB_COMMON_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/capacity.h"
#include "common/error.h"
#include "common/window.h"

#define HPCB_NAME_MAX 64
#define HPCB_LIST_MAX 512

/* Maximum number of guests per core. */
#define HPCB_GUEST_OVERSUBSCRIBE_MAX 16

/* Limits of GangQuantum, in microseconds, and of GangWindow. */
#define HPCB_GANG_QUANTUM_MIN_US 50000
#define HPCB_GANG_QUANTUM_MAX_US 10000000
#define HPCB_GANG_WINDOW_LIMIT   16

/* GuestSiblings: mechanisms that may keep guests from running at the same time as
 * primaries on one core (cgroup/siblings.h). */
typedef enum {
    HPCB_GUEST_SIBLINGS_NONE,
    HPCB_GUEST_SIBLINGS_AUTO,
    HPCB_GUEST_SIBLINGS_COOKIE,
    HPCB_GUEST_SIBLINGS_AVOID,
    HPCB_GUEST_SIBLINGS_THROTTLE
} hpcb_guest_siblings_t;

/* WindowMechanism: how a job is boosted (cgroup/favour.h). */
typedef enum {
    HPCB_WINDOW_AUTO,
    HPCB_WINDOW_FIFO,
    HPCB_WINDOW_WEIGHT
} hpcb_window_mechanism_t;

/* GuestMemoryReserve: percent of RealMemory (policy/lend.h), or bytes if percent is
 * 0. */
typedef struct {
    uint64_t bytes;
    unsigned percent;
} hpcb_memory_reserve_t;

typedef struct {
    char path[PATH_MAX];                 /* the file that was read, "" for defaults */
    char guest_partition[HPCB_NAME_MAX]; /* GuestPartition=guest */
    char guest_qos[HPCB_NAME_MAX];       /* GuestQOS= (none) */
    uint32_t guest_priority;             /* GuestPriority=100 */
    bool guest_gres;                     /* GuestGres=no */
    /* ExclusivePartitions=none | all | partition,... */
    char exclusive_partitions[HPCB_LIST_MAX];
    bool guest_pin_to_primaries;      /* GuestPinToPrimaries=no */
    char guest_cgroup[HPCB_NAME_MAX]; /* GuestCgroup=hpcb_guest; %n expanded */
    int guest_oom_score_adj;          /* GuestOomScoreAdj=1000 (0..1000) */
    unsigned guest_memory_high; /* GuestMemoryHigh=90: percent of the guest's own memory
                                   limit, 0: unchanged */
    bool guest_memory_unused;   /* GuestMemory=unused */
    hpcb_memory_reserve_t guest_memory_reserve; /* GuestMemoryReserve=5% */
    uint32_t guest_memory_settle;               /* GuestMemorySettle=60: seconds */
    bool guest_remove_ipc;                      /* GuestRemoveIPC=yes */
    hpcb_guest_siblings_t guest_siblings;       /* GuestSiblings=auto */
    uint32_t guest_sibling_difference;          /* GuestSiblingDifference=5 (0..5) */
    bool guest_siblings_required;               /* GuestSiblingsRequired=no */
    bool memory_probe;                          /* MemoryProbe=yes */
    uint32_t guest_max_slowdown_ppm; /* GuestMaxSlowdown=1%: millionths, 0: no limit */
    uint32_t guest_min_share_ppm;    /* GuestMinShare=1%: millionths, 0: no minimum */
    uint32_t guest_starved_after;    /* GuestStarvedAfter=600: seconds, 0 = never */
    unsigned guest_oversubscribe;    /* GuestOversubscribe=1: guests per core */
    char gang_partitions[HPCB_LIST_MAX]; /* GangPartitions=none | all | partition,... */
    uint32_t gang_quantum_us;            /* GangQuantum=0.5: seconds */
    unsigned gang_window;                /* GangWindow=2: quanta */
    char state_dir[PATH_MAX];            /* StateDir=/run/hpc-balance; %n expanded */
    char spool_dir[PATH_MAX];            /* SpoolDir=/var/spool/hpc-balance; %n */
    char profile_store[PATH_MAX];    /* ProfileStore=, see hpcb_conf_profile_store */
    char yield_waits[HPCB_LIST_MAX]; /* YieldWaits=none | all | partition,... */
    uint32_t yield_spin_us;          /* YieldSpin: microseconds, 0..10000 */
    uint32_t yield_nap_max_us;       /* YieldNapMax: microseconds, 1..100000 */
    char mpi_library[PATH_MAX];      /* MpiLibrary=<pkglibdir>/libhpcb_mpi.so */
    char collector_hosts[HPCB_LIST_MAX]; /* CollectorHost=host,... ("": none) */
    uint32_t collector_port;             /* CollectorPort=6823 */
    char collector_dir[PATH_MAX];        /* CollectorDir=/var/lib/hpc-balance; %n */
    uint32_t collector_wait;             /* CollectorWait=300: seconds */
    uint32_t admin_comment_rate;         /* AdminCommentRate=5: per second, 0: none */
    bool admin_comment_tag;              /* AdminCommentTag=yes */
    char windows[HPCB_LIST_MAX]; /* Windows=none | [partition=]PERIOD:DUTY,... */
    unsigned window_max_duty;    /* WindowMaxDuty=95: percent, 0: no windows */
    unsigned window_max_period;  /* WindowMaxPeriod=10: seconds */
    hpcb_window_mechanism_t window_mechanism; /* WindowMechanism=auto */
    bool window_freezes_guests;               /* WindowGuests=idle */
    char window_idle_groups[HPCB_LIST_MAX];   /* WindowIdleGroups= */
    char window_cgroup[HPCB_NAME_MAX];      /* WindowCgroup=hpcb_window; %n expanded */
    char window_peers[HPCB_LIST_MAX];       /* WindowPeers= */
    unsigned window_port;                   /* WindowPort=6824, UDP */
    unsigned max_clock_offset_us;           /* MaxClockOffset=1000 */
    char balance_parameters[HPCB_LIST_MAX]; /* BalanceParameters=NAME=N,... */
    unsigned balance_interval_ms;           /* BalanceInterval=1000 */
    bool balance_waiters;                   /* BalanceWaiters=yes */
    bool balance_frequency;                 /* BalanceFrequency=no */
    char balance_cgroup[HPCB_NAME_MAX];     /* BalanceCgroup=hpcb_balance; %n */
    char balance_pages[PATH_MAX];           /* BalancePages=/dev/shm/hpc-balance; %n */
} hpcb_conf_t;

/* Get this node's name for %n: $SLURMD_NODENAME if the caller is root and it is a valid
 * name, otherwise the host's short name, otherwise "localhost".  Return buf. */
const char *hpcb_node_name(char *buf, size_t size);

/* Set every key's default.  %n is expanded to hpcb_node_name() here and in
 * hpcb_conf_load. */
void hpcb_conf_defaults(hpcb_conf_t *conf);

/*
 * Read path.  On failure conf is unchanged and err holds one line: "PATH:LINE:
 * Key=value: what is allowed", without LINE if two keys conflict, or "PATH: why it
 * cannot be read".  Unknown keys, duplicates, values out of range, lines over 4 KiB,
 * NUL and other control bytes are errors.  path may be a symbolic link (sites manage
 * /etc that way).  Return 0, or -1 (errno ENOENT if there is no file, EINVAL for its
 * content).
 */
int hpcb_conf_load(const char *path, hpcb_conf_t *conf, hpcb_error_t *err);

/* Read path for a caller that must work with a damaged file, too: conf gets the values
 * of valid lines and defaults for the rest, also if -1 is returned.  err names the
 * first error. */
int hpcb_conf_salvage(const char *path, hpcb_conf_t *conf, hpcb_error_t *err);

/* Do what hpcb_conf_load does, from memory: length bytes of text that were read from
 * path. */
int hpcb_conf_parse(const char *path, const char *text, size_t length,
                    hpcb_conf_t *conf, hpcb_error_t *err);

/* Read the NodeName lines of path, in order, into rows, an array of
 * HPCB_CAPACITIES_MAX.  Return 0, or -1 as hpcb_conf_load (the whole file must be
 * valid); rows are then undefined, count is unchanged. */
int hpcb_conf_capacities(const char *path, hpcb_capacity_t *rows, size_t *count,
                         hpcb_error_t *err);

/* Get the file of the profile store: ProfileStore, or profiles.json in SpoolDir.  Write
 * to buf (PATH_MAX bytes) and return it. */
const char *hpcb_conf_profile_store(const hpcb_conf_t *conf, char buf[static PATH_MAX]);

/*
 * Get the file to read: explicit if not NULL; otherwise $HPC_BALANCE_CONF; otherwise
 * hpc-balance.conf next to $SLURM_CONF; otherwise the compiled-in one, also if Slurm
 * has received its files (configless) and ours is not among them.  The environment is
 * read with secure_getenv.  Write to buf and return it; a path that does not fit yields
 * "", which cannot be loaded.
 */
const char *hpcb_conf_find(const char *explicit_path, char *buf, size_t size);

/* Get the window of partition's primaries that ask for none; all zero for no window. */
void hpcb_conf_window(const hpcb_conf_t *conf, const char *partition,
                      hpcb_window_spec_t *window);

/* Return false if the period is longer than WindowMaxPeriod. */
bool hpcb_conf_window_fits(const hpcb_conf_t *conf, const hpcb_window_spec_t *window);

/* Return true if YieldWaits names partition (or all). */
bool hpcb_conf_yields(const hpcb_conf_t *conf, const char *partition);

/* Return true if jobs of partition take turns: for the guests' partition if
 * GuestOversubscribe is more than 1, for others if GangPartitions names it (or all). */
bool hpcb_conf_is_gang(const hpcb_conf_t *conf, const char *partition);

/* Return whether there is such a partition. */
bool hpcb_conf_has_gangs(const hpcb_conf_t *conf);

/* Return true if partition (NULL: none) is GuestPartition=.  common/class.h has the
 * other criteria for a guest. */
bool hpcb_conf_is_guest(const hpcb_conf_t *conf, const char *partition);

/* Return true if ExclusivePartitions names partition (or all); never for guests'. */
bool hpcb_conf_is_exclusive(const hpcb_conf_t *conf, const char *partition);

#endif
