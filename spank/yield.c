/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "common/file.h"
#include "common/log.h"
#include "spank/useropts.h"
#include "spank/yield.h"

/* More than this in LD_PRELOAD is left alone. */
#define PRELOAD_MAX 16384
/* Separators of ld.so in LD_PRELOAD. */
#define SEPARATORS ": "

static bool preload;

/* A library that root did not put there, or that ld.so would refuse with a line for
 * every program that the job starts, is not preloaded.  (hpc-balance.conf allows
 * neither ':' nor blanks in its path.) */
static int check_library(const char *path, hpcb_error_t *err)
{
    struct stat st;

    if (hpcb_file_trusted(path, err) < 0)
        return -1;
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
        return hpcb_error(err, "MpiLibrary=%s: is no file that every user can read",
                          path);
    return 0;
}

static bool wants_yield(const hpcb_step_t *step)
{
    if (!step->recorded || !step->tasks)
        return false;
    if (strcmp(hpcb_spank_options()->balance, "none") == 0)
        return hpcb_conf_yields(&step->conf, step->job.partition);
    if (step->job.yield_waits)
        return true;
    return step->klass == HPCB_CLASS_PRIMARY &&
           hpcb_spank_options()->policy != HPCB_POLICY_NONE;
}

void hpcb_spank_yield_decide(const hpcb_step_t *step)
{
    hpcb_error_t err;

    preload = false;
    if (!wants_yield(step))
        return;
    if (check_library(step->conf.mpi_library, &err) < 0)
        hpcb_log(HPCB_LOG_INFO, "job %u: MPI waits are left alone: %s", step->job_id,
                 err.text);
    else
        preload = true;
}

/* The job for which this plugin put the library into LD_PRELOAD.  Without it an entry
 * is the user's own. */
#define MARK_VARIABLE "HPCB_YIELD_JOB"

/* Copy list to out (as long as list) without the entries path. */
static void without(const char *list, const char *path, char *out)
{
    size_t own = strlen(path);
    char *start = out;

    while (*list) {
        size_t length = strcspn(list, SEPARATORS);

        if (length > 0 && (length != own || memcmp(list, path, own) != 0)) {
            if (out != start)
                *out++ = ':';
            memcpy(out, list, length);
            out += length;
        }
        list += length + (list[length] != '\0');
    }
    *out = '\0';
}

/* Nested srun: the batch script's environment names the library already. */
static bool named_in(const char *list, const char *path)
{
    size_t length = strlen(path);

    for (const char *p = list; *p; p += strcspn(p, SEPARATORS)) {
        p += strspn(p, SEPARATORS);
        if (strncmp(p, path, length) == 0 && strcspn(p, SEPARATORS) == length)
            return true;
    }
    return false;
}

static bool is_marked(spank_t sp)
{
    char job[16];

    return spank_getenv(sp, MARK_VARIABLE, job, sizeof(job)) != ESPANK_ENV_NOEXIST;
}

static void mark(spank_t sp, uint32_t job_id)
{
    char job[16];

    snprintf(job, sizeof(job), "%u", job_id);
    spank_setenv(sp, MARK_VARIABLE, job, 1);
}

/* LD_PRELOAD, "" if it is not set; false: too long. */
static bool read_preload(spank_t sp, char *list, size_t size)
{
    spank_err_t found = spank_getenv(sp, "LD_PRELOAD", list, (int)size);

    if (found == ESPANK_ENV_NOEXIST)
        list[0] = '\0';
    return found == ESPANK_ENV_NOEXIST || found == ESPANK_SUCCESS;
}

static void set_preload(spank_t sp, const hpcb_step_t *step)
{
    const char *library = step->conf.mpi_library;
    char old[PRELOAD_MAX], all[PRELOAD_MAX + PATH_MAX + 1];
    bool named;

    if (!read_preload(sp, old, sizeof(old))) {
        hpcb_log(HPCB_LOG_INFO, "MPI waits are left alone: LD_PRELOAD is too long");
        return;
    }
    named = named_in(old, library);
    snprintf(all, sizeof(all), "%s%s%s", library, old[0] ? ":" : "", old);
    if (!named && spank_setenv(sp, "LD_PRELOAD", all, 1) != ESPANK_SUCCESS)
        hpcb_log(HPCB_LOG_INFO, "MPI waits are left alone: LD_PRELOAD cannot be set");
    else if (!named || is_marked(sp))
        mark(sp, step->job_id);
}

/* A job that was submitted from within one with the library has that one's environment,
 * and so have the steps of a job of which one does without. */
static void take_back_preload(spank_t sp, const char *library)
{
    char old[PRELOAD_MAX], rest[PRELOAD_MAX];

    if (!is_marked(sp))
        return;
    if (!read_preload(sp, old, sizeof(old))) {
        hpcb_log(HPCB_LOG_INFO, "LD_PRELOAD stays as it is: it is too long");
        return;
    }
    without(old, library, rest);
    if (*rest)
        spank_setenv(sp, "LD_PRELOAD", rest, 1);
    else
        spank_unsetenv(sp, "LD_PRELOAD");
    spank_unsetenv(sp, MARK_VARIABLE);
}

/* Settings of the job itself stay, because it is the job's own time. */
static void set_default(spank_t sp, const char *name, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    spank_setenv(sp, name, text, 0);
}

/* slurm_spank_log reaches the user's terminal, whatever the log level. */
static void tell_user(const hpcb_step_t *step)
{
    const hpcb_options_t *given = hpcb_spank_options();

    if (!step->recorded)
        return;
    if (step->klass == HPCB_CLASS_GUEST && given->policy != HPCB_POLICY_NONE)
        slurm_spank_log("hpc_balance: --hpc-balance has no effect: job %u is a guest",
                        step->job_id);
    if (step->klass == HPCB_CLASS_PRIMARY && given->guest)
        slurm_spank_log("hpc_balance: --guest has no effect: job %u is a primary",
                        step->job_id);
}

void hpcb_spank_yield_env(spank_t sp, const hpcb_step_t *step)
{
    tell_user(step);
    if (!preload) {
        take_back_preload(sp, step->conf.mpi_library);
        return;
    }
    set_preload(sp, step);
    set_default(sp, "HPCB_YIELD_SPIN", step->conf.yield_spin_us);
    set_default(sp, "HPCB_YIELD_NAP_MAX", step->conf.yield_nap_max_us);
}
