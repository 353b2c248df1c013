/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview.  describe() writes what discovery finds in a tree, line by line.  Of every
 * snapshot of tests/snapshots, and of the directories and snapshots in the directory
 * that HPCB_SNAPSHOTS names (sent in by users, or just taken):
 *  - tests/snapshots/bundle makes the same text of it again;
 *  - discovery finds what the file `expected` in it says, if there is one;
 *  - a snapshot of it gives the same description;
 *  - so does one with names replaced, once the names of both are made alike.
 * HPCB_DESCRIBE=PATH prints the description of a directory or snapshot and ends: for a
 * new `expected`, to be read by a person before it is committed.
 */
#include "config.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/mechanism.h"
#include "common/file.h"
#include "common/text.h"
#include "hpcbctl/snapshot/intree.h"
#include "hpcbctl/snapshot/anonymize.h"
#include "hpcbctl/snapshot/snapshot.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/snapshot.h"
#include "tests/common/tmp.h"

#define GUESTS        "hpcb_guest"
#define SNAPSHOTS_MAX 64
#define PIDS_MAX      256

static char snapshots[SNAPSHOTS_MAX][PATH_MAX]; /* directories */
static char bundles[SNAPSHOTS_MAX][PATH_MAX]; /* what they were unpacked from, or "" */
static int n_snapshots;

static char work[TEST_TMP_MAX];

static void open_work(void)
{
    test_tmp_dir(work);
}

/* ---- what discovery finds ---- */

/* Also outside of a test. */
static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

typedef struct {
    FILE *out;
    const char *root;
    hpcb_node_t *node;
    hpcb_anonymize_t *names; /* NULL: as they are */
} describe_t;

static const char *shown(const describe_t *d, const char *path)
{
    static char mapped[PATH_MAX];

    path += strlen(d->root);
    if (!d->names)
        return path;
    need(hpcb_anonymize_path(d->names, path, mapped, sizeof(mapped)) == 0, path);
    return mapped;
}

static void describe_mounts(const describe_t *d)
{
    for (int i = 0; i < HPCB_CTL_COUNT; i++) {
        hpcb_controller_t c = (hpcb_controller_t)i;
        const char *mount = hpcb_node_mount(d->node, c);
        int version = hpcb_node_version(d->node, c);

        if (mount)
            fprintf(d->out, "%s v%d %s%s\n", hpcb_node_controller_name(c, version),
                    version, shown(d, mount),
                    hpcb_node_root_group(d->node, c) ? " root" : "");
    }
}

static void describe_node(const describe_t *d)
{
    const hpcb_mechanism_t *rows;
    size_t count;

    fprintf(d->out, "autogroup %d sched_ext %d linux5.15 %d linux6.12 %d\n",
            hpcb_node_autogroup(d->node), hpcb_node_sched_ext(d->node),
            hpcb_node_linux(d->node, 5, 15), hpcb_node_linux(d->node, 6, 12));
    rows = hpcb_mechanisms(&count);
    for (size_t i = 0; i < count; i++) {
        /* Of these the running kernel or processor decides, not the tree. */
        if (strcmp(rows[i].name, "ppr") == 0 ||
            strcmp(rows[i].name, "core-cookie") == 0)
            continue;
        fprintf(d->out, "%s %s\n", rows[i].name,
                rows[i].probe(d->node, NULL) == 0 ? "yes" : "no");
    }
}

static const char *why(void)
{
    return errno == EXDEV ? "outside" : "none";
}

/* Rows that are verified in the tree alone. */
static void describe_force(const describe_t *d, pid_t pid)
{
    static const char *const rows[] = {"idle-group", "weight"};
    const hpcb_target_t target = {.node = d->node, .pid = pid, .guest_cgroup = GUESTS};

    for (size_t i = 0; i < 2; i++)
        if (hpcb_mechanism_find(rows[i])->verify(&target, NULL) == 0)
            fprintf(d->out, "  %s in force\n", rows[i]);
}

static void describe_task(const describe_t *d, pid_t pid)
{
    char dir[PATH_MAX];

    for (int i = 0; i < HPCB_CTL_COUNT; i++) {
        hpcb_controller_t c = (hpcb_controller_t)i;
        int version = hpcb_node_version(d->node, c);

        if (!version)
            continue;
        fprintf(d->out, "  %s", hpcb_node_controller_name(c, version));
        fprintf(d->out, " %s",
                hpcb_node_task_dir(d->node, pid, c, dir, sizeof(dir), NULL) < 0
                    ? why()
                    : shown(d, dir));
        fprintf(d->out, " job %s\n",
                hpcb_node_job_dir(d->node, pid, c, dir, sizeof(dir), NULL) < 0
                    ? why()
                    : shown(d, dir));
    }
    describe_force(d, pid);
}

