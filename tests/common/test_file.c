/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file.h"
#include "tests/common/crash.h"
#include "tests/common/scratch.h"

#define OTHER_USER 54321
#define WRITERS    8

START_TEST(read_gives_the_whole_or_nothing)
{
    const char *path = scratch("file");
    char buf[6] = "old";
    hpcb_error_t err;

    put_file(path, "12345");
    ck_assert_int_eq(hpcb_file_read(path, buf, 6, &err), 5);
    ck_assert_str_eq(buf, "12345");
    ck_assert_int_eq(hpcb_file_read(path, buf, 5, &err), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    put_file(path, "");
    ck_assert_int_eq(hpcb_file_read(path, buf, sizeof(buf), NULL), 0);
    ck_assert_str_eq(buf, "");
}
END_TEST

START_TEST(read_takes_the_kernels_files)
{
    char buf[65536];

    ck_assert_int_gt(hpcb_file_read("/proc/self/stat", buf, sizeof(buf), NULL), 0);
    ck_assert_int_eq(hpcb_file_read("/nonexistent", buf, sizeof(buf), NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* What must neither be followed nor waited for, whatever is done to it. */
static void expect_refusal(const char *path)
{
    char buf[64];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_file_read(path, buf, sizeof(buf), &err), -1);
    ck_assert_int_eq(hpcb_file_write(path, "1", &err), -1);
    ck_assert_int_eq(hpcb_file_append(path, "1", 0644, &err), -1);
    ck_assert_int_eq(hpcb_file_open_trusted(path, &err), -1);
    ck_assert_int_eq(hpcb_file_read_trusted(path, buf, sizeof(buf), &err), -1);
}

START_TEST(links_and_fifos_are_refused)
{
    const char *file = scratch("file"), *link = scratch("link");
    const char *fifo = scratch("fifo"), *dangling = scratch("dangling");

    put_file(file, "precious");
    ck_assert_int_eq(symlink(file, link), 0);
    ck_assert_int_eq(symlink(scratch("no such"), dangling), 0);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    expect_refusal(link);
    expect_refusal(dangling);
    expect_refusal(fifo);
    expect_refusal(scratch_dir());
    expect_refusal("/dev/null");
    ck_assert_str_eq(get_file(file), "precious");
    ck_assert_int_eq(access(scratch("no such"), F_OK), -1);
}
END_TEST

START_TEST(a_fifo_with_a_reader_gets_nothing)
{
    const char *fifo = scratch("fifo");
    char byte;
    int fd;

    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    fd = open(fifo, O_RDONLY | O_NONBLOCK);
    expect_refusal(fifo);
    ck_assert_int_eq(read(fd, &byte, 1), 0);
}
END_TEST

START_TEST(write_changes_existing_files_only)
{
    const char *knob = scratch("cpu.idle");
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_file_write(knob, "1", &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    put_file(knob, "1000\n");
    ck_assert_int_eq(hpcb_file_write(knob, "1", &err), 0);
    ck_assert_str_eq(get_file(knob), "1");
}
END_TEST

START_TEST(write_says_what_the_kernel_said)
{
    hpcb_error_t err;

    /* An oom_score_adj over 1000 is EINVAL on every kernel, for root as well. */
    ck_assert_int_eq(hpcb_file_write("/proc/self/oom_score_adj", "5000\n", &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_str_eq(err.text, "cannot write \"5000\" to /proc/self/oom_score_adj: "
                               "Invalid argument");
}
END_TEST

START_TEST(the_reason_survives_a_long_path)
{
    char path[2000];
    hpcb_error_t err;
    char buf[8];

    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    ck_assert_int_eq(hpcb_file_read(path, buf, sizeof(buf), &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, strerror(ENAMETOOLONG)));
    ck_assert_int_eq(hpcb_file_replace(path, "", 0, 0644, &err), -1);
}
END_TEST

START_TEST(replace_sets_content_and_mode)
{
    const char *path = scratch("state");

    umask(077);
    ck_assert_int_eq(hpcb_file_replace(path, "one\n", 4, 0644, NULL), 0);
    ck_assert_str_eq(get_file(path), "one\n");
    ck_assert_uint_eq(mode_of(path), 0644);
    ck_assert_int_eq(hpcb_file_replace(path, "two\n", 4, 0600, NULL), 0);
    ck_assert_str_eq(get_file(path), "two\n");
    ck_assert_uint_eq(mode_of(path), 0600);
    ck_assert_int_eq(count_entries(scratch_dir()), 1);
}
END_TEST

START_TEST(replace_puts_a_file_where_a_link_was)
{
    const char *path = scratch("state"), *victim = scratch("victim");

    put_file(victim, "precious");
    ck_assert_int_eq(symlink(victim, path), 0);
    ck_assert_int_eq(hpcb_file_replace(path, "new", 3, 0644, NULL), 0);
    ck_assert_str_eq(get_file(victim), "precious");
    ck_assert_str_eq(get_file(path), "new");
}
END_TEST

START_TEST(a_full_disk_leaves_the_old_file)
{
    const char *path = scratch("state"), *log = scratch("log");
    const char *text = "0123456789";
    int replaced, created, appended, why_not_replaced, why_not_appended;
    struct rlimit limit;

    put_file(path, "old");
    signal(SIGXFSZ, SIG_IGN);
    /* Check writes to a file as well: it gets its room back before it is asked. */
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){8, limit.rlim_max});
    replaced = hpcb_file_replace(path, text, 10, 0644, NULL);
    why_not_replaced = errno;
    created = hpcb_file_create(scratch("new"), text, 10, 0644, NULL);
    appended = hpcb_file_append(log, text, 0644, NULL);
    why_not_appended = errno;
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert_int_eq(replaced, -1);
    ck_assert_int_eq(why_not_replaced, EFBIG);
    ck_assert_int_eq(created, -1);
    ck_assert_int_eq(appended, -1);
    ck_assert_int_eq(why_not_appended, EIO);
    ck_assert_str_eq(get_file(path), "old");
    ck_assert_int_eq(count_entries(scratch_dir()), 2);
}
END_TEST

static char content[20000];

static void fill(char c)
{
    memset(content, c, sizeof(content));
}

static void replace_with_new(void)
{
    fill('n');
    hpcb_file_replace(scratch("state"), content, sizeof(content), 0644, NULL);
}

/* The file is all old or all new. */
static void expect_whole(void)
{
    const char *text = get_file(scratch("state"));

    ck_assert_uint_eq(strlen(text), sizeof(content));
    ck_assert_uint_eq(strspn(text, text[0] == 'o' ? "o" : "n"), sizeof(content));
}

START_TEST(replace_survives_a_crash_anywhere)
{
    fill('o');
    ck_assert_int_eq(
        hpcb_file_replace(scratch("state"), content, sizeof(content), 0644, NULL), 0);
    /* mkostemp, write, half a write, fchmod, fsync, close, rename, fsync and close of
     * the directory */
    ck_assert_int_ge(crash_everywhere(replace_with_new, expect_whole), 8);
    ck_assert_int_eq(get_file(scratch("state"))[0], 'n');
}
END_TEST

static void create_new(void)
{
    fill('n');
    hpcb_file_create(scratch("state"), content, sizeof(content), 0644, NULL);
}

static void expect_whole_or_none(void)
{
    if (access(scratch("state"), F_OK) == 0)
        expect_whole();
}

START_TEST(create_survives_a_crash_anywhere)
{
    ck_assert_int_ge(crash_everywhere(create_new, expect_whole_or_none), 8);
    expect_whole();
}
END_TEST

START_TEST(create_refuses_what_is_there)
{
    const char *path = scratch("state"), *link = scratch("link");

    ck_assert_int_eq(hpcb_file_create(path, "first", 5, 0644, NULL), 0);
    ck_assert_int_eq(hpcb_file_create(path, "second", 6, 0644, NULL), -1);
    ck_assert_int_eq(errno, EEXIST);
    ck_assert_str_eq(get_file(path), "first");
    ck_assert_int_eq(symlink(scratch("no such"), link), 0);
    ck_assert_int_eq(hpcb_file_create(link, "x", 1, 0644, NULL), -1);
    ck_assert_int_eq(errno, EEXIST);
    ck_assert_int_eq(count_entries(scratch_dir()), 2);
}
END_TEST

START_TEST(of_many_creators_one_wins)
{
    const char *path = scratch("state");
    int winners = 0, winner = -1;
    int gate[2];
    char byte;

    ck_assert_int_eq(pipe(gate), 0);
    pid_t pids[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            close(gate[1]);
            fill((char)('a' + i));
            if (read(gate[0], &byte, 1) != 0)
                _exit(2);
            _exit(hpcb_file_create(path, content, sizeof(content), 0644, NULL) != 0);
        }
    }
    close(gate[1]);
    for (int i = 0; i < WRITERS; i++) {
        int status;

        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        if (WEXITSTATUS(status) == 0) {
            winners++;
            winner = i;
        }
    }
    ck_assert_int_eq(winners, 1);
    ck_assert_int_eq(get_file(path)[0], 'a' + winner);
    ck_assert_uint_eq(strlen(get_file(path)), sizeof(content));
    ck_assert_int_eq(count_entries(scratch_dir()), 1);
}
END_TEST

START_TEST(append_creates_and_appends)
{
    const char *path = scratch("usage");

    umask(0);
    ck_assert_int_eq(hpcb_file_append(path, "one\n", 0644, NULL), 0);
    ck_assert_int_eq(hpcb_file_append(path, "two\n", 0600, NULL), 0);
    ck_assert_str_eq(get_file(path), "one\ntwo\n");
    ck_assert_uint_eq(mode_of(path), 0644);
}
END_TEST

START_TEST(mkdirs_makes_what_is_missing)
{
    umask(077);
    ck_assert_int_eq(mkdir(scratch("a"), 0700), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("a/b//c/"), 0755, NULL), 0);
    ck_assert_uint_eq(mode_of(scratch("a")), 0700);
    ck_assert_uint_eq(mode_of(scratch("a/b")), 0755);
    ck_assert_uint_eq(mode_of(scratch("a/b/c")), 0755);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("a/b/c"), 0700, NULL), 0);
    ck_assert_uint_eq(mode_of(scratch("a/b/c")), 0755);
    ck_assert_int_eq(hpcb_file_mkdirs("/", 0755, NULL), 0);
}
END_TEST

