/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Runs a fuzzer without libFuzzer, the same way on every run and machine:
 *
 *   fuzz_x               the seeds and HPCB_FUZZ_RUNS (100000) mutations of them
 *   fuzz_x FILE...       these inputs
 *   fuzz_x --seeds DIR   write the seeds as files, for libFuzzer
 *
 * The inputs run in a child, which shares the current one with its parent: what the
 * child dies of is written to NAME.crash and reported, in TAP as all tests do.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define INPUT_MAX    8192
#define DEFAULT_RUNS 100000
#define MUTATIONS    6 /* at most this many in one input */
#define CHUNK_MAX    64

/* No parser may take longer for all of this together. */
#define TIMEOUT_SECONDS 300

typedef struct {
    unsigned long number;
    size_t size;
    uint8_t data[INPUT_MAX];
} input_t;

static uint64_t random_state = 1;

/* splitmix64 (Steele, Lea, Flood 2014): the same numbers everywhere. */
static uint64_t random_u64(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t below(size_t limit)
{
    return limit ? (size_t)(random_u64() % limit) : 0;
}

/* Put size bytes in at a place of the input, as far as there is room. */
static void insert(input_t *input, size_t at, const void *bytes, size_t size)
{
    if (size > INPUT_MAX - input->size)
        size = INPUT_MAX - input->size;
    memmove(input->data + at + size, input->data + at, input->size - at);
    memcpy(input->data + at, bytes, size);
    input->size += size;
}

static void erase(input_t *input, size_t at, size_t size)
{
    if (size > input->size - at)
        size = input->size - at;
    memmove(input->data + at, input->data + at + size, input->size - at - size);
    input->size -= size;
}

static void insert_word(input_t *input, size_t at)
{
    static const char *const words[] = {
        "=",
        "\n",
        "#",
        "%n",
        "..",
        "/",
        ",",
        ":",
        "%",
        ".",
        "-1",
        "0",
        "inf",
        "0x",
        "1e309",
        "end",
        "\"",
        "{",
        "}",
        "[",
        "null",
        "\\u0000",
        " ",
        "\t",
        "\r",
        "(null)",
        "4294967296",
        "18446744073709551616",
        "99999999999999999999999999",
    };
    const char *word = words[below(sizeof(words) / sizeof(words[0]))];

    insert(input, at, word, strlen(word));
}

static void insert_copy(input_t *input, size_t at)
{
    uint8_t chunk[CHUNK_MAX];
    size_t from = below(input->size), size = 1 + below(CHUNK_MAX);

    if (size > input->size - from)
        size = input->size - from;
    memcpy(chunk, input->data + from, size);
    insert(input, at, chunk, size);
}

static void insert_run(input_t *input, size_t at)
{
    uint8_t run[CHUNK_MAX * 16];

    memset(run, (int)below(256), sizeof(run));
    insert(input, at, run, 1 + below(sizeof(run)));
}

static void mutate(input_t *input)
{
    size_t at = below(input->size + 1);

    switch (below(8)) {
    case 0:
        if (at < input->size)
            input->data[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        if (at < input->size)
            input->data[at] = (uint8_t)below(256);
        break;
    case 2:
        erase(input, at, 1 + below(CHUNK_MAX));
        break;
    case 3:
        input->size = at;
        break;
    case 4:
        insert_copy(input, at);
        break;
    case 5:
        insert_run(input, at);
        break;
    default:
        insert_word(input, at);
    }
}

static size_t count_seeds(void)
{
    size_t count = 0;

    while (fuzz_seeds[count])
        count++;
    return count;
}

static void load_seed(input_t *input, size_t seed)
{
    input->size = 0;
    insert(input, 0, fuzz_seeds[seed], strlen(fuzz_seeds[seed]));
}

/* From a copy of exactly that size, so that the sanitizer sees what is read past it. */
static void run_input(const input_t *input)
{
    uint8_t *copy = malloc(input->size ? input->size : 1);

    FUZZ_ASSERT(copy);
    memcpy(copy, input->data, input->size);
    LLVMFuzzerTestOneInput(copy, input->size);
    free(copy);
}

static void run_mutations(input_t *input, unsigned long runs)
{
    size_t seeds = count_seeds();

    for (input->number = 0; input->number < runs; input->number++) {
        load_seed(input, input->number % seeds);
        if (input->number >= seeds)
            for (size_t i = 1 + below(MUTATIONS); i > 0; i--)
                mutate(input);
        run_input(input);
    }
}

static int run_file(const char *path)
{
    static input_t input;
    FILE *stream = fopen(path, "rb");

    if (!stream) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    input.size = fread(input.data, 1, sizeof(input.data), stream);
    fclose(stream);
    run_input(&input);
    return 0;
}

static int write_file(const char *path, const void *data, size_t size)
{
    FILE *stream = fopen(path, "wb");

    if (!stream || fwrite(data, 1, size, stream) != size || fclose(stream)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

static int write_seeds(const char *dir)
{
    char path[4096];

    for (size_t i = 0; fuzz_seeds[i]; i++) {
        snprintf(path, sizeof(path), "%s/seed-%zu", dir, i);
        if (write_file(path, fuzz_seeds[i], strlen(fuzz_seeds[i])))
            return -1;
    }
    return 0;
}

/* Returns 0, or -1 after the child died; says so in TAP. */
static int supervise(const char *name, unsigned long runs, input_t *input)
{
    char path[4096];
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(TIMEOUT_SECONDS);
        run_mutations(input, runs);
        _exit(EXIT_SUCCESS);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        printf("not ok 1 - %s: cannot fork\n", name);
        return -1;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
        printf("ok 1 - %s: %lu inputs\n", name, runs);
        return 0;
    }
    snprintf(path, sizeof(path), "%s.crash", name);
    write_file(path, input->data, input->size);
    printf("not ok 1 - %s: died in input %lu (status 0x%x), kept in %s\n", name,
           input->number, (unsigned)status, path);
    return -1;
}

static unsigned long wanted_runs(void)
{
    const char *text = getenv("HPCB_FUZZ_RUNS");
    unsigned long runs = text ? strtoul(text, NULL, 10) : DEFAULT_RUNS;

    return runs < count_seeds() ? count_seeds() : runs;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    input_t *input;
    int failed = 0;

    if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
        return write_seeds(argv[2]) ? EXIT_FAILURE : EXIT_SUCCESS;
    for (int i = 1; i < argc; i++)
        failed |= run_file(argv[i]);
    if (argc > 1)
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;
    input = mmap(NULL, sizeof(*input), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (input == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    printf("1..1\n");
    fflush(stdout);
    return supervise(slash ? slash + 1 : argv[0], wanted_runs(), input) ? EXIT_FAILURE
                                                                        : EXIT_SUCCESS;
}
