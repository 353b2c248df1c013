/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * `hpcbctl snapshot`: location of the snapshot.  No existing file is ever replaced: the
 * directory is created by mkdir(2), an archive is created by tar(1) in a private
 * directory next to its destination and then linked there.  The caller may be root in a
 * directory of another user, so everything below the output's parent uses descriptors.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/conf.h"
#include "common/file.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbctl/snapshot/intree.h"
#include "hpcbctl/output.h"
#include "hpcbctl/run.h"
#include "hpcbctl/snapshot/snapshot.h"
#include "hpcbctl/verbs.h"

#define DEFAULT_OUTPUT "hpcb-snapshot"
#define ARCHIVE        "snapshot.tar.gz" /* before it is linked to its place */
#define TO_ARCHIVE     "--file=snapshot.tar.gz"
#define ANSWER_MAX     4096
#define VERSION_MS     5000
#define TAR_MS         60000

typedef struct {
    const hpcb_ctl_t *ctl;
    const char *guest_cgroup;
    const char *slurm;
    hpcb_snapshot_t done;
} job_t;

/* Slurm's version: the last word of what `slurmd -V` says ("slurm-wlm 22.05.8"). */
static const char *slurm_version(char *version, size_t size)
{
    static const char *const programs[] = {"slurmd", "scontrol"};

    for (size_t i = 0; i < 2; i++) {
        hpcb_autofree char *answer = NULL;
        char path[PATH_MAX];
        char *argv[] = {path, "-V", NULL}, *word;

        if (hpcb_run_find(programs[i], path, sizeof(path), NULL) < 0 ||
            hpcb_run(argv, VERSION_MS, ANSWER_MAX, &answer, NULL) != 0)
            continue;
        answer[strcspn(answer, "\n")] = '\0';
        word = strrchr(answer, ' ');
        if (word && hpcb_text_is_name(word + 1, size)) {
            snprintf(version, size, "%s", word + 1);
            return version;
        }
    }
    return NULL;
}

static bool is_archive(const char *path)
{
    static const char *const ends[] = {".tar.gz", ".tgz"};
    size_t length = strlen(path);

    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(ends[i]);

        if (length > n && strcmp(path + length - n, ends[i]) == 0)
            return true;
    }
    return false;
}

/* Split path into an open parent directory (the caller closes it) and a name. */
static int open_parent(const char *path, char *name, size_t size, hpcb_error_t *err)
{
    hpcb_autofree char *parent = strdup(path);
    size_t length = strlen(path);
    char *slash;
    int fd;

    while (parent && length > 1 && parent[length - 1] == '/')
        parent[--length] = '\0';
    slash = parent ? strrchr(parent, '/') : NULL;
    if (!parent || hpcb_text_copy(name, size, slash ? slash + 1 : parent) || !*name) {
        errno = EINVAL;
        return hpcb_error(err, "%s: no name for a file", path);
    }
    if (slash)
        slash[slash == parent] = '\0';
    fd = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        hpcb_error(err, "%s: %s", slash ? parent : ".", strerror(errno));
    return fd;
}

/* A new directory of the caller's own, opened; the caller closes it. */
static int make_dir(int parent, const char *name, hpcb_error_t *err)
{
    struct stat status;
    int fd;

    if (mkdirat(parent, name, 0700) < 0)
        return hpcb_error(err, "%s: %s", name,
                          errno == EEXIST ? "exists, nothing is overwritten"
                                          : strerror(errno));
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & 077) == 0)
        return fd;
    hpcb_cleanup_close(&fd);
    return hpcb_error(err, "%s: replaced by another directory", name);
}

/* Make directory name in parent and take the snapshot in it; on failure it is removed.
 */
static int take_into(job_t *job, int parent, const char *name, hpcb_error_t *err)
{
    hpcb_autoclose int out = make_dir(parent, name, err);

    if (out < 0)
        return -1;
    if (hpcb_snapshot_take("/", out, job->guest_cgroup, job->ctl->keep_names,
                           job->slurm, &job->done, err) == 0)
        return 0;
    hpcb_intree_remove(parent, name);
    return -1;
}

/* In the current directory, with names that say nothing of the caller. */
static int run_tar(char *name, hpcb_error_t *err)
{
    hpcb_autofree char *answer = NULL;
    char path[PATH_MAX];
    char *argv[] = {path,
                    "--create",
                    "--gzip",
                    TO_ARCHIVE,
                    "--owner=0",
                    "--group=0",
                    "--numeric-owner",
                    "--mode=u+rwX,go-rwx",
                    "--",
                    name,
                    NULL};
    int rc;

    if (hpcb_run_find("tar", path, sizeof(path), err) < 0)
        return -1;
    rc = hpcb_run(argv, TAR_MS, ANSWER_MAX, &answer, err);
    return rc == 0 ? 0 : -1;
}

