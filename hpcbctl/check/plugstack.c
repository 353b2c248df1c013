/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "hpcbctl/check/plugstack.h"

#define LINE_BYTES 4096
#define LINES_MAX  4096
#define INCLUDES_MAX                                                                   \
    4 /* SPANK has no limit: a loop of includes ends slurmd, not us                    \
       */
#define BLANKS " \t\r\n"

static int search(const char *path, int depth, hpcb_plugstack_line_t *found,
                  hpcb_error_t *err);

static bool is_ours(const char *plugin)
{
    const char *slash = strrchr(plugin, '/');

    return strcmp(slash ? slash + 1 : plugin, HPCB_SPANK_FILE) == 0;
}

/* Includes are relative to the file that has them, and may be patterns. */
static int include(const char *from, const char *pattern, int depth,
                   hpcb_plugstack_line_t *found)
{
    const char *slash = strrchr(from, '/');
    int base = pattern[0] == '/' || !slash ? 0 : (int)(slash - from + 1);
    char path[PATH_MAX];
    glob_t matches;
    int result = 0;

    if (depth == INCLUDES_MAX ||
        snprintf(path, sizeof(path), "%.*s%s", base, from, pattern) >=
            (int)sizeof(path) ||
        glob(path, 0, NULL, &matches))
        return 0;
    for (size_t i = 0; i < matches.gl_pathc && result != 1; i++)
        result = search(matches.gl_pathv[i], depth + 1, found, NULL);
    globfree(&matches);
    return result == 1;
}

/* Returns 1 when text (line number of file) loads our plugin, or includes what does. */
static int read_line(char *text, const char *file, unsigned number, int depth,
                     hpcb_plugstack_line_t *found)
{
    char *rest = text, *verb, *plugin;

    text[strcspn(text, "#")] = '\0';
    verb = strtok_r(text, BLANKS, &rest);
    plugin = verb ? strtok_r(NULL, BLANKS, &rest) : NULL;
    if (!plugin)
        return 0;
    if (strcmp(verb, "include") == 0)
        return include(file, plugin, depth, found);
    if ((strcmp(verb, "optional") != 0 && strcmp(verb, "required") != 0) ||
        !is_ours(plugin))
        return 0;
    found->required = strcmp(verb, "required") == 0;
    found->line = number;
    snprintf(found->file, sizeof(found->file), "%s", file);
    snprintf(found->plugin, sizeof(found->plugin), "%s", plugin);
    return 1;
}

/* A FIFO in the file's place must not hold us. */
static FILE *open_regular(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    FILE *stream;

    if (fd < 0)
        return NULL;
    errno = EINVAL;
    stream = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (!stream)
        hpcb_cleanup_close(&fd);
    return stream;
}

static int search(const char *path, int depth, hpcb_plugstack_line_t *found,
                  hpcb_error_t *err)
{
    hpcb_autofclose FILE *stream = open_regular(path);
    char text[LINE_BYTES];
    int result = 0;

    if (!stream)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    for (unsigned number = 1; number <= LINES_MAX && result == 0; number++) {
        if (!fgets(text, sizeof(text), stream))
            break;
        result = read_line(text, path, number, depth, found);
    }
    return result;
}

int hpcb_plugstack_find(const char *path, hpcb_plugstack_line_t *found,
                        hpcb_error_t *err)
{
    return search(path, 0, found, err);
}
