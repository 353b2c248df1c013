/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench/kernels.h"

#define WORD    sizeof(uint64_t)
#define LINE    64
#define STEP    16384 /* items of a part */
#define TILE    32    /* rows and columns of a block that is transposed at once */
#define COARSER 8     /* fine points of a coarse one */

typedef struct {
    const char *name;
    bool (*open)(bench_kernel_t *, size_t);                 /* false: no memory */
    bool (*part)(bench_kernel_t *, size_t from, size_t to); /* false: wrong */
    size_t item_bytes; /* that an item goes to memory for */
} kind_t;

struct bench_kernel {
    const kind_t *kind;
    uint64_t *a, *b;
    uint32_t *index;
    size_t words; /* of a */
    size_t n;     /* items of a pass */
    size_t side;  /* of a matrix, or the distance of rows of a grid */
    size_t at;    /* item of the pass */
    bool back;    /* the pass that undoes the one before */
    uint64_t sum, expected;
};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t *words(size_t n)
{
    return n ? calloc(n, WORD) : NULL;
}

/* Random words; their sum. */
static uint64_t fill(uint64_t *to, size_t n)
{
    uint64_t state = 88172645463325252U, sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += to[i] = next(&state);
    return sum;
}

static bool is_right(const bench_kernel_t *kernel)
{
    return kernel->sum == kernel->expected;
}

/* ---- EP: numbers in order, each read once ---- */

static bool open_ep(bench_kernel_t *kernel, size_t bytes)
{
    kernel->n = kernel->words = bytes / WORD;
    kernel->a = words(kernel->n);
    if (!kernel->a)
        return false;
    kernel->expected = fill(kernel->a, kernel->n);
    return true;
}

static bool part_ep(bench_kernel_t *kernel, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        kernel->sum += kernel->a[i];
    return to < kernel->n || is_right(kernel);
}

/* ---- CG: a sparse matrix times a vector; a is the vector, b the values ---- */

/* A quarter is the vector, the rest a value and a column for each element. */
static bool open_cg(bench_kernel_t *kernel, size_t bytes)
{
    uint64_t state = 1181783497276652981U;

    kernel->words = bytes / 4 / WORD;
    kernel->n = (bytes - kernel->words * WORD) / (WORD + sizeof(*kernel->index));
    kernel->a = words(kernel->words);
    kernel->b = words(kernel->n);
    kernel->index = calloc(kernel->n, sizeof(*kernel->index));
    if (!kernel->a || !kernel->b || !kernel->index)
        return false;
    fill(kernel->a, kernel->words);
    for (size_t i = 0; i < kernel->n; i++) {
        kernel->b[i] = next(&state);
        kernel->index[i] = (uint32_t)(kernel->b[i] % kernel->words);
        kernel->expected += kernel->b[i] * kernel->a[kernel->index[i]];
    }
    return true;
}

static bool part_cg(bench_kernel_t *kernel, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        kernel->sum += kernel->b[i] * kernel->a[kernel->index[i]];
    return to < kernel->n || is_right(kernel);
}

/* ---- FT: a matrix is transposed, there and back; an item is a tile ---- */

/* What an element counts for depends on where it is written. */
static uint64_t weight(size_t row, size_t column)
{
    return 2 * (row * 65537 + column) + 1;
}

static bool open_ft(bench_kernel_t *kernel, size_t bytes)
{
    size_t tiles = 1;

    while ((tiles + 1) * (tiles + 1) * TILE * TILE * 2 * WORD <= bytes)
        tiles++;
    kernel->side = tiles * TILE;
    kernel->words = kernel->side * kernel->side;
    kernel->n = tiles * tiles;
    kernel->a = words(kernel->words);
    kernel->b = words(kernel->words);
    if (!kernel->a || !kernel->b)
        return false;
    fill(kernel->a, kernel->words);
    for (size_t i = 0; i < kernel->words; i++)
        kernel->expected += kernel->a[i] * weight(i / kernel->side, i % kernel->side);
    return true;
}

static uint64_t transpose(const bench_kernel_t *kernel, const uint64_t *from,
                          uint64_t *to, size_t tile)
{
    size_t side = kernel->side, first_row = tile / (side / TILE) * TILE;
    size_t first_column = tile % (side / TILE) * TILE;
    uint64_t sum = 0;

    for (size_t row = first_row; row < first_row + TILE; row++)
        for (size_t column = first_column; column < first_column + TILE; column++) {
            uint64_t word = from[row * side + column];

            to[column * side + row] = word;
            sum += word * (kernel->back ? weight(column, row) : weight(row, column));
        }
    return sum;
}

static bool part_ft(bench_kernel_t *kernel, size_t from, size_t to)
{
    for (size_t tile = from; tile < to; tile++)
        kernel->sum += kernel->back ? transpose(kernel, kernel->b, kernel->a, tile)
                                    : transpose(kernel, kernel->a, kernel->b, tile);
    return to < kernel->n || is_right(kernel);
}

/* ---- LU: a lower sweep over a grid, and the upper one that undoes it ---- */

