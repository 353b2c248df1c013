/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * `hpcbctl calibrate`: the bandwidths of this node, measured once, as a line for
 * hpc-balance.conf.  Memory is measured by reading as fast as all CPUs can, which would
 * disturb a primary: nothing is done if there is one, unless forced.  Problems of the
 * figures go to stderr in lines that begin with WARNING, before and after the result.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/capacity.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbctl/calibrate/calibrate.h"
#include "hpcbctl/output.h"
#include "hpcbctl/verbs.h"

#define DEFAULT_SECONDS 10
#define MAX_SECONDS     600
#define WATCH_NS        500000000

/* Of all CPUs: more than what a node's daemons use. */
#define BUSY 0.05

#define STAT_MAX 65536

typedef struct {
    hpcb_cpus_t cpus;
    unsigned online;
    double seconds;
    uint64_t net; /* --net; 0: not given */
    bool net_given;
    char node[HPCB_NAME_MAX];
    hpcb_company_t company;
    hpcb_memory_t memory;
    hpcb_network_t network;
} calibration_t;

static int __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
    hpcb_error_t err;
    va_list args;

    va_start(args, fmt);
    vsnprintf(err.text, sizeof(err.text), fmt, args);
    va_end(args);
    hpcb_log(HPCB_LOG_ERROR, "calibrate: %s", hpcb_text_clean(err.text));
    return -1;
}

static int choose_cpus(const char *list, calibration_t *found)
{
    hpcb_cpus_t allowed = {0}, wanted;

    if (sched_getaffinity(0, sizeof(allowed), (cpu_set_t *)&allowed) < 0)
        return complain("which CPUs may be used: %s", strerror(errno));
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    found->online = online > 0 ? (unsigned)online : 0;
    if (!list) {
        found->cpus = allowed;
        return 0;
    }
    if (hpcb_cpus_parse(list, &wanted) < 0 || hpcb_cpus_count(&wanted) == 0)
        return complain("--cpus: '%s' is no list of CPUs such as 0-3,8", list);
    if (!hpcb_cpus_within(&wanted, &allowed))
        return complain("--cpus: some of '%s' may not be used here", list);
    found->cpus = wanted;
    return 0;
}

static int read_options(const hpcb_ctl_t *ctl, calibration_t *found)
{
    uint64_t seconds = DEFAULT_SECONDS;

    if (ctl->seconds &&
        (hpcb_text_u64(ctl->seconds, MAX_SECONDS, &seconds) < 0 || seconds == 0))
        return complain("--seconds: '%s' is not a whole number from 1 to %d",
                        ctl->seconds, MAX_SECONDS);
    found->seconds = (double)seconds;
    found->net_given = ctl->net != NULL;
    if (ctl->net && strcmp(ctl->net, "none") != 0 &&
        hpcb_text_size(ctl->net, HPCB_BANDWIDTH_MAX, &found->net) < 0)
        return complain(
            "--net: '%s' is neither bytes per second, such as 1.5G, nor none",
            ctl->net);
    return choose_cpus(ctl->cpus, found);
}

static int load_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), conf,
                       &err) == 0)
        return 0;
    if (errno != ENOENT || ctl->conf_path)
        return complain("%s", err.text);
    /* A node may be measured before there is a configuration. */
    hpcb_conf_defaults(conf);
    return 0;
}

static int read_ticks(double *busy, double *all)
{
    static char text[STAT_MAX];
    FILE *stat = fopen("/proc/stat", "re");

    if (!stat)
        return -1;
    /* The first line is enough, and on large machines the file is long. */
    bool got = fgets(text, sizeof(text), stat) != NULL;
    fclose(stat);
    return got ? hpcb_company_ticks(text, busy, all) : -1;
}

/* Return the part of all CPUs that is in use while our own process sleeps; 0 if the
 * kernel does not show it. */
