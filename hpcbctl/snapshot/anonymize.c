/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview: an append-only text (out_t), the list of names met of each kind, the rules
 * for one component of a path (component), and the three texts that are made of paths.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/parse.h"
#include "hpcbctl/snapshot/anonymize.h"

#define NAMES_MAX    4096
#define FIRST_UID    1000 /* so that it is not like a system user's */
#define SLUID_LENGTH 14   /* "s" and 13 characters of base 32 (Slurm 26.05) */
#define SCOPE        "_slurmstepd.scope"

typedef enum { JOB, UID, NODE, SLUID, OTHER, KINDS } kind_t;

typedef struct {
    char **names;
    unsigned count;
} known_t;

struct hpcb_anonymize {
    bool keep;
    char *guest_cgroup;
    known_t known[KINDS];
};

typedef struct {
    char *text;
    size_t size;
    size_t used;
} out_t;

static int add_text(out_t *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int add_text(out_t *out, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(out->text + out->used, out->size - out->used, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < out->size - out->used) {
        out->used += (size_t)n;
        return 0;
    }
    errno = ENAMETOOLONG;
    return -1;
}

hpcb_anonymize_t *hpcb_anonymize_open(bool keep, const char *guest_cgroup)
{
    hpcb_anonymize_t *names = calloc(1, sizeof(*names));

    if (!names)
        return NULL;
    names->keep = keep;
    names->guest_cgroup = strdup(guest_cgroup);
    if (names->guest_cgroup)
        return names;
    free(names);
    return NULL;
}

void hpcb_anonymize_close(hpcb_anonymize_t *names)
{
    if (!names)
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        for (unsigned i = 0; i < names->known[kind].count; i++)
            free(names->known[kind].names[i]);
        free(names->known[kind].names);
    }
    free(names->guest_cgroup);
    free(names);
}

unsigned hpcb_anonymize_jobs(const hpcb_anonymize_t *names)
{
    return names->known[JOB].count + names->known[SLUID].count;
}

/* The number of the first length bytes of name among those of its kind, from 1 on; 0
 * with errno. */
static unsigned number_of(hpcb_anonymize_t *names, kind_t kind, const char *name,
                          size_t length)
{
    known_t *known = &names->known[kind];
    char **larger;

    for (unsigned i = 0; i < known->count; i++)
        if (strlen(known->names[i]) == length &&
            memcmp(known->names[i], name, length) == 0)
            return i + 1;
    errno = ENOSPC;
    if (known->count == NAMES_MAX)
        return 0;
    larger = reallocarray(known->names, known->count + 1, sizeof(*larger));
    if (!larger)
        return 0;
    known->names = larger;
    larger[known->count] = strndup(name, length);
    return larger[known->count] ? ++known->count : 0;
}

/* Write the replacement for the first length bytes of name. */
static int add_number(hpcb_anonymize_t *names, out_t *out, kind_t kind,
                      const char *name, size_t length)
{
    unsigned number = number_of(names, kind, name, length);

    if (number == 0)
        return -1;
    switch (kind) {
    case JOB:
        return add_text(out, "job_%u", number);
    case UID:
        return add_text(out, "uid_%u", FIRST_UID + number);
    case NODE:
        return add_text(out, "node%u", number);
    case SLUID:
        return add_text(out, "s%013u", number);
    default:
        return add_text(out, "group%u", number);
    }
}

static bool among(const char *const *list, const char *word, size_t length)
{
    for (; *list; list++)
        if (strlen(*list) == length && memcmp(*list, word, length) == 0)
            return true;
    return false;
}

/* Controllers, and what the kernel itself puts into a cgroup mount's options. */
static bool is_kernels(const char *word, size_t length)
{
    static const char *const words[] = {
        "blkio",
        "cpu",
        "cpuacct",
        "cpuset",
        "debug",
        "devices",
        "dmem",
        "freezer",
        "hugetlb",
        "io",
        "memory",
        "misc",
        "net_cls",
        "net_prio",
        "perf_event",
        "pids",
        "rdma",
        "name=systemd",
        "rw",
        "ro",
        "clone_children",
        "favordynmods",
        "cpuset_v2_mode",
        "memory_hugetlb_accounting",
        "memory_localevents",
        "memory_recursiveprot",
        "noprefix",
        "nsdelegate",
        "pids_localevents",
        "xattr",
        NULL,
    };

    return among(words, word, length);
}

