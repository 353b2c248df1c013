/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpc-balance.conf.
 *
 * The table `keys` defines each key: its member of hpcb_conf_t, its default as written
 * in the file, the check of its value, and the allowed values for the error line.
 * Defaults pass through the same setters as the file.  A setter returns -1 for an
 * invalid value.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/conf.h"
#include "common/file.h"
#include "common/text.h"
#include "common/yield.h"

#define FILE_BYTES (256 * 1024)
#define LINE_BYTES 4096

/* No node has more memory. */
#define RESERVE_MAX (UINT64_C(1) << 50)

#define PPM_PER_PERCENT 10000

/* Maximum length of a path, key and value in a message, so that the rest fits. */
#define PATH_SHOWN 200
#define KEY_SHOWN  40
#define VAL_SHOWN  80

/* Maximum length of what is appended to our directories
 * ("/records/<id>.<node>.json.tmpXXXXXX"). */
#define PATH_ROOM 128

typedef struct conf_key conf_key_t;

struct conf_key {
    const char *name;
    const char *preset;
    int (*set)(const conf_key_t *key, const char *value, void *field);
    size_t offset, size;
    uint32_t min, max;
    const char *allowed;
};

const char *hpcb_node_name(char *buf, size_t size)
{
    const char *slurm = geteuid() == 0 ? secure_getenv("SLURMD_NODENAME") : NULL;
    char host[HPCB_NAME_MAX + 1] = "";

    if (slurm && hpcb_text_is_name(slurm, HPCB_NAME_MAX) &&
        hpcb_text_copy(buf, size, slurm) == 0)
        return buf;
    if (gethostname(host, sizeof(host) - 1) == 0)
        host[strcspn(host, ".")] = '\0';
    if (!hpcb_text_is_name(host, HPCB_NAME_MAX) || hpcb_text_copy(buf, size, host))
        snprintf(buf, size, "localhost");
    return buf;
}

/* Copy value with every %n replaced; -1 for any other % and for too long a result. */
static int expand(const char *value, char *buf, size_t size)
{
    char node[HPCB_NAME_MAX];
    size_t used = 0;

    hpcb_node_name(node, sizeof(node));
    while (*value) {
        size_t plain = strcspn(value, "%");
        int n = snprintf(buf + used, size - used, "%.*s%s", (int)plain, value,
                         value[plain] ? node : "");

        used += (size_t)n;
        if (used >= size || (value[plain] && value[plain + 1] != 'n'))
            return -1;
        value += plain + (value[plain] ? 2 : 0);
    }
    buf[used] = '\0';
    return 0;
}

static int set_name(const conf_key_t *key, const char *value, void *field)
{
    return hpcb_text_is_name(value, key->size) ? hpcb_text_copy(field, key->size, value)
                                               : -1;
}

static int set_name_or_none(const conf_key_t *key, const char *value, void *field)
{
    if (*value)
        return set_name(key, value, field);
    *(char *)field = '\0';
    return 0;
}

static int set_expanded_name(const conf_key_t *key, const char *value, void *field)
{
    char name[HPCB_NAME_MAX];

    return expand(value, name, sizeof(name)) ? -1 : set_name(key, name, field);
}

static int set_number(const conf_key_t *key, const char *value, void *field)
{
    uint64_t number;
    uint32_t narrow;

    if (hpcb_text_u64(value, key->max, &number) || number < key->min)
        return -1;
    narrow = (uint32_t)number;
    memcpy(field, &narrow, sizeof(narrow));
    return 0;
}

static_assert(sizeof(int) == sizeof(uint32_t) && sizeof(unsigned) == sizeof(uint32_t),
              "set_number writes int, unsigned and uint32_t alike");

static int set_yes_no(const conf_key_t *key, const char *value, void *field)
{
    (void)key;
    if (strcasecmp(value, "yes") != 0 && strcasecmp(value, "no") != 0)
        return -1;
    *(bool *)field = strcasecmp(value, "yes") == 0;
    return 0;
}

static int set_guest_memory(const conf_key_t *key, const char *value, void *field)
{
    (void)key;
    if (strcasecmp(value, "allocated") != 0 && strcasecmp(value, "unused") != 0)
        return -1;
    *(bool *)field = strcasecmp(value, "unused") == 0;
    return 0;
}

