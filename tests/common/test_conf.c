/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf.h"
#include "tests/common/scratch.h"

#define LONG_LINE 4096

static const char *const key_names[] = {
    "GuestPartition",
    "GuestQOS",
    "GuestPriority",
    "GuestGres",
    "ExclusivePartitions",
    "GuestPinToPrimaries",
    "GuestCgroup",
    "GuestOomScoreAdj",
    "GuestMemoryHigh",
    "GuestMemory",
    "GuestMemoryReserve",
    "GuestMemorySettle",
    "GuestRemoveIPC",
    "GuestSiblings",
    "GuestSiblingDifference",
    "GuestSiblingsRequired",
    "GuestMaxSlowdown",
    "GuestMinShare",
    "GuestStarvedAfter",
    "GuestOversubscribe",
    "GangPartitions",
    "GangQuantum",
    "GangWindow",
    "MemoryProbe",
    "StateDir",
    "SpoolDir",
    "ProfileStore",
    "YieldWaits",
    "YieldSpin",
    "YieldNapMax",
    "CollectorHost",
    "CollectorPort",
    "CollectorDir",
    "CollectorWait",
    "AdminCommentRate",
    "AdminCommentTag",
    "Windows",
    "WindowMaxDuty",
    "WindowMaxPeriod",
    "WindowMechanism",
    "WindowGuests",
    "WindowIdleGroups",
    "WindowCgroup",
    "WindowPeers",
    "WindowPort",
    "MaxClockOffset",
    "BalanceParameters",
    "BalanceInterval",
    "BalanceWaiters",
    "BalanceFrequency",
    "BalanceCgroup",
    "BalancePages",
    "MpiLibrary",
};

#define N_KEYS (sizeof(key_names) / sizeof(key_names[0]))

static int parse(const char *text, hpcb_conf_t *conf, hpcb_error_t *err)
{
    return hpcb_conf_parse("test.conf", text, strlen(text), conf, err);
}

START_TEST(defaults_are_those_of_the_manual)
{
    hpcb_conf_t conf;

    hpcb_conf_defaults(&conf);
    ck_assert_str_eq(conf.path, "");
    ck_assert_str_eq(conf.guest_partition, "guest");
    ck_assert_str_eq(conf.guest_qos, "");
    ck_assert_uint_eq(conf.guest_priority, 100);
    ck_assert(!conf.guest_gres);
    ck_assert_str_eq(conf.exclusive_partitions, "none");
    ck_assert(!conf.guest_pin_to_primaries);
    ck_assert_str_eq(conf.guest_cgroup, "hpcb_guest");
    ck_assert_int_eq(conf.guest_oom_score_adj, 1000);
    ck_assert_uint_eq(conf.guest_memory_high, 90);
    ck_assert(conf.guest_memory_unused);
    ck_assert_uint_eq(conf.guest_memory_reserve.percent, 5);
    ck_assert_uint_eq(conf.guest_memory_reserve.bytes, 0);
    ck_assert_uint_eq(conf.guest_memory_settle, 60);
    ck_assert(conf.guest_remove_ipc);
    ck_assert_int_eq(conf.guest_siblings, HPCB_GUEST_SIBLINGS_AUTO);
    ck_assert_uint_eq(conf.guest_sibling_difference, 5);
    ck_assert(!conf.guest_siblings_required);
    ck_assert(conf.memory_probe);
    ck_assert_uint_eq(conf.guest_max_slowdown_ppm, 10000);
    ck_assert_uint_eq(conf.guest_min_share_ppm, 10000);
    ck_assert_uint_eq(conf.guest_starved_after, 600);
    ck_assert_uint_eq(conf.guest_oversubscribe, 1);
    ck_assert_str_eq(conf.gang_partitions, "none");
    ck_assert_uint_eq(conf.gang_quantum_us, 500000);
    ck_assert_uint_eq(conf.gang_window, 2);
    ck_assert_str_eq(conf.state_dir, "/run/hpc-balance");
    ck_assert_str_eq(conf.spool_dir, "/var/spool/hpc-balance");
    ck_assert_str_eq(conf.profile_store, "");
    ck_assert_str_eq(conf.yield_waits, "none");
    ck_assert_uint_eq(conf.yield_spin_us, 10);
    ck_assert_uint_eq(conf.yield_nap_max_us, 1000);
    ck_assert_str_eq(conf.mpi_library, HPCB_PKGLIBDIR "/libhpcb_mpi.so");
    ck_assert_str_eq(conf.collector_hosts, "");
    ck_assert_uint_eq(conf.collector_port, 6823);
    ck_assert_str_eq(conf.collector_dir, "/var/lib/hpc-balance");
    ck_assert_uint_eq(conf.collector_wait, 300);
    ck_assert_uint_eq(conf.admin_comment_rate, 5);
    ck_assert(conf.admin_comment_tag);
    ck_assert_str_eq(conf.windows, "none");
    ck_assert_uint_eq(conf.window_max_duty, 95);
    ck_assert_uint_eq(conf.window_max_period, 10);
    ck_assert_int_eq(conf.window_mechanism, HPCB_WINDOW_AUTO);
    ck_assert(!conf.window_freezes_guests);
    ck_assert_str_eq(conf.window_idle_groups, "");
    ck_assert_str_eq(conf.window_cgroup, "hpcb_window");
    ck_assert_str_eq(conf.window_peers, "");
    ck_assert_uint_eq(conf.window_port, 6824);
    ck_assert_uint_eq(conf.max_clock_offset_us, 1000);
    ck_assert_str_eq(conf.balance_parameters, "");
    ck_assert_uint_eq(conf.balance_interval_ms, 1000);
    ck_assert(conf.balance_waiters);
    ck_assert(!conf.balance_frequency);
    ck_assert_str_eq(conf.balance_cgroup, "hpcb_balance");
    ck_assert_str_eq(conf.balance_pages, "/dev/shm/hpc-balance");
}
END_TEST