/* Names that are the same at every site. */
static bool is_common(const char *name, size_t length)
{
    static const char *const names[] = {
        "",
        ".",
        "..",
        "cgroup",
        "docker",
        "fs",
        "hpcb",
        "init.scope",
        "machine.slice",
        "slurm",
        "slurmctld.service",
        "slurmd.service",
        "slurmstepd.scope",
        "sys",
        "system",
        "system.slice",
        "systemd",
        "unified",
        "user",
        "user.slice",
        NULL,
    };

    return among(names, name, length);
}

static bool is_controllers(const char *name, size_t length)
{
    while (length > 0) {
        const char *comma = memchr(name, ',', length);
        size_t n = comma ? (size_t)(comma - name) : length;

        if (!is_kernels(name, n))
            return false;
        name += comma ? n + 1 : n;
        length -= comma ? n + 1 : n;
    }
    return true;
}

static bool is_number(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length && isdigit((unsigned char)text[i]))
        i++;
    return length > 0 && length <= 10 && i == length;
}

/* "0", "3+1" (a component of a heterogeneous job), "batch", ... */
static bool is_step(const char *text, size_t length)
{
    static const char *const names[] = {"batch", "extern", "interactive", NULL};
    const char *plus = memchr(text, '+', length);

    if (plus)
        return is_number(text, (size_t)(plus - text)) &&
               is_number(plus + 1, length - (size_t)(plus - text) - 1);
    return is_number(text, length) || among(names, text, length);
}

static bool is_task(const char *text, size_t length)
{
    return is_number(text, length) || (length == 7 && memcmp(text, "special", 7) == 0);
}

static bool begins(const char *name, size_t length, const char *start)
{
    size_t n = strlen(start);

    return length > n && memcmp(name, start, n) == 0;
}

static bool ends(const char *name, size_t length, const char *end)
{
    size_t n = strlen(end);

    return length > n && memcmp(name + length - n, end, n) == 0;
}

/* step_0, task_0, and <step>.<task> of sensor/meter. */
static bool is_part_of_job(const char *name, size_t length)
{
    const char *dot = memchr(name, '.', length);

    if (begins(name, length, "step_"))
        return is_step(name + 5, length - 5);
    if (begins(name, length, "task_"))
        return is_task(name + 5, length - 5);
    return dot && is_step(name, (size_t)(dot - name)) &&
           is_number(dot + 1, length - (size_t)(dot - name) - 1);
}

static bool is_sluid(const char *name, size_t length)
{
    if (length != SLUID_LENGTH || name[0] != 's')
        return false;
    for (size_t i = 1; i < length; i++)
        if (!isdigit((unsigned char)name[i]) && !isupper((unsigned char)name[i]))
            return false;
    return true;
}

static bool is_job(const char *name, size_t length)
{
    return begins(name, length, "job_") && is_number(name + 4, length - 4);
}

/* Jobs are counted all the same. */
static int keep_component(hpcb_anonymize_t *names, const char *name, size_t length,
                          out_t *out)
{
    if (is_job(name, length) && number_of(names, JOB, name, length) == 0)
        return -1;
    if (is_sluid(name, length) && number_of(names, SLUID, name, length) == 0)
        return -1;
    return add_text(out, "%.*s", (int)length, name);
}

static int component(hpcb_anonymize_t *names, const char *name, size_t length,
                     out_t *out)
{
    if (names->keep)
        return keep_component(names, name, length, out);
    if (is_common(name, length) || is_controllers(name, length) ||
        is_part_of_job(name, length) ||
        (length == 5 && memcmp(name, "uid_0", length) == 0))
        return add_text(out, "%.*s", (int)length, name);
    if (strlen(names->guest_cgroup) == length &&
        memcmp(names->guest_cgroup, name, length) == 0)
        return add_text(out, "hpcb_guest");
    if (is_job(name, length))
        return add_number(names, out, JOB, name, length);
    if (begins(name, length, "uid_") && is_number(name + 4, length - 4))
        return add_number(names, out, UID, name, length);
    if (begins(name, length, "slurm_"))
        return add_text(out, "slurm_") ||
                       add_number(names, out, NODE, name + 6, length - 6)
                   ? -1
                   : 0;
    if (ends(name, length, SCOPE))
        return add_number(names, out, NODE, name, length - strlen(SCOPE)) ||
                       add_text(out, SCOPE)
                   ? -1
                   : 0;
    return add_number(names, out, is_sluid(name, length) ? SLUID : OTHER, name, length);
}