static bool open_lu(bench_kernel_t *kernel, size_t bytes)
{
    kernel->words = bytes / WORD;
    kernel->side = 1;
    while (kernel->side * kernel->side * kernel->side < kernel->words)
        kernel->side++;
    kernel->a = words(kernel->words);
    if (!kernel->a)
        return false;
    kernel->n = kernel->words - kernel->side * kernel->side;
    kernel->expected = fill(kernel->a, kernel->words);
    for (size_t i = 0; i < kernel->words - kernel->n; i++)
        kernel->expected -= kernel->a[i];
    return true;
}

static uint64_t neighbours(const uint64_t *point, size_t side)
{
    return 3 * point[-1] + 5 * point[-(ptrdiff_t)side] +
           7 * point[-(ptrdiff_t)(side * side)];
}

static bool part_lu(bench_kernel_t *kernel, size_t from, size_t to)
{
    uint64_t *begin = kernel->a + (kernel->words - kernel->n);
    size_t side = kernel->side;

    for (size_t i = from; i < to; i++) {
        uint64_t *point = kernel->back ? begin + (kernel->n - 1 - i) : begin + i;

        if (kernel->back)
            kernel->sum += *point -= neighbours(point, side);
        else
            *point += neighbours(point, side);
    }
    return !kernel->back || to < kernel->n || is_right(kernel);
}

/* ---- IS: keys are counted; a is the counts, read and cleared in the second pass ----
 */

static bool open_is(bench_kernel_t *kernel, size_t bytes)
{
    uint64_t state = 88172645463325252U;

    kernel->words = bytes / 2 / WORD;
    kernel->n = kernel->words;
    kernel->a = words(kernel->words);
    kernel->index = calloc(kernel->n, sizeof(*kernel->index));
    if (!kernel->a || !kernel->index)
        return false;
    for (size_t i = 0; i < kernel->n; i++) {
        kernel->index[i] = (uint32_t)(next(&state) % kernel->words);
        kernel->expected += weight(0, kernel->index[i]);
    }
    return true;
}

static bool part_is(bench_kernel_t *kernel, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!kernel->back) {
            kernel->a[kernel->index[i]]++;
            continue;
        }
        kernel->sum += kernel->a[i] * weight(0, i);
        kernel->a[i] = 0;
    }
    return !kernel->back || to < kernel->n || is_right(kernel);
}

/* ---- MG: from a fine grid to a coarse one, and back ---- */

static bool open_mg(bench_kernel_t *kernel, size_t bytes)
{
    kernel->n = bytes / WORD / (COARSER + 1);
    kernel->words = COARSER * kernel->n;
    kernel->a = words(kernel->words);
    kernel->b = words(kernel->n);
    if (!kernel->a || !kernel->b)
        return false;
    kernel->expected = fill(kernel->a, kernel->words);
    return true;
}

/* The first of the fine points has what the coarse one has more than the others. */
static bool part_mg(bench_kernel_t *kernel, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        uint64_t *fine = kernel->a + COARSER * i, rest = 0;

        for (size_t k = 1; k < COARSER; k++)
            rest += fine[k];
        if (kernel->back)
            kernel->sum += rest + (fine[0] = kernel->b[i] - rest);
        else
            kernel->b[i] = fine[0] + rest;
    }
    return !kernel->back || to < kernel->n || is_right(kernel);
}

/* ---- all of them ---- */

static const kind_t kinds[] = {
    {"CG", open_cg, part_cg, WORD + sizeof(uint32_t) + LINE},
    {"EP", open_ep, part_ep, WORD},
    {"FT", open_ft, part_ft, 2 * TILE *TILE *WORD},
    {"IS", open_is, part_is, sizeof(uint32_t) + 2 * LINE},
    {"LU", open_lu, part_lu, 2 * WORD},
    {"MG", open_mg, part_mg, (COARSER + 1) * WORD},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *bench_kernel_name(unsigned i)
{
    return i < KINDS ? kinds[i].name : NULL;
}

bench_kernel_t *bench_kernel_open(const char *name, size_t bytes)
{
    bench_kernel_t *kernel = calloc(1, sizeof(*kernel));

    for (size_t i = 0; kernel && i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            kernel->kind = &kinds[i];
    if (kernel && kernel->kind && kernel->kind->open(kernel, bytes))
        return kernel;
    if (kernel)
        bench_kernel_close(kernel);
    return NULL;
}

void bench_kernel_close(bench_kernel_t *kernel)
{
    free(kernel->a);
    free(kernel->b);
    free(kernel->index);
    free(kernel);
}

uint64_t bench_kernel_step(bench_kernel_t *kernel)
{
    size_t items = kernel->kind->part == part_ft ? STEP / (TILE * TILE) : STEP;
    size_t from = kernel->at, to = from + items < kernel->n ? from + items : kernel->n;

    if (!kernel->kind->part(kernel, from, to))
        return 0;
    kernel->at = to % kernel->n;
    if (kernel->at == 0) {
        kernel->sum = 0;
        kernel->back = !kernel->back;
    }
    return (to - from) * kernel->kind->item_bytes;
}

void bench_kernel_damage(bench_kernel_t *kernel)
{
    if (kernel->index && kernel->b)
        kernel->a[kernel->index[kernel->n / 2]] ^= 1;
    else if (kernel->index)
        kernel->index[kernel->n / 2] ^= 1;
    else
        kernel->a[kernel->words / 2] ^= 1;
}