START_TEST(windows_by_partition)
{
    static const struct {
        const char *line, *partition;
        uint64_t period_us, favoured_us;
    } rows[] = {
        {"", "a", 0, 0},
        {"Windows=none", "a", 0, 0},
        {"Windows=1s:90%", "a", 1000000, 900000},
        {"Windows=a=2s:1s", "a", 2000000, 1000000},
        {"Windows=a=2s:1s", "b", 0, 0},
        {"Windows=a=2s:1s,1s:90%", "a", 2000000, 1000000},
        {"Windows=1s:90%,a=None", "a", 0, 0},
        {"Windows=1s:90%,a=none", "b", 1000000, 900000},
        {"WindowMechanism=Fifo\nWindowGuests=FREEZE\nWindowIdleGroups=system.slice,"
         "user.slice\nWindowCgroup=w_%n\nWindowPeers=n1,n2\nWindowMaxDuty=0\n"
         "Windows=1ms:1us",
         "x", 1000, 1},
    };
    hpcb_window_spec_t window;
    hpcb_conf_t conf;
    hpcb_error_t err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(parse(rows[i].line, &conf, &err) == 0, "%s", err.text);
        hpcb_conf_window(&conf, rows[i].partition, &window);
        ck_assert_uint_eq(window.period_us, rows[i].period_us);
        ck_assert_uint_eq(window.favoured_us, rows[i].favoured_us);
    }
    ck_assert(conf.window_freezes_guests);
    ck_assert_int_eq(conf.window_mechanism, HPCB_WINDOW_FIFO);
    ck_assert_uint_eq(conf.window_max_duty, 0);
}
END_TEST

START_TEST(every_key_is_read)
{
    hpcb_conf_t conf;
    hpcb_error_t err = {""};
    const char *text = "GuestPartition=scav.1\n"
                       "guestqos=scavenger\n"
                       "  GUESTPRIORITY = 4294967293\t# as high as it goes\n"
                       "GuestGres=YES\n"
                       "ExclusivePartitions=whole,gpu\n"
                       "GuestPinToPrimaries=yes\n"
                       "GuestCgroup=idle-ones\n"
                       "GuestOomScoreAdj=0\n"
                       "GuestMemoryHigh=100\n"
                       "GuestMemory=Allocated\n"
                       "GuestMemoryReserve=1.5G\n"
                       "GuestMemorySettle=0\n"
                       "GuestSiblings=Throttle\n"
                       "GuestSiblingDifference=0\n"
                       "GuestSiblingsRequired=yes\n"
                       "MemoryProbe=no\n"
                       "GuestMaxSlowdown=2.5%\n"
                       "GuestMinShare=0.25%\n"
                       "GuestStarvedAfter=0\n"
                       "GuestOversubscribe=3\n"
                       "GangPartitions=mixed,mem\n"
                       "GangQuantum=0.05\n"
                       "GangWindow=16\n"
                       "StateDir=/run/a..b/./c\n"
                       "SpoolDir=/srv//spool\n"
                       "ProfileStore=/srv/profiles\n"
                       "YieldWaits=mpi,gpu-2\n"
                       "\n   \n# a comment with \xc3\xa4 in it\n"
                       "YieldSpin=10000\n"
                       "YieldNapMax=1\n"
                       "MpiLibrary=/opt/lib/$LIB/x.so";

    ck_assert_msg(parse(text, &conf, &err) == 0, "%s", err.text);
    ck_assert_str_eq(conf.path, "test.conf");
    ck_assert_str_eq(conf.guest_partition, "scav.1");
    ck_assert_str_eq(conf.guest_qos, "scavenger");
    ck_assert_uint_eq(conf.guest_priority, 4294967293u);
    ck_assert(conf.guest_gres);
    ck_assert(conf.guest_pin_to_primaries);
    ck_assert_str_eq(conf.exclusive_partitions, "whole,gpu");
    ck_assert_str_eq(conf.guest_cgroup, "idle-ones");
    ck_assert_int_eq(conf.guest_oom_score_adj, 0);
    ck_assert_uint_eq(conf.guest_memory_high, 100);
    ck_assert(!conf.guest_memory_unused);
    ck_assert_uint_eq(conf.guest_memory_reserve.percent, 0);
    ck_assert_uint_eq(conf.guest_memory_reserve.bytes, 3u << 29);
    ck_assert_uint_eq(conf.guest_memory_settle, 0);
    ck_assert_int_eq(conf.guest_siblings, HPCB_GUEST_SIBLINGS_THROTTLE);
    ck_assert_uint_eq(conf.guest_sibling_difference, 0);
    ck_assert(conf.guest_siblings_required);
    ck_assert(!conf.memory_probe);
    ck_assert_uint_eq(conf.guest_max_slowdown_ppm, 25000);
    ck_assert_uint_eq(conf.guest_min_share_ppm, 2500);
    ck_assert_uint_eq(conf.guest_starved_after, 0);
    ck_assert_uint_eq(conf.guest_oversubscribe, 3);
    ck_assert_str_eq(conf.gang_partitions, "mixed,mem");
    ck_assert_uint_eq(conf.gang_quantum_us, 50000);
    ck_assert_uint_eq(conf.gang_window, 16);
    ck_assert_str_eq(conf.state_dir, "/run/a..b/./c");
    ck_assert_str_eq(conf.spool_dir, "/srv//spool");
    ck_assert_str_eq(conf.profile_store, "/srv/profiles");
    ck_assert_str_eq(conf.yield_waits, "mpi,gpu-2");
    ck_assert_uint_eq(conf.yield_spin_us, 10000);
    ck_assert_uint_eq(conf.yield_nap_max_us, 1);
    ck_assert_str_eq(conf.mpi_library, "/opt/lib/$LIB/x.so");
}
END_TEST