START_TEST(mkdirs_says_what_is_in_the_way)
{
    hpcb_error_t err;

    put_file(scratch("file"), "");
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("file"), 0755, &err), -1);
    ck_assert_int_eq(errno, ENOTDIR);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("file/below"), 0755, &err), -1);
    ck_assert_int_eq(symlink(scratch("no such"), scratch("link")), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("link"), 0755, &err), -1);
    ck_assert_int_eq(access(scratch("no such"), F_OK), -1);
    ck_assert_int_eq(symlink(scratch_dir(), scratch("here")), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("here/sub"), 0755, &err), 0);
}
END_TEST

START_TEST(trust_wants_a_file_that_others_cannot_write)
{
    static const mode_t bad[] = {0664, 0646, 0666, 0622, 0777};
    const char *path = scratch("file");
    char buf[16];
    hpcb_error_t err;

    put_file(path, "text");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(chmod(path, bad[i]), 0);
        ck_assert_int_eq(hpcb_file_trusted(path, &err), -1);
        ck_assert_int_eq(errno, EPERM);
        ck_assert_int_eq(hpcb_file_read_trusted(path, buf, sizeof(buf), &err), -1);
        ck_assert_int_eq(errno, EPERM);
    }
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(hpcb_file_trusted(path, &err), 0);
    ck_assert_int_eq(hpcb_file_read_trusted(path, buf, sizeof(buf), &err), 4);
    ck_assert_str_eq(buf, "text");
}
END_TEST