/* N% or a size. */
static int set_reserve(const conf_key_t *key, const char *value, void *field)
{
    hpcb_memory_reserve_t *reserve = field;
    char digits[8];
    uint64_t number;
    size_t length = strlen(value);

    if (length == 0 || value[length - 1] != '%') {
        if (hpcb_text_size(value, RESERVE_MAX, &number))
            return -1;
        reserve->bytes = number;
        reserve->percent = 0;
        return 0;
    }
    if (length > sizeof(digits))
        return -1;
    memcpy(digits, value, length - 1);
    digits[length - 1] = '\0';
    if (hpcb_text_u64(digits, key->max, &number))
        return -1;
    reserve->bytes = 0;
    reserve->percent = (unsigned)number;
    return 0;
}

/* A decimal number with "%", as millionths. */
static int set_part(const conf_key_t *key, const char *value, void *field)
{
    hpcb_decimal_t number;
    const char *rest = hpcb_text_decimal(value, &number);
    uint64_t ppm;

    if (!rest || strcmp(rest, "%") != 0 ||
        hpcb_decimal_scale(&number, PPM_PER_PERCENT, key->max * PPM_PER_PERCENT, &ppm))
        return -1;
    *(uint32_t *)field = (uint32_t)ppm;
    return 0;
}

/* A decimal number of seconds, as microseconds; min and max are these. */
static int set_seconds(const conf_key_t *key, const char *value, void *field)
{
    hpcb_decimal_t number;
    const char *rest = hpcb_text_decimal(value, &number);
    uint64_t us;

    if (!rest || *rest || hpcb_decimal_scale(&number, 1000000, key->max, &us) ||
        us < key->min)
        return -1;
    *(uint32_t *)field = (uint32_t)us;
    return 0;
}

static int set_siblings(const conf_key_t *key, const char *value, void *field)
{
    static const struct {
        const char *word;
        hpcb_guest_siblings_t meaning;
    } words[] = {
        {"auto", HPCB_GUEST_SIBLINGS_AUTO},
        {"cookie", HPCB_GUEST_SIBLINGS_COOKIE},
        {"avoid", HPCB_GUEST_SIBLINGS_AVOID},
        {"none", HPCB_GUEST_SIBLINGS_NONE},
        {"throttle", HPCB_GUEST_SIBLINGS_THROTTLE},
    };

    (void)key;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(value, words[i].word) == 0) {
            *(hpcb_guest_siblings_t *)field = words[i].meaning;
            return 0;
        }
    }
    return -1;
}

/* True where a component of path is "..". */
static bool climbs(const char *path)
{
    for (const char *p = strstr(path, "/.."); p; p = strstr(p + 1, "/.."))
        if (p[3] == '/' || p[3] == '\0')
            return true;
    return false;
}

static int copy_path(const conf_key_t *key, const char *path, void *field)
{
    if (path[0] != '/' || path[strspn(path, "/")] == '\0' || climbs(path) ||
        strlen(path) + PATH_ROOM > key->size)
        return -1;
    return hpcb_text_copy(field, key->size, path);
}

static int set_dir(const conf_key_t *key, const char *value, void *field)
{
    char path[PATH_MAX];

    return expand(value, path, sizeof(path)) ? -1 : copy_path(key, path, field);
}

static int set_path_or_none(const conf_key_t *key, const char *value, void *field)
{
    if (*value)
        return set_dir(key, value, field);
    *(char *)field = '\0';
    return 0;
}

/* The path becomes an entry of LD_PRELOAD, where ':' separates and '%' has no meaning
 * for us. */
static int set_library(const conf_key_t *key, const char *value, void *field)
{
    return strpbrk(value, ":%") ? -1 : copy_path(key, value, field);
}

/* Return whether text is a host: a name, or an address of either family. */
static bool is_host(const char *text)
{
    return *text &&
           text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "0123456789.:_-")] == '\0';
}

static int set_hosts(const conf_key_t *key, const char *value, void *field)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;

    if (hpcb_text_copy(list, sizeof(list), value))
        return -1;
    while (*value && (item = strsep(&rest, ",")))
        if (!is_host(item))
            return -1;
    return hpcb_text_copy(field, key->size, value);
}

static bool is_keyword(const char *text)
{
    return strcasecmp(text, "none") == 0 || strcasecmp(text, "all") == 0;
}