static int add_path(hpcb_anonymize_t *names, const char *path, size_t length,
                    out_t *out)
{
    while (length > 0) {
        const char *slash = memchr(path, '/', length);
        size_t n = slash ? (size_t)(slash - path) : length;

        if (component(names, path, n, out) || (slash && add_text(out, "/")))
            return -1;
        path += slash ? n + 1 : n;
        length -= slash ? n + 1 : n;
    }
    return 0;
}

int hpcb_anonymize_path(hpcb_anonymize_t *names, const char *path, char *out,
                        size_t size)
{
    out_t made = {.text = out, .size = size};

    return add_text(&made, "%s", "") || add_path(names, path, strlen(path), &made) ? -1
                                                                                   : 0;
}

/* A list of controllers or mount options; others than the kernel's are replaced, and
 * release_agent is left out. */
static int add_words(hpcb_anonymize_t *names, const char *list, size_t length,
                     out_t *out)
{
    const char *between = "";

    while (length > 0) {
        const char *comma = memchr(list, ',', length);
        size_t n = comma ? (size_t)(comma - list) : length;
        bool left_out = begins(list, n, "release_agent=");

        if (!left_out) {
            if (add_text(out, "%s", between))
                return -1;
            if (names->keep || is_kernels(list, n)) {
                if (add_text(out, "%.*s", (int)n, list))
                    return -1;
            } else if (add_text(out, "name=") ||
                       add_number(names, out, OTHER, list, n)) {
                return -1;
            }
            between = ",";
        }
        list += comma ? n + 1 : n;
        length -= comma ? n + 1 : n;
    }
    return 0;
}

/* <hierarchy>:<controllers>:<path>, the path perhaps followed by " (deleted)". */
static int add_cgroup_line(hpcb_anonymize_t *names, const char *line, size_t length,
                           out_t *out)
{
    static const char deleted[] = " (deleted)";
    const char *list = memchr(line, ':', length), *path, *end = line + length;
    bool gone;

    path = list ? memchr(list + 1, ':', (size_t)(end - list) - 1) : NULL;
    if (!path || path + 1 == end || path[1] != '/' ||
        !is_number(line, (size_t)(list - line)))
        return 0;
    gone = ends(path, (size_t)(end - path), deleted);
    if (gone)
        end -= sizeof(deleted) - 1;
    return add_text(out, "%.*s:", (int)(list - line), line) ||
                   add_words(names, list + 1, (size_t)(path - list) - 1, out) ||
                   add_text(out, ":") ||
                   add_path(names, path + 1, (size_t)(end - path) - 1, out) ||
                   add_text(out, "%s\n", gone ? deleted : "")
               ? -1
               : 0;
}

int hpcb_anonymize_cgroup(hpcb_anonymize_t *names, const char *text, char *out,
                          size_t size)
{
    out_t made = {.text = out, .size = size};

    if (add_text(&made, "%s", ""))
        return -1;
    while (*text) {
        size_t length = strcspn(text, "\n");

        if (add_cgroup_line(names, text, length, &made))
            return -1;
        text += length + (text[length] == '\n');
    }
    return 0;
}

static int add_escaped(const char *text, out_t *out)
{
    for (; *text; text++) {
        bool plain = *text > ' ' && *text != '\\' && *text != 0x7f;

        if (plain ? add_text(out, "%c", *text)
                  : add_text(out, "\\%03o", (unsigned char)*text))
            return -1;
    }
    return 0;
}

static int add_mount_path(hpcb_anonymize_t *names, const char *path, out_t *out)
{
    char mapped[PATH_MAX];

    return hpcb_anonymize_path(names, path, mapped, sizeof(mapped)) ||
                   add_escaped(mapped, out) || add_text(out, " ")
               ? -1
               : 0;
}

int hpcb_anonymize_mount(hpcb_anonymize_t *names, char *line, char *out, size_t size)
{
    out_t made = {.text = out, .size = size};
    hpcb_mount_line_t mount;
    bool v1, v2;

    errno = EINVAL;
    if (hpcb_parse_mount(line, &mount))
        return -1;
    v1 = strcmp(mount.fstype, "cgroup") == 0;
    v2 = strcmp(mount.fstype, "cgroup2") == 0;
    if (add_text(&made, "%d %d 0:0 ", mount.id, mount.parent) ||
        add_mount_path(names, v1 || v2 ? mount.root : "/", &made) ||
        add_mount_path(names, mount.point, &made))
        return -1;
    if (!v1 && !v2)
        return add_text(&made, "rw - other other rw\n");
    return add_text(&made, "rw - %s %s ", mount.fstype, mount.fstype) ||
                   add_words(names, mount.super, strlen(mount.super), &made) ||
                   add_text(&made, "\n")
               ? -1
               : 0;
}