static double watch_cpus(void)
{
    struct timespec pause = {.tv_nsec = WATCH_NS};
    double busy, all, busy_then, all_then;

    if (read_ticks(&busy, &all) < 0)
        return 0;
    nanosleep(&pause, NULL);
    if (read_ticks(&busy_then, &all_then) < 0 || all_then <= all)
        return 0;
    return (busy_then - busy) / (all_then - all);
}

/* -1: this node must not be measured now. */
static int look_around(const hpcb_ctl_t *ctl, const hpcb_conf_t *conf,
                       calibration_t *found)
{
    hpcb_company_t *company = &found->company;
    hpcb_node_t *node;
    hpcb_error_t err;
    int known;

    if (hpcb_node_open("/", &node, &err) < 0)
        return complain("%s", err.text);
    known = hpcb_company_jobs(conf, node, company, &err);
    hpcb_node_close(node);
    company->busy = watch_cpus();
    if (ctl->force)
        return 0;
    if (known < 0)
        return complain(
            "cannot determine the jobs on this node: %s; nothing was measured "
            "(--force measures anyway)",
            err.text);
    if (company->primaries == 0)
        return 0;
    return complain(
        "job %" PRIu32 "%s on this node is no guest: it would be slowed down, "
        "and what it moves would be missing; nothing was measured.  Drain the "
        "node first (--force does it all the same)",
        company->a_primary, company->primaries > 1 ? ", like others" : "");
}

/* Why the figures may be wrong; the number of reasons. */
static unsigned warn(const calibration_t *found, bool measured)
{
    const hpcb_company_t *company = &found->company;
    unsigned reasons = 0;

    if (company->primaries > 0 && ++reasons)
        complain("WARNING: %zu primary job%s on this node: it moves more than is said "
                 "here",
                 company->primaries, company->primaries == 1 ? "" : "s");
    if (company->guests > 0 && ++reasons)
        complain(
            "WARNING: %zu guest job%s on this node: it moves more than is said here",
            company->guests, company->guests == 1 ? "" : "s");
    if (company->busy > BUSY && ++reasons)
        complain("WARNING: this node was busy: %.0f %% of its CPUs were in use before "
                 "anything was measured",
                 100 * company->busy);
    if (measured && found->memory.cpu_part < 1 - BUSY && ++reasons)
        complain("WARNING: others had the CPUs for %.0f %% of the time meanwhile",
                 100 * (1 - found->memory.cpu_part));
    if (hpcb_cpus_count(&found->cpus) < found->online && ++reasons)
        complain("WARNING: %u of %u CPUs were used: the whole node may move more",
                 hpcb_cpus_count(&found->cpus), found->online);
    return reasons;
}

static void show_pass(unsigned pass, unsigned passes)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Khpcbctl: calibrate: pass %u of %u", pass, passes);
    else
        fprintf(stderr, "hpcbctl: calibrate: pass %u of %u\n", pass, passes);
}

static int measure(calibration_t *found)
{
    hpcb_error_t err;
    int rc;

    rc = hpcb_calibrate_memory(&found->cpus, found->seconds, show_pass, &found->memory,
                               &err);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (rc < 0)
        return complain("%s", err.text);
    if (found->net_given)
        found->network.bytes_per_second = found->net;
    else
        hpcb_calibrate_network("", &found->network);
    return 0;
}

static void print_text(const calibration_t *found, const char *line)
{
    const hpcb_memory_t *memory = &found->memory;
    const hpcb_network_t *network = &found->network;

    printf("Memory: %u CPU%s, %zu MiB each, %zu MiB of all in huge pages; GB/s in %d "
           "passes\n\n",
           memory->cpus, memory->cpus == 1 ? "" : "s", memory->block >> 20,
           memory->huge >> 20, HPCB_CALIBRATE_PASSES);
    printf("%-6s  %-7s  %8s  %8s  %8s\n", "STRIDE", "", "MEDIAN", "LEAST", "MOST");
    for (size_t i = 0; i < memory->rows; i++)
        printf("%-6zu  %-7s  %8.2f  %8.2f  %8.2f\n", memory->row[i].stride,
               memory->row[i].write ? "written" : "read", memory->row[i].median * 1e-9,
               memory->row[i].least * 1e-9, memory->row[i].most * 1e-9);
    if (found->net_given)
        printf("\nNetwork: as given\n");
    else if (network->bytes_per_second > 0)
        printf("\nNetwork: %s, %.3f GB/s in both directions together\n", network->link,
               (double)network->bytes_per_second * 1e-9);
    else
        printf("\nNetwork: no link tells its speed (%u silent); see --net\n",
               network->silent);
    printf("\nFor hpc-balance.conf:\n\n%s\n", line);
}