/* Partitions, or all, or none. */
static int set_partitions(const conf_key_t *key, const char *value, void *field)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;

    if (hpcb_text_copy(list, sizeof(list), value))
        return -1;
    if (is_keyword(value)) {
        strcpy(field, strcasecmp(value, "all") == 0 ? "all" : "none");
        return 0;
    }
    while ((item = strsep(&rest, ",")))
        if (!hpcb_text_is_name(item, HPCB_NAME_MAX) || is_keyword(item))
            return -1;
    return hpcb_text_copy(field, key->size, value);
}

/* Get the window of partition from list: the item that names it, otherwise the one
 * without a name, otherwise no window.  Return -1 if list is malformed or has
 * duplicates. */
static int find_window(const char *text, const char *partition,
                       hpcb_window_spec_t *found)
{
    hpcb_window_spec_t window, named = {0, 0}, common = {0, 0};
    bool has_named = false, has_common = false;
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;

    if (hpcb_text_copy(list, sizeof(list), text))
        return -1;
    while ((item = strsep(&rest, ","))) {
        char *value = strchr(item, '=');

        if (value)
            *value++ = '\0';
        window = (hpcb_window_spec_t){0, 0};
        if ((value && !hpcb_text_is_name(item, HPCB_NAME_MAX)) ||
            (!value && has_common))
            return -1;
        value = value ? value : item;
        if (strcasecmp(value, "none") != 0 && hpcb_window_parse(value, &window))
            return -1;
        if (value == item) {
            has_common = true;
            common = window;
        } else if (partition && strcmp(item, partition) == 0) {
            if (has_named)
                return -1;
            has_named = true;
            named = window;
        }
    }
    *found = has_named ? named : common;
    return 0;
}

static int set_windows(const conf_key_t *key, const char *value, void *field)
{
    hpcb_window_spec_t window;

    return find_window(value, NULL, &window) ? -1
                                             : hpcb_text_copy(field, key->size, value);
}

/* In microseconds, of a list that find_window has read; 0: there are no windows. */
static uint64_t longest_period(const char *windows)
{
    hpcb_window_spec_t window;
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;
    uint64_t longest = 0;

    if (hpcb_text_copy(list, sizeof(list), windows))
        return 0;
    while ((item = strsep(&rest, ","))) {
        const char *value = strchr(item, '=');

        if (hpcb_window_parse(value ? value + 1 : item, &window) == 0 &&
            window.period_us > longest)
            longest = window.period_us;
    }
    return longest;
}

static int set_mechanism(const conf_key_t *key, const char *value, void *field)
{
    static const char *const words[] = {
        [HPCB_WINDOW_AUTO] = "auto",
        [HPCB_WINDOW_FIFO] = "fifo",
        [HPCB_WINDOW_WEIGHT] = "weight",
    };

    (void)key;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(value, words[i]) == 0) {
            *(hpcb_window_mechanism_t *)field = (hpcb_window_mechanism_t)i;
            return 0;
        }
    }
    return -1;
}

static int set_guests(const conf_key_t *key, const char *value, void *field)
{
    (void)key;
    if (strcasecmp(value, "idle") != 0 && strcasecmp(value, "freeze") != 0)
        return -1;
    *(bool *)field = strcasecmp(value, "freeze") == 0;
    return 0;
}

static int set_groups(const conf_key_t *key, const char *value, void *field)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;

    if (hpcb_text_copy(list, sizeof(list), value))
        return -1;
    while (*value && (item = strsep(&rest, ",")))
        if (!hpcb_text_is_name(item, HPCB_NAME_MAX))
            return -1;
    return hpcb_text_copy(field, key->size, value);
}