START_TEST(an_empty_file_means_defaults)
{
    hpcb_conf_t conf, defaults;

    hpcb_conf_defaults(&defaults);
    ck_assert_int_eq(parse("", &conf, NULL), 0);
    memset(conf.path, 0, sizeof(conf.path));
    ck_assert_int_eq(memcmp(&conf, &defaults, sizeof(conf)), 0);
}
END_TEST

static const char *const bad_values[] = {
    "ProfileStore=profiles.json",
    "ProfileStore=/",
    "ProfileStore=/a/../b",
    "NodeName=n1",
    "NodeName=n1 MemBandwidth=",
    "NodeName=n1 MemBandwidth=0",
    "NodeName=n1 MemBandwidth=0.0000001",
    "NodeName=n1 MemBandwidth=-1",
    "NodeName=n1 MemBandwidth=1X",
    "NodeName=n1 MemBandwidth=1GB",
    "NodeName=n1 MemBandwidth=1048577T",
    "NodeName=n1 MemBandwidth=1G MemBandwidth=1G",
    "NodeName=n1 NetBandwidth=1G netbandwidth=2G",
    "NodeName=n1 NodeName=n2 MemBandwidth=1G",
    "NodeName=n1 RealMemory=1G",
    "NodeName=n1 MemBandwidth=1G stray",
    "NodeName= MemBandwidth=1G",
    "NodeName =n1 MemBandwidth=1G",
    "NodeName=n1, MemBandwidth=1G",
    "NodeName=,n1 MemBandwidth=1G",
    "NodeName=n1,,n2 MemBandwidth=1G",
    "NodeName=n[1-4 MemBandwidth=1G",
    "NodeName=n[] MemBandwidth=1G",
    "NodeName=n[a-b] MemBandwidth=1G",
    "NodeName=n[1[2]] MemBandwidth=1G",
    "NodeName=n]1 MemBandwidth=1G",
    "NodeName=n/1 MemBandwidth=1G",
    "MemBandwidth=1G",
    "NetBandwidth=1G NodeName=n1",
    "GuestPartition=",
    "GuestPartition=a/b",
    "GuestPartition=..",
    "GuestPartition=a,b",
    "GuestPartition=g\xc3\xa4st",
    "GuestPartition=%n",
    "GuestPartition=0123456789012345678901234567890123456789012345678901234567890123",
    "GuestQOS=a b",
    "GuestQOS=\"x\"",
    "GuestQOS=.",
    "GuestPriority=",
    "GuestPriority=0",
    "GuestPriority=-1",
    "GuestPriority=+1",
    "GuestPriority=1e3",
    "GuestPriority=0x64",
    "GuestPriority=4294967294",
    "GuestPriority=18446744073709551716",
    "GuestGres=",
    "GuestGres=maybe",
    "GuestGres=1",
    "GuestCgroup=",
    "GuestCgroup=..",
    "GuestCgroup=a/b",
    "GuestCgroup=%h",
    "GuestCgroup=a%",
    "GuestCgroup=%%n",
    "GuestOomScoreAdj=1001",
    "GuestOomScoreAdj=-1000",
    "GuestOomScoreAdj=x",
    "GuestMemoryHigh=101",
    "GuestMemory=free",
    "GuestMemory=",
    "GuestMemoryReserve=",
    "GuestMemoryReserve=%",
    "GuestMemoryReserve=91%",
    "GuestMemoryReserve=100000000%",
    "GuestMemoryReserve=1.5%",
    "GuestMemoryReserve=0",
    "GuestMemoryReserve=-1G",
    "GuestMemoryReserve=9999T",
    "GuestMemorySettle=86401",
    "GuestMemoryHigh=90%",
    "GuestMemoryHigh=",
    "GuestSiblings=",
    "GuestSiblings=cookie,throttle",
    "GuestSiblings=yes",
    "GuestSiblingDifference=6",
    "GuestSiblingDifference=-1",
    "GuestSiblingsRequired=1",
    "GuestMaxSlowdown=100.1%",
    "GuestMinShare=",
    "GuestMinShare=1",
    "GuestMinShare=%",
    "GuestMinShare=-1%",
    "GuestMinShare=1%%",
    "GuestMinShare=50.1%",
    "GuestMinShare=99999999999999999999%",
    "GuestStarvedAfter=604801",
    "GuestStarvedAfter=10m",
    "GuestOversubscribe=0",
    "GuestOversubscribe=17",
    "GuestOversubscribe=FORCE:3",
    "GangPartitions=",
    "GangPartitions=a,,b",
    "GangPartitions=a,none",
    "GangQuantum=",
    "GangQuantum=0.049999",
    "GangQuantum=10.000001",
    "GangQuantum=500ms",
    "GangQuantum=-1",
    "GangQuantum=1s",
    "GangWindow=-1",
    "GangWindow=17",
    "StateDir=",
    "StateDir=run",
    "StateDir=/",
    "StateDir=//",
    "StateDir=/run/../etc",
    "StateDir=/run/..",
    "StateDir=/..",
    "StateDir=/run/%h",
    "SpoolDir=~/x",
    "SpoolDir=./x",
    "ExclusivePartitions=",
    "ExclusivePartitions=a,none",
    "ExclusivePartitions=a b",
    "YieldWaits=",
    "YieldWaits=a,,b",
    "YieldWaits=,a",
    "YieldWaits=a,",
    "YieldWaits=none,a",
    "YieldWaits=a,ALL",
    "YieldWaits=a/b",
    "YieldSpin=10001",
    "YieldSpin=50us",
    "YieldSpin=1.5",
    "YieldNapMax=0",
    "YieldNapMax=100001",
    "CollectorHost=,",
    "CollectorHost=ctl,",
    "CollectorHost=a;b",
    "CollectorHost=a/b",
    "CollectorPort=0",
    "CollectorPort=65536",
    "CollectorDir=",
    "CollectorDir=/",
    "CollectorWait=0",
    "CollectorWait=86401",
    "AdminCommentRate=1001",
    "AdminCommentRate=-1",
    "AdminCommentTag=JS1:",
    "Windows=",
    "Windows=1s",
    "Windows=1s:100%",
    "Windows=1s:90%,",
    "Windows=1s:90%,none",
    "Windows==1s:90%",
    "Windows=a/b=1s:90%",
    "Windows=a=b=1s:90%",
    "WindowMaxPeriod=0",
    "WindowMaxPeriod=3601",
    "WindowMaxPeriod=10s",
    "WindowMaxDuty=100",
    "WindowMaxDuty=90%",
    "WindowMechanism=rt",
    "WindowGuests=stop",
    "WindowIdleGroups=a,",
    "WindowIdleGroups=a/b",
    "WindowIdleGroups=..",
    "WindowCgroup=",
    "WindowCgroup=a/b",
    "WindowPeers=,",
    "WindowPort=0",
    "MaxClockOffset=0",
    "MaxClockOffset=1ms",
    "BalanceParameters=high=8%",
    "BalanceParameters=High=8",
    "BalanceInterval=0",
    "BalanceInterval=1s",
    "BalanceWaiters=maybe",
    "BalanceFrequency=2GHz",
    "BalanceCgroup=a/b",
    "BalancePages=shm",
    "BalancePages=/",
    "MpiLibrary=",
    "MpiLibrary=libx.so",
    "MpiLibrary=/a:/b",
    "MpiLibrary=/a/../b",
    "MpiLibrary=/%n/x.so",
    "GuestPartition=a GuestQOS=b",
    "Nonsense=1",
    "Guest_Partition=x",
    "=x",
    "GuestQOS",
    "GuestQOS\xc3\xa4=x",
    "\x01",
    "GuestQOS=a\rb",
    "GuestQOS=\x7f",
    "\xef\xbb\xbfGuestQOS=a",
};