typedef struct {
    pid_t list[PIDS_MAX];
    size_t count;
} pids_t;

static int by_number(const void *a, const void *b)
{
    return *(const pid_t *)a - *(const pid_t *)b;
}

static pids_t pids_of(const char *root)
{
    char path[PATH_MAX];
    pids_t pids = {.count = 0};
    struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/proc", root);
    dir = opendir(path);
    need(dir != NULL, path);
    while ((entry = readdir(dir))) {
        uint64_t pid;

        if (hpcb_text_u64(entry->d_name, INT_MAX, &pid) == 0 && pids.count < PIDS_MAX)
            pids.list[pids.count++] = (pid_t)pid;
    }
    closedir(dir);
    qsort(pids.list, pids.count, sizeof(pids.list[0]), by_number);
    return pids;
}

/* The caller frees it. */
static char *describe(const char *root, const pids_t *pids, bool alike)
{
    describe_t d = {.root = root};
    hpcb_error_t err;
    char *text;
    size_t length;

    d.out = open_memstream(&text, &length);
    need(hpcb_node_open(root, &d.node, &err) == 0, err.text);
    d.names = alike ? hpcb_anonymize_open(false, GUESTS) : NULL;
    describe_mounts(&d);
    describe_node(&d);
    for (size_t i = 0; i < pids->count; i++) {
        fprintf(d.out, "task %d\n", alike ? (int)i : (int)pids->list[i]);
        describe_task(&d, pids->list[i]);
    }
    fclose(d.out);
    hpcb_anonymize_close(d.names);
    hpcb_node_close(d.node);
    return text;
}

/* ---- snapshots of snapshots ---- */

