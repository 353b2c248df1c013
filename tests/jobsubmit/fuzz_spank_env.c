/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Hostile SPANK environments and lists.  Built with -fsanitize=fuzzer and
 * -DHPCB_LIBFUZZER this is a libFuzzer target; otherwise main() feeds it a bounded
 * number of inputs made of pieces that matter (argument: how many) and speaks TAP.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tag.h"
#include "jobsubmit/decide.h"
#include "jobsubmit/spank_env.h"

#define ENTRIES 16
#define BYTES   512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool truth, const char *what)
{
    if (truth)
        return;
    printf("Bail out! %s\n", what);
    abort();
}

/* Cut text at newlines into entries; an empty piece is a NULL entry. */
static size_t cut(char *text, char **env)
{
    size_t n = 0;

    while (text && n < ENTRIES) {
        char *piece = strsep(&text, "\n");

        env[n++] = *piece ? piece : NULL;
    }
    return n;
}

static void check_env(char *const *env, size_t n)
{
    hpcb_options_t options = {.bw_mem = 1234567};
    hpcb_error_t err = {""};
    bool keep[ENTRIES];
    long kept = hpcb_spank_env_sift(env, n, keep, &err), counted = 0;

    for (size_t i = 0; i < n; i++) {
        counted += keep[i];
        expect(!keep[i] || (env[i] && strchr(env[i], '=')), "kept a NULL or nameless");
        expect(!keep[i] || strncmp(env[i], "HPCB_CLASS=", 11) != 0, "kept a class");
    }
    expect(kept == counted, "miscounted");
    if (hpcb_spank_env_options(env, n, &options, &err)) {
        expect(err.text[0] && !strchr(err.text, '\n'), "not one line");
        expect(options.bw_mem == 1234567, "options touched on failure");
    }
}

static void check_lists(const char *a, const char *b)
{
    hpcb_conf_t conf;
    hpcb_error_t err = {""};
    hpcb_request_t request = {.partition = a, .qos = b};
    hpcb_class_t klass = HPCB_CLASS_UNKNOWN;
    const hpcb_options_t options = {0};
    const hpcb_tag_t tag = {.klass = HPCB_CLASS_GUEST, .options = &options};
    char *merged;

    hpcb_conf_defaults(&conf);
    request.claims.gres = hpcb_names_gres(b);
    if (hpcb_decide_submit(&conf, &request, &klass, &err))
        expect(err.text[0] && !strchr(err.text, '\n'), "not one line");
    else
        expect(klass != HPCB_CLASS_UNKNOWN, "undecided");
    merged = hpcb_tag_add(a, &tag, &err);
    expect(merged && (strstr(merged, "\"hpcb\"") || (a && strncmp(a, "JS1:", 4) == 0)),
           "tag lost");
    free(merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char *env[ENTRIES];
    size_t n;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    n = cut(text, env);
    check_env(env, n);
    check_lists(env[0], env[n - 1]);
    free(text);
    return 0;
}

#ifndef HPCB_LIBFUZZER
static const char *const pieces[] = {"_SLURM_SPANK_OPTION_hpc_balance_",
                                     "guest",
                                     "hpc_balance",
                                     "hpc_window",
                                     "bw_profile",
                                     "=",
                                     "(null)",
                                     "\n",
                                     "\n",
                                     "auto",
                                     "static:",
                                     "1s:90%",
                                     "mem=12G",
                                     "net=",
                                     "HPCB_CLASS",
                                     "SPANK_",
                                     "A=",
                                     ",",
                                     "guest,",
                                     "gres:gpu:1",
                                     "gres/",
                                     "cpu:",
                                     "{\"a\":",
                                     "}",
                                     "\"",
                                     "\xff",
                                     "\xc2\x9b",
                                     "\x01",
                                     "1e999",
                                     "-",
                                     "%s%n",
                                     "9999999999",
                                     "[",
                                     "\\u0000",
                                     " "};

/* xorshift: the same inputs in every run. */
static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static size_t make_input(uint32_t *state, char *text)
{
    size_t length = 0, wanted = next(state) % 24;

    for (size_t i = 0; i < wanted; i++) {
        const char *piece = pieces[next(state) % (sizeof(pieces) / sizeof(pieces[0]))];

        for (; *piece && length < BYTES; piece++)
            text[length++] = *piece;
    }
    if (length && next(state) % 4 == 0)
        text[next(state) % length] = (char)next(state);
    return length;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    uint32_t state = 2463534242U;
    char text[BYTES];

    printf("1..1\n");
    for (long i = 0; i < rounds; i++) {
        size_t length = make_input(&state, text);

        LLVMFuzzerTestOneInput((const uint8_t *)text, length);
    }
    printf("ok 1 - %ld hostile inputs\n", rounds);
    return 0;
}
#endif
