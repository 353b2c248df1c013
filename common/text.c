/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "common/text.h"

#define FRACTION_DIGITS 6
#define MILLION         1000000u

char *hpcb_text_clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        bool c1 = p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f;

        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
        if (c1)
            p[0] = p[1] = '?';
    }
    return text;
}

int hpcb_text_copy(char *buf, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size)
        return -1;
    memcpy(buf, text, length + 1);
    return 0;
}

/* isdigit() and isalnum() are the locale's; these are not. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_' || c == '.' || c == '-';
}

bool hpcb_text_is_name(const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    if (length == 0 || length >= size)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_name_char(text[i]))
            return false;
    return strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

/* Read the digits at the start of text; NULL where there is none or they pass max. */
static const char *scan_digits(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t sum = 0;

    if (!is_digit(*text))
        return NULL;
    for (; is_digit(*text); text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (sum > (max - digit) / 10 || digit > max)
            return NULL;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return text;
}

int hpcb_text_u64(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t sum;
    const char *rest = scan_digits(text, max, &sum);

    if (!rest || *rest)
        return -1;
    *value = sum;
    return 0;
}

const char *hpcb_text_decimal(const char *text, hpcb_decimal_t *value)
{
    hpcb_decimal_t read = {0, 0};
    const char *rest = scan_digits(text, UINT64_MAX, &read.whole);
    int digits = 0;

    if (!rest)
        return NULL;
    if (*rest == '.') {
        for (rest++; is_digit(*rest); rest++) {
            if (++digits > FRACTION_DIGITS)
                return NULL;
            read.millionths = read.millionths * 10 + (uint32_t)(*rest - '0');
        }
        if (digits == 0)
            return NULL;
        for (; digits < FRACTION_DIGITS; digits++)
            read.millionths *= 10;
    }
    *value = read;
    return rest;
}

int hpcb_decimal_scale(const hpcb_decimal_t *value, uint64_t unit, uint64_t max,
                       uint64_t *product)
{
    uint64_t fraction = value->millionths * unit / MILLION;

    if (fraction > max || value->whole > (max - fraction) / unit)
        return -1;
    *product = value->whole * unit + fraction;
    return 0;
}

int hpcb_text_size(const char *text, uint64_t max, uint64_t *bytes)
{
    static const char suffixes[] = "KMGTkmgt";
    hpcb_decimal_t decimal;
    const char *rest = hpcb_text_decimal(text, &decimal);
    uint64_t unit = 1, product;

    if (rest && *rest) {
        const char *found = strchr(suffixes, *rest);

        if (!found || rest[1])
            return -1;
        unit = UINT64_C(1) << (10 * ((found - suffixes) % 4 + 1));
    }
    if (!rest || hpcb_decimal_scale(&decimal, unit, max, &product) || product == 0)
        return -1;
    *bytes = product;
    return 0;
}
