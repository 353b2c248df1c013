/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A program without MPI that loads the module named by its argument; see module.c. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(void) = module ? (int (*)(void))dlsym(module, "module_run") : NULL;

    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return run();
}
