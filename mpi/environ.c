/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "common/yield.h"
#include "mpi/environ.h"

#define NS_PER_US 1000U

#define LD_PRELOAD "LD_PRELOAD"

/* Says that spank/yield.c put this library there. */
#define MARK "HPCB_YIELD_JOB"

/* Between the entries of LD_PRELOAD, ld.so(8). */
static const char separators[] = ": ";

static uint64_t microseconds(const char *name, uint64_t usual, uint64_t least,
                             uint64_t most)
{
    const char *text = getenv(name);
    uint64_t value = 0;

    if (!text || !*text)
        return usual;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return usual;
        value = value * 10 + (uint64_t)(*text - '0');
        if (value > most)
            return usual;
    }
    return value < least ? usual : value;
}

hpcb_nap_conf_t hpcb_environ_naps(void)
{
    return (hpcb_nap_conf_t){
        .spin_ns =
            NS_PER_US * microseconds("HPCB_YIELD_SPIN", HPCB_YIELD_SPIN_DEFAULT_US, 0,
                                     HPCB_YIELD_SPIN_LIMIT_US),
        .nap_max_ns = NS_PER_US * microseconds("HPCB_YIELD_NAP_MAX",
                                               HPCB_YIELD_NAP_MAX_DEFAULT_US, 1,
                                               HPCB_YIELD_NAP_MAX_LIMIT_US),
    };
}

bool hpcb_environ_naps_wanted(void)
{
    const char *text = getenv("HPCB_YIELD");

    return !text || strcmp(text, "off") != 0;
}

bool hpcb_environ_debug(void)
{
    const char *text = getenv("HPCB_DEBUG");

    return text && *text && strcmp(text, "0") != 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *own_name(void)
{
    Dl_info info;

    return dladdr(separators, &info) && info.dli_fname ? base_name(info.dli_fname)
                                                       : "libhpcb_mpi.so";
}

/* Return whether the entry of LD_PRELOAD at text, length bytes long, is a file called
 * name. */
static bool is_entry(const char *text, size_t length, const char *name)
{
    size_t own = strlen(name);

    if (length < own || memcmp(text + length - own, name, own) != 0)
        return false;
    return length == own || text[length - own - 1] == '/';
}

/* Copy list to out (as long as list) without the entries called name. */
static void without(const char *list, const char *name, char *out)
{
    char *start = out;

    while (*list) {
        size_t length = strcspn(list, separators);

        if (length > 0 && !is_entry(list, length, name)) {
            if (out != start)
                *out++ = ':';
            memcpy(out, list, length);
            out += length;
        }
        list += length + (list[length] != '\0');
    }
    *out = '\0';
}

void hpcb_environ_leave(void)
{
    const char *list = getenv(LD_PRELOAD);
    char *rest = list ? malloc(strlen(list) + 1) : NULL;

    if (!rest)
        return;
    without(list, own_name(), rest);
    if (*rest)
        setenv(LD_PRELOAD, rest, 1);
    else
        unsetenv(LD_PRELOAD);
    unsetenv(MARK);
    free(rest);
}
