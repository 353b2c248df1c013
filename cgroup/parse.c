/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/parse.h"

void hpcb_parse_unescape(char *text)
{
    char *out = text;

    for (const char *in = text; *in; in++) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' &&
            in[2] <= '7' && in[3] >= '0' && in[3] <= '7') {
            *out++ = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
            in += 3;
        } else {
            *out++ = *in;
        }
    }
    *out = '\0';
}

static int parse_id(const char *text, int *id)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0 || value > 0x7fffffff)
        return -1;
    *id = (int)value;
    return 0;
}

/*
 * 32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
 * Any number of optional fields may stand before the dash.
 */
int hpcb_parse_mount(char *line, hpcb_mount_line_t *mount)
{
    char *save = NULL, *field[6], *word;

    for (int i = 0; i < 6; i++) {
        field[i] = strtok_r(i ? NULL : line, " ", &save);
        if (!field[i])
            return -1;
    }
    do {
        word = strtok_r(NULL, " ", &save);
        if (!word)
            return -1;
    } while (strcmp(word, "-") != 0);
    if (parse_id(field[0], &mount->id) < 0 || parse_id(field[1], &mount->parent) < 0)
        return -1;
    mount->fstype = strtok_r(NULL, " ", &save);
    if (!mount->fstype || !strtok_r(NULL, " ", &save))
        return -1;
    mount->super = strtok_r(NULL, " ", &save);
    if (!mount->super)
        return -1;
    mount->root = field[3];
    mount->point = field[4];
    hpcb_parse_unescape(mount->root);
    hpcb_parse_unescape(mount->point);
    return mount->root[0] == '/' && mount->point[0] == '/' ? 0 : -1;
}

bool hpcb_parse_word(const char *list, size_t length, const char *word)
{
    size_t wanted = strlen(word);

    while (length > 0) {
        const char *comma = memchr(list, ',', length);
        size_t n = comma ? (size_t)(comma - list) : length;

        if (n == wanted && memcmp(list, word, n) == 0)
            return true;
        if (!comma)
            return false;
        list += n + 1;
        length -= n + 1;
    }
    return false;
}

static bool line_matches(const char *line, const char *names, size_t length,
                         const char *controller)
{
    if (!controller)
        return length == 0 && line[0] == '0' && line[1] == ':';
    return hpcb_parse_word(names, length, controller);
}

static int copy_path(const char *path, size_t length, char *out, size_t size)
{
    static const char deleted[] = " (deleted)";
    size_t tail = sizeof(deleted) - 1;

    errno = ENOENT;
    if (length == 0 || path[0] != '/')
        return -1;
    if (length >= tail && memcmp(path + length - tail, deleted, tail) == 0)
        return -1;
    errno = ENAMETOOLONG;
    if (length >= size)
        return -1;
    memcpy(out, path, length);
    out[length] = '\0';
    return 0;
}

/* Lines are <hierarchy>:<controllers>:<path>; only the path may contain colons. */
int hpcb_parse_cgroup(const char *text, const char *controller, char *path, size_t size)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *names = memchr(text, ':', length);
        const char *where = NULL;

        if (names) {
            names++;
            where = memchr(names, ':', length - (size_t)(names - text));
        }
        if (where && line_matches(text, names, (size_t)(where - names), controller)) {
            where++;
            return copy_path(where, length - (size_t)(where - text), path, size);
        }
        text += length;
        if (*text)
            text++;
    }
    errno = ENOENT;
    return -1;
}

/* True where a component of path is "." or ".." or empty. */
static bool wanders(const char *path)
{
    while (*path == '/') {
        size_t n = strcspn(++path, "/");

        if (n == 0 || (n == 1 && path[0] == '.') ||
            (n == 2 && path[0] == '.' && path[1] == '.'))
            return true;
        path += n;
    }
    return *path != '\0';
}

int hpcb_parse_below(const char *root, const char *path, char *rest, size_t size)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);

    errno = EXDEV;
    if (strncmp(path, root, length) != 0)
        return -1;
    path += length;
    if (strcmp(path, "/") == 0 && length == 0)
        path++;
    if (*path && (*path != '/' || wanders(path)))
        return -1;
    errno = ENAMETOOLONG;
    if (strlen(path) >= size)
        return -1;
    memcpy(rest, path, strlen(path) + 1);
    return 0;
}

/* The component after the slash at which path points. */
static size_t component(const char *path)
{
    return *path == '/' ? strcspn(path + 1, "/") : 0;
}

static bool starts(const char *name, size_t length, const char *start)
{
    size_t n = strlen(start);

    return length > n && memcmp(name, start, n) == 0;
}

/* slurmd's directory: cgroup_prepend of Slurm's v1 plugin, the scope of its v2 plugin;
 * <node>_ stands before or after it in builds with --enable-multiple-slurmd. */
static bool slurms(const char *name, size_t length, int version)
{
    static const char scope[] = "slurmstepd.scope";
    size_t n = sizeof(scope) - 1;

    if (version == 1)
        return (length == 5 && memcmp(name, "slurm", 5) == 0) ||
               starts(name, length, "slurm_");
    if (length < n || memcmp(name + length - n, scope, n) != 0)
        return false;
    return length == n || name[length - n - 1] == '_';
}

/* Return the part after slurmd's directory, NULL if path has none. */
static const char *below_slurm(const char *path, int version)
{
    size_t n;

    while ((n = component(path)) > 0) {
        bool found = slurms(path + 1, n, version);

        path += n + 1;
        if (found)
            return path;
    }
    return NULL;
}

static bool is_uid(const char *name, size_t length)
{
    if (!starts(name, length, "uid_"))
        return false;
    for (size_t i = 4; i < length; i++) {
        if (!isdigit((unsigned char)name[i]))
            return false;
    }
    return true;
}

size_t hpcb_parse_job(const char *rest, int version)
{
    const char *path = below_slurm(rest, version);
    size_t n;

    if (!path)
        return 0;
    n = component(path);
    if (version == 1) {
        if (!is_uid(path + 1, n))
            return 0;
        path += n + 1;
        n = component(path);
        return n ? (size_t)(path - rest) + n + 1 : 0;
    }
    if (n == 0)
        return 0;
    path += n + 1;
    return starts(path + 1, component(path), "step_") ? (size_t)(path - rest) : 0;
}
