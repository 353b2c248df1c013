/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Strict parsers of short texts, independent of the locale.  (strtod and strtol accept
 * signs, blanks, hexadecimal, "inf" and the locale's decimal point.)
 */
#ifndef HPCB_COMMON_TEXT_H
#define HPCB_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replace control characters (ASCII, and C1 in UTF-8, which terminals execute as well)
 * by '?', in place, so that the text is one harmless line.  Return text. */
char *hpcb_text_clean(char *text);

/* Copy text into buf.  Return 0, or -1 (buf unchanged) if it does not fit. */
int hpcb_text_copy(char *buf, size_t size, const char *text);

/* Return true for a non-empty name of [A-Za-z0-9_.-] other than "." and ".." that fits
 * a buffer of size bytes: safe as a file name, in a list and in JSON. */
bool hpcb_text_is_name(const char *text, size_t size);

/* Parse the whole of text as decimal digits, at most max.  Return 0, or -1 with value
 * unchanged. */
int hpcb_text_u64(const char *text, uint64_t max, uint64_t *value);

typedef struct {
    uint64_t whole;
    uint32_t millionths;
} hpcb_decimal_t;

/* Parse digits[.digits] (at most 6 digits after the point) at the start of text.
 * Return the rest of text, or NULL with value unchanged. */
const char *hpcb_text_decimal(const char *text, hpcb_decimal_t *value);

/* Compute value times unit (at most 2^40), rounded down.  Return 0, or -1 with product
 * unchanged if it exceeds max. */
int hpcb_decimal_scale(const hpcb_decimal_t *value, uint64_t unit, uint64_t max,
                       uint64_t *product);

/* Parse the whole of text as a size: a decimal number above 0 in bytes, or with K, M, G
 * or T (either case) in powers of 1024.  Return 0, or -1 with bytes unchanged, also if
 * it exceeds max. */
int hpcb_text_size(const char *text, uint64_t max, uint64_t *bytes);

#endif
