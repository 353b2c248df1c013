/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>

#include "hpcbd/slurm_module.h"

/* The number in the library's name goes up with each release of Slurm (22.05: 38). */
static void *load_libslurm(void)
{
    char name[32];
    void *library = dlopen("libslurm.so", RTLD_NOW | RTLD_GLOBAL);

    for (int number = 38; !library && number < 64; number++) {
        snprintf(name, sizeof(name), "libslurm.so.%d", number);
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    return library;
}

const hpcbd_slurm_t *hpcbd_slurm_load(hpcb_error_t *err)
{
    const hpcbd_slurm_t *slurm = NULL;
    void *module = NULL;

    if (load_libslurm())
        module = dlopen(HPCBD_SLURM_MODULE, RTLD_NOW);
    if (module)
        slurm = dlsym(module, HPCBD_SLURM_SYMBOL);
    if (!slurm) {
        const char *why = dlerror();

        hpcb_error(err, "%s", why ? why : "no libslurm");
    }
    return slurm;
}