/* Into work/name; returns its path. */
static const char *take(const char *root, const char *name, bool keep,
                        hpcb_snapshot_t *done)
{
    static char paths[2][PATH_MAX];
    static int turn;
    char *path = paths[turn ^= 1];
    hpcb_error_t err;
    int out;

    snprintf(path, PATH_MAX, "%s/%s", work, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    out = open(path, O_RDONLY | O_DIRECTORY);
    ck_assert_msg(hpcb_snapshot_take(root, out, GUESTS, keep, "1.2.3", done, &err) == 0,
                  "%s", err.text);
    close(out);
    return path;
}

/* By line: Check has no room for a whole description. */
static void expect_same(const char *found, const char *expected)
{
    for (int line = 1; strcmp(found, expected) != 0; line++) {
        int n = (int)strcspn(found, "\n"), m = (int)strcspn(expected, "\n");

        ck_assert_msg(n == m && strncmp(found, expected, (size_t)n) == 0 && found[n],
                      "line %d is \"%.*s\", not \"%.*s\"", line, n, found, m, expected);
        found += n + 1;
        expected += m + 1;
    }
}

START_TEST(is_bundled_as_it_was)
{
    const char *source = getenv("HPCB_SRCDIR");
    char command[4 * PATH_MAX];

    if (!bundles[_i][0])
        return;
    snprintf(command, sizeof(command),
             "'%s/tests/snapshots/bundle' '%s' | diff '%s' - >&2",
             source ? source : ".", snapshots[_i], bundles[_i]);
    ck_assert_msg(system(command) == 0, "%s", command);
}
END_TEST

START_TEST(finds_what_is_expected)
{
    const char *root = snapshots[_i];
    static char expected[65536];
    pids_t pids = pids_of(root);
    char path[PATH_MAX + 16], *found = describe(root, &pids, false);

    snprintf(path, sizeof(path), "%s/expected", root);
    if (hpcb_file_read(path, expected, sizeof(expected), NULL) >= 0)
        expect_same(found, expected);
    free(found);
}
END_TEST

START_TEST(gives_the_same_discovery)
{
    hpcb_snapshot_t done;
    const char *root = snapshots[_i], *kept = take(root, "kept", true, &done);
    pids_t pids = pids_of(kept);
    char *before = describe(root, &pids, false), *after = describe(kept, &pids, false);

    expect_same(after, before);
    ck_assert_uint_eq(done.processes, pids.count);
    ck_assert(!done.truncated);
    free(before);
    free(after);
}
END_TEST

START_TEST(gives_the_same_under_other_names)
{
    hpcb_snapshot_t done, other;
    const char *root = snapshots[_i], *kept = take(root, "kept", true, &done);
    const char *replaced = take(root, "replaced", false, &other);
    pids_t pids = pids_of(kept), numbered = pids_of(replaced);
    char *before = describe(root, &pids, true),
         *after = describe(replaced, &numbered, true);

    expect_same(after, before);
    ck_assert_uint_eq(done.jobs, other.jobs);
    ck_assert_uint_eq(done.files, other.files);
    free(before);
    free(after);
}
END_TEST

START_TEST(a_second_one_changes_nothing)
{
    char command[PATH_MAX];
    hpcb_snapshot_t done;
    const char *first = take(snapshots[_i], "first", false, &done);

    take(first, "second", false, &done);
    snprintf(command, sizeof(command), "diff -r '%s/first' '%s/second' >&2", work,
             work);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- what must not be in it ---- */

static bool holds(const char *tree, const char *word)
{
    char command[PATH_MAX + 128];

    snprintf(
        command, sizeof(command),
        "{ grep -rqF -e '%s' '%s' || find '%s' | sed 's,^%s,,' | grep -qF -e '%s'; "
        "}",
        word, tree, tree, tree, word);
    return system(command) == 0;
}

static void in_tree(const char *root, const char *format)
{
    char command[PATH_MAX];

    snprintf(command, sizeof(command), "cd '%s' && %s", root, format);
    ck_assert_msg(system(command) == 0, "%s", command);
}

START_TEST(names_nobody)
{
    static const char *const secrets[] = {"scb1",  "7001",    "job_5",  "alice",
                                          "10.1.", "secret",  "agent1", "export",
                                          "cmd",   "environ", "SECRET"};
    hpcb_snapshot_t done;
    const char *root = fake_start("v1-hybrid"), *out;

    in_tree(root, "echo SECRET >proc/100/cmdline && echo SECRET >proc/100/environ && "
                  "echo SECRET >proc/100/comm && "
                  "echo agent1 >sys/fs/cgroup/cpu/release_agent && "
                  "echo SECRET >sys/fs/cgroup/cpu/secret && "
                  "echo '77 1 0:9 / /home/alice rw - nfs4 10.1.2.3:/export rw' "
                  ">>proc/self/mountinfo && "
                  "echo '78 32 0:9 / /sys/fs/cgroup/cpuset rw - nfs4 10.1.2.3:/export "
                  "rw,addr=10.1.2.3' >>proc/self/mountinfo && "
                  "echo '20:name=alice:/' >>proc/100/cgroup && mkdir proc/300 && "
                  "echo '4:memory:/slurm_scb1/uid_7001/job_5/step_0/alice' "
                  ">proc/300/cgroup");
    out = take(root, "out", false, &done);
    ck_assert_uint_eq(done.processes, 3);
    ck_assert_uint_eq(done.jobs, 1);
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        ck_assert_msg(!holds(out, secrets[i]), "%s", secrets[i]);
    ck_assert(holds(out, "uid_1001/job_1"));
    ck_assert(holds(out, "Names=replaced"));
    ck_assert(holds(take(root, "kept", true, &done), "slurm_scb1/uid_7001/job_5"));
    fake_stop();
}
END_TEST

/* Everything that is no plain file of a plain directory stays out. */
START_TEST(follows_no_link)
{
    hpcb_snapshot_t done;
    const char *root = fake_start("v1-hybrid"), *out;

    in_tree(root,
            "mkdir elsewhere && echo SECRET >elsewhere/cpu.shares && "
            "echo SECRET >elsewhere/freezer.state && "
            "ln -sf ../../../../elsewhere/cpu.shares sys/fs/cgroup/cpu/cpu.shares "
            "&& ln -sf /etc/passwd sys/fs/cgroup/cpu/cpu.stat && "
            "rm -r sys/fs/cgroup/freezer/slurm_scb1/uid_7001/job_5/step_0 && "
            "ln -s ../../../../../../../elsewhere "
            "sys/fs/cgroup/freezer/slurm_scb1/uid_7001/job_5/step_0 && "
            "rm -f sys/fs/cgroup/cpu/cpu.idle && mkfifo sys/fs/cgroup/cpu/cpu.idle "
            "&& mkdir -p sys/devices/system && ln -s /sys/devices/system/cpu "
            "sys/devices/system/cpu && "
            "ln -sf ../../../../elsewhere/cpu.shares proc/sys/kernel/osrelease");
    out = take(root, "out", true, &done);
    ck_assert(!holds(out, "SECRET"));
    ck_assert(!holds(out, "root:"));
    ck_assert(!holds(out, "cpu.idle"));
    ck_assert(!holds(out, "thread_siblings"));
    in_tree(out, "test -z \"$(find . ! -type d ! -type f)\"");
    in_tree(out, "test -z \"$(find . -type f ! -perm 600)\"");
    in_tree(out, "test -z \"$(find . -type d ! -perm 700)\"");
    fake_stop();
}
END_TEST

START_TEST(is_bounded)
{
    hpcb_snapshot_t done;
    const char *root = fake_start("v1-hybrid"), *out;

    in_tree(root,
            "mkdir $(seq -f proc/%g 1000 1099) && for i in $(seq 1000 1099); do echo "
            "\"4:memory:/slurm_scb1/uid_1/job_$i/step_0\" >proc/$i/cgroup; done; "
            "mkdir proc/50 proc/51 && { printf 4:memory:/slurm_scb1/uid_1/job_3; "
            "printf '/x%.0s' $(seq 1500); echo; } >proc/50/cgroup && "
            "{ cat proc/100/cgroup; head -c 70000 /dev/zero | tr '\\0' x; } "
            ">proc/51/cgroup && head -c 5000 /dev/zero >sys/fs/cgroup/cpu/cpu.stat");
    out = take(root, "out", false, &done);
    ck_assert(done.truncated);
    ck_assert_uint_eq(done.processes, 64);
    ck_assert_uint_lt(done.files, 2000);
    ck_assert(holds(out, "Complete=no"));
    in_tree(out, "test ! -e sys/fs/cgroup/cpu/cpu.stat");
    fake_stop();
}
END_TEST

/* 20 mounts of 22 files; the usual limit would take a busy machine a minute. */
START_TEST(has_a_limit_of_files)
{
    hpcb_snapshot_t done;
    const char *root = fake_start("v1-hybrid");

    hpcb_snapshot_files_max = 300;
    in_tree(root,
            "for i in $(seq 100 119); do "
            "echo \"$i 31 0:1 / /m$i rw - cgroup c rw,pids\"; "
            "done >>proc/self/mountinfo; "
            "for i in $(seq 100 119); do echo m$i; done | xargs mkdir; "
            "for f in cgroup.procs cgroup.controllers cgroup.events cgroup.freeze "
            "cgroup.type cpu.cfs_period_us cpu.cfs_quota_us cpu.idle cpu.max "
            "cpu.pressure cpu.rt_period_us cpu.rt_runtime_us cpu.shares cpu.stat "
            "cpu.weight cpuset.cpus cpuset.mems freezer.state io.weight "
            "memory.high memory.max memory.peak; do "
            "for i in $(seq 100 119); do echo m$i/$f; done; done | xargs touch");
    take(root, "out", true, &done);
    ck_assert(done.truncated);
    /* And `about`. */
    ck_assert_uint_eq(done.files, 301);
    fake_stop();
}
END_TEST

START_TEST(overwrites_nothing)
{
    hpcb_snapshot_t done = {.files = 77};
    const char *root = fake_start("v1-hybrid");
    hpcb_error_t err;
    int out = open(work, O_RDONLY | O_DIRECTORY);

    in_tree(work, "mkdir elsewhere && ln -s elsewhere proc");
    ck_assert_int_eq(hpcb_snapshot_take(root, out, GUESTS, true, NULL, &done, &err),
                     -1);
    in_tree(work, "rmdir elsewhere && rm proc && echo mine >about");
    ck_assert_int_eq(hpcb_snapshot_take(root, out, GUESTS, true, NULL, &done, &err),
                     -1);
    in_tree(work, "test \"$(cat about)\" = mine");
    ck_assert_uint_eq(done.files, 77);
    ck_assert_int_eq(
        hpcb_snapshot_take("/nonexistent", out, GUESTS, true, NULL, &done, &err), -1);
    close(out);
    fake_stop();
}
END_TEST

START_TEST(stays_in_its_tree)
{
    static const char *const bad[] = {"",       "/x", "../x",  "a/../x", "a//x",
                                      "link/x", ".",  "a/./x", "file/x"};
    int tree = open(work, O_RDONLY | O_DIRECTORY);
    char text[16];

    in_tree(work, "mkdir a b && touch file && ln -s b link && ln -s file filelink && "
                  "echo x >b/x && echo 0123456789abcdef >long");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(hpcb_intree_write(tree, bad[i], "", 0), -1);
        ck_assert_int_eq(hpcb_intree_read(tree, bad[i], text, sizeof(text)), -1);
        ck_assert(!hpcb_intree_exists(tree, bad[i]));
    }
    ck_assert_int_eq(hpcb_intree_read(tree, "filelink", text, sizeof(text)), -1);
    ck_assert(!hpcb_intree_exists(tree, "filelink"));
    ck_assert_int_eq(hpcb_intree_read(tree, "a", text, sizeof(text)), -1);
    ck_assert_int_eq(hpcb_intree_read(tree, "long", text, sizeof(text)), -1);
    ck_assert_int_eq(errno, EFBIG);
    ck_assert_int_eq(hpcb_intree_read(tree, "b/x", text, sizeof(text)), 2);
    ck_assert_int_eq(hpcb_intree_remove(tree, "link"), -1);
    ck_assert_int_eq(hpcb_intree_write(tree, "c/d/e", "x", 1), 0);
    in_tree(work, "ln -s ../../b c/d/link && test -e b/x");
    ck_assert_int_eq(hpcb_intree_remove(tree, "c"), 0);
    in_tree(work, "test ! -e c && test -e b/x");
    close(tree);
}
END_TEST

static bool is_bundle(const char *path)
{
    size_t length = strlen(path), suffix = strlen(TEST_SNAPSHOT_SUFFIX);

    return length > suffix && strcmp(path + length - suffix, TEST_SNAPSHOT_SUFFIX) == 0;
}

static void add_snapshot(const char *path)
{
    char self[PATH_MAX + 32], dir[TEST_TMP_MAX];

    snprintf(self, sizeof(self), "%s/proc/self/mountinfo", path);
    if (is_bundle(path)) {
        test_tmp_dir(dir);
        test_snapshot_unpack(path, dir);
        snprintf(bundles[n_snapshots], PATH_MAX, "%s", path);
        snprintf(snapshots[n_snapshots++], PATH_MAX, "%s", dir);
    } else if (access(self, R_OK) == 0) {
        snprintf(snapshots[n_snapshots++], PATH_MAX, "%s", path);
    }
}

static void add_snapshots(const char *dir)
{
    DIR *handle = opendir(dir);
    struct dirent *entry;

    while (handle && (entry = readdir(handle)) && n_snapshots < SNAPSHOTS_MAX) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%.2000s/%s", dir, entry->d_name);
        add_snapshot(path);
    }
    if (handle)
        closedir(handle);
}

