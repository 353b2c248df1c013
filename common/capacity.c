/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/capacity.h"
#include "common/text.h"

#define LINE_BYTES 4096
#define SHOWN      "%.40s"

#define HOST_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* A bracket of numbers, "[1-3,07]"; what follows it, or NULL. */
static const char *skip_ranges(const char *text)
{
    size_t length = strspn(text + 1, "0123456789,-");

    return length > 0 && text[length + 1] == ']' ? text + length + 2 : NULL;
}

/* One item of a list; what follows it, or NULL. */
static const char *skip_host(const char *text)
{
    const char *start = text;

    while (text && *text && *text != ',') {
        if (*text == '[')
            text = skip_ranges(text);
        else
            text = strchr(HOST_BYTES, *text) ? text + 1 : NULL;
    }
    return text == start ? NULL : text;
}

/* Return whether list has the form of a hostlist, "n[1-3,07],login"; its expansion
 * checks the rest. */
static bool is_hosts(const char *list)
{
    const char *end = skip_host(list);

    while (end && *end == ',')
        end = skip_host(end + 1);
    return end != NULL;
}

static int read_nodes(hpcb_capacity_t *row, const char *value)
{
    if (*row->nodes)
        return -1;
    if (strcasecmp(value, "ALL") == 0)
        value = "ALL";
    return is_hosts(value) ? hpcb_text_copy(row->nodes, sizeof(row->nodes), value) : -1;
}

static int read_bandwidth(uint64_t *field, const char *value)
{
    return *field ? -1 : hpcb_text_size(value, HPCB_BANDWIDTH_MAX, field);
}

static int read_pair(hpcb_capacity_t *row, char *pair, hpcb_error_t *err)
{
    char *value = strchr(pair, '=');

    if (!value)
        return hpcb_error(err, SHOWN ": allowed: Key=Value, blanks between pairs",
                          pair);
    *value++ = '\0';
    if (strcasecmp(pair, "NodeName") == 0)
        return read_nodes(row, value)
                   ? hpcb_error(err,
                                "NodeName=" SHOWN ": allowed: once, nodes like "
                                "n[1-4],login in at most 511 bytes, or ALL",
                                value)
                   : 0;
    if (strcasecmp(pair, "MemBandwidth") != 0 && strcasecmp(pair, "NetBandwidth") != 0)
        return hpcb_error(err,
                          SHOWN "=" SHOWN ": unknown key; allowed: NodeName, "
                                "MemBandwidth, NetBandwidth",
                          pair, value);
    if (read_bandwidth(strcasecmp(pair, "MemBandwidth") == 0 ? &row->mem : &row->net,
                       value))
        return hpcb_error(err,
                          SHOWN "=" SHOWN ": allowed: once, bytes/s, with K, M, G "
                                "or T (powers of 1024), above 0 and up to 2^60",
                          pair, value);
    return 0;
}

int hpcb_capacity_parse(const char *line, hpcb_capacity_t *row, hpcb_error_t *err)
{
    hpcb_capacity_t read = {.nodes = ""};
    char copy[LINE_BYTES + 1];
    char *rest = copy, *pair;

    errno = EINVAL;
    if (hpcb_text_copy(copy, sizeof(copy), line))
        return hpcb_error(err, "line too long: allowed: %d bytes", LINE_BYTES);
    while ((pair = strsep(&rest, " \t")))
        if (*pair && read_pair(&read, pair, err))
            return -1;
    if (!*read.nodes)
        return hpcb_error(err, "no nodes: allowed: NodeName=nodes and bandwidths");
    if (!read.mem && !read.net)
        return hpcb_error(err,
                          "NodeName=" SHOWN ": no bandwidth: allowed: MemBandwidth=, "
                          "NetBandwidth= or both",
                          read.nodes);
    *row = read;
    return 0;
}
