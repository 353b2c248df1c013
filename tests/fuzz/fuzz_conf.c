/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>

#include "common/conf.h"
#include "common/text.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "GuestPartition=guest\nGuestQOS=\nGuestPriority=100\nGuestGres=no\n"
    "GuestCgroup=hpcb_guest\nGuestOomScoreAdj=500\nGuestMemoryHigh=90\n"
    "GuestMemory=allocated\nGuestMemoryReserve=10%\nGuestMemorySettle=5\n",
    "GuestMemoryReserve=1G\n",
    "StateDir=/run/hpc-balance\nSpoolDir=/var/spool/%n\nYieldWaits=none\n"
    "YieldSpin=50\nYieldNapMax=1000\nMpiLibrary=/usr/lib/libhpcb_mpi.so\n",
    "NodeName=n[1-4,07],r[1-2]x MemBandwidth=20G NetBandwidth=1.5G\n"
    "NodeName=ALL MemBandwidth=1\nProfileStore=/a/b\n",
    "CollectorHost=ctl,10.0.0.1\nCollectorPort=6823\nCollectorDir=/var/lib/x\n"
    "CollectorWait=300\nAdminCommentRate=5\n",
    "Windows=1s:90%,a=none\nWindowMaxDuty=95\nWindowMaxPeriod=60\nWindowMechanism="
    "auto\n"
    "WindowGuests=freeze\nWindowIdleGroups=system.slice\nWindowCgroup=w_%n\n"
    "WindowPeers=n1,n2\nWindowPort=6824\nMaxClockOffset=1000\n",
    "BalanceParameters=high=85,low=65\nBalanceInterval=1000\nBalanceWaiters=no\n"
    "BalanceFrequency=yes\n"
    "BalanceCgroup=b_%n\nBalancePages=/dev/shm/%n\n",
    "# comment\n\n guestgres = YES # more\n\tYieldWaits=a,b.c,d-e\nGuestCgroup=g_%n\n",
    "ExclusivePartitions=a,b\nGuestPinToPrimaries=yes\n",
    NULL,
};

static void check_ranges(const hpcb_conf_t *conf)
{
    FUZZ_ASSERT(hpcb_text_is_name(conf->guest_partition, HPCB_NAME_MAX));
    FUZZ_ASSERT(!*conf->guest_qos || hpcb_text_is_name(conf->guest_qos, HPCB_NAME_MAX));
    FUZZ_ASSERT(hpcb_text_is_name(conf->guest_cgroup, HPCB_NAME_MAX));
    FUZZ_ASSERT(conf->guest_priority >= 1 && conf->guest_priority <= 4294967293u);
    FUZZ_ASSERT(conf->guest_oom_score_adj >= 0 && conf->guest_oom_score_adj <= 1000);
    FUZZ_ASSERT(conf->guest_memory_high <= 100);
    FUZZ_ASSERT(conf->collector_port >= 1 && conf->collector_port <= 65535);
    FUZZ_ASSERT(conf->collector_wait >= 1 && conf->admin_comment_rate <= 1000);
    FUZZ_ASSERT(conf->window_max_duty <= 99);
    FUZZ_ASSERT(conf->window_max_period >= 1 && conf->window_max_period <= 3600);
    FUZZ_ASSERT(hpcb_text_is_name(conf->window_cgroup, HPCB_NAME_MAX));
    FUZZ_ASSERT(hpcb_text_is_name(conf->balance_cgroup, HPCB_NAME_MAX));
    FUZZ_ASSERT(conf->balance_interval_ms >= 1 && conf->balance_interval_ms <= 60000);
    FUZZ_ASSERT(conf->yield_spin_us <= 10000);
    FUZZ_ASSERT(conf->yield_nap_max_us >= 1 && conf->yield_nap_max_us <= 100000);
}

static void check_path(const char *path)
{
    FUZZ_ASSERT(path[0] == '/' && strnlen(path, PATH_MAX) < PATH_MAX);
    FUZZ_ASSERT(!strstr(path, "/../"));
    for (; *path; path++)
        FUZZ_ASSERT(*path > ' ' && *path < 0x7f);
}

