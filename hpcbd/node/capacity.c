/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/capacity.h"
#include "common/file.h"
#include "common/record_json.h"
#include "hpcbd/node/capacity.h"

#define FILE_BYTES 256

/* Another one: the node must be measured again. */
static void machine(long *cpus, long *pages)
{
    *cpus = sysconf(_SC_NPROCESSORS_ONLN);
    *pages = sysconf(_SC_PHYS_PAGES);
}

static int path_of(const char *state_dir, char path[static PATH_MAX], hpcb_error_t *err)
{
    return snprintf(path, PATH_MAX, "%s/capacity", state_dir) < PATH_MAX
               ? 0
               : hpcb_error(err, "%.200s is too long", state_dir);
}

void hpcbd_capacity_load(const char *state_dir, hpcbd_capacity_t *capacity)
{
    char path[PATH_MAX], text[FILE_BYTES];
    long cpus, pages, cpus_then, pages_then;
    hpcbd_capacity_t read;

    *capacity = (hpcbd_capacity_t){0, 0};
    machine(&cpus, &pages);
    if (path_of(state_dir, path, NULL) ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0 ||
        sscanf(text, "cpus %ld pages %ld mem %" SCNu64 " net %" SCNu64, &cpus_then,
               &pages_then, &read.mem, &read.net) != 4 ||
        cpus != cpus_then || pages != pages_then || read.mem > HPCB_BANDWIDTH_MAX ||
        read.net > HPCB_BANDWIDTH_MAX)
        return;
    *capacity = read;
}

int hpcbd_capacity_save(const char *state_dir, const hpcbd_capacity_t *capacity,
                        hpcb_error_t *err)
{
    char path[PATH_MAX], text[FILE_BYTES];
    long cpus, pages;
    int n;

    if (path_of(state_dir, path, err))
        return -1;
    machine(&cpus, &pages);
    n = snprintf(text, sizeof(text),
                 "cpus %ld pages %ld mem %" PRIu64 " net %" PRIu64 "\n", cpus, pages,
                 capacity->mem, capacity->net);
    return hpcb_file_swap(path, text, (size_t)n, 0644, err);
}

static bool is_quiet(hpcb_rjson_t *object)
{
    hpcb_rjson_t *quiet;

    return json_object_object_get_ex(object, "quiet", &quiet) &&
           json_object_is_type(quiet, json_type_boolean) &&
           json_object_get_boolean(quiet);
}

int hpcbd_capacity_parse(const char *text, hpcbd_capacity_t *capacity,
                         hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = hpcb_rjson_parse(text);
    hpcbd_capacity_t read = {0, 0};

    if (!object || hpcb_rjson_get_u64(object, "mem_bytes_per_second",
                                      HPCB_BANDWIDTH_MAX, &read.mem)) {
        errno = EINVAL;
        return hpcb_error(err, "hpcbctl calibrate gave no figures");
    }
    if (!is_quiet(object)) {
        errno = EBUSY;
        return hpcb_error(err, "others were at work on this node");
    }
    /* Null if no link has a known speed. */
    (void)hpcb_rjson_get_u64(object, "net_bytes_per_second", HPCB_BANDWIDTH_MAX,
                             &read.net);
    *capacity = read;
    return 0;
}
