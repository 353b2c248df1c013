/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The symbols that this library puts in front of an MPI: MPI_X and PMPI_X of every
 * wrapped call, of those that begin and of those that end MPI.
 *
 * Both names, because calls come in both ways: C programs call MPI_X; the Fortran layer
 * of Open MPI and every PMPI tool in front of us call PMPI_X; that of MPICH calls
 * MPI_X. So no Fortran symbol is wrapped at all, whatever its mangling.
 *
 *   application -> [tool] -> MPI_X, ours -> [tool's MPI_X -> PMPI_X, ours] -> MPI
 *
 * A wrapper notes that the call begins, calls the next function of its own name, and
 * notes that it has ended: for the thread's wait (wait.h, in which hook.c lets it
 * sleep), for other threads (threads.h), and for the observer (observe.h).  What the
 * MPI does is its own business, and so is the result.
 *
 * Nothing of MPI's types is known here: an argument, whatever it is in that MPI's ABI,
 * fills one register or stack slot of the machine word's size (all 64-bit Linux ABIs),
 * and is handed on as it came.
 */
#include "config.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "mpi/environ.h"
#include "mpi/hook.h"
#include "mpi/names.h"
#include "mpi/next.h"
#include "mpi/observe.h"
#include "mpi/threads.h"
#include "mpi/wait.h"

#if UINTPTR_MAX < UINT64_MAX
#error "arguments are handed on in 64-bit slots"
#endif

typedef intptr_t slot_t;

enum level { LEVEL_MPI, LEVEL_PMPI, LEVELS };
enum kind { WAITS, POSTS, POLLS };

enum call {
#define CALL(name, nargs, kind) CALL_##name,
#include "mpi/calls.def"
    CALLS
};

static const char *const names[LEVELS][CALLS] = {
    {
#define CALL(name, nargs, kind) [CALL_##name] = "MPI_" #name,
#include "mpi/calls.def"
    },
    {
#define CALL(name, nargs, kind) [CALL_##name] = "PMPI_" #name,
#include "mpi/calls.def"
    },
};

/* Destination of each call; NULL: not looked up yet. */
static _Atomic(hpcb_fn_t) route[LEVELS][CALLS];

/* Recipients of calls.  Set from MPI_Init, and never reset: calls of that time may be
 * processed only at their end. */
enum { TELL_WAIT = 1, TELL_THREADS = 2, TELL_OBSERVER = 4 };
static atomic_uint tell;

static hpcb_fn_t next_of(enum level level, enum call call, const void *caller)
{
    hpcb_fn_t fn = atomic_load(&route[level][call]);

    if (fn)
        return fn;
    fn = hpcb_need(names[level][call], names[LEVEL_PMPI][call], caller);
    atomic_store(&route[level][call], fn);
    return fn;
}

/* In the ABI of MPICH and in that of Open MPI, and in the standard one of MPI 5. */
#define THREAD_MULTIPLE          3
#define STANDARD_THREAD_MULTIPLE 4096

static bool has_threads(void)
{
    hpcb_fn_t fn = hpcb_mpi_symbol("PMPI_Query_thread");
    int provided = 0;

    return fn && ((int (*)(int *))fn)(&provided) == 0 &&
           (provided == THREAD_MULTIPLE || provided >= STANDARD_THREAD_MULTIPLE);
}

/* MPI_Init or MPI_Session_init has succeeded.  It may come here more than once: through
 * a tool's wrapper, or with each session.  Open MPI does not say that a session has
 * threads. */
static void begin_helping(bool session)
{
    unsigned whom = 0;

    hpcb_names_show();
    if (hpcb_environ_naps_wanted() && hpcb_hook_start()) {
        whom |= TELL_WAIT;
        if (session || has_threads()) {
            hpcb_threads_setup();
            whom |= TELL_THREADS;
        }
    }
    hpcb_observe_start();
    if (hpcb_observer)
        whom |= TELL_OBSERVER;
    atomic_fetch_or(&tell, whom);
    hpcb_environ_leave();
}

#define EXPORTED __attribute__((visibility("default")))
#define COLD     __attribute__((cold, noinline))

/* Report the begin of a call, as event for the observer.  Return for leave_others which
 * recipients need its end. */
static unsigned enter_others(unsigned whom, uint64_t event, uintptr_t frame,
                             enum kind kind)
{
    hpcb_observer_t *observer = kind == POLLS ? NULL : hpcb_observer;
    unsigned told = 0;

    if (whom & TELL_THREADS && hpcb_threads_enter(frame))
        told |= TELL_THREADS;
    if (observer && hpcb_observe_enter(observer, event, frame, kind == WAITS))
        told |= TELL_OBSERVER;
    return told;
}

static void leave_others(unsigned told, enum kind kind)
{
    hpcb_observer_t *observer = hpcb_observer;

    if (told & TELL_OBSERVER && observer)
        hpcb_observe_leave(observer, kind == WAITS);
    if (told & TELL_THREADS)
        hpcb_threads_leave();
}

