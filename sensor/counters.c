/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include "sensor/counters.h"

static const hpcb_counters_t *in_use = &hpcb_counters_papi;

void hpcb_counters_use(const hpcb_counters_t *counters)
{
    in_use = counters ? counters : &hpcb_counters_papi;
}

const hpcb_counters_t *hpcb_counters(void)
{
    return in_use;
}

#ifdef HAVE_PAPI

#include <papi.h>

static int failed(hpcb_error_t *err, const char *what, int code)
{
    const char *text = PAPI_strerror(code);

    errno = code == PAPI_ESYS ? errno : ENOTSUP;
    return hpcb_error(err, "PAPI cannot %s: %s", what, text ? text : "unknown error");
}

static int start(hpcb_error_t *err)
{
    int code;

    if (PAPI_is_initialized())
        return 0;
    code = PAPI_library_init(PAPI_VER_CURRENT);
    return code == (int)PAPI_VER_CURRENT ? 0 : failed(err, "start", code);
}

static void close_set(int set)
{
    (void)PAPI_stop(set, NULL);
    (void)PAPI_cleanup_eventset(set);
    (void)PAPI_destroy_eventset(&set);
}

/* Events on a thread and its children: the component of core events must be known to
 * the set before either is said. */
static int bind_to(int set, pid_t tid, hpcb_error_t *err)
{
    PAPI_option_t option = {.inherit = {.eventset = set, .inherit = PAPI_INHERIT_ALL}};
    int code = PAPI_assign_eventset_component(set, 0);

    if (code == PAPI_OK)
        code = PAPI_set_opt(PAPI_INHERIT, &option);
    if (code == PAPI_OK)
        code = PAPI_attach(set, (unsigned long)tid);
    return code == PAPI_OK ? 0 : failed(err, "attach to a thread", code);
}

static int fill(int set, const char *const *names, size_t n, hpcb_error_t *err)
{
    int code = PAPI_OK;

    for (size_t i = 0; i < n && code == PAPI_OK; i++) {
        code = PAPI_add_named_event(set, names[i]);
        if (code != PAPI_OK)
            return failed(err, names[i], code);
    }
    code = PAPI_start(set);
    return code == PAPI_OK ? 0 : failed(err, "start counting", code);
}

static int open_set(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err)
{
    int set = PAPI_NULL, code = PAPI_create_eventset(&set);

    if (code != PAPI_OK)
        return failed(err, "make a set of events", code);
    if ((tid == 0 || bind_to(set, tid, err) == 0) && fill(set, names, n, err) == 0)
        return set;
    close_set(set);
    return -1;
}

static int read_set(int set, long long *values, hpcb_error_t *err)
{
    int code = PAPI_read(set, values);

    return code == PAPI_OK ? 0 : failed(err, "read its counters", code);
}

const hpcb_counters_t hpcb_counters_papi = {start, open_set, read_set, close_set};

#else

static int start(hpcb_error_t *err)
{
    errno = ENOSYS;
    return hpcb_error(err, "built without PAPI");
}

/* Nobody calls the others when start fails. */
const hpcb_counters_t hpcb_counters_papi = {.start = start};

#endif
