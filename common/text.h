/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Strict readers of short texts, the same in every locale (no strtod, no strtol:
 * they take signs, blanks, hexadecimal, "inf" and the locale's decimal point).
 */
#ifndef HPCB_COMMON_TEXT_H
#define HPCB_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replace control characters (ASCII, and C1 in UTF-8, which terminals obey as well)
 * by '?', in place, so that the text is one harmless line.  Returns text. */
char *hpcb_text_clean(char *text);

/* Copy text into buf.  0, or -1 (buf untouched) when it does not fit. */
int hpcb_text_copy(char *buf, size_t size, const char *text);

/* True for a non-empty name of [A-Za-z0-9_.-] that is not "." or ".." and fits a
 * buffer of size bytes: safe as a file name, in a list and in JSON. */
bool hpcb_text_is_name(const char *text, size_t size);

/* Read text as a whole as decimal digits, at most max.  0, or -1 with value
 * untouched. */
int hpcb_text_u64(const char *text, uint64_t max, uint64_t *value);

typedef struct {
    uint64_t whole;
    uint32_t millionths;
} hpcb_decimal_t;

/* Read digits[.digits] (at most 6 digits after the point) at the start of text.
 * Returns what follows, or NULL with value untouched. */
const char *hpcb_text_decimal(const char *text, hpcb_decimal_t *value);

/* value times unit (at most 2^40), rounded down.  0, or -1 with product untouched
 * when it would pass max. */
int hpcb_decimal_scale(const hpcb_decimal_t *value, uint64_t unit, uint64_t max,
                       uint64_t *product);

/* Read text as a whole as a size: a decimal number above 0 in bytes, or with K, M, G or
 * T (either case) in powers of 1024.  0, or -1 with bytes untouched, also where it
 * would pass max. */
int hpcb_text_size(const char *text, uint64_t max, uint64_t *bytes);

#endif
