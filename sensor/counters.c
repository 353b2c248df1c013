/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
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

#include <dlfcn.h>
#include <papi.h>

/* PAPI is loaded when it is first asked for: it takes 2.5 MB, and the prolog, which
 * runs the same program, has no use for it. */
#define PAPI_CALLS(X)                                                                  \
    X(add_named_event)                                                                 \
    X(assign_eventset_component)                                                       \
    X(attach)                                                                          \
    X(cleanup_eventset)                                                                \
    X(create_eventset)                                                                 \
    X(destroy_eventset)                                                                \
    X(is_initialized)                                                                  \
    X(library_init)                                                                    \
    X(read)                                                                            \
    X(set_opt)                                                                         \
    X(start)                                                                           \
    X(stop)                                                                            \
    X(strerror)

#define POINTER(name) __typeof__(PAPI_##name) *(name);
static struct {
    PAPI_CALLS(POINTER)
} papi;

static void *symbol(void *library, const char *name, bool *missing)
{
    void *found = dlsym(library, name);

    *missing |= !found;
    return found;
}

/* It stays for the life of the process. */
static int load(hpcb_error_t *err)
{
    static void *library;
    static bool missing;

    if (!library) {
        library = dlopen(HPCB_PAPI_SONAME, RTLD_NOW | RTLD_LOCAL);
#define LOOK_UP(name) *(void **)&papi.name = symbol(library, "PAPI_" #name, &missing);
        if (library) {
            PAPI_CALLS(LOOK_UP)
        }
    }
    if (library && !missing)
        return 0;
    errno = ENOENT;
    return hpcb_error(err, "%s is not installed", HPCB_PAPI_SONAME);
}

static int failed(hpcb_error_t *err, const char *what, int code)
{
    const char *text = papi.strerror(code);

    errno = code == PAPI_ESYS ? errno : ENOTSUP;
    return hpcb_error(err, "PAPI cannot %s: %s", what, text ? text : "unknown error");
}

static int start(hpcb_error_t *err)
{
    int code;

    if (load(err) < 0)
        return -1;
    if (papi.is_initialized())
        return 0;
    code = papi.library_init(PAPI_VER_CURRENT);
    return code == (int)PAPI_VER_CURRENT ? 0 : failed(err, "start", code);
}

static void close_set(int set)
{
    (void)papi.stop(set, NULL);
    (void)papi.cleanup_eventset(set);
    (void)papi.destroy_eventset(&set);
}

/* Events on a thread and its children: the component of core events must be known to
 * the set before either is said. */
static int bind_to(int set, pid_t tid, hpcb_error_t *err)
{
    PAPI_option_t option = {.inherit = {.eventset = set, .inherit = PAPI_INHERIT_ALL}};
    int code = papi.assign_eventset_component(set, 0);

    if (code == PAPI_OK)
        code = papi.set_opt(PAPI_INHERIT, &option);
    if (code == PAPI_OK)
        code = papi.attach(set, (unsigned long)tid);
    return code == PAPI_OK ? 0 : failed(err, "attach to a thread", code);
}

static int fill(int set, const char *const *names, size_t n, hpcb_error_t *err)
{
    int code = PAPI_OK;

    for (size_t i = 0; i < n && code == PAPI_OK; i++) {
        code = papi.add_named_event(set, names[i]);
        if (code != PAPI_OK)
            return failed(err, names[i], code);
    }
    code = papi.start(set);
    return code == PAPI_OK ? 0 : failed(err, "start counting", code);
}

static int open_set(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err)
{
    int set = PAPI_NULL, code = papi.create_eventset(&set);

    if (code != PAPI_OK)
        return failed(err, "make a set of events", code);
    if ((tid == 0 || bind_to(set, tid, err) == 0) && fill(set, names, n, err) == 0)
        return set;
    close_set(set);
    return -1;
}

static int read_set(int set, long long *values, hpcb_error_t *err)
{
    int code = papi.read(set, values);

    return code == PAPI_OK ? 0 : failed(err, "read its counters", code);
}

const hpcb_counters_t hpcb_counters_papi = {start, open_set, read_set, close_set};

#else

static int start(hpcb_error_t *err)
{
    errno = ENOSYS;
    return hpcb_error(err, "built without PAPI");
}

/* The other functions are not called if start fails. */
const hpcb_counters_t hpcb_counters_papi = {.start = start};

#endif