/* NAME=NUMBER,...: which names there are, policy/balance.h knows. */
static int set_parameters(const conf_key_t *key, const char *value, void *field)
{
    if (value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789=,")] != '\0')
        return -1;
    return hpcb_text_copy(field, key->size, value);
}

#define TEXT_OF(x)    #x
#define TEXT(x)       TEXT_OF(x)
#define FIELD(member) offsetof(hpcb_conf_t, member), sizeof(((hpcb_conf_t *)0)->member)
#define NAME_RULE     "letters, digits, '_', '.', '-', at most 63"
#define PATH_RULE     "an absolute path other than /, without '..'"

static const conf_key_t keys[] = {
    {"GuestPartition", "guest", set_name, FIELD(guest_partition), 0, 0,
     "allowed: the name of a partition (" NAME_RULE ")"},
    {"GuestQOS", "", set_name_or_none, FIELD(guest_qos), 0, 0,
     "allowed: the name of a QOS (" NAME_RULE ") or nothing"},
    {"GuestPriority", "100", set_number, FIELD(guest_priority), 1, 4294967293u,
     "allowed: 1 to 4294967293"},
    {"GuestGres", "no", set_yes_no, FIELD(guest_gres), 0, 0, "allowed: yes, no"},
    {"ExclusivePartitions", "none", set_partitions, FIELD(exclusive_partitions), 0, 0,
     "allowed: none, all, or partitions separated by commas, at most 511 bytes"},
    {"GuestPinToPrimaries", "no", set_yes_no, FIELD(guest_pin_to_primaries), 0, 0,
     "allowed: yes, no"},
    {"GuestCgroup", "hpcb_guest", set_expanded_name, FIELD(guest_cgroup), 0, 0,
     "allowed: the name of a group (" NAME_RULE "; %n is the node's name)"},
    {"GuestOomScoreAdj", "1000", set_number, FIELD(guest_oom_score_adj), 0, 1000,
     "allowed: 0 to 1000"},
    {"GuestMemoryHigh", "90", set_number, FIELD(guest_memory_high), 0, 100,
     "allowed: 0 to 100 (percent, without a sign)"},
    {"GuestMemory", "unused", set_guest_memory, FIELD(guest_memory_unused), 0, 0,
     "allowed: allocated, unused"},
    {"GuestMemoryReserve", "5%", set_reserve, FIELD(guest_memory_reserve), 0, 90,
     "allowed: 0% to 90%, or a size above 0 with K, M, G or T"},
    {"GuestMemorySettle", "60", set_number, FIELD(guest_memory_settle), 0, 86400,
     "allowed: 0 to 86400 (seconds, without a unit)"},
    {"GuestRemoveIPC", "yes", set_yes_no, FIELD(guest_remove_ipc), 0, 0,
     "allowed: yes, no"},
    {"GuestSiblings", "auto", set_siblings, FIELD(guest_siblings), 0, 0,
     "allowed: auto, cookie, avoid, throttle, none"},
    {"GuestSiblingDifference", "5", set_number, FIELD(guest_sibling_difference), 0, 5,
     "allowed: 0 to 5"},
    {"GuestSiblingsRequired", "no", set_yes_no, FIELD(guest_siblings_required), 0, 0,
     "allowed: yes, no"},
    {"GuestMaxSlowdown", "1%", set_part, FIELD(guest_max_slowdown_ppm), 0, 100,
     "allowed: 0% to 100%, e.g. 0.5% (0%: what guests cost is not measured)"},
    {"GuestMinShare", "1%", set_part, FIELD(guest_min_share_ppm), 0, 50,
     "allowed: 0% to 50%, e.g. 0.5% (0%: no minimum)"},
    {"GuestStarvedAfter", "600", set_number, FIELD(guest_starved_after), 0, 604800,
     "allowed: 0 to 604800 (seconds, without a unit; 0: never)"},
    {"GuestOversubscribe", "1", set_number, FIELD(guest_oversubscribe), 1,
     HPCB_GUEST_OVERSUBSCRIBE_MAX, "allowed: 1 to 16 (guests a core)"},
    {"GangPartitions", "none", set_partitions, FIELD(gang_partitions), 0, 0,
     "allowed: none, all, or partitions separated by commas, at most 511 bytes"},
    {"GangQuantum", "0.5", set_seconds, FIELD(gang_quantum_us),
     HPCB_GANG_QUANTUM_MIN_US, HPCB_GANG_QUANTUM_MAX_US,
     "allowed: 0.05 to 10 (seconds, without a unit)"},
    {"GangWindow", "2", set_number, FIELD(gang_window), 0, HPCB_GANG_WINDOW_LIMIT,
     "allowed: 0 to 16 (quanta; 0: bandwidth does not count)"},
    {"MemoryProbe", "yes", set_yes_no, FIELD(memory_probe), 0, 0, "allowed: yes, no"},
    {"StateDir", "/run/hpc-balance", set_dir, FIELD(state_dir), 0, 0,
     "allowed: " PATH_RULE "; %n is the node's name"},
    {"SpoolDir", "/var/spool/hpc-balance", set_dir, FIELD(spool_dir), 0, 0,
     "allowed: " PATH_RULE "; %n is the node's name"},
    {"ProfileStore", "", set_path_or_none, FIELD(profile_store), 0, 0,
     "allowed: " PATH_RULE "; %n is the node's name; or nothing"},
    {"YieldWaits", "none", set_partitions, FIELD(yield_waits), 0, 0,
     "allowed: none, all, or partitions separated by commas, at most 511 bytes"},
    {"YieldSpin", TEXT(HPCB_YIELD_SPIN_DEFAULT_US), set_number, FIELD(yield_spin_us), 0,
     HPCB_YIELD_SPIN_LIMIT_US, "allowed: 0 to 10000 (microseconds, without a unit)"},
    {"YieldNapMax", TEXT(HPCB_YIELD_NAP_MAX_DEFAULT_US), set_number,
     FIELD(yield_nap_max_us), 1, HPCB_YIELD_NAP_MAX_LIMIT_US,
     "allowed: 1 to 100000 (microseconds, without a unit)"},
    {"CollectorHost", "", set_hosts, FIELD(collector_hosts), 0, 0,
     "allowed: names or addresses of hosts separated by commas, at most 511 bytes, or "
     "nothing"},
    {"CollectorPort", "6823", set_number, FIELD(collector_port), 1, 65535,
     "allowed: 1 to 65535"},
    {"CollectorDir", "/var/lib/hpc-balance", set_dir, FIELD(collector_dir), 0, 0,
     "allowed: " PATH_RULE "; %n is the node's name"},
    {"CollectorWait", "300", set_number, FIELD(collector_wait), 1, 86400,
     "allowed: 1 to 86400 (seconds, without a unit)"},
    {"AdminCommentRate", "5", set_number, FIELD(admin_comment_rate), 0, 1000,
     "allowed: 0 to 1000 (a second, without a unit)"},
    {"AdminCommentTag", "yes", set_yes_no, FIELD(admin_comment_tag), 0, 0,
     "allowed: yes, no"},
    {"Windows", "none", set_windows, FIELD(windows), 0, 0,
     "allowed: none, PERIOD:DUTY (e.g. 1s:90%) and partition=PERIOD:DUTY or "
     "partition=none, separated by commas, at most 511 bytes"},
    {"WindowMaxDuty", "95", set_number, FIELD(window_max_duty), 0, 99,
     "allowed: 0 to 99 (percent, without a sign; 0: no windows)"},
    {"WindowMaxPeriod", "10", set_number, FIELD(window_max_period), 1, 3600,
     "allowed: 1 to 3600 (seconds, without a unit)"},
    {"WindowMechanism", "auto", set_mechanism, FIELD(window_mechanism), 0, 0,
     "allowed: auto, fifo, weight"},
    {"WindowGuests", "idle", set_guests, FIELD(window_freezes_guests), 0, 0,
     "allowed: idle, freeze"},
    {"WindowIdleGroups", "", set_groups, FIELD(window_idle_groups), 0, 0,
     "allowed: names of uppermost cpu groups (" NAME_RULE ") separated by commas, or "
     "nothing"},
    {"WindowCgroup", "hpcb_window", set_expanded_name, FIELD(window_cgroup), 0, 0,
     "allowed: the name of a group (" NAME_RULE "; %n is the node's name)"},
    {"WindowPeers", "", set_hosts, FIELD(window_peers), 0, 0,
     "allowed: names or addresses of hosts separated by commas, at most 511 bytes, or "
     "nothing"},
    {"WindowPort", "6824", set_number, FIELD(window_port), 1, 65535,
     "allowed: 1 to 65535"},
    {"MaxClockOffset", "1000", set_number, FIELD(max_clock_offset_us), 1, 10000000,
     "allowed: 1 to 10000000 (microseconds, without a unit)"},
    {"BalanceParameters", "", set_parameters, FIELD(balance_parameters), 0, 0,
     "allowed: NAME=NUMBER separated by commas, at most 511 bytes, or nothing"},
    {"BalanceInterval", "1000", set_number, FIELD(balance_interval_ms), 1, 60000,
     "allowed: 1 to 60000 (milliseconds, without a unit)"},
    {"BalanceWaiters", "yes", set_yes_no, FIELD(balance_waiters), 0, 0,
     "allowed: yes, no"},
    {"BalanceFrequency", "no", set_yes_no, FIELD(balance_frequency), 0, 0,
     "allowed: yes, no"},
    {"BalanceCgroup", "hpcb_balance", set_expanded_name, FIELD(balance_cgroup), 0, 0,
     "allowed: the name of a group (" NAME_RULE "; %n is the node's name)"},
    {"BalancePages", "/dev/shm/hpc-balance", set_dir, FIELD(balance_pages), 0, 0,
     "allowed: " PATH_RULE "; %n is the node's name"},
    {"MpiLibrary", HPCB_PKGLIBDIR "/libhpcb_mpi.so", set_library, FIELD(mpi_library), 0,
     0, "allowed: " PATH_RULE " and without ':'"},
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static_assert(N_KEYS <= 64, "keys already seen are a 64-bit set");

void hpcb_conf_defaults(hpcb_conf_t *conf)
{
    memset(conf, 0, sizeof(*conf));
    for (size_t i = 0; i < N_KEYS; i++)
        keys[i].set(&keys[i], keys[i].preset, (char *)conf + keys[i].offset);
}

typedef struct {
    const char *path;
    unsigned line;
    uint64_t seen; /* bit i: keys[i] was set in this file */
    hpcb_conf_t *conf;
    hpcb_capacity_t *rows; /* NULL: only checked */
    size_t n_rows;
    bool tolerant; /* go on after a line that is wrong */
    bool flawed;   /* there was one; the first is in err */
    hpcb_error_t *err;
} reader_t;

static int refuse(const reader_t *reader, const char *key, const char *value,
                  const char *why)
{
    errno = EINVAL;
    return hpcb_error(reader->err, "%.*s:%u: %.*s%s%.*s: %s", PATH_SHOWN, reader->path,
                      reader->line, KEY_SHOWN, key, value ? "=" : "", VAL_SHOWN,
                      value ? value : "", why);
}

static int set_key(reader_t *reader, const char *name, const char *value)
{
    size_t i = 0;

    while (i < N_KEYS && strcasecmp(keys[i].name, name) != 0)
        i++;
    if (i == N_KEYS)
        return refuse(reader, name, value,
                      "unknown key; hpc-balance.conf(5) lists them");
    if (reader->seen & (UINT64_C(1) << i))
        return refuse(reader, keys[i].name, value,
                      "given before; allowed: each key once");
    if (strpbrk(value, " \t"))
        return refuse(reader, keys[i].name, value,
                      "blank inside a value; allowed: one Key=Value a line");
    if (keys[i].set(&keys[i], value, (char *)reader->conf + keys[i].offset))
        return refuse(reader, keys[i].name, value, keys[i].allowed);
    reader->seen |= UINT64_C(1) << i;
    return 0;
}

/* A line about nodes. */
static int read_capacity(reader_t *reader, const char *line)
{
    hpcb_capacity_t row;
    hpcb_error_t why;

    if (reader->n_rows == HPCB_CAPACITIES_MAX)
        return refuse(reader, "NodeName", NULL, "allowed: 256 such lines");
    if (hpcb_capacity_parse(line, &row, &why))
        return hpcb_error(reader->err, "%.*s:%u: %s", PATH_SHOWN, reader->path,
                          reader->line, why.text);
    if (reader->rows)
        reader->rows[reader->n_rows] = row;
    reader->n_rows++;
    return 0;
}

static bool names_nodes(const char *line)
{
    return strncasecmp(line, "NodeName", 8) == 0 &&
           line[8 + strspn(line + 8, " \t")] == '=';
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    text[length] = '\0';
    return text;
}

/* Returns the first byte that a line must not hold (a control byte other than tab),
 * or -1. */
static int bad_byte(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return c;
    }
    return -1;
}

/* Beyond comments everything is ASCII. */
static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

static int read_line(reader_t *reader, const char *text, size_t length)
{
    char line[LINE_BYTES + 1];
    char *key, *value;
    int bad;

    if (length > LINE_BYTES)
        return refuse(reader, "line too long", NULL, "allowed: 4096 bytes");
    bad = bad_byte(text, length);
    if (bad >= 0) {
        snprintf(line, sizeof(line), "control byte 0x%02x", (unsigned)bad);
        return refuse(reader, line, NULL, "allowed: plain text");
    }
    memcpy(line, text, length);
    line[length] = '\0';
    line[strcspn(line, "#")] = '\0';
    key = trim(line);
    if (!*key)
        return 0;
    value = strchr(key, '=');
    if (!value || value == key || !is_ascii(key))
        return refuse(reader, key, NULL, "allowed: Key=Value in ASCII");
    if (names_nodes(key))
        return read_capacity(reader, key);
    *value++ = '\0';
    return set_key(reader, trim(key), trim(value));
}

static bool is_given(const reader_t *reader, const char *name)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(keys[i].name, name) == 0)
            return reader->seen & (UINT64_C(1) << i);
    }
    return false;
}

