/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Fuzzes the parsers of mountinfo and /proc/PID/cgroup and the mapping of paths.  For
 * libFuzzer:
 *   clang -DHPCB_LIBFUZZER -fsanitize=fuzzer,address -I. -Ibuild
 * tests/cgroup/fuzz_node.c cgroup/parse.c Without it, a bounded run over mutations of
 * real lines (make check).
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        abort();
}

/* What leaves hpcb_parse_below is appended to a mount point and opened by root. */
static void check_rest(const char *rest)
{
    size_t length = strlen(rest), job;

    require(rest[0] == '\0' || rest[0] == '/');
    require(strstr(rest, "/../") == NULL);
    require(length < 3 || strcmp(rest + length - 3, "/..") != 0);
    for (int version = 1; version <= 2; version++) {
        job = hpcb_parse_job(rest, version);
        require(job <= length);
        require(job == 0 || rest[job] == '\0' || rest[job] == '/');
    }
}

static void fuzz_cgroup(const char *text)
{
    static const char *const controllers[] = {NULL, "cpu", "memory", "name=systemd"};
    static const char *const roots[] = {"/", "/..", "/docker/x"};
    char path[256], rest[200];

    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        if (hpcb_parse_cgroup(text, controllers[i], path, sizeof(path)) < 0)
            continue;
        require(path[0] == '/' && !strchr(path, '\n'));
        for (size_t k = 0; k < sizeof(roots) / sizeof(roots[0]); k++) {
            if (hpcb_parse_below(roots[k], path, rest, sizeof(rest)) == 0)
                check_rest(rest);
        }
    }
}

static void fuzz_mountinfo(char *text)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        hpcb_mount_line_t mount;

        if (hpcb_parse_mount(line, &mount) < 0)
            continue;
        require(mount.root[0] == '/' && mount.point[0] == '/');
        require(mount.id >= 0 && mount.parent >= 0);
        hpcb_parse_word(mount.super, strlen(mount.super), "cpu");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    fuzz_cgroup(text);
    fuzz_mountinfo(text);
    free(text);
    return 0;
}

#ifndef HPCB_LIBFUZZER
#define RUNS 200000

static const char *const seeds[] = {
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n",
    "5 4 0:1 /x\\040y /a\\040b/c\\011d rw - cgroup none rw,cpu,cpuacct\n",
    "12:cpuset:/slurm/uid_1000/job_12/step_batch\n4:cpu,cpuacct:/slurm/uid_1/job_1\n",
    "1:name=systemd:/system.slice/slurmd.service\n1:cpu:/../../slurm_n/uid_0/job_1\n",
    "0::/system.slice/slurmstepd.scope/job_4/step_0/user/task_0\n",
    "0::/../a_slurmstepd.scope/s8B9M7Y1A9MR00/step_extern (deleted)\n",
};

static uint32_t state = 1;

static uint32_t next(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % limit;
}

static size_t mutate(char *text, size_t length, size_t size)
{
    static const char odd[] = "/:.,- \n\\\t07_s\xff";

    for (uint32_t n = next(6); n > 0; n--) {
        size_t at = next((uint32_t)length + 1), span = next(8);

        switch (next(3)) {
        case 0:
            if (at < length)
                text[at] = odd[next(sizeof(odd) - 1)];
            break;
        case 1:
            span = span < length - at ? span : length - at;
            memmove(text + at, text + at + span, length - at - span);
            length -= span;
            break;
        default:
            if (length + span > size || at + span > length)
                break;
            memmove(text + at + span, text + at, length - at);
            length += span;
            break;
        }
    }
    return length;
}

int main(void)
{
    char text[512];

    for (int run = 0; run < RUNS; run++) {
        const char *seed = seeds[next(sizeof(seeds) / sizeof(seeds[0]))];
        size_t length = strlen(seed);

        memcpy(text, seed, length);
        length = mutate(text, length, sizeof(text));
        LLVMFuzzerTestOneInput((const uint8_t *)text, length);
    }
    printf("1..1\nok 1 - %d mutated texts\n", RUNS);
    return EXIT_SUCCESS;
}
#endif
