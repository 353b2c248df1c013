/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A fuzzer is one file: LLVMFuzzerTestOneInput and the seeds.  Linked with driver.c it
 * runs a bounded number of mutations in `make check`; with clang's -fsanitize=fuzzer it
 * runs as long as one likes (scripts/fuzz).
 */
#ifndef HPCB_TESTS_FUZZ_FUZZ_H
#define HPCB_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

/* Feed one input to the parser; abort where a promise of its header is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Good inputs to start from, NULL at the end. */
extern const char *const fuzz_seeds[];

#define FUZZ_ASSERT(condition)                                                         \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
            abort();                                                                   \
        }                                                                              \
    } while (0)

/* data as a string of its own (up to its first NUL for who reads strings). */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_ASSERT(text);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* An error is one line, never empty, without control characters. */
static inline void fuzz_check_error(const hpcb_error_t *err)
{
    size_t length = strnlen(err->text, sizeof(err->text));

    FUZZ_ASSERT(length > 0 && length < sizeof(err->text));
    for (size_t i = 0; i < length; i++)
        FUZZ_ASSERT((unsigned char)err->text[i] >= 0x20 && err->text[i] != 0x7f);
}

#endif
