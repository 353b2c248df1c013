/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/about.h"
#include "common/file.h"
#include "common/text.h"

#define FILE_BYTES 2048
#define FILE_MODE  0600

typedef enum { NUMBER, LONG_NUMBER, TEXT } type_t;

typedef struct {
    const char *key;
    const char *env; /* in a prolog; NULL: not there */
    type_t type;
    size_t offset, size;
} member_t;

#define MEMBER(field) offsetof(hpcb_about_t, field), sizeof(((hpcb_about_t *)0)->field)

static const member_t members[] = {
    {"Restart", "SLURM_JOB_RESTART_COUNT", NUMBER, MEMBER(restart)},
    {"Nodes", "SLURM_JOB_NUM_NODES", NUMBER, MEMBER(nodes)},
    {"ArrayJob", NULL, NUMBER, MEMBER(array_job)},
    {"ArrayTask", NULL, NUMBER, MEMBER(array_task)},
    {"HetJob", "SLURM_HET_JOB_ID", NUMBER, MEMBER(het_job)},
    {"Spread", "SPANK_HPCB_SPREAD", NUMBER, MEMBER(spread)},
    {"Submit", "SPANK_HPCB_SUBMIT", LONG_NUMBER, MEMBER(submit)},
    {"User", "SLURM_JOB_USER", TEXT, MEMBER(user)},
    {"Name", NULL, TEXT, MEMBER(name)},
    {"Executable", NULL, TEXT, MEMBER(executable)},
};

#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* An invalid value leaves the member unchanged. */
static void set_member(hpcb_about_t *about, const member_t *member, const char *text)
{
    void *field = (char *)about + member->offset;
    uint64_t number;

    if (member->type == TEXT) {
        if (is_printable(text))
            (void)hpcb_text_copy(field, member->size, text);
    } else if (hpcb_text_u64(
                   text, member->type == NUMBER ? UINT32_MAX - 1 : (uint64_t)INT64_MAX,
                   &number) == 0) {
        if (member->type == NUMBER)
            *(uint32_t *)field = (uint32_t)number;
        else
            *(uint64_t *)field = number;
    }
}

void hpcb_about_program(hpcb_about_t *about, const char *program)
{
    const char *slash = strchr(program, '/');
    size_t length = slash ? (size_t)(slash - program) : strlen(program);

    if (!is_printable(program) || strlen(program) >= sizeof(about->name))
        return;
    memcpy(about->name, program, length);
    about->name[length] = '\0';
    snprintf(about->executable, sizeof(about->executable), "%s",
             slash ? slash + 1 : about->name);
}

void hpcb_about_from_env(hpcb_about_t *about)
{
    hpcb_about_t read = {0};
    const char *program = getenv("SPANK_HPCB_PROGRAM");

    for (size_t i = 0; i < N_MEMBERS; i++) {
        const char *text = members[i].env ? getenv(members[i].env) : NULL;

        if (text)
            set_member(&read, &members[i], text);
    }
    if (program)
        hpcb_about_program(&read, program);
    *about = read;
}

static bool is_known(const hpcb_about_t *about, const member_t *member)
{
    static const hpcb_about_t nothing;
    const char *field = (const char *)about + member->offset;

    return member->type == TEXT ? *field != '\0'
                                : memcmp(field, (const char *)&nothing + member->offset,
                                         member->size) != 0;
}

void hpcb_about_fill(hpcb_about_t *about, const hpcb_about_t *more)
{
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (!is_known(about, &members[i]))
            memcpy((char *)about + members[i].offset,
                   (const char *)more + members[i].offset, members[i].size);
}

static int path_of(char *path, const char *state_dir, uint32_t job_id,
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 HPCB_ABOUT_SUFFIX, state_dir,
                 job_id) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the state directory's name is too long");
}

/* One line, or nothing for what is not known.  Returns its length. */
static int render(char *text, size_t size, const hpcb_about_t *about,
                  const member_t *member)
{
    const char *field = (const char *)about + member->offset;

    if (!is_known(about, member))
        return 0;
    if (member->type == TEXT)
        return snprintf(text, size, "%s=%s\n", member->key, field);
    return snprintf(text, size, "%s=%" PRIu64 "\n", member->key,
                    member->type == NUMBER ? *(const uint32_t *)field
                                           : *(const uint64_t *)field);
}

int hpcb_about_save(const char *state_dir, uint32_t job_id, const hpcb_about_t *about,
                    hpcb_error_t *err)
{
    char path[PATH_MAX], text[FILE_BYTES] = "";
    size_t used = 0;

    for (size_t i = 0; i < N_MEMBERS; i++)
        used += (size_t)render(text + used, sizeof(text) - used, about, &members[i]);
    if (path_of(path, state_dir, job_id, err))
        return -1;
    return hpcb_file_replace(path, text, used, FILE_MODE, err);
}

int hpcb_about_add_array(const char *state_dir, uint32_t job_id, uint32_t array_job,
                         uint32_t array_task, hpcb_error_t *err)
{
    char path[PATH_MAX], text[96];

    snprintf(text, sizeof(text), "ArrayJob=%" PRIu32 "\nArrayTask=%" PRIu32 "\n",
             array_job, array_task);
    if (path_of(path, state_dir, job_id, err))
        return -1;
    return hpcb_file_append(path, text, FILE_MODE, err);
}

static void read_line(hpcb_about_t *about, char *line)
{
    char *value = strchr(line, '=');

    if (!value)
        return;
    *value++ = '\0';
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (strcmp(members[i].key, line) == 0)
            set_member(about, &members[i], value);
}

int hpcb_about_load(const char *state_dir, uint32_t job_id, hpcb_about_t *about,
                    hpcb_error_t *err)
{
    char path[PATH_MAX], text[FILE_BYTES];
    char *rest = text, *line;

    *about = (hpcb_about_t){0};
    if (path_of(path, state_dir, job_id, err))
        return -1;
    if (hpcb_file_read_trusted(path, text, sizeof(text), err) < 0)
        return errno == ENOENT ? 0 : -1;
    while ((line = strsep(&rest, "\n")))
        read_line(about, line);
    return 0;
}
