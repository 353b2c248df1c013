/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf: Slurm's Key=Value style, one pair a line, '#' starts a
 * comment, keys without regard to case.  Lines about nodes begin with NodeName and hold
 * several pairs (common/capacity.h).  doc/hpc-balance.conf.5 describes each key.
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

/* Guests a core. */
#define HPCB_GUEST_OVERSUBSCRIBE_MAX 16

/* GangQuantum, in microseconds; GangWindow. */
#define HPCB_GANG_QUANTUM_MIN_US 50000
#define HPCB_GANG_QUANTUM_MAX_US 10000000
#define HPCB_GANG_WINDOW_LIMIT   16

/* GuestSiblings: which mechanisms may keep guests from running beside primaries on one
 * core (cgroup/siblings.h). */
typedef enum {
    HPCB_GUEST_SIBLINGS_NONE,
    HPCB_GUEST_SIBLINGS_AUTO,
    HPCB_GUEST_SIBLINGS_COOKIE,
    HPCB_GUEST_SIBLINGS_AVOID,
    HPCB_GUEST_SIBLINGS_THROTTLE
} hpcb_guest_siblings_t;

/* WindowMechanism: how a job is favoured (cgroup/favour.h). */
typedef enum {
    HPCB_WINDOW_AUTO,
    HPCB_WINDOW_FIFO,
    HPCB_WINDOW_WEIGHT
} hpcb_window_mechanism_t;

/* GuestMemoryReserve: percent of RealMemory (policy/lend.h), or bytes where that is 0.
 */
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
    unsigned guest_memory_high;       /* GuestMemoryHigh=90: percent of the guest's
                                         own memory limit, 0 = leave alone */
    bool guest_memory_unused;         /* GuestMemory=unused */
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
    unsigned guest_oversubscribe;    /* GuestOversubscribe=1: guests a core */
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
    uint32_t admin_comment_rate;         /* AdminCommentRate=5: a second, 0 = none */
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

/* This node's name for %n: $SLURMD_NODENAME where the caller is root and it is a
 * valid name, else the host's short name, else "localhost".  Returns buf. */
const char *hpcb_node_name(char *buf, size_t size);

/* Every key's default.  %n is expanded to hpcb_node_name() here and in
 * hpcb_conf_load. */
void hpcb_conf_defaults(hpcb_conf_t *conf);

/*
 * Read path.  On failure conf is untouched and err holds one line:
 * "PATH:LINE: Key=value: what is allowed", without LINE if two keys do not fit
 * together, or "PATH: why it cannot be read". Unknown keys, duplicates, values out of
 * range, lines over 4 KiB, NUL and other control bytes are errors.  path may be a
 * symbolic link (sites manage /etc that way).  Returns 0, or -1 (errno ENOENT when
 * there is no file, EINVAL for its content).
 */
int hpcb_conf_load(const char *path, hpcb_conf_t *conf, hpcb_error_t *err);

/* The same for what has to work with a damaged file too: conf has what lines without a
 * mistake say, and defaults for the rest, also if -1 is returned.  err tells the first
 * mistake. */
int hpcb_conf_salvage(const char *path, hpcb_conf_t *conf, hpcb_error_t *err);

/* As hpcb_conf_load from memory: length bytes of text that were read from path. */
int hpcb_conf_parse(const char *path, const char *text, size_t length,
                    hpcb_conf_t *conf, hpcb_error_t *err);

/* Read the capacities of nodes that path gives: its NodeName lines, in order, into
 * rows, which has room for HPCB_CAPACITIES_MAX.  0, or -1 as hpcb_conf_load (the whole
 * file must be good); rows are then undefined, count is untouched. */
int hpcb_conf_capacities(const char *path, hpcb_capacity_t *rows, size_t *count,
                         hpcb_error_t *err);

/* The file of the profile store: ProfileStore, or profiles.json in SpoolDir.  Writes to
 * buf (PATH_MAX bytes) and returns it. */
const char *hpcb_conf_profile_store(const hpcb_conf_t *conf, char buf[static PATH_MAX]);

/*
 * The file to read: explicit when not NULL; else $HPC_BALANCE_CONF; else
 * hpc-balance.conf beside $SLURM_CONF; else the compiled-in one, also where Slurm has
 * been sent its files (configless) and ours is not among them.  Environment is read
 * with secure_getenv.  Writes to buf and returns it; a path that does not fit gives "",
 * which cannot be loaded.
 */
const char *hpcb_conf_find(const char *explicit_path, char *buf, size_t size);

/* The window of partition's primaries that ask for none: all zero for no window. */
void hpcb_conf_window(const hpcb_conf_t *conf, const char *partition,
                      hpcb_window_spec_t *window);

/* False if the period is longer than WindowMaxPeriod. */
bool hpcb_conf_window_fits(const hpcb_conf_t *conf, const hpcb_window_spec_t *window);

/* True where YieldWaits names partition (or all). */
bool hpcb_conf_yields(const hpcb_conf_t *conf, const char *partition);

/* True where GangPartitions names partition (or all); for guests', where
 * GuestOversubscribe lets several share a core: jobs that take turns. */
bool hpcb_conf_is_gang(const hpcb_conf_t *conf, const char *partition);

/* Whether there is any such partition. */
bool hpcb_conf_has_gangs(const hpcb_conf_t *conf);

/* Tests if partition (NULL: none) is GuestPartition=.  What else makes a guest is in
 * common/class.h. */
bool hpcb_conf_is_guest(const hpcb_conf_t *conf, const char *partition);

/* True where ExclusivePartitions names partition (or all); never for guests'. */
bool hpcb_conf_is_exclusive(const hpcb_conf_t *conf, const char *partition);

#endif
