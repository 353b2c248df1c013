/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/loads.h"
#include "bench/usage.h"

/* Where the C library does not know the caches' sizes. */
#define L1_BYTES (32U << 10)
#define L2_BYTES (1U << 20)
#define L3_BYTES (32U << 20)

#define LINE        64 /* bytes: each load hits another line */
#define BRANCHES    28 /* s of table 2.4 */
#define PROBE_S     0.02
#define PROBES      5
#define FIRST_PROBE 1000

/* Keeps a value where the compiler cannot foresee it. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

struct bench_load {
    uint64_t (*run)(bench_load_t *, uint64_t);
    unsigned char *memory;
    size_t bytes;
    size_t at;
    uint64_t state;
};

/* x_i of table 2.4 are 1 to 54: unrolled nine at a time, six times. */
/* clang-format off */
#define NINE(LINE_, x) \
    LINE_((x) + 1) LINE_((x) + 2) LINE_((x) + 3) \
    LINE_((x) + 4) LINE_((x) + 5) LINE_((x) + 6) \
    LINE_((x) + 7) LINE_((x) + 8) LINE_((x) + 9)
#define FIFTY_FOUR(LINE_) \
    NINE(LINE_, 0) NINE(LINE_, 9) NINE(LINE_, 18) \
    NINE(LINE_, 27) NINE(LINE_, 36) NINE(LINE_, 45)
/* clang-format on */

#define CPU_INT(x)                                                                     \
    a += (iter * (iter - 1)) - (x)*iter;                                               \
    OPAQUE(iter);

static uint64_t cpu_int(bench_load_t *load, uint64_t n)
{
    uint64_t a = load->state;

    for (uint64_t iter = 1; iter <= n; iter++) {
        FIFTY_FOUR(CPU_INT)
    }
    return load->state = a;
}

#define CPU_INT_ADD(x)                                                                 \
    a += (iter + iterp) - (x) + iter;                                                  \
    OPAQUE(iter);

static uint64_t cpu_int_add(bench_load_t *load, uint64_t n)
{
    uint64_t a = load->state;

    for (uint64_t iter = 1; iter <= n; iter++) {
        uint64_t iterp = iter - 1 + a;

        FIFTY_FOUR(CPU_INT_ADD)
    }
    return load->state = a;
}

#define CPU_INT_MUL(x)                                                                 \
    a = (iter * iter) * (x)*iter;                                                      \
    OPAQUE(a);                                                                         \
    OPAQUE(iter);

static uint64_t cpu_int_mul(bench_load_t *load, uint64_t n)
{
    uint64_t a = load->state;

    for (uint64_t iter = 1; iter <= n; iter++) {
        FIFTY_FOUR(CPU_INT_MUL)
    }
    return load->state = a;
}

/* Each line waits for the one before. */
static uint64_t lng_chain_int(bench_load_t *load, uint64_t n)
{
    uint64_t a = load->state, b = 1;

    for (uint64_t iter = 1; iter <= n; iter++) {
        for (uint64_t line = 0; line < 25; line++) {
            a += (iter * (iter - 1)) - line * iter + b;
            OPAQUE(a);
            b += (iter * (iter - 1)) - line * iter * a;
            OPAQUE(b);
        }
    }
    return load->state = a ^ b;
}

#define CPU_FP(x)                                                                      \
    a += (tmp * (tmp - 1.0F)) - (float)(x)*tmp;                                        \
    __asm__ volatile("" : "+m"(tmp));

static uint64_t cpu_fp(bench_load_t *load, uint64_t n)
{
    float a = 0;

    for (uint64_t iter = 1; iter <= n; iter++) {
        float tmp = (float)(iter % 1000);

        FIFTY_FOUR(CPU_FP)
        a *= 1e-6F;
    }
    return load->state += (uint64_t)(a != 0.5F);
}

/* a[s] is all 0 (hit), or random (miss): see bench_load_open. */
static uint64_t branches(bench_load_t *load, uint64_t n)
{
    uint64_t a = load->state;

    for (uint64_t iter = 0; iter < n; iter++) {
        for (unsigned s = 0; s < BRANCHES; s++) {
            if (load->memory[load->at + s] == 0)
                a++;
            else
                a--;
            OPAQUE(a);
        }
        load->at = (load->at + BRANCHES) % (load->bytes - BRANCHES);
    }
    return load->state = a;
}

#define LOADS(name, type)                                                              \
    static uint64_t name(bench_load_t *load, uint64_t n)                               \
    {                                                                                  \
        for (uint64_t iter = 0; iter < n; iter++) {                                    \
            type *a = (type *)(void *)(load->memory + load->at);                       \
                                                                                       \
            *a += 1;                                                                   \
            __asm__ volatile("" ::: "memory");                                         \
            load->at += LINE;                                                          \
            if (load->at >= load->bytes)                                               \
                load->at = 0;                                                          \
        }                                                                              \
        return load->at;                                                               \
    }

