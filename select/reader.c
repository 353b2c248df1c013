/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "select/reader.h"

#define PATIENCE_NS 100000000L
#define NS_PER_S    1000000000L

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t asked_for, answered;
    bool runs;
    bool asked; /* and not answered yet */
    bool anew;  /* the thread's state of the file is of another directory */
    char dir[PATH_MAX];
    /* The answer: that of hpcb_live_read, with content that was not fetched yet. */
    int status, error;
    hpcb_error_t err;
    hpcb_live_t live;
    /* The same of bad company. */
    bool company_new;
    hpcb_company_t *company;
    hpcb_error_t company_err;
} reader = {.mutex = PTHREAD_MUTEX_INITIALIZER,
            .asked_for = PTHREAD_COND_INITIALIZER,
            .answered = PTHREAD_COND_INITIALIZER};

/* Of the thread alone. */
static hpcb_live_known_t known;
static hpcb_file_stamp_t company_known;

/* NULL with err, which is "" if there is no file. */
static hpcb_company_t *read_company(const char *path, hpcb_error_t *err)
{
    hpcb_autofree char *text = malloc(HPCB_COMPANY_TEXT_MAX);
    hpcb_company_t *company = malloc(sizeof(*company));

    if (!text || !company) {
        hpcb_error(err, "out of memory");
    } else if (hpcb_file_read_trusted(path, text, HPCB_COMPANY_TEXT_MAX, err) < 0) {
        if (errno == ENOENT)
            err->text[0] = '\0';
    } else if (hpcb_company_parse(company, text) < 0) {
        hpcb_error(err, "%.200s: not a list of bad company, or of another version",
                   path);
    } else {
        return company;
    }
    free(company);
    return NULL;
}

/* If it is another file than last time. */
static bool look_for_company(const char *dir, hpcb_company_t **company,
                             hpcb_error_t *err)
{
    hpcb_file_stamp_t before = company_known;
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE, dir) >=
            (int)sizeof(path) ||
        !hpcb_file_changed(path, &company_known) ||
        (!before.inode && !company_known.inode))
        return false;
    *company = read_company(path, err);
    return true;
}

/* Caller holds the mutex. */
static void keep_company(hpcb_company_t *company, const hpcb_error_t *err)
{
    free(reader.company);
    reader.company = company;
    reader.company_err = *err;
    reader.company_new = true;
}

/* Caller holds the mutex.  An answer that was not fetched stays if there is nothing
 * newer. */
static void answer(int status, int error, const hpcb_error_t *err, hpcb_live_t *live)
{
    if (status != 0 || reader.status < 0)
        reader.status = status;
    reader.error = error;
    reader.err = *err;
    if (status > 0) {
        hpcb_live_clear(&reader.live);
        reader.live = *live;
    }
    reader.asked = false;
    pthread_cond_signal(&reader.answered);
}

/* Caller holds the mutex, which is free while the file is read. */
static void look(void)
{
    char dir[PATH_MAX];
    hpcb_live_t live = {0};
    hpcb_company_t *company = NULL;
    hpcb_error_t err = {""}, company_err = {""};
    int status, error;
    bool new_company;

    if (reader.anew) {
        known = (hpcb_live_known_t){0};
        company_known = (hpcb_file_stamp_t){0};
    }
    reader.anew = false;
    memcpy(dir, reader.dir, sizeof(dir));
    pthread_mutex_unlock(&reader.mutex);
    status = hpcb_live_read(dir, &known, &live, &err);
    error = errno;
    new_company = look_for_company(dir, &company, &company_err);
    pthread_mutex_lock(&reader.mutex);
    if (reader.anew) {
        hpcb_live_clear(&live);
        free(company);
        return;
    }
    if (new_company)
        keep_company(company, &company_err);
    answer(status, error, &err, &live);
}

static void *run(void *arg)
{
    pthread_setname_np(pthread_self(), "hpcb_live");
    pthread_mutex_lock(&reader.mutex);
    for (;;) {
        while (!reader.asked)
            pthread_cond_wait(&reader.asked_for, &reader.mutex);
        look();
    }
    return arg;
}

/* Caller holds the mutex.  0, or an errno.  Signals are for slurmctld's own threads. */
static int begin(void)
{
    sigset_t all, before;
    pthread_t thread;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        pthread_detach(thread);
    reader.runs = error == 0;
    return error;
}

void hpcb_reader_follow(const char *dir)
{
    pthread_mutex_lock(&reader.mutex);
    snprintf(reader.dir, sizeof(reader.dir), "%s", dir);
    reader.anew = true;
    reader.status = 0;
    hpcb_live_clear(&reader.live);
    keep_company(NULL, &(hpcb_error_t){""});
    pthread_mutex_unlock(&reader.mutex);
}

/* Caller holds the mutex. */
static void wait_for_answer(void)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_NS;
    if (until.tv_nsec >= NS_PER_S) {
        until.tv_nsec -= NS_PER_S;
        until.tv_sec++;
    }
    while (reader.asked && rc == 0)
        rc = pthread_cond_clockwait(&reader.answered, &reader.mutex, CLOCK_MONOTONIC,
                                    &until);
}

/* Caller holds the mutex. */
static int take(hpcb_live_t *live, hpcb_error_t *err)
{
    int status = reader.status;

    if (status > 0) {
        hpcb_live_clear(live);
        *live = reader.live;
        reader.live = (hpcb_live_t){0};
        reader.status = 0;
    }
    if (status < 0) {
        if (err)
            *err = reader.err;
        errno = reader.error;
    }
    return status;
}

int hpcb_reader_look(hpcb_live_t *live, hpcb_error_t *err)
{
    int status;

    pthread_mutex_lock(&reader.mutex);
    if (!reader.runs && (status = begin()) != 0) {
        pthread_mutex_unlock(&reader.mutex);
        errno = status;
        return hpcb_error(err, "no thread to read it: %s", strerror(status));
    }
    if (!reader.asked) {
        reader.asked = true;
        pthread_cond_signal(&reader.asked_for);
        wait_for_answer();
    }
    status = take(live, err);
    pthread_mutex_unlock(&reader.mutex);
    return status;
}

int hpcb_reader_company(hpcb_company_t **company, hpcb_error_t *err)
{
    bool is_new;

    pthread_mutex_lock(&reader.mutex);
    is_new = reader.company_new;
    if (is_new) {
        free(*company);
        *company = reader.company;
        *err = reader.company_err;
        reader.company = NULL;
        reader.company_new = false;
    }
    pthread_mutex_unlock(&reader.mutex);
    return is_new;
}