/* Keys that must fit together, in whatever order they stand.  A file that is older than
 * WindowMaxPeriod= allows what its Windows= has. */
static int check_whole(const reader_t *reader)
{
    hpcb_conf_t *conf = reader->conf;
    const hpcb_window_spec_t longest = {longest_period(conf->windows), 0};

    if (hpcb_conf_window_fits(conf, &longest))
        return 0;
    if (!is_given(reader, "WindowMaxPeriod")) {
        conf->window_max_period = (unsigned)((longest.period_us + 999999) / 1000000);
        return 0;
    }
    errno = EINVAL;
    return hpcb_error(reader->err,
                      "%.*s: Windows=%.*s: allowed: periods up to WindowMaxPeriod=%u "
                      "(seconds)",
                      PATH_SHOWN, reader->path, VAL_SHOWN, conf->windows,
                      conf->window_max_period);
}

/* Return -1 if the error must be reported. */
static int tolerate(reader_t *reader)
{
    if (!reader->tolerant)
        return -1;
    reader->flawed = true;
    reader->err = NULL;
    return 0;
}

/* Parse a whole file into reader's destination, over its present values. */
static int read_lines(reader_t *reader, const char *text, size_t length)
{
    const char *end = text + length;

    if (hpcb_text_copy(reader->conf->path, sizeof(reader->conf->path), reader->path)) {
        errno = ENAMETOOLONG;
        return hpcb_error(reader->err, "%.*s: %s", PATH_SHOWN, reader->path,
                          strerror(errno));
    }
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;

        reader->line++;
        if (read_line(reader, text, (size_t)(stop - text)) && tolerate(reader))
            return -1;
        text = stop + (newline != NULL);
    }
    return check_whole(reader);
}