START_TEST(bad_values_give_one_line)
{
    hpcb_conf_t conf, before;
    hpcb_error_t err = {""};
    char text[512];

    memset(&conf, 0x5a, sizeof(conf));
    before = conf;
    for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]); i++) {
        snprintf(text, sizeof(text), "# first\n%s\n", bad_values[i]);
        ck_assert_msg(parse(text, &conf, &err) == -1, "%s", text);
        ck_assert_int_eq(errno, EINVAL);
        ck_assert_msg(strncmp(err.text, "test.conf:2: ", 13) == 0, "%s", err.text);
        ck_assert_msg(strstr(err.text, "allowed: ") || strstr(err.text, "unknown key"),
                      "%s", err.text);
        ck_assert_ptr_null(strpbrk(err.text, "\n\r\x01\x7f"));
    }
    ck_assert_int_eq(memcmp(&conf, &before, sizeof(conf)), 0);
}
END_TEST

/* Whichever stands first. */
static const struct {
    const char *text;
    bool good;
} window_periods[] = {
    {"Windows=10s:90%\n", true},
    {"Windows=11s:90%\nWindowMaxPeriod=10\n", false},
    {"Windows=1s:90%,a=none,b=10001ms:90%\nWindowMaxPeriod=10\n", false},
    {"Windows=11s:90%\nWindowMaxPeriod=11\n", true},
    {"Windows=3600s:90%\n", true}, /* from before WindowMaxPeriod= */
    {"WindowMaxPeriod=1\nWindows=none,a=2s:90%\n", false},
};

START_TEST(windows_keep_to_the_longest_period)
{
    hpcb_conf_t conf;
    hpcb_error_t err = {""};
    int rc = parse(window_periods[_i].text, &conf, &err);

    ck_assert_int_eq(rc, window_periods[_i].good ? 0 : -1);
    if (rc < 0) {
        ck_assert_int_eq(errno, EINVAL);
        ck_assert_int_eq(strncmp(err.text, "test.conf: Windows=", 19), 0);
        ck_assert_ptr_nonnull(strstr(err.text, "allowed: periods up to Window"));
    }
}
END_TEST