START_TEST(trust_follows_no_link_and_misses_nothing)
{
    const char *path = scratch("file"), *link = scratch("link");
    hpcb_error_t err;

    put_file(path, "text");
    ck_assert_int_eq(symlink(path, link), 0);
    ck_assert_int_eq(hpcb_file_trusted(link, &err), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(hpcb_file_trusted(scratch("no such"), &err), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(hpcb_file_trusted("/etc/passwd", &err), 0);
}
END_TEST

START_TEST(trust_goes_by_the_effective_user)
{
    const char *theirs = scratch("theirs"), *roots = scratch("roots");
    hpcb_error_t err;

    if (geteuid() != 0)
        return;
    put_file(theirs, "x");
    put_file(roots, "x");
    ck_assert_int_eq(chmod(scratch_dir(), 0755), 0);
    ck_assert_int_eq(chmod(theirs, 0600), 0);
    ck_assert_int_eq(chown(theirs, OTHER_USER, OTHER_USER), 0);
    ck_assert_int_eq(hpcb_file_trusted(theirs, &err), -1);
    ck_assert_int_eq(hpcb_file_open_trusted(theirs, &err), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "another user"));
    ck_assert_int_eq(chdir(scratch_dir()), 0);
    ck_assert_int_eq(seteuid(OTHER_USER), 0);
    ck_assert_int_eq(hpcb_file_trusted("theirs", &err), 0);
    ck_assert_int_eq(hpcb_file_trusted("/etc/passwd", &err), 0);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(hpcb_file_trusted(roots, &err), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tc = scratch_case("file");

    tcase_add_test(tc, read_gives_the_whole_or_nothing);
    tcase_add_test(tc, read_takes_the_kernels_files);
    tcase_add_test(tc, links_and_fifos_are_refused);
    tcase_add_test(tc, a_fifo_with_a_reader_gets_nothing);
    tcase_add_test(tc, write_changes_existing_files_only);
    tcase_add_test(tc, write_says_what_the_kernel_said);
    tcase_add_test(tc, the_reason_survives_a_long_path);
    tcase_add_test(tc, replace_sets_content_and_mode);
    tcase_add_test(tc, replace_puts_a_file_where_a_link_was);
    tcase_add_test(tc, a_full_disk_leaves_the_old_file);
    tcase_add_test(tc, replace_survives_a_crash_anywhere);
    tcase_add_test(tc, create_survives_a_crash_anywhere);
    tcase_add_test(tc, create_refuses_what_is_there);
    tcase_add_test(tc, of_many_creators_one_wins);
    tcase_add_test(tc, append_creates_and_appends);
    tcase_add_test(tc, mkdirs_makes_what_is_missing);
    tcase_add_test(tc, mkdirs_says_what_is_in_the_way);
    tcase_add_test(tc, trust_wants_a_file_that_others_cannot_write);
    tcase_add_test(tc, trust_follows_no_link_and_misses_nothing);
    tcase_add_test(tc, trust_goes_by_the_effective_user);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
