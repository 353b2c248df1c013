/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The symbols that this library puts in front of an MPI: MPI_X and PMPI_X of every
 * wrapped call, of MPI_Init, MPI_Init_thread and MPI_Finalize.
 *
 * Both names, because calls come in both ways: C programs call MPI_X; the Fortran layer
 * of Open MPI and every PMPI tool in front of us call PMPI_X; that of MPICH calls
 * MPI_X. So no Fortran symbol is wrapped at all, whatever its mangling, and what is
 * special about Fortran (MPI_BOTTOM, MPI_STATUS_IGNORE, handles) has been translated
 * before.
 *
 *   application -> [tool] -> MPI_X, ours -> [tool's MPI_X -> PMPI_X, ours] -> MPI
 *
 * MPI_X goes on to the next MPI_X if that is a tool's, so that the tool sees what the
 * application called; the tool's PMPI_X then comes to us.  Otherwise, and from PMPI_X,
 * the back end of the MPI that the process uses does the work.  Before MPI_Init, after
 * MPI_Finalize, and where no back end fits, every call goes straight to the next
 * symbol.
 *
 * On the way the calls are shown to the observer (observe.h), if the process has one:
 * what it does with them changes nothing in them.
 *
 * Nothing of MPI's types is known here: an argument, whatever it is in that MPI's ABI,
 * fills one register or stack slot of the machine word's size (all 64-bit Linux ABIs),
 * and is handed on as it came.
 */
#include "config.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "mpi/backend.h"
#include "mpi/environ.h"
#include "mpi/observe.h"
#include "mpi/wait.h"

#if UINTPTR_MAX < UINT64_MAX
#error "arguments are handed on in 64-bit slots"
#endif

/* As the dynamic loader exits on an undefined symbol. */
#define EXIT_NO_SYMBOL 127

typedef intptr_t slot_t;

enum level { LEVEL_MPI, LEVEL_PMPI, LEVELS };

static const char *const names[LEVELS][HPCB_CALLS] = {
    {
#define CALL(name, nargs) [HPCB_CALL_##name] = "MPI_" #name,
#include "mpi/calls.def"
    },
    {
#define CALL(name, nargs) [HPCB_CALL_##name] = "PMPI_" #name,
#include "mpi/calls.def"
    },
};

/* Where each call goes now; NULL: not looked up yet. */
static _Atomic(hpcb_fn_t) route[LEVELS][HPCB_CALLS];

/* The back end in use between MPI_Init and MPI_Finalize, else NULL. */
static _Atomic(const hpcb_backend_t *) active;

/* name is called as MPI_X or PMPI_X; the PMPI_ one is the fall-back. */
static hpcb_fn_t need(const char *name, const char *fallback, const void *caller)
{
    hpcb_fn_t fn = hpcb_next(name, caller);

    if (!fn)
        fn = hpcb_next(fallback, caller);
    if (fn)
        return fn;
    dprintf(STDERR_FILENO, "libhpcb_mpi: %s is called, but there is no MPI\n", name);
    _exit(EXIT_NO_SYMBOL);
}

static hpcb_fn_t look_up(enum level level, enum hpcb_call call, const void *caller)
{
    hpcb_fn_t fn = need(names[level][call], names[LEVEL_PMPI][call], caller);

    atomic_store(&route[level][call], fn);
    return fn;
}

/*
 * Whether the process calls MPI by the standard ABI of MPI 5, in which handles are
 * other things than in the mpi.h of either MPI: libraries of both ABIs share what lies
 * below them.  -1 means another ABI.
 */
static bool is_standard_abi(void)
{
    hpcb_fn_t fn = hpcb_next("PMPI_Abi_get_version", NULL);
    int major = -1, minor = -1;

    return fn && ((int (*)(int *, int *))fn)(&major, &minor) == 0 && major >= 0;
}

static const hpcb_backend_t *find_backend(void)
{
    static const hpcb_backend_t *const backends[] = {
#ifdef HAVE_OPENMPI
        &hpcb_backend_openmpi,
#endif
#ifdef HAVE_MPICH
        &hpcb_backend_mpich,
#endif
    };

    if (is_standard_abi())
        return NULL;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (hpcb_mpi_has(backends[i]->marker))
            return backends[i];
    return NULL;
}

/* Waits are to become sleeps from now on.  It may come here twice, through a tool's
 * wrapper. */
static void activate(void)
{
    const hpcb_backend_t *backend = find_backend();

    if (atomic_load(&active) || !backend || backend->start())
        return;
    hpcb_wait_setup();
    for (int i = 0; i < HPCB_CALLS; i++) {
        hpcb_fn_t next = hpcb_next(names[LEVEL_MPI][i], NULL);
        hpcb_fn_t base = hpcb_next(names[LEVEL_PMPI][i], NULL);
        hpcb_fn_t replacement = backend->replacement[i];
        bool is_tool = next && !hpcb_same_object(next, base);

        atomic_store(&route[LEVEL_MPI][i], is_tool ? next : replacement);
        atomic_store(&route[LEVEL_PMPI][i], replacement);
    }
    atomic_store(&active, backend);
}

static void deactivate(void)
{
    const hpcb_backend_t *backend = atomic_exchange(&active, NULL);

    if (!backend)
        return;
    for (int level = 0; level < LEVELS; level++)
        for (int i = 0; i < HPCB_CALLS; i++)
            atomic_store(&route[level][i], NULL);
    backend->stop();
}

/* MPI_Init has succeeded. */
static void begin(void)
{
    if (hpcb_environ_naps_wanted())
        activate();
    hpcb_observe_start();
    hpcb_environ_leave();
}

#define EXPORTED __attribute__((visibility("default")))

/*
 * Told apart by stack depth too: all calls from Fortran come from one place in the
 * MPI's own layer, and many C programs have one wrapper of their own.
 */
#define NOTE_CALL_SITE()                                                               \
    (hpcb_call_site = (uintptr_t)__builtin_return_address(0) ^                         \
                      (uintptr_t)__builtin_frame_address(0) << 24)

/* What tells the places apart that call MPI; name is known when this is compiled. */
#define EVENT(name) (hpcb_call_site + HPCB_CALL_##name * 0x100000001b3U)
#define FRAME()     ((uintptr_t)__builtin_frame_address(0))

#define DEFINE(level, prefix, name, params, args, blocks)                              \
    EXPORTED int prefix##name params;                                                  \
    EXPORTED int prefix##name params                                                   \
    {                                                                                  \
        hpcb_fn_t fn = atomic_load_explicit(&route[level][HPCB_CALL_##name],           \
                                            memory_order_acquire);                     \
        hpcb_observer_t *observer = hpcb_observer;                                     \
        int rc;                                                                        \
                                                                                       \
        NOTE_CALL_SITE();                                                              \
        if (__builtin_expect(!fn, 0))                                                  \
            fn = look_up(level, HPCB_CALL_##name, __builtin_return_address(0));        \
        if (!observer || !hpcb_observe_enter(observer, EVENT(name), FRAME(), blocks))  \
            return ((int(*) params)fn)args;                                            \
        rc = ((int(*) params)fn)args;                                                  \
        hpcb_observe_leave(observer, blocks);                                          \
        return rc;                                                                     \
    }

#define PARAMS_1 (slot_t a)
#define PARAMS_2 (slot_t a, slot_t b)
#define PARAMS_3 (slot_t a, slot_t b, slot_t c)
#define PARAMS_4 (slot_t a, slot_t b, slot_t c, slot_t d)
#define PARAMS_5 (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e)
#define PARAMS_6 (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f)
#define PARAMS_7 (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g)
#define PARAMS_8                                                                       \
    (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h)
#define PARAMS_9                                                                       \
    (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,   \
     slot_t i)
#define PARAMS_10                                                                      \
    (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,   \
     slot_t i, slot_t j)
#define PARAMS_12                                                                      \
    (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,   \
     slot_t i, slot_t j, slot_t k, slot_t l)
#define PARAMS_13                                                                      \
    (slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,   \
     slot_t i, slot_t j, slot_t k, slot_t l, slot_t m)
#define ARGS_1  (a)
#define ARGS_2  (a, b)
#define ARGS_3  (a, b, c)
#define ARGS_4  (a, b, c, d)
#define ARGS_5  (a, b, c, d, e)
#define ARGS_6  (a, b, c, d, e, f)
#define ARGS_7  (a, b, c, d, e, f, g)
#define ARGS_8  (a, b, c, d, e, f, g, h)
#define ARGS_9  (a, b, c, d, e, f, g, h, i)
#define ARGS_10 (a, b, c, d, e, f, g, h, i, j)
#define ARGS_12 (a, b, c, d, e, f, g, h, i, j, k, l)
#define ARGS_13 (a, b, c, d, e, f, g, h, i, j, k, l, m)

#define WATCHED(name, nargs, blocks)                                                   \
    DEFINE(LEVEL_MPI, MPI_, name, PARAMS_##nargs, ARGS_##nargs, blocks)                \
    DEFINE(LEVEL_PMPI, PMPI_, name, PARAMS_##nargs, ARGS_##nargs, blocks)
#define CALL(name, nargs) WATCHED(name, nargs, true)
#include "mpi/calls.def"

#define DEFINE_INIT(prefix, name, params, args)                                        \
    EXPORTED int prefix##name params;                                                  \
    EXPORTED int prefix##name params                                                   \
    {                                                                                  \
        hpcb_fn_t fn =                                                                 \
            need(#prefix #name, "PMPI_" #name, __builtin_return_address(0));           \
        int rc = ((int(*) params)fn)args;                                              \
                                                                                       \
        if (rc == 0)                                                                   \
            begin();                                                                   \
        return rc;                                                                     \
    }

DEFINE_INIT(MPI_, Init, PARAMS_2, ARGS_2)
DEFINE_INIT(PMPI_, Init, PARAMS_2, ARGS_2)
DEFINE_INIT(MPI_, Init_thread, PARAMS_4, ARGS_4)
DEFINE_INIT(PMPI_, Init_thread, PARAMS_4, ARGS_4)

#define DEFINE_FINALIZE(prefix)                                                        \
    EXPORTED int prefix##Finalize(void);                                               \
    EXPORTED int prefix##Finalize(void)                                                \
    {                                                                                  \
        hpcb_fn_t fn =                                                                 \
            need(#prefix "Finalize", "PMPI_Finalize", __builtin_return_address(0));    \
                                                                                       \
        hpcb_observe_stop();                                                           \
        deactivate();                                                                  \
        return ((int (*)(void))fn)();                                                  \
    }

DEFINE_FINALIZE(MPI_)
DEFINE_FINALIZE(PMPI_)
