/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include "mpi/next.h"

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

static void *next_address(const char *name, const void *caller)
{
    void *address = dlsym(RTLD_NEXT, name);
    void *handle;

    if (address)
        return address;
    handle = atomic_load(&scope);
    if (handle)
        return dlsym(handle, name);
    handle = open_object(caller);
    address = handle ? dlsym(handle, name) : NULL;
    if (address)
        atomic_store(&scope, handle);
    else if (handle)
        dlclose(handle);
    return address;
}

hpcb_fn_t hpcb_next(const char *name, const void *caller)
{
    /* POSIX lets dlsym's answer be a function, ISO C has no cast for it. */
    union {
        void *address;
        hpcb_fn_t fn;
    } found = {.address = next_address(name, caller)};

    return found.fn;
}

void *hpcb_data(const char *name)
{
    /* The default scope first: an executable may hold the copy that counts (R_COPY). */
    void *address = dlsym(RTLD_DEFAULT, name);
    void *handle = atomic_load(&scope);

    return address || !handle ? address : dlsym(handle, name);
}

static const void *object_of(const void *address)
{
    Dl_info info;

    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

bool hpcb_mpi_has(const char *name)
{
    void *mpi = open_object(next_address("PMPI_Init", NULL));
    bool has = mpi && dlsym(mpi, name);

    if (mpi)
        dlclose(mpi);
    return has;
}

bool hpcb_same_object(hpcb_fn_t a, hpcb_fn_t b)
{
    union {
        hpcb_fn_t fn;
        const void *address;
    } first = {.fn = a}, second = {.fn = b};
    const void *object = object_of(first.address);

    return object && object == object_of(second.address);
}