START_TEST(the_line_names_file_key_value_and_rule)
{
    hpcb_conf_t conf;
    hpcb_error_t err;

    ck_assert_int_eq(parse("yieldspin=1s\n", &conf, &err), -1);
    ck_assert_str_eq(err.text, "test.conf:1: YieldSpin=1s: allowed: 0 to 10000 "
                               "(microseconds, without a unit)");
    ck_assert_int_eq(parse("\nYieldSpinn=1\n", &conf, &err), -1);
    ck_assert_str_eq(err.text, "test.conf:2: YieldSpinn=1: unknown key; "
                               "hpc-balance.conf(5) lists them");
    ck_assert_int_eq(parse("YieldSpin=1\nYIELDSPIN=1\n", &conf, &err), -1);
    ck_assert_str_eq(err.text, "test.conf:2: YieldSpin=1: given before; "
                               "allowed: each key once");
    ck_assert_int_eq(parse("Yield\x02", &conf, &err), -1);
    ck_assert_str_eq(err.text, "test.conf:1: control byte 0x02: allowed: plain text");
}
END_TEST

START_TEST(duplicates_of_each_key_are_refused)
{
    hpcb_conf_t conf;
    hpcb_error_t err;
    FILE *stream;
    char *text;
    size_t size;

    for (size_t i = 0; i < N_KEYS; i++) {
        const char *value = "7";

        if (strstr(key_names[i], "Dir") || strstr(key_names[i], "Library") ||
            strstr(key_names[i], "Store") || strstr(key_names[i], "Pages"))
            value = "/x";
        else if (strstr(key_names[i], "Gres") || strstr(key_names[i], "Pin") ||
                 strstr(key_names[i], "Required") || strstr(key_names[i], "Waiters") ||
                 strstr(key_names[i], "Frequency") || strstr(key_names[i], "Tag") ||
                 strstr(key_names[i], "Probe") || strstr(key_names[i], "RemoveIPC"))
            value = "no";
        else if (strcmp(key_names[i], "GuestMinShare") == 0 ||
                 strcmp(key_names[i], "GuestMaxSlowdown") == 0)
            value = "7%";
        else if (strcmp(key_names[i], "GangPartitions") == 0)
            value = "none";
        else if (strcmp(key_names[i], "GuestSiblings") == 0 ||
                 strstr(key_names[i], "Mechanism"))
            value = "auto";
        else if (strcmp(key_names[i], "Windows") == 0)
            value = "1s:50%";
        else if (strcmp(key_names[i], "WindowGuests") == 0)
            value = "freeze";
        else if (strcmp(key_names[i], "GuestMemory") == 0)
            value = "unused";
        else if (strstr(key_names[i], "Difference"))
            value = "5";
        stream = open_memstream(&text, &size);
        fprintf(stream, "%s=%s\n", key_names[i], value);
        fflush(stream);
        ck_assert_msg(parse(text, &conf, &err) == 0, "%s", err.text);
        fprintf(stream, "%s=%s\n", key_names[i], value);
        fclose(stream);
        ck_assert_int_eq(parse(text, &conf, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.text, "given before"));
        free(text);
    }
}
END_TEST

START_TEST(nul_bytes_are_refused)
{
    static const char text[] = "GuestQOS=a\0\nGuestGres=yes\n";
    hpcb_conf_t conf;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_conf_parse("f", text, sizeof(text) - 1, &conf, &err), -1);
    ck_assert_str_eq(err.text, "f:1: control byte 0x00: allowed: plain text");
}
END_TEST

START_TEST(lines_have_a_limit)
{
    char text[LONG_LINE + 8];
    hpcb_conf_t conf;
    hpcb_error_t err;

    memset(text, 'x', sizeof(text));
    text[0] = '#';
    text[LONG_LINE] = '\0';
    ck_assert_int_eq(parse(text, &conf, &err), 0);
    text[LONG_LINE] = 'x';
    text[LONG_LINE + 1] = '\0';
    ck_assert_int_eq(parse(text, &conf, &err), -1);
    ck_assert_str_eq(err.text, "test.conf:1: line too long: allowed: 4096 bytes");
}
END_TEST

START_TEST(long_values_keep_the_rule_in_the_line)
{
    char text[LONG_LINE + 1], path[PATH_MAX];
    hpcb_conf_t conf;
    hpcb_error_t err;

    memset(text, 'x', sizeof(text));
    memcpy(text, "StateDir=", 9);
    text[LONG_LINE] = '\0';
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    ck_assert_int_eq(hpcb_conf_parse(path, text, LONG_LINE, &conf, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "the node's name"));
    text[9] = '/';
    ck_assert_int_eq(hpcb_conf_parse(path, text, LONG_LINE, &conf, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "the node's name"));
}
END_TEST

START_TEST(a_path_must_fit_the_field)
{
    char path[PATH_MAX + 1];
    hpcb_conf_t conf;
    hpcb_error_t err;

    memset(path, 'p', sizeof(path));
    path[PATH_MAX] = '\0';
    ck_assert_int_eq(hpcb_conf_parse(path, "", 0, &conf, &err), -1);
    ck_assert_int_eq(errno, ENAMETOOLONG);
}
END_TEST

