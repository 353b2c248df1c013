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
#include "tests/common/snapshot.h"

typedef struct {
    const char *top;    /* where to */
    char dir[PATH_MAX]; /* of the section, below top */
    FILE *file;         /* that a "name:" began */
    const char *bundle;
    int line;
} unpack_t;

static void __attribute__((noreturn)) die(const unpack_t *unpack, const char *why)
{
    fprintf(stderr, "%s:%d: %s\n", unpack->bundle, unpack->line, why);
    abort();
}

static void make_dirs(const unpack_t *unpack, char *path)
{
    for (char *slash = path + strlen(unpack->top) + 1; slash; slash++) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            die(unpack, path);
        if (!slash)
            return;
        *slash = '/';
    }
}

static void begin_section(unpack_t *unpack, char *name)
{
    size_t length = strlen(name);

    if (length < 3 || name[length - 1] != ']')
        die(unpack, "not a [directory]");
    name[length - 1] = '\0';
    snprintf(unpack->dir, sizeof(unpack->dir), "%.1000s/%.2000s", unpack->top,
             name + 1);
    make_dirs(unpack, unpack->dir);
}

static FILE *create(const unpack_t *unpack, const char *name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%.*s", unpack->dir, NAME_MAX, name);
    file = fopen(path, "wx");
    if (!file)
        die(unpack, path);
    return file;
}

static void write_value(const unpack_t *unpack, char *name, char *equals)
{
    FILE *file;

    *equals = '\0';
    file = create(unpack, name);
    /* "name =" is an empty file, "name = value" one line. */
    if (equals[2])
        fprintf(file, "%s\n", equals + 3);
    if (fclose(file) != 0)
        die(unpack, name);
}

static void end_file(unpack_t *unpack)
{
    if (unpack->file && fclose(unpack->file) != 0)
        die(unpack, "cannot write");
    unpack->file = NULL;
}

static void unpack_line(unpack_t *unpack, char *line)
{
    char *equals = strstr(line, " =");
    size_t length = strlen(line);

    if (line[0] == '\t' && unpack->file) {
        fprintf(unpack->file, "%s\n", line + 1);
        return;
    }
    end_file(unpack);
    if (line[0] == '\0' || line[0] == '#')
        return;
    if (line[0] == '[') {
        begin_section(unpack, line);
    } else if (equals && (equals[2] == '\0' || equals[2] == ' ')) {
        write_value(unpack, line, equals);
    } else if (line[length - 1] == ':') {
        line[length - 1] = '\0';
        unpack->file = create(unpack, line);
    } else {
        die(unpack, "neither [directory], name = value, name: nor text after a tab");
    }
}

void test_snapshot_unpack(const char *file, const char *dir)
{
    unpack_t unpack = {.top = dir, .bundle = file};
    FILE *stream = fopen(file, "r");
    char *line = NULL;
    size_t size = 0;

    if (!stream)
        die(&unpack, strerror(errno));
    snprintf(unpack.dir, sizeof(unpack.dir), "%s", dir);
    while (getline(&line, &size, stream) > 0) {
        unpack.line++;
        line[strcspn(line, "\n")] = '\0';
        unpack_line(&unpack, line);
    }
    end_file(&unpack);
    free(line);
    fclose(stream);
}

void test_snapshot_open(const char *name, char dir[TEST_TMP_MAX])
{
    const char *source = getenv("HPCB_SRCDIR");
    char file[PATH_MAX];

    snprintf(file, sizeof(file), "%s/tests/snapshots/%s" TEST_SNAPSHOT_SUFFIX,
             source ? source : ".", name);
    test_tmp_dir(dir);
    test_snapshot_unpack(file, dir);
}
