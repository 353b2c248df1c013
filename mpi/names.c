/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A symbol without a value is none to the dynamic loader (glibc's elf/dl-lookup.c and
 * dlsym).  Our symbol table lies in a private mapping of the library's file: what is
 * changed there is changed in this process alone.
 */
#include "config.h"
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "mpi/names.h"

static struct {
    const hpcb_name_t *names;
    size_t count;
    ElfW(Sym) * symbol[HPCB_NAMES_MAX]; /* NULL: visible */
    ElfW(Addr) value[HPCB_NAMES_MAX];
} hidden;

/* The entry of our own symbol table for fn, NULL if it is not to be found. */
static ElfW(Sym) * own_symbol(hpcb_fn_t fn)
{
    union {
        hpcb_fn_t fn;
        const void *address;
    } own = {.fn = fn};
    union {
        void *found;
        ElfW(Sym) * symbol;
    } entry = {.found = NULL};
    Dl_info info;

    if (!dladdr1(own.address, &info, &entry.found, RTLD_DL_SYMENT) ||
        info.dli_saddr != own.address)
        return NULL;
    return entry.symbol;
}

/* PROT_EXEC, or 0. */
static int code_among(struct dl_phdr_info *info, size_t size, void *symbol)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && part->p_flags & PF_X &&
            (uintptr_t)symbol - (info->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return PROT_EXEC;
    }
    return 0;
}

static int protect(ElfW(Sym) * first, ElfW(Sym) * last, int how)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *from = (char *)first - (uintptr_t)first % page;
    size_t size = (size_t)((char *)(last + 1) - from);

    return mprotect(from, (size + page - 1) / page * page, how);
}

/* Let set change the symbols that are hidden, all of which lie in one table. */
static void change(void (*set)(size_t i))
{
    ElfW(Sym) *first = NULL, *last = NULL;
    int code;

    for (size_t i = 0; i < hidden.count; i++) {
        ElfW(Sym) *symbol = hidden.symbol[i];

        if (symbol && (!first || symbol < first))
            first = symbol;
        if (symbol && (!last || symbol > last))
            last = symbol;
    }
    if (!first)
        return;
    /* If the linker does not separate symbols and code, this function may be on the
     * same pages, especially on those of 64 KiB. */
    code = dl_iterate_phdr(code_among, first);
    if (protect(first, last, PROT_READ | PROT_WRITE | code) < 0)
        return;
    for (size_t i = 0; i < hidden.count; i++) {
        if (hidden.symbol[i])
            set(i);
    }
    (void)protect(first, last, PROT_READ | code);
}

static void hide(size_t i)
{
    hidden.value[i] = hidden.symbol[i]->st_value;
    hidden.symbol[i]->st_value = 0;
}

static void show(size_t i)
{
    if (!hpcb_next(hidden.names[i].name, NULL))
        return;
    hidden.symbol[i]->st_value = hidden.value[i];
    hidden.symbol[i] = NULL;
}

void hpcb_names_hide(const hpcb_name_t *names, size_t count)
{
    hidden.names = names;
    hidden.count = count < HPCB_NAMES_MAX ? count : HPCB_NAMES_MAX;
    for (size_t i = 0; i < hidden.count; i++) {
        if (!hpcb_next(names[i].name, NULL))
            hidden.symbol[i] = own_symbol(names[i].own);
    }
    change(hide);
}

void hpcb_names_show(void)
{
    change(show);
}
