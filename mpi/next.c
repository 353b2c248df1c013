/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include "mpi/next.h"

/* As the dynamic loader exits on an undefined symbol. */
#define EXIT_NO_SYMBOL 127

/*
 * An MPI that came with dlopen(RTLD_LOCAL), as mpi4py's does, is not among the objects
 * that RTLD_NEXT searches.  It is among the dependencies of the object that called us:
 * a handle of that object, kept for ever, which only says that it stays loaded.
 */
static _Atomic(void *) scope;

/* A handle of the object that address lies in, NULL if there is none. */
static void *open_object(const void *address)
{
    struct link_map *map = NULL;
    Dl_info info;

    if (!address || !dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

/* name among what the object of caller depends on. */
static void *address_near(const char *name, const void *caller)
{
    void *handle = open_object(caller);
    void *address = handle ? dlsym(handle, name) : NULL;
    void *none = NULL;

    if (handle && (!address || !atomic_compare_exchange_strong(&scope, &none, handle)))
        dlclose(handle);
    return address;
}

static void *next_address(const char *name, const void *caller)
{
    void *address = dlsym(RTLD_NEXT, name);
    void *handle = atomic_load(&scope);

    if (!address && handle)
        address = dlsym(handle, name);
    return address ? address : address_near(name, caller);
}

/* POSIX lets dlsym's answer be a function, ISO C has no cast for it. */
static hpcb_fn_t as_function(void *address)
{
    union {
        void *address;
        hpcb_fn_t fn;
    } found = {.address = address};

    return found.fn;
}

hpcb_fn_t hpcb_next(const char *name, const void *caller)
{
    return as_function(next_address(name, caller));
}

hpcb_fn_t hpcb_need(const char *name, const char *fallback, const void *caller)
{
    hpcb_fn_t fn = hpcb_next(name, caller);

    if (!fn)
        fn = hpcb_next(fallback, caller);
    if (fn)
        return fn;
    dprintf(STDERR_FILENO, "libhpcb_mpi: %s is called, but there is no such function\n",
            name);
    _exit(EXIT_NO_SYMBOL);
}

hpcb_fn_t hpcb_mpi_symbol(const char *name)
{
    void *mpi = open_object(next_address("PMPI_Init", NULL));
    void *address = mpi ? dlsym(mpi, name) : NULL;

    /* It stays loaded: somebody else has it open. */
    if (mpi)
        dlclose(mpi);
    return as_function(address);
}
