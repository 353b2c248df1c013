/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/cpus.h"

#include <stdio.h>
#include <string.h>

#define WORDS (sizeof(((hpcb_cpus_t *)0)->word) / sizeof(unsigned long))

static unsigned long bit(unsigned cpu)
{
    return 1UL << cpu % HPCB_CPUS_WORD_BITS;
}

void hpcb_cpus_add(hpcb_cpus_t *cpus, unsigned cpu)
{
    cpus->word[cpu / HPCB_CPUS_WORD_BITS] |= bit(cpu);
}

bool hpcb_cpus_has(const hpcb_cpus_t *cpus, unsigned cpu)
{
    return cpus->word[cpu / HPCB_CPUS_WORD_BITS] & bit(cpu);
}

unsigned hpcb_cpus_count(const hpcb_cpus_t *cpus)
{
    unsigned count = 0;

    for (size_t i = 0; i < WORDS; i++)
        count += (unsigned)__builtin_popcountl(cpus->word[i]);
    return count;
}

bool hpcb_cpus_equal(const hpcb_cpus_t *a, const hpcb_cpus_t *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool hpcb_cpus_within(const hpcb_cpus_t *a, const hpcb_cpus_t *b)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (a->word[i] & ~b->word[i])
            return false;
    }
    return true;
}

bool hpcb_cpus_meet(const hpcb_cpus_t *a, const hpcb_cpus_t *b)
{
    for (size_t i = 0; i < WORDS; i++) {
        if (a->word[i] & b->word[i])
            return true;
    }
    return false;
}

unsigned hpcb_cpus_from(const hpcb_cpus_t *cpus, unsigned cpu)
{
    while (cpu < HPCB_CPUS_MAX && !hpcb_cpus_has(cpus, cpu)) {
        bool nothing = cpus->word[cpu / HPCB_CPUS_WORD_BITS] == 0;

        cpu = nothing
                  ? (unsigned)((cpu / HPCB_CPUS_WORD_BITS + 1) * HPCB_CPUS_WORD_BITS)
                  : cpu + 1;
    }
    return cpu;
}

void hpcb_cpus_join(hpcb_cpus_t *to, const hpcb_cpus_t *more)
{
    for (size_t i = 0; i < WORDS; i++)
        to->word[i] |= more->word[i];
}

void hpcb_cpus_drop(hpcb_cpus_t *to, const hpcb_cpus_t *less)
{
    for (size_t i = 0; i < WORDS; i++)
        to->word[i] &= ~less->word[i];
}

/* Digits below HPCB_CPUS_MAX; returns what follows them, or NULL. */
static const char *number(const char *text, unsigned *value)
{
    unsigned sum = 0;

    if (*text < '0' || *text > '9')
        return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        sum = sum * 10 + (unsigned)(*text - '0');
        if (sum >= HPCB_CPUS_MAX)
            return NULL;
    }
    *value = sum;
    return text;
}

int hpcb_cpus_parse(const char *list, hpcb_cpus_t *cpus)
{
    hpcb_cpus_t read = {{0}};
    unsigned first = 0, last;

    while (*list && *list != '\n') {
        list = number(list, &first);
        last = first;
        if (list && *list == '-')
            list = number(list + 1, &last);
        if (!list || last < first || !strchr(",\n", *list))
            return -1;
        for (unsigned cpu = first; cpu <= last; cpu++)
            hpcb_cpus_add(&read, cpu);
        if (*list == ',' && (list[1] < '0' || list[1] > '9'))
            return -1;
        list += *list == ',';
    }
    if (*list == '\n' && list[1])
        return -1;
    *cpus = read;
    return 0;
}

int hpcb_cpus_list(const hpcb_cpus_t *cpus, char *text, size_t size)
{
    size_t used = 0;

    if (size == 0)
        return -1;
    text[0] = '\0';
    for (unsigned cpu = hpcb_cpus_from(cpus, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(cpus, cpu)) {
        unsigned first = cpu;
        int n;

        while (cpu + 1 < HPCB_CPUS_MAX && hpcb_cpus_has(cpus, cpu + 1))
            cpu++;
        if (cpu > first)
            n = snprintf(text + used, size - used, "%s%u-%u", used ? "," : "", first,
                         cpu);
        else
            n = snprintf(text + used, size - used, "%s%u", used ? "," : "", first);
        if (n < 0 || (size_t)n >= size - used)
            return -1;
        used += (size_t)n;
        cpu++;
    }
    return 0;
}
