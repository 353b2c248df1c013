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

static bool is_ours(const void *address)
{
    Dl_info found, own;

    return dladdr(address, &found) && dladdr(&scope, &own) &&
           found.dli_fbase == own.dli_fbase;
}

/* name among what the object of caller depends on.  From the program itself this
 * library is found first. */
static void *address_near(const char *name, const void *caller)
{
    void *handle = open_object(caller);
    void *address = handle ? dlsym(handle, name) : NULL;
    void *none = NULL;

    if (address && is_ours(address))
        address = NULL;
    if (handle && (!address || !atomic_compare_exchange_strong(&scope, &none, handle)))
        dlclose(handle);
    return address;
}

/* name among what all can reach, and among what an MPI of RTLD_LOCAL depends on. */
static void *common_address(const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    void *handle = atomic_load(&scope);

    return address || !handle ? address : dlsym(handle, name);
}

static void *next_address(const char *name, const void *caller)
{
    void *address = common_address(name);

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

/* A place in the list of loaded objects. */
typedef struct {
    uintptr_t address;
    int at;    /* of the present object */
    int found; /* of the object that address lies in, -1: none */
} place_t;

static int is_place(struct dl_phdr_info *info, size_t size, void *arg)
{
    place_t *place = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD &&
            place->address - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            place->found = place->at;
    }
    place->at++;
    return place->found >= 0;
}

/* The loader lists objects in the order in which they were loaded. */
static int place_of(const void *address)
{
    place_t place = {.address = (uintptr_t)address, .found = -1};

    dl_iterate_phdr(is_place, &place);
    return place.found;
}

/* Of these objects the first ones were there when the program began. */
static int first_objects;

static int count_object(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)info;
    (void)size;
    ++*(int *)count;
    return 0;
}

static void __attribute__((constructor)) count_first_objects(void)
{
    dl_iterate_phdr(count_object, &first_objects);
}

static bool is_first(const void *address)
{
    return place_of(address) < first_objects;
}

/* name, for the object of caller that handle stands for: from the global scope, unless
 * it has come there after that object, which then got its own.  What was there from the
 * beginning is in the global scope; so are this library, and what stands in front of
 * it.
 */
static void *bound_address(const char *name, const void *caller, void *handle)
{
    void *global = dlsym(RTLD_NEXT, name);
    void *own = handle ? dlsym(handle, name) : NULL;

    if (global && (is_first(global) || place_of(global) <= place_of(caller)))
        return global;
    if (own && !is_first(own))
        return own;
    return common_address(name);
}

hpcb_fn_t hpcb_next(const char *name, const void *caller)
{
    return as_function(next_address(name, caller));
}

static hpcb_fn_t need(hpcb_fn_t fn, const char *name)
{
    if (fn)
        return fn;
    dprintf(STDERR_FILENO, "libhpcb_mpi: %s is called, but there is no such function\n",
            name);
    _exit(EXIT_NO_SYMBOL);
}

hpcb_fn_t hpcb_need(const char *name, const char *fallback, const void *caller)
{
    hpcb_fn_t fn = hpcb_next(name, caller);

    return need(fn ? fn : hpcb_next(fallback, caller), name);
}

hpcb_fn_t hpcb_need_bound(const char *name, const void *caller)
{
    void *address = bound_address(name, caller, open_object(caller));

    /* Handles that are not closed: another object in the place of one of these would be
     * taken for it. */
    (void)open_object(address);
    return need(as_function(address), name);
}

hpcb_fn_t hpcb_mpi_symbol(const char *name)
{
    void *mpi = open_object(next_address("PMPI_Init", NULL));
    void *address = mpi ? dlsym(mpi, name) : NULL;

    /* It stays loaded, because it has other users. */
    if (mpi)
        dlclose(mpi);
    return as_function(address);
}
