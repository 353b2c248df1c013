/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Calls of a child process for a loop: MUNGE's, one at a time, so that a slow or hung
 * munged does not block the loop; and those of the keeper of records
 * (hpcbd/collector/keeper.h), as many at a time as have arrived.  Origins take turns:
 * an origin with many calls only delays itself.
 */
#ifndef HPCB_HPCBD_RECORDS_SEALER_H
#define HPCB_HPCBD_RECORDS_SEALER_H

#include "hpcbd/collector/conn.h"
#include "hpcbd/loop.h"

/* Maximum length of the text of a call and of its result. */
#define HPCBD_SEALER_MAX (2u * 1024 * 1024)

typedef struct hpcbd_sealer hpcbd_sealer_t;
typedef struct hpcbd_call hpcbd_call_t;

/* The child's work on a text, like hpcbd_unseal. */
typedef char *(*hpcbd_sealer_work_fn)(const char *text, hpcb_error_t *err);

/*
 * The call has ended, and is freed when this returns.  text: its result, valid until
 * then; or NULL with error EPERM (the text is at fault) or EAGAIN (munged is), and why
 * as a message.
 */
typedef void (*hpcbd_sealer_done_fn)(void *arg, const char *text, int error,
                                     const char *why);

/* Start a child called name.  If a call takes more than limit_ms, the child is killed
 * and restarted.  Return NULL with err on failure. */
hpcbd_sealer_t *hpcbd_sealer_start(hpcb_loop_t *loop, const char *name,
                                   hpcbd_sealer_work_fn work, unsigned limit_ms,
                                   hpcb_error_t *err);

/* One of several calls that a child processes together.  Its result is made (malloc),
 * or NULL with error EPERM or EAGAIN and why. */
typedef struct {
    const char *text;
    char *made;
    int error;
    hpcb_error_t why;
} hpcbd_sealer_item_t;

typedef void (*hpcbd_sealer_batch_fn)(hpcbd_sealer_item_t *items, size_t count);

/* Maximum number of calls that a child processes together. */
#define HPCBD_SEALER_BATCH 64

/* Start a child that processes all calls together that arrived while it was busy, in
 * their order, for as long as it takes. */
hpcbd_sealer_t *hpcbd_sealer_start_batch(hpcb_loop_t *loop, const char *name,
                                         hpcbd_sealer_batch_fn batch,
                                         hpcb_error_t *err);

/* Stop, and drop all calls without calling done.  sealer may be NULL. */
void hpcbd_sealer_stop(hpcbd_sealer_t *sealer);

/* Have work(text) run, and then call done(arg) from the loop, never from here.  text is
 * owned by the caller and must be valid until the call ends.  Return NULL if memory is
 * short, or while there is no child. */
hpcbd_call_t *hpcbd_sealer_call(hpcbd_sealer_t *sealer, const hpcbd_origin_t *origin,
                                const char *text, hpcbd_sealer_done_fn done, void *arg);

/* Cancel a call: done is not called any more.  call may be NULL. */
void hpcbd_call_cancel(hpcbd_call_t *call);

/* Return the number of calls of all origins that have not ended. */
size_t hpcbd_sealer_calls(const hpcbd_sealer_t *sealer);

/* Return the number of waiting calls of origin. */
size_t hpcbd_sealer_waiting(const hpcbd_sealer_t *sealer, const hpcbd_origin_t *origin);

#endif
