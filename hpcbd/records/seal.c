/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <munge.h>

#include "common/cleanup.h"
#include "hpcbd/records/seal.h"

/* Long enough for clocks that are a minute apart. */
#define TTL_SECONDS 120

/* libmunge waits for a munged that is busy; it takes no longer than some seconds. */
static munge_ctx_t context(hpcb_error_t *err)
{
    munge_ctx_t ctx = munge_ctx_create();

    if (ctx && munge_ctx_set(ctx, MUNGE_OPT_TTL, TTL_SECONDS) == EMUNGE_SUCCESS &&
        munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, geteuid()) == EMUNGE_SUCCESS)
        return ctx;
    if (ctx)
        munge_ctx_destroy(ctx);
    hpcb_error(err, "MUNGE: no context");
    return NULL;
}

char *hpcbd_seal(const char *text, size_t length, hpcb_error_t *err)
{
    munge_ctx_t ctx = context(err);
    char *credential = NULL;
    munge_err_t rc;

    if (!ctx)
        return NULL;
    rc = munge_encode(&credential, ctx, text, (int)length);
    munge_ctx_destroy(ctx);
    if (rc == EMUNGE_SUCCESS)
        return credential;
    free(credential);
    hpcb_error(err, "MUNGE: %s", munge_strerror(rc));
    return NULL;
}

/* Of the failures, those of munged and not of the credential. */
static bool is_munged(munge_err_t rc)
{
    return rc == EMUNGE_SOCKET || rc == EMUNGE_TIMEOUT || rc == EMUNGE_NO_MEMORY ||
           rc == EMUNGE_SNAFU;
}

char *hpcbd_unseal(const char *credential, hpcb_error_t *err)
{
    char *text, *copy = NULL;
    void *payload = NULL;
    int length = 0;
    uid_t uid = (uid_t)-1;
    munge_err_t rc = munge_decode(credential, NULL, &payload, &length, &uid, NULL);

    text = payload;
    if (rc != EMUNGE_SUCCESS) {
        free(text);
        hpcb_error(err, "MUNGE: %s", munge_strerror(rc));
        errno = is_munged(rc) ? EAGAIN : EPERM;
        return NULL;
    }
    if (uid != 0 && uid != geteuid()) {
        free(text);
        errno = EPERM;
        hpcb_error(err, "a message of uid %u", (unsigned)uid);
        return NULL;
    }
    /* libmunge ends a payload with a NUL of its own, but says so nowhere. */
    copy = length >= 0 ? strndup(text ? text : "", (size_t)length) : NULL;
    free(text);
    if (!copy)
        hpcb_error(err, "out of memory");
    return copy;
}