#define FRAME() ((uintptr_t)__builtin_frame_address(0))

/*
 * Includes the stack depth: all calls from Fortran have one call site in the MPI's own
 * layer, and many C programs have a wrapper of their own.
 */
#define CALL_SITE(caller, frame) ((uintptr_t)(caller) ^ (frame) << 24)

/* Event for the observer, which distinguishes the calls of a call site; a constant at
 * compile time. */
#define EVENT(site, name) ((site) + CALL_##name * 0x100000001b3U)

#define OTHERS (TELL_THREADS | TELL_OBSERVER)

#define PARAMS_0 void
#define PARAMS_1 slot_t a
#define PARAMS_2 slot_t a, slot_t b
#define PARAMS_3 slot_t a, slot_t b, slot_t c
#define PARAMS_4 slot_t a, slot_t b, slot_t c, slot_t d
#define PARAMS_5 slot_t a, slot_t b, slot_t c, slot_t d, slot_t e
#define PARAMS_6 slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f
#define PARAMS_7 slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g
#define PARAMS_8                                                                       \
    slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h
#define PARAMS_9                                                                       \
    slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,    \
        slot_t i
#define PARAMS_10                                                                      \
    slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,    \
        slot_t i, slot_t j
#define PARAMS_12                                                                      \
    slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,    \
        slot_t i, slot_t j, slot_t k, slot_t l
#define PARAMS_13                                                                      \
    slot_t a, slot_t b, slot_t c, slot_t d, slot_t e, slot_t f, slot_t g, slot_t h,    \
        slot_t i, slot_t j, slot_t k, slot_t l, slot_t m
#define ARGS_0
#define ARGS_1  a
#define ARGS_2  a, b
#define ARGS_3  a, b, c
#define ARGS_4  a, b, c, d
#define ARGS_5  a, b, c, d, e
#define ARGS_6  a, b, c, d, e, f
#define ARGS_7  a, b, c, d, e, f, g
#define ARGS_8  a, b, c, d, e, f, g, h
#define ARGS_9  a, b, c, d, e, f, g, h, i
#define ARGS_10 a, b, c, d, e, f, g, h, i, j
#define ARGS_12 a, b, c, d, e, f, g, h, i, j, k, l
#define ARGS_13 a, b, c, d, e, f, g, h, i, j, k, l, m

/*
 * Frequent calls go the shortest way: to the MPI's function and, if it waits, with the
 * thread's wait marked.  Everything else is in slow_, so that the short way saves no
 * registers for it.
 */
