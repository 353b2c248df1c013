/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Release of resources at every exit of a scope: declare `hpcb_autofree char *text =
 * NULL;`.  All of them preserve errno, so that `return -1` keeps its reason.
 */
#ifndef HPCB_COMMON_CLEANUP_H
#define HPCB_COMMON_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void hpcb_cleanup_free(void *pointer)
{
    int saved = errno;

    free(*(void **)pointer);
    errno = saved;
}

static inline void hpcb_cleanup_close(const int *fd)
{
    int saved = errno;

    if (*fd >= 0)
        close(*fd);
    errno = saved;
}

static inline void hpcb_cleanup_fclose(FILE **stream)
{
    int saved = errno;

    if (*stream)
        fclose(*stream);
    errno = saved;
}

static inline void hpcb_cleanup_closedir(DIR **dir)
{
    int saved = errno;

    if (*dir)
        closedir(*dir);
    errno = saved;
}

#define hpcb_autofree     __attribute__((cleanup(hpcb_cleanup_free)))
#define hpcb_autoclose    __attribute__((cleanup(hpcb_cleanup_close)))
#define hpcb_autofclose   __attribute__((cleanup(hpcb_cleanup_fclose)))
#define hpcb_autoclosedir __attribute__((cleanup(hpcb_cleanup_closedir)))

#endif