START_TEST(the_nodes_name_is_expanded)
{
    hpcb_conf_t conf;
    char node[HPCB_NAME_MAX], want[256], text[2100] = "GuestCgroup=";
    hpcb_error_t err;

    hpcb_node_name(node, sizeof(node));
    ck_assert_int_eq(
        parse("StateDir=/run/%n/x%n\nGuestCgroup=g_%n\nSpoolDir=/s/%n\n", &conf, &err),
        0);
    snprintf(want, sizeof(want), "/run/%s/x%s", node, node);
    ck_assert_str_eq(conf.state_dir, want);
    snprintf(want, sizeof(want), "g_%s", node);
    ck_assert_str_eq(conf.guest_cgroup, want);
    for (int i = 0; i < HPCB_NAME_MAX; i++)
        strcat(text, "%n");
    ck_assert_int_eq(parse(text, &conf, &err), -1);
}
END_TEST

START_TEST(root_is_told_its_name_by_slurmd)
{
    char node[HPCB_NAME_MAX], host[HPCB_NAME_MAX];

    unsetenv("SLURMD_NODENAME");
    hpcb_node_name(host, sizeof(host));
    ck_assert_ptr_null(strchr(host, '.'));
    setenv("SLURMD_NODENAME", "node-17", 1);
    ck_assert_str_eq(hpcb_node_name(node, sizeof(node)),
                     geteuid() == 0 ? "node-17" : host);
    setenv("SLURMD_NODENAME", "../../etc", 1);
    ck_assert_str_eq(hpcb_node_name(node, sizeof(node)), host);
    setenv("SLURMD_NODENAME", "", 1);
    ck_assert_str_eq(hpcb_node_name(node, sizeof(node)), host);
}
END_TEST

START_TEST(loading_names_what_is_wrong_with_the_file)
{
    const char *file = scratch("x.conf"), *link = scratch("link");
    hpcb_conf_t conf;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_conf_load("/nonexistent.conf", &conf, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(err.text, "/nonexistent.conf: No such file or directory");
    ck_assert_int_eq(hpcb_conf_load("", &conf, &err), -1);
    ck_assert_int_eq(hpcb_conf_load(scratch_dir(), &conf, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "not a regular file"));
    ck_assert_int_eq(mkfifo(scratch("fifo"), 0600), 0);
    ck_assert_int_eq(hpcb_conf_load(scratch("fifo"), &conf, &err), -1);
    put_file(file, "GuestPartition=low\n");
    ck_assert_int_eq(symlink(file, link), 0);
    ck_assert_int_eq(hpcb_conf_load(link, &conf, &err), 0);
    ck_assert_str_eq(conf.guest_partition, "low");
    ck_assert_str_eq(conf.path, link);
    ck_assert_int_eq(truncate(file, 1 << 20), 0);
    ck_assert_int_eq(hpcb_conf_load(file, &conf, &err), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_str_eq(conf.guest_partition, "low");
}
END_TEST

START_TEST(what_is_right_in_a_damaged_file_can_be_had)
{
    const char *file = scratch("x.conf");
    hpcb_conf_t conf;
    hpcb_error_t err = {""};

    put_file(file, "GuestPartition=low\nnonsense\nSpoolDir=relative\nStateDir=/run/x");
    ck_assert_int_eq(hpcb_conf_salvage(file, &conf, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "x.conf:2: nonsense"));
    ck_assert_str_eq(conf.guest_partition, "low");
    ck_assert_str_eq(conf.state_dir, "/run/x");
    ck_assert_str_eq(conf.spool_dir, "/var/spool/hpc-balance");
    ck_assert_int_eq(hpcb_conf_salvage("/nonexistent.conf", &conf, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(conf.state_dir, "/run/hpc-balance");
    put_file(file, "StateDir=/run/x\n");
    ck_assert_int_eq(hpcb_conf_salvage(file, &conf, NULL), 0);
    ck_assert_str_eq(conf.state_dir, "/run/x");
}
END_TEST

START_TEST(loading_survives_binary_junk)
{
    hpcb_conf_t conf;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_conf_load("/proc/self/exe", &conf, &err), -1);
    ck_assert_int_eq(hpcb_conf_load("/bin/true", &conf, &err), -1);
    ck_assert_msg(strstr(err.text, "control byte") || strstr(err.text, "ASCII") ||
                      strstr(err.text, "too long"),
                  "%s", err.text);
}
END_TEST

/* slurmctld sends slurm.conf to nodes, and not ours. */
START_TEST(configless_nodes_have_the_file_in_its_usual_place)
{
    static const char *const sent[] = {"/run/slurm/conf/slurm.conf",
                                       "/no/such/conf-cache/slurm.conf",
                                       "/proc/self/fd/987/slurm.conf"};
    char buf[PATH_MAX], ours[PATH_MAX];

    unsetenv("HPC_BALANCE_CONF");
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        setenv("SLURM_CONF", sent[i], 1);
        ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)),
                         HPCB_SYSCONFDIR "/hpc-balance.conf");
    }
    /* Unless somebody has put it there. */
    ck_assert_int_eq(mkdir(scratch("conf-cache"), 0755), 0);
    snprintf(ours, sizeof(ours), "%s", scratch("conf-cache/hpc-balance.conf"));
    put_file(ours, "");
    setenv("SLURM_CONF", scratch("conf-cache/slurm.conf"), 1);
    ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)), ours);
}
END_TEST