#define DEFINE(level, prefix, name, nargs, kind)                                       \
    static COLD int slow_##prefix##name(void *caller, uintptr_t frame, PARAMS_##nargs) \
    {                                                                                  \
        unsigned whom = atomic_load_explicit(&tell, memory_order_relaxed);             \
        uintptr_t site = CALL_SITE(caller, frame);                                     \
        hpcb_fn_t fn = next_of(level, CALL_##name, caller);                            \
        bool waits = (kind) == WAITS && whom & TELL_WAIT &&                            \
                     hpcb_wait_enter(&hpcb_wait, site, frame);                         \
        unsigned told = enter_others(whom, EVENT(site, name), frame, kind);            \
        int rc = ((int (*)(PARAMS_##nargs))fn)(ARGS_##nargs);                          \
                                                                                       \
        if (waits)                                                                     \
            hpcb_wait_leave(&hpcb_wait);                                               \
        leave_others(told, kind);                                                      \
        return rc;                                                                     \
    }                                                                                  \
                                                                                       \
    EXPORTED int prefix##name(PARAMS_##nargs);                                         \
    EXPORTED int prefix##name(PARAMS_##nargs)                                          \
    {                                                                                  \
        unsigned whom = atomic_load_explicit(&tell, memory_order_relaxed);             \
        hpcb_fn_t fn =                                                                 \
            atomic_load_explicit(&route[level][CALL_##name], memory_order_acquire);    \
        void *caller = __builtin_return_address(0);                                    \
        int rc;                                                                        \
                                                                                       \
        if (__builtin_expect(!fn || whom & OTHERS, 0) ||                               \
            ((kind) == WAITS && hpcb_wait_is_inside(&hpcb_wait, FRAME())))             \
            return slow_##prefix##name(caller, FRAME(), ARGS_##nargs);                 \
        if ((kind) != WAITS || !whom)                                                  \
            return ((int (*)(PARAMS_##nargs))fn)(ARGS_##nargs);                        \
        hpcb_wait_begin(&hpcb_wait, CALL_SITE(caller, FRAME()), FRAME());              \
        rc = ((int (*)(PARAMS_##nargs))fn)(ARGS_##nargs);                              \
        hpcb_wait_leave(&hpcb_wait);                                                   \
        return rc;                                                                     \
    }

#define CALL(name, nargs, kind)                                                        \
    DEFINE(LEVEL_MPI, MPI_, name, nargs, kind)                                         \
    DEFINE(LEVEL_PMPI, PMPI_, name, nargs, kind)
#include "mpi/calls.def"

#define DEFINE_INIT(prefix, name, nargs, session)                                      \
    EXPORTED int prefix##name(PARAMS_##nargs);                                         \
    EXPORTED int prefix##name(PARAMS_##nargs)                                          \
    {                                                                                  \
        hpcb_fn_t fn =                                                                 \
            hpcb_need(#prefix #name, "PMPI_" #name, __builtin_return_address(0));      \
        int rc;                                                                        \
                                                                                       \
        hpcb_hook_before_init();                                                       \
        rc = ((int (*)(PARAMS_##nargs))fn)(ARGS_##nargs);                              \
        hpcb_hook_after_init();                                                        \
        if (rc == 0)                                                                   \
            begin_helping(session);                                                    \
        return rc;                                                                     \
    }

DEFINE_INIT(MPI_, Init, 2, false)
DEFINE_INIT(PMPI_, Init, 2, false)
DEFINE_INIT(MPI_, Init_thread, 4, false)
DEFINE_INIT(PMPI_, Init_thread, 4, false)
DEFINE_INIT(MPI_, Session_init, 3, true)
DEFINE_INIT(PMPI_, Session_init, 3, true)

/* Recipients of has_ended. */
typedef struct {
    bool waits;
    bool counted;
} ending_t;

/* Calls that end MPI or a session wait for other ranks, too. */
static ending_t begin_to_end(uintptr_t call_site, uintptr_t frame)
{
    unsigned whom = atomic_load_explicit(&tell, memory_order_relaxed);
    ending_t ending = {
        .waits = whom & TELL_WAIT && hpcb_wait_enter(&hpcb_wait, call_site, frame),
        .counted = whom & TELL_THREADS && hpcb_threads_enter(frame),
    };

    hpcb_hook_before_finalize();
    return ending;
}

static void has_ended(const ending_t *ending)
{
    hpcb_hook_after_finalize();
    if (ending->waits)
        hpcb_wait_leave(&hpcb_wait);
    if (ending->counted)
        hpcb_threads_leave();
}

#define DEFINE_FINALIZE(prefix, name, nargs, session)                                  \
    EXPORTED int prefix##name(PARAMS_##nargs);                                         \
    EXPORTED int prefix##name(PARAMS_##nargs)                                          \
    {                                                                                  \
        void *caller = __builtin_return_address(0);                                    \
        hpcb_fn_t fn = hpcb_need(#prefix #name, "PMPI_" #name, caller);                \
        ending_t ending;                                                               \
        int rc;                                                                        \
                                                                                       \
        if (!(session))                                                                \
            hpcb_observe_stop();                                                       \
        ending = begin_to_end(CALL_SITE(caller, FRAME()), FRAME());                    \
        rc = ((int (*)(PARAMS_##nargs))fn)(ARGS_##nargs);                              \
        has_ended(&ending);                                                            \
        return rc;                                                                     \
    }

DEFINE_FINALIZE(MPI_, Finalize, 0, false)
DEFINE_FINALIZE(PMPI_, Finalize, 0, false)
DEFINE_FINALIZE(MPI_, Session_finalize, 1, true)
DEFINE_FINALIZE(PMPI_, Session_finalize, 1, true)

/* Under a unique name that is bound to this library's function. */
#define OWN_LEVEL(prefix, name)                                                        \
    static __typeof__(prefix##name) own_##prefix##name                                 \
        __attribute__((alias(#prefix #name)));
#define OWN(name) OWN_LEVEL(MPI_, name) OWN_LEVEL(PMPI_, name)

#define CALL(name, nargs, kind)
#define CALL_4(name, nargs, kind) OWN(name)
#include "mpi/calls.def"
OWN(Session_init)
OWN(Session_finalize)

#define NAMES(name)                                                                    \
    {"MPI_" #name, (hpcb_fn_t)own_MPI_##name},                                         \
        {"PMPI_" #name, (hpcb_fn_t)own_PMPI_##name},

static const hpcb_name_t names_of_mpi_4[] = {
#define CALL(name, nargs, kind)
#define CALL_4(name, nargs, kind) NAMES(name)
#include "mpi/calls.def"
    NAMES(Session_init) NAMES(Session_finalize)};

#define NAMES_OF_MPI_4 (sizeof names_of_mpi_4 / sizeof names_of_mpi_4[0])
_Static_assert(NAMES_OF_MPI_4 <= HPCB_NAMES_MAX, "all can be hidden");

static void __attribute__((constructor)) hide_names(void)
{
    hpcb_names_hide(names_of_mpi_4, NAMES_OF_MPI_4);
}