int hpcb_conf_parse(const char *path, const char *text, size_t length,
                    hpcb_conf_t *conf, hpcb_error_t *err)
{
    hpcb_conf_t read;
    reader_t reader = {.path = path, .conf = &read, .err = err};

    hpcb_conf_defaults(&read);
    if (read_lines(&reader, text, length))
        return -1;
    *conf = read;
    return 0;
}

/* The content of path, which the caller frees, or NULL with err. */
static char *read_file(const char *path, size_t *length, hpcb_error_t *err)
{
    hpcb_autofree char *real = realpath(path, NULL);
    char *text = real ? malloc(FILE_BYTES) : NULL;
    ssize_t n = text ? hpcb_file_read(real, text, FILE_BYTES, NULL) : -1;

    if (n >= 0) {
        *length = (size_t)n;
        return text;
    }
    hpcb_error(err, "%.*s: %s", PATH_SHOWN, path,
               errno == EINVAL ? "not a regular file" : strerror(errno));
    hpcb_cleanup_free(&text);
    return NULL;
}

int hpcb_conf_load(const char *path, hpcb_conf_t *conf, hpcb_error_t *err)
{
    size_t length;
    hpcb_autofree char *text = read_file(path, &length, err);

    return text ? hpcb_conf_parse(path, text, length, conf, err) : -1;
}