static json_object *memory_json(const hpcb_memory_t *memory)
{
    json_object *array = json_object_new_array();

    for (size_t i = 0; array && i < memory->rows; i++) {
        const hpcb_memory_row_t *row = &memory->row[i];
        json_object *object = json_object_new_object();

        if (object && hpcb_json_u64(object, "stride", row->stride) == 0 &&
            hpcb_json_bool(object, "write", row->write) == 0 &&
            hpcb_json_u64(object, "median", (uint64_t)row->median) == 0 &&
            hpcb_json_u64(object, "least", (uint64_t)row->least) == 0 &&
            hpcb_json_u64(object, "most", (uint64_t)row->most) == 0 &&
            hpcb_json_append(array, object) == 0)
            continue;
        json_object_put(array);
        return NULL;
    }
    return array;
}

static int add_network(json_object *object, const calibration_t *found)
{
    const hpcb_network_t *network = &found->network;

    if (network->bytes_per_second == 0)
        return hpcb_json_add(object, "links_silent",
                             json_object_new_uint64(network->silent)) ||
               json_object_object_add(object, "net_bytes_per_second", NULL);
    return hpcb_json_u64(object, "net_bytes_per_second", network->bytes_per_second) ||
           hpcb_json_text(object, "link", found->net_given ? NULL : network->link);
}

static int print_json(const calibration_t *found, const char *line, unsigned reasons)
{
    const hpcb_memory_t *memory = &found->memory;
    hpcb_autojson json_object *object = json_object_new_object();

    if (!object || hpcb_json_text(object, "node", found->node) ||
        hpcb_json_u64(object, "cpus", memory->cpus) ||
        hpcb_json_u64(object, "block_bytes", memory->block) ||
        hpcb_json_u64(object, "huge_page_bytes", memory->huge) ||
        hpcb_json_add(object, "strides", memory_json(memory)) ||
        hpcb_json_u64(object, "mem_bytes_per_second", memory->capacity) ||
        add_network(object, found) ||
        hpcb_json_u64(object, "primaries", found->company.primaries) ||
        hpcb_json_u64(object, "guests", found->company.guests) ||
        hpcb_json_add(object, "busy", json_object_new_double(found->company.busy)) ||
        hpcb_json_bool(object, "quiet", reasons == 0) ||
        hpcb_json_text(object, "line", line))
        return -1;
    return hpcb_json_print(object, stdout);
}

int hpcb_calibrate(const hpcb_ctl_t *ctl)
{
    static calibration_t found;
    char line[HPCB_NODES_MAX];
    hpcb_conf_t conf;
    unsigned reasons;

    if (read_options(ctl, &found) < 0 || load_conf(ctl, &conf) < 0 ||
        look_around(ctl, &conf, &found) < 0)
        return 1;
    hpcb_node_name(found.node, sizeof(found.node));
    warn(&found, false);
    if (measure(&found) < 0)
        return 1;
    if (hpcb_calibrate_line(found.node, found.memory.capacity,
                            found.network.bytes_per_second, line, sizeof(line)) < 0) {
        complain("nothing was moved");
        return 1;
    }
    if (!ctl->json)
        print_text(&found, line);
    reasons = warn(&found, true);
    if (ctl->json && print_json(&found, line, reasons) < 0)
        return complain("cannot write to stdout"), 1;
    return fflush(stdout) == 0 ? 0 : 1;
}