START_TEST(the_file_is_found_in_order)
{
    char buf[PATH_MAX];

    unsetenv("HPC_BALANCE_CONF");
    unsetenv("SLURM_CONF");
    ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)),
                     HPCB_SYSCONFDIR "/hpc-balance.conf");
    setenv("SLURM_CONF", "/opt/slurm/etc/slurm.conf", 1);
    ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)),
                     "/opt/slurm/etc/hpc-balance.conf");
    setenv("SLURM_CONF", "slurm.conf", 1);
    ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)), "hpc-balance.conf");
    setenv("HPC_BALANCE_CONF", "/etc/x.conf", 1);
    ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)), "/etc/x.conf");
    ck_assert_str_eq(hpcb_conf_find("./mine", buf, sizeof(buf)), "./mine");
    ck_assert_str_eq(hpcb_conf_find("./longer", buf, 5), "");
    setenv("HPC_BALANCE_CONF", "", 1);
    ck_assert_str_eq(hpcb_conf_find(NULL, buf, sizeof(buf)), "hpc-balance.conf");
}
END_TEST

START_TEST(partitions_yield_by_their_whole_name)
{
    hpcb_conf_t conf;

    hpcb_conf_defaults(&conf);
    ck_assert(!hpcb_conf_yields(&conf, "mpi"));
    ck_assert(!hpcb_conf_yields(&conf, "none"));
    ck_assert_int_eq(parse("YieldWaits=ALL\n", &conf, NULL), 0);
    ck_assert(hpcb_conf_yields(&conf, "mpi"));
    ck_assert_int_eq(parse("YieldWaits=mpi,gpu\n", &conf, NULL), 0);
    ck_assert(hpcb_conf_yields(&conf, "mpi"));
    ck_assert(hpcb_conf_yields(&conf, "gpu"));
    ck_assert(!hpcb_conf_yields(&conf, "gp"));
    ck_assert(!hpcb_conf_yields(&conf, "MPI"));
    ck_assert(!hpcb_conf_yields(&conf, "mpi,gpu"));
    ck_assert(!hpcb_conf_yields(&conf, ""));
}
END_TEST

START_TEST(exclusive_partitions_are_primaries)
{
    hpcb_conf_t conf;

    hpcb_conf_defaults(&conf);
    ck_assert(!hpcb_conf_is_exclusive(&conf, "whole"));
    ck_assert_int_eq(parse("ExclusivePartitions=whole,guest\n", &conf, NULL), 0);
    ck_assert(hpcb_conf_is_exclusive(&conf, "whole"));
    ck_assert(!hpcb_conf_is_exclusive(&conf, "who"));
    ck_assert(!hpcb_conf_is_exclusive(&conf, "guest"));
    ck_assert_int_eq(parse("ExclusivePartitions=all\n", &conf, NULL), 0);
    ck_assert(hpcb_conf_is_exclusive(&conf, "other"));
    ck_assert(!hpcb_conf_is_exclusive(&conf, "guest"));
}
END_TEST

static const char *tree_file(const char *variable, const char *name)
{
    static char path[PATH_MAX];
    const char *top = getenv(variable);

    snprintf(path, sizeof(path), "%.3000s/%s", top ? top : ".", name);
    return get_file(path);
}

/* Remove the '#' of the lines "#Key=..."; returns how many there were. */
static unsigned uncomment(const char *from, char *to)
{
    unsigned count = 0;

    for (const char *line = from; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        size_t word = line[0] == '#' ? strspn(line + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                        "abcdefghijklmnopqrstuvwxyz")
                                     : 0;
        bool pair = word > 0 && line[1 + word] == '=';

        count += pair;
        memcpy(to, line + pair, length - pair);
        to += length - pair;
        *to++ = '\n';
    }
    *to = '\0';
    return count;
}