int hpcb_conf_salvage(const char *path, hpcb_conf_t *conf, hpcb_error_t *err)
{
    reader_t reader = {.path = path, .conf = conf, .tolerant = true, .err = err};
    hpcb_autofree char *text = NULL;
    size_t length;

    hpcb_conf_defaults(conf);
    text = read_file(path, &length, err);
    if (!text || read_lines(&reader, text, length))
        return -1;
    errno = EINVAL;
    return reader.flawed ? -1 : 0;
}

int hpcb_conf_capacities(const char *path, hpcb_capacity_t *rows, size_t *count,
                         hpcb_error_t *err)
{
    size_t length;
    hpcb_autofree char *text = read_file(path, &length, err);
    hpcb_conf_t conf;
    reader_t reader = {.path = path, .conf = &conf, .rows = rows, .err = err};

    hpcb_conf_defaults(&conf);
    if (!text || read_lines(&reader, text, length))
        return -1;
    *count = reader.n_rows;
    return 0;
}

const char *hpcb_conf_profile_store(const hpcb_conf_t *conf, char buf[static PATH_MAX])
{
    int n = *conf->profile_store
                ? snprintf(buf, PATH_MAX, "%s", conf->profile_store)
                : snprintf(buf, PATH_MAX, "%s/profiles.json", conf->spool_dir);

    if (n < 0 || n >= PATH_MAX)
        buf[0] = '\0';
    return buf;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);

    return length >= size && memcmp(text + length - size, end, size) == 0;
}