/* What was read, written out and read again, is the same. */
static void check_round_trip(const hpcb_conf_t *conf)
{
    static char text[8 * PATH_MAX];
    const hpcb_memory_reserve_t *reserve = &conf->guest_memory_reserve;
    hpcb_conf_t back;
    int length = snprintf(
        text, sizeof(text),
        "GuestPartition=%s\nGuestQOS=%s\nGuestPriority=%u\nGuestGres=%s\n"
        "ExclusivePartitions=%s\nGuestPinToPrimaries=%s\n"
        "GuestCgroup=%s\nGuestOomScoreAdj=%d\nGuestMemoryHigh=%u\nGuestMemory=%s\n"
        "GuestMemoryReserve=%" PRIu64 "%s\nGuestMemorySettle=%u\n"
        "GuestRemoveIPC=%s\n"
        "GuestMaxSlowdown=%u.%04u%%\nGuestMinShare=%u.%04u%%\nGuestStarvedAfter=%"
        "u\nGuestOversubscribe=%u\nGangPartitions=%s\nGangQuantum=%u.%06u\n"
        "GangWindow=%u\nStateDir=%s\n"
        "SpoolDir=%s\nProfileStore=%s\nYieldWaits=%s\nYieldSpin=%u\nYieldNapMax=%"
        "u\nMpiLibrary=%s\nCollectorHost=%s\nCollectorPort=%u\nCollectorDir=%s\n"
        "CollectorWait=%u\nAdminCommentRate=%u\nAdminCommentTag=%s\nWindows=%"
        "s\nWindowMaxDuty=%u\n"
        "WindowMaxPeriod=%u\n"
        "WindowMechanism=%s\nWindowGuests=%s\nWindowIdleGroups=%s\nWindowCgroup=%s\n"
        "WindowPeers=%s\nWindowPort=%u\nMaxClockOffset=%u\n"
        "BalanceParameters=%s\nBalanceInterval=%u\nBalanceWaiters=%s\n"
        "BalanceFrequency=%s\nBalanceCgroup=%s\nBalancePages=%s\n",
        conf->guest_partition, conf->guest_qos, conf->guest_priority,
        conf->guest_gres ? "yes" : "no", conf->exclusive_partitions,
        conf->guest_pin_to_primaries ? "yes" : "no", conf->guest_cgroup,
        conf->guest_oom_score_adj, conf->guest_memory_high,
        conf->guest_memory_unused ? "unused" : "allocated",
        reserve->bytes ? reserve->bytes : reserve->percent, reserve->bytes ? "" : "%",
        conf->guest_memory_settle, conf->guest_remove_ipc ? "yes" : "no",
        conf->guest_max_slowdown_ppm / 10000, conf->guest_max_slowdown_ppm % 10000,
        conf->guest_min_share_ppm / 10000, conf->guest_min_share_ppm % 10000,
        conf->guest_starved_after, conf->guest_oversubscribe, conf->gang_partitions,
        conf->gang_quantum_us / 1000000, conf->gang_quantum_us % 1000000,
        conf->gang_window, conf->state_dir, conf->spool_dir, conf->profile_store,
        conf->yield_waits, conf->yield_spin_us, conf->yield_nap_max_us,
        conf->mpi_library, conf->collector_hosts, conf->collector_port,
        conf->collector_dir, conf->collector_wait, conf->admin_comment_rate,
        conf->admin_comment_tag ? "yes" : "no", conf->windows, conf->window_max_duty,
        conf->window_max_period,
        conf->window_mechanism == HPCB_WINDOW_FIFO     ? "fifo"
        : conf->window_mechanism == HPCB_WINDOW_WEIGHT ? "weight"
                                                       : "auto",
        conf->window_freezes_guests ? "freeze" : "idle", conf->window_idle_groups,
        conf->window_cgroup, conf->window_peers, conf->window_port,
        conf->max_clock_offset_us, conf->balance_parameters, conf->balance_interval_ms,
        conf->balance_waiters ? "yes" : "no", conf->balance_frequency ? "yes" : "no",
        conf->balance_cgroup, conf->balance_pages);

    FUZZ_ASSERT(hpcb_conf_parse("fuzz", text, (size_t)length, &back, NULL) == 0);
    FUZZ_ASSERT(memcmp(&back, conf, sizeof(back)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hpcb_conf_t conf, before;
    hpcb_error_t err = {""};

    memset(&conf, 0x5a, sizeof(conf));
    memset(&before, 0x5a, sizeof(before));
    if (hpcb_conf_parse("fuzz", (const char *)data, size, &conf, &err)) {
        fuzz_check_error(&err);
        FUZZ_ASSERT(memcmp(&conf, &before, sizeof(conf)) == 0);
        return 0;
    }
    check_ranges(&conf);
    check_path(conf.state_dir);
    check_path(conf.spool_dir);
    check_path(conf.collector_dir);
    if (*conf.profile_store)
        check_path(conf.profile_store);
    check_path(conf.mpi_library);
    check_round_trip(&conf);
    hpcb_conf_yields(&conf, conf.guest_partition);
    return 0;
}