static int print_description(const char *path)
{
    pids_t pids;
    char *text;

    add_snapshot(path);
    need(n_snapshots == 1, "HPCB_DESCRIBE: neither a snapshot nor a directory of one");
    pids = pids_of(snapshots[0]);
    text = describe(snapshots[0], &pids, false);

    fputs(text, stdout);
    free(text);
    return EXIT_SUCCESS;
}

int main(void)
{
    const char *source = getenv("HPCB_SRCDIR"), *more = getenv("HPCB_SNAPSHOTS");
    Suite *suite = suite_create("snapshot");
    TCase *tcase = tcase_create("snapshot");
    char dir[PATH_MAX];
    SRunner *runner;
    int failed;

    if (getenv("HPCB_DESCRIBE"))
        return print_description(getenv("HPCB_DESCRIBE"));
    snprintf(dir, sizeof(dir), "%s/tests/snapshots", source ? source : ".");
    add_snapshots(dir);
    if (more)
        add_snapshots(more);
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, open_work, NULL);
    tcase_add_loop_test(tcase, is_bundled_as_it_was, 0, n_snapshots);
    tcase_add_loop_test(tcase, finds_what_is_expected, 0, n_snapshots);
    tcase_add_loop_test(tcase, gives_the_same_discovery, 0, n_snapshots);
    tcase_add_loop_test(tcase, gives_the_same_under_other_names, 0, n_snapshots);
    tcase_add_loop_test(tcase, a_second_one_changes_nothing, 0, n_snapshots);
    tcase_add_test(tcase, names_nobody);
    tcase_add_test(tcase, follows_no_link);
    tcase_add_test(tcase, is_bounded);
    tcase_add_test(tcase, has_a_limit_of_files);
    tcase_add_test(tcase, overwrites_nothing);
    tcase_add_test(tcase, stays_in_its_tree);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed || n_snapshots == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