/* Return whether Slurm keeps there what slurmctld has sent it ("configless"): slurmd in
 * its cache and by a link (slurmd.c, _establish_configuration), commands in a file
 * without a name.  slurmctld does not send hpc-balance.conf. */
static bool is_sent(const char *dir, size_t length)
{
    static const char link[] = "/run/slurm/conf/";

    return ends_with(dir, length, "/conf-cache/") || strncmp(dir, "/proc/", 6) == 0 ||
           (length == strlen(link) && ends_with(dir, length, link));
}

/* In slurm.conf's directory, unless Slurm received that and ours is not there. */
static int find_beside(const char *slurm, char *buf, size_t size)
{
    const char *slash = strrchr(slurm, '/');
    size_t length = slash ? (size_t)(slash + 1 - slurm) : 0;
    int n = snprintf(buf, size, "%.*shpc-balance.conf", (int)length, slurm);

    if (n >= 0 && (size_t)n < size && is_sent(slurm, length) && access(buf, F_OK))
        n = snprintf(buf, size, "%s", HPCB_SYSCONFDIR "/hpc-balance.conf");
    return n;
}

const char *hpcb_conf_find(const char *explicit_path, char *buf, size_t size)
{
    const char *ours = secure_getenv("HPC_BALANCE_CONF");
    const char *slurm = secure_getenv("SLURM_CONF");
    int n;

    if (explicit_path)
        n = snprintf(buf, size, "%s", explicit_path);
    else if (ours && *ours)
        n = snprintf(buf, size, "%s", ours);
    else if (slurm && *slurm)
        n = find_beside(slurm, buf, size);
    else
        n = snprintf(buf, size, "%s", HPCB_SYSCONFDIR "/hpc-balance.conf");
    if (n < 0 || (size_t)n >= size)
        buf[0] = '\0';
    return buf;
}

static bool names_partition(const char *value, const char *partition)
{
    char list[HPCB_LIST_MAX];
    char *rest = list, *item;

    if (strcmp(value, "all") == 0)
        return true;
    if (strcmp(value, "none") == 0 || hpcb_text_copy(list, sizeof(list), value))
        return false;
    while ((item = strsep(&rest, ",")))
        if (strcmp(item, partition) == 0)
            return true;
    return false;
}

void hpcb_conf_window(const hpcb_conf_t *conf, const char *partition,
                      hpcb_window_spec_t *window)
{
    if (find_window(conf->windows, partition, window))
        *window = (hpcb_window_spec_t){0, 0};
}

bool hpcb_conf_window_fits(const hpcb_conf_t *conf, const hpcb_window_spec_t *window)
{
    return window->period_us <= (uint64_t)conf->window_max_period * 1000000;
}

bool hpcb_conf_yields(const hpcb_conf_t *conf, const char *partition)
{
    return names_partition(conf->yield_waits, partition);
}

bool hpcb_conf_is_guest(const hpcb_conf_t *conf, const char *partition)
{
    return partition && strcmp(conf->guest_partition, partition) == 0;
}

bool hpcb_conf_is_gang(const hpcb_conf_t *conf, const char *partition)
{
    if (hpcb_conf_is_guest(conf, partition))
        return conf->guest_oversubscribe > 1;
    return names_partition(conf->gang_partitions, partition);
}

bool hpcb_conf_has_gangs(const hpcb_conf_t *conf)
{
    return conf->guest_oversubscribe > 1 || strcmp(conf->gang_partitions, "none") != 0;
}

bool hpcb_conf_is_exclusive(const hpcb_conf_t *conf, const char *partition)
{
    return !hpcb_conf_is_guest(conf, partition) &&
           names_partition(conf->exclusive_partitions, partition);
}