static int archive(job_t *job, int private, int parent, const char *file,
                   hpcb_error_t *err)
{
    char name[] = DEFAULT_OUTPUT;

    if (take_into(job, private, name, err) < 0)
        return -1;
    umask(077);
    if (fchdir(private) < 0)
        return hpcb_error(err, "%s: %s", file, strerror(errno));
    if (run_tar(name, err) < 0)
        return -1;
    if (linkat(private, ARCHIVE, parent, file, 0) == 0)
        return 0;
    return hpcb_error(err, "%s: %s", file,
                      errno == EEXIST ? "exists, nothing is overwritten"
                                      : strerror(errno));
}

static int take_archive(job_t *job, int parent, const char *file, hpcb_error_t *err)
{
    hpcb_autoclose int private = -1;
    struct stat status;
    char name[64];
    int rc;

    if (fstatat(parent, file, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return hpcb_error(err, "%s: exists, nothing is overwritten", file);
    }
    snprintf(name, sizeof(name), ".hpcb-snapshot.%ld", (long)getpid());
    private = make_dir(parent, name, err);
    if (private < 0)
        return -1;
    rc = archive(job, private, parent, file, err);
    if (hpcb_intree_remove(parent, name) < 0 && rc == 0)
        hpcb_log(HPCB_LOG_ERROR, "snapshot: cannot remove %s: %s", name,
                 strerror(errno));
    return rc;
}

static int print_json(const job_t *job, const char *output)
{
    hpcb_autojson json_object *object = json_object_new_object();
    const hpcb_snapshot_t *done = &job->done;

    if (!object || hpcb_json_text(object, "output", output) ||
        hpcb_json_text(object, "slurm", job->slurm) ||
        hpcb_json_bool(object, "names_kept", job->ctl->keep_names) ||
        hpcb_json_bool(object, "complete", !done->truncated) ||
        hpcb_json_u64(object, "files", done->files) ||
        hpcb_json_u64(object, "bytes", done->bytes) ||
        hpcb_json_u64(object, "jobs", done->jobs) ||
        hpcb_json_u64(object, "processes", done->processes))
        return -1;
    return hpcb_json_print(object, stdout);
}

static int print(const job_t *job, const char *output)
{
    const hpcb_snapshot_t *done = &job->done;

    if (job->ctl->json)
        return print_json(job, output);
    printf("%s: %" PRIu64 " files, %" PRIu64 " KiB; %u jobs, %u sets of cgroups\n",
           output, done->files, done->bytes / 1024, done->jobs, done->processes);
    if (done->jobs == 0)
        puts("No job runs here: a snapshot says most while one does.");
    puts(job->ctl->keep_names
             ? "Names and IDs are not replaced: check the file before you send it."
             : "Names and IDs are replaced.  Check the file before you send it.");
    return fflush(stdout);
}

int hpcb_snapshot(const hpcb_ctl_t *ctl)
{
    const char *output = ctl->output ? ctl->output : DEFAULT_OUTPUT;
    char path[PATH_MAX], name[NAME_MAX + 1], version[32];
    job_t job = {.ctl = ctl};
    hpcb_autoclose int parent = -1;
    hpcb_conf_t conf;
    hpcb_error_t err;
    int rc = -1;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), &conf, &err))
        hpcb_conf_defaults(&conf);
    job.guest_cgroup = conf.guest_cgroup;
    job.slurm = slurm_version(version, sizeof(version));
    parent = open_parent(output, name, sizeof(name), &err);
    if (parent >= 0)
        rc = is_archive(name) ? take_archive(&job, parent, name, &err)
                              : take_into(&job, parent, name, &err);
    if (rc < 0) {
        hpcb_log(HPCB_LOG_ERROR, "snapshot: %s", err.text);
        return 1;
    }
    if (job.done.truncated)
        hpcb_log(HPCB_LOG_ERROR,
                 "snapshot: this node is larger than a snapshot may be; "
                 "some of it is missing");
    if (print(&job, output) == 0)
        return 0;
    hpcb_log(HPCB_LOG_ERROR, "snapshot: cannot write to stdout");
    return 1;
}
