/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The version in a plugin's file: of the plugin that was just built, and of what is
 * left of it after damage. */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hpcbctl/check/elf.h"
#include "tests/common/scratch.h"

#define IMAGE_MAX (4 * 1024 * 1024)
#define FLIPS     20000

static unsigned char image[IMAGE_MAX];
static size_t image_size;

static const char *plugin_path(void)
{
    static char path[PATH_MAX];
    const char *build = getenv("HPCB_BUILDDIR");

    snprintf(path, sizeof(path), "%s/tests/hpcbctl/.libs/plugin.so",
             build ? build : ".");
    return path;
}

static void load_image(void)
{
    FILE *stream = fopen(plugin_path(), "r");

    ck_assert_ptr_nonnull(stream);
    image_size = fread(image, 1, sizeof(image), stream);
    fclose(stream);
    ck_assert_uint_gt(image_size, 4096);
    ck_assert_uint_lt(image_size, sizeof(image));
}

START_TEST(reads_the_version_of_a_plugin)
{
    uint32_t version = 0;
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_elf_u32(plugin_path(), "plugin_version", &version, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_eq(version, 0x160508);
}
END_TEST

START_TEST(tells_what_is_missing)
{
    const char *text = scratch("text");
    uint32_t version = 77;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_elf_u32(plugin_path(), "no_such_thing", &version, &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "exports no no_such_thing"));
    /* Exported, but a text and a function. */
    ck_assert_int_eq(hpcb_elf_u32(plugin_path(), "plugin_type", &version, &err), -1);
    ck_assert_int_eq(hpcb_elf_u32(plugin_path(), "job_submit", &version, &err), -1);
    ck_assert_int_eq(hpcb_elf_u32(plugin_path(), "plugin_unset", &version, &err), -1);
    ck_assert_int_eq(hpcb_elf_u32("/nonexistent", "plugin_version", &version, &err),
                     -1);
    ck_assert_int_eq(errno, ENOENT);
    put_file(text, "#!/bin/sh\n");
    ck_assert_int_eq(hpcb_elf_u32(text, "plugin_version", &version, &err), -1);
    ck_assert_int_eq(errno, ENOEXEC);
    put_file(text, "");
    ck_assert_int_eq(hpcb_elf_u32(text, "plugin_version", &version, &err), -1);
    ck_assert_int_eq(mkfifo(scratch("fifo"), 0600), 0);
    ck_assert_int_eq(hpcb_elf_u32(scratch("fifo"), "plugin_version", &version, &err),
                     -1);
    ck_assert_int_eq(hpcb_elf_u32(scratch_dir(), "plugin_version", &version, &err), -1);
    ck_assert_uint_eq(version, 77);
}
END_TEST

static int parse(const void *bytes, size_t size, uint32_t *version)
{
    return hpcb_elf_parse_u32("x", bytes, size, "plugin_version", version, NULL);
}

/* Each size in a block of its own, so that a sanitizer sees a read behind it. */
START_TEST(survives_truncation)
{
    load_image();
    for (size_t size = 0; size < image_size; size += size < 4096 ? 1 : 509) {
        unsigned char *cut = malloc(size ? size : 1);
        uint32_t version = 77;

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, image, size);
        if (parse(cut, size, &version))
            ck_assert_uint_eq(version, 77);
        free(cut);
    }
}
END_TEST

/* Headers, section headers and the symbol table, byte by byte. */
START_TEST(survives_any_byte)
{
    unsigned char *copy;

    load_image();
    copy = malloc(image_size);
    ck_assert_ptr_nonnull(copy);
    srand(1);
    for (int i = 0; i < FLIPS; i++) {
        size_t at = (size_t)rand() % (i % 2 ? image_size : 1024);
        size_t end = image_size - (size_t)rand() % 4096;
        uint32_t version = 77;

        memcpy(copy, image, image_size);
        copy[at] = (unsigned char)rand();
        copy[end - 1] = 0xff;
        if (parse(copy, image_size, &version))
            ck_assert_uint_eq(version, 77);
    }
    free(copy);
}
END_TEST

START_TEST(takes_this_machines_kind_only)
{
    uint32_t version;

    load_image();
    ck_assert_int_eq(parse(image, image_size, &version), 0);
    image[EI_CLASS] ^= 3;
    ck_assert_int_eq(parse(image, image_size, &version), -1);
    image[EI_CLASS] ^= 3;
    image[EI_DATA] ^= 3;
    ck_assert_int_eq(parse(image, image_size, &version), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elf");
    TCase *tc = scratch_case("elf");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, reads_the_version_of_a_plugin);
    tcase_add_test(tc, tells_what_is_missing);
    tcase_add_test(tc, survives_truncation);
    tcase_add_test(tc, survives_any_byte);
    tcase_add_test(tc, takes_this_machines_kind_only);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