START_TEST(capacities_of_nodes_are_read_in_order)
{
    static hpcb_capacity_t rows[HPCB_CAPACITIES_MAX];
    const char *path = scratch("conf");
    hpcb_error_t err = {""};
    size_t count = 99;

    put_file(path, "GuestPartition=g\n"
                   "nodename=all\tmembandwidth=1.5K\n"
                   "  NodeName=n[1-3,07],r[1-2]n[1-4],login.x  NetBandwidth=1g "
                   "MemBandwidth=1048576T # as measured\n"
                   "NodeName=n2 NetBandwidth=5\n");
    ck_assert_msg(hpcb_conf_capacities(path, rows, &count, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(rows[0].nodes, "ALL");
    ck_assert_uint_eq(rows[0].mem, 1536);
    ck_assert_uint_eq(rows[0].net, 0);
    ck_assert_str_eq(rows[1].nodes, "n[1-3,07],r[1-2]n[1-4],login.x");
    ck_assert_uint_eq(rows[1].mem, HPCB_BANDWIDTH_MAX);
    ck_assert_uint_eq(rows[1].net, UINT64_C(1) << 30);
    ck_assert_str_eq(rows[2].nodes, "n2");
    ck_assert_uint_eq(rows[2].net, 5);
    /* The whole file has to be good. */
    put_file(path, "NodeName=n2 NetBandwidth=5\nGuestGres=maybe\n");
    ck_assert_int_eq(hpcb_conf_capacities(path, rows, &count, &err), -1);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(errno, EINVAL);
    put_file(path, "\n\nNodeName=n2 NetBandwidth=5x\n");
    ck_assert_int_eq(hpcb_conf_capacities(path, rows, &count, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, ":3: NetBandwidth=5x: allowed"));
}
END_TEST

START_TEST(capacities_have_a_limit)
{
    static hpcb_capacity_t rows[HPCB_CAPACITIES_MAX];
    static char text[65536];
    char nodes[HPCB_NODES_MAX + 64];
    hpcb_conf_t conf;
    hpcb_error_t err;
    size_t count, used = 0;

    for (int i = 0; i < HPCB_CAPACITIES_MAX; i++)
        used += (size_t)sprintf(text + used, "NodeName=n%d MemBandwidth=1G\n", i);
    put_file(scratch("conf"), text);
    ck_assert_int_eq(hpcb_conf_capacities(scratch("conf"), rows, &count, &err), 0);
    ck_assert_uint_eq(count, HPCB_CAPACITIES_MAX);
    ck_assert_str_eq(rows[255].nodes, "n255");
    strcpy(text + used, "NodeName=n MemBandwidth=1G\n");
    ck_assert_int_eq(parse(text, &conf, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "allowed: 256"));
    memset(nodes, 'n', sizeof(nodes));
    memcpy(nodes, "NodeName=", 9);
    strcpy(nodes + 9 + HPCB_NODES_MAX - 1, " NetBandwidth=1");
    ck_assert_int_eq(parse(nodes, &conf, &err), 0);
    strcpy(nodes + 9 + HPCB_NODES_MAX - 1, "n NetBandwidth=1");
    ck_assert_int_eq(parse(nodes, &conf, &err), -1);
}
END_TEST

START_TEST(the_store_is_in_the_spool_directory)
{
    hpcb_conf_t conf;
    char path[PATH_MAX];

    hpcb_conf_defaults(&conf);
    ck_assert_str_eq(hpcb_conf_profile_store(&conf, path),
                     "/var/spool/hpc-balance/profiles.json");
    ck_assert_int_eq(parse("SpoolDir=/srv\nProfileStore=\n", &conf, NULL), 0);
    ck_assert_str_eq(hpcb_conf_profile_store(&conf, path), "/srv/profiles.json");
    ck_assert_int_eq(parse("ProfileStore=/x/y\n", &conf, NULL), 0);
    ck_assert_str_eq(hpcb_conf_profile_store(&conf, path), "/x/y");
}
END_TEST

START_TEST(the_example_is_the_defaults)
{
    static char text[65536];
    const char *example = tree_file("HPCB_BUILDDIR", "etc/hpc-balance.conf.example");
    hpcb_conf_t conf, defaults;
    hpcb_error_t err;

    hpcb_conf_defaults(&defaults);
    ck_assert_msg(parse(example, &conf, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(uncomment(example, text), N_KEYS);
    ck_assert_msg(parse(text, &conf, &err) == 0, "%s", err.text);
    memset(conf.path, 0, sizeof(conf.path));
    ck_assert_int_eq(memcmp(&conf, &defaults, sizeof(conf)), 0);
    for (size_t i = 0; i < N_KEYS; i++)
        ck_assert_msg(strstr(text, key_names[i]) != NULL, "%s", key_names[i]);
}
END_TEST

START_TEST(the_manual_has_every_key)
{
    const char *manual = tree_file("HPCB_SRCDIR", "doc/hpc-balance.conf.5");
    char heading[128];

    for (size_t i = 0; i < N_KEYS; i++) {
        snprintf(heading, sizeof(heading), "\n.TP\n\\fB%s\\fR=", key_names[i]);
        ck_assert_msg(strstr(manual, heading) != NULL, "%s", key_names[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conf");
    TCase *tc = scratch_case("conf");

    tcase_add_test(tc, defaults_are_those_of_the_manual);
    tcase_add_test(tc, every_key_is_read);
    tcase_add_test(tc, windows_by_partition);
    tcase_add_test(tc, an_empty_file_means_defaults);
    tcase_add_test(tc, bad_values_give_one_line);
    tcase_add_loop_test(tc, windows_keep_to_the_longest_period, 0,
                        sizeof(window_periods) / sizeof(window_periods[0]));
    tcase_add_test(tc, the_line_names_file_key_value_and_rule);
    tcase_add_test(tc, duplicates_of_each_key_are_refused);
    tcase_add_test(tc, nul_bytes_are_refused);
    tcase_add_test(tc, lines_have_a_limit);
    tcase_add_test(tc, long_values_keep_the_rule_in_the_line);
    tcase_add_test(tc, a_path_must_fit_the_field);
    tcase_add_test(tc, the_nodes_name_is_expanded);
    tcase_add_test(tc, root_is_told_its_name_by_slurmd);
    tcase_add_test(tc, loading_names_what_is_wrong_with_the_file);
    tcase_add_test(tc, what_is_right_in_a_damaged_file_can_be_had);
    tcase_add_test(tc, loading_survives_binary_junk);
    tcase_add_test(tc, the_file_is_found_in_order);
    tcase_add_test(tc, configless_nodes_have_the_file_in_its_usual_place);
    tcase_add_test(tc, partitions_yield_by_their_whole_name);
    tcase_add_test(tc, exclusive_partitions_are_primaries);
    tcase_add_test(tc, capacities_of_nodes_are_read_in_order);
    tcase_add_test(tc, capacities_have_a_limit);
    tcase_add_test(tc, the_store_is_in_the_spool_directory);
    tcase_add_test(tc, the_example_is_the_defaults);
    tcase_add_test(tc, the_manual_has_every_key);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