LOADS(integer_loads, int)
LOADS(float_loads, float)

/* Integers along a random chain, so that no prefetcher knows the next one. */
static uint64_t chained_loads(bench_load_t *load, uint64_t n)
{
    size_t at = load->at;

    for (uint64_t iter = 0; iter < n; iter++) {
        size_t *line = (size_t *)(void *)(load->memory + at);

        line[1]++;
        at = line[0];
    }
    return load->at = at;
}

enum size { NO_MEMORY, ZEROES, RANDOM, IN_L1, IN_L2, IN_L3, IN_MEMORY };

static const struct {
    const char *name;
    uint64_t (*run)(bench_load_t *, uint64_t);
    enum size size;
} kinds[] = {
    {"cpu_int", cpu_int, NO_MEMORY},
    {"cpu_int_add", cpu_int_add, NO_MEMORY},
    {"cpu_int_mul", cpu_int_mul, NO_MEMORY},
    {"lng_chain_int", lng_chain_int, NO_MEMORY},
    {"br_hit", branches, ZEROES},
    {"br_miss", branches, RANDOM},
    {"ldint_l1", integer_loads, IN_L1},
    {"ldint_l2", chained_loads, IN_L2},
    {"ldint_l3", chained_loads, IN_L3},
    {"ldint_mem", chained_loads, IN_MEMORY},
    {"ldfp_l1", float_loads, IN_L1},
    {"ldfp_l2", float_loads, IN_L2},
    {"ldfp_l3", float_loads, IN_L3},
    {"ldfp_mem", float_loads, IN_MEMORY},
    {"cpu_fp", cpu_fp, NO_MEMORY},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *bench_load_name(unsigned i)
{
    return i < KINDS ? kinds[i].name : NULL;
}

static size_t cache(int name, size_t usual)
{
    long size = sysconf(name);

    return size > 0 ? (size_t)size : usual;
}

/* Half of the cache that is meant, and more than the one before holds. */
static size_t bytes_of(enum size size)
{
    size_t l1 = cache(_SC_LEVEL1_DCACHE_SIZE, L1_BYTES);
    size_t l2 = cache(_SC_LEVEL2_CACHE_SIZE, L2_BYTES);
    size_t l3 = cache(_SC_LEVEL3_CACHE_SIZE, L3_BYTES);

    switch (size) {
    case NO_MEMORY:
        return 0;
    case ZEROES:
    case RANDOM:
    case IN_L1:
        return l1 / 2;
    case IN_L2:
        return l2 / 2 > 2 * l1 ? l2 / 2 : 2 * l1;
    case IN_L3:
        return l3 / 2 > 2 * l2 ? l3 / 2 : 2 * l2;
    default:
        return 4 * l3;
    }
}

static uint64_t any(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* One ring through all lines, in random order (Sattolo's shuffle). */
static int link_lines(bench_load_t *load)
{
    size_t lines = load->bytes / LINE;
    size_t *order = malloc(lines * sizeof(*order));
    uint64_t state = 88172645463325252U;

    if (!order)
        return -1;
    for (size_t i = 0; i < lines; i++)
        order[i] = i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = any(&state) % i, swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
    for (size_t i = 0; i < lines; i++)
        *(size_t *)(void *)(load->memory + i * LINE) = order[i] * LINE;
    free(order);
    return 0;
}

static int fill(bench_load_t *load, enum size size)
{
    uint64_t state = 88172645463325252U;

    if (load->bytes == 0)
        return 0;
    load->memory = aligned_alloc(4096, (load->bytes + 4095) / 4096 * 4096);
    if (!load->memory)
        return -1;
    memset(load->memory, 0, load->bytes);
    for (size_t i = 0; size == RANDOM && i < load->bytes; i++)
        load->memory[i] = any(&state) >> 40 & 1;
    return load->run == chained_loads ? link_lines(load) : 0;
}

bench_load_t *bench_load_open(const char *name)
{
    bench_load_t *load;

    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        load = calloc(1, sizeof(*load));
        if (!load)
            return NULL;
        load->run = kinds[i].run;
        load->bytes = bytes_of(kinds[i].size);
        if (fill(load, kinds[i].size)) {
            bench_load_close(load);
            return NULL;
        }
        return load;
    }
    return NULL;
}

void bench_load_close(bench_load_t *load)
{
    free(load->memory);
    free(load);
}

uint64_t bench_load_run(bench_load_t *load, uint64_t iterations)
{
    return load->run(load, iterations);
}

double bench_load_rate(bench_load_t *load)
{
    double best = 0;
    uint64_t n = FIRST_PROBE;

    for (int i = 0; i < PROBES;) {
        double start = bench_thread_cpu(), took;

        bench_load_run(load, n);
        took = bench_thread_cpu() - start;
        if (took < PROBE_S) {
            n *= took < PROBE_S / 16 ? 8 : 2;
            continue;
        }
        if ((double)n / took > best)
            best = (double)n / took;
        i++;
    }
    return best;
}
