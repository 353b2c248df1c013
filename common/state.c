/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * StateDir/jobs: <id> is written as a whole by hpcb_file_create (so that the first
 * writer wins) and read as a whole; <id>.usage grows by a line per finished step, and
 * is folded when it is long (<id>.usage.lock; <id>.usage.late if that is not
 * available).
 *
 * The removal of a job renames <id> to <id>.over, which is removed last: if it exists
 * without <id>, a removal was interrupted and must be finished.
 *
 * A usage line begins with a newline and ends with the word "end": a line truncated by
 * a crash or a full disk is terminated by the next one and lacks its end.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/state.h"
#include "common/text.h"

#define RECORD_BYTES 1024
#define LINE_BYTES   256
#define FILE_MODE    0644
#define DIR_MODE     0755
#define OVER         ".over"
#define PLACE        ".place"
#define CORES        ".cores"
#define USAGE        ".usage"
#define USAGE_LATE   ".usage.late"
#define UNDO         ".undo"
#define USAGE_BYTES  16384 /* of one job; some 150 steps */
#define LOCK_TRIES   50    /* of 1 ms */

/* "" is a word as well: a job's partition may be unknown. */
static bool is_word(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

/* Get STATE_DIR/jobs, or a file in it if id is not 0. */
static int job_path(char *path, const char *state_dir, uint32_t id, const char *suffix,
                    hpcb_error_t *err)
{
    int n;

    if (id == 0)
        n = snprintf(path, PATH_MAX, "%s/jobs", state_dir);
    else
        n = snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 "%s", state_dir, id, suffix);
    if (n < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the state directory's name is too long");
}

/* Anybody who may write to one of the two directories could replace their content. */
static int check_dirs(const char *state_dir, hpcb_error_t *err)
{
    char jobs[PATH_MAX];

    if (job_path(jobs, state_dir, 0, "", err))
        return -1;
    return hpcb_file_trusted(state_dir, err) || hpcb_file_trusted(jobs, err) ? -1 : 0;
}

static int read_u32(const char *text, uint32_t *value)
{
    uint64_t wide;

    if (hpcb_text_u64(text, UINT32_MAX, &wide))
        return -1;
    *value = (uint32_t)wide;
    return 0;
}

static int read_yes_no(const char *text, bool *value)
{
    *value = strcmp(text, "yes") == 0;
    return *value || strcmp(text, "no") == 0 ? 0 : -1;
}

static int read_partition(const char *text, char *partition)
{
    return is_word(text) ? hpcb_text_copy(partition, HPCB_NAME_MAX, text) : -1;
}

static bool is_sluid(const char *text)
{
    return text[strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz")] == '\0';
}

static int read_sluid(const char *text, char *sluid)
{
    return is_sluid(text) ? hpcb_text_copy(sluid, HPCB_SLUID_MAX, text) : -1;
}

void hpcb_state_sluid(char sluid[static HPCB_SLUID_MAX])
{
    const char *text = getenv("SLURM_JOB_SLUID");

    if (!text || read_sluid(text, sluid))
        sluid[0] = '\0';
}

enum {
    JOB_ID,
    UID,
    CLASS,
    POLICY,
    YIELD_WAITS,
    PARTITION,
    BEGIN,
    SLUID,
    WINDOW,
    BOOT,
    N_KEYS
};

/* Records of Slurms before 26.05 have no SLUID, most jobs no window, and those of
 * earlier releases of ours no boot. */
#define NEEDED_KEYS ((1u << N_KEYS) - 1 - (1u << SLUID) - (1u << WINDOW) - (1u << BOOT))

static const char *const key_names[N_KEYS] = {
    [JOB_ID] = "JobId",        [UID] = "Uid",     [CLASS] = "Class",
    [POLICY] = "Policy",       [BEGIN] = "Begin", [YIELD_WAITS] = "YieldWaits",
    [PARTITION] = "Partition", [SLUID] = "Sluid", [WINDOW] = "Window",
    [BOOT] = "Boot",
};

static int read_value(unsigned key, const char *value, hpcb_job_state_t *state)
{
    switch (key) {
    case JOB_ID:
        return read_u32(value, &state->job_id) || state->job_id == 0 ? -1 : 0;
    case UID:
        return read_u32(value, &state->uid);
    case CLASS:
        return hpcb_class_from_name(value, &state->klass) ||
                       state->klass == HPCB_CLASS_UNKNOWN
                   ? -1
                   : 0;
    case POLICY:
        return hpcb_policy_from_name(value, &state->policy);
    case YIELD_WAITS:
        return read_yes_no(value, &state->yield_waits);
    case PARTITION:
        return read_partition(value, state->partition);
    case SLUID:
        return read_sluid(value, state->sluid);
    case WINDOW:
        return hpcb_window_parse(value, &state->window);
    case BOOT:
        return hpcb_text_copy(state->boot, sizeof(state->boot), value);
    case BEGIN:
        return hpcb_text_u64(value, UINT64_MAX, &state->begin_us);
    }
    return 0;
}

static_assert(sizeof(uid_t) == sizeof(uint32_t), "uids are read as 32 bits");

/* Returns 0, or -1 for a line that cannot be. */
static int read_pair(char *line, hpcb_job_state_t *state, unsigned *seen)
{
    char *value = strchr(line, '=');
    unsigned key = 0;

    if (!value || value == line)
        return -1;
    *value++ = '\0';
    while (key < N_KEYS && strcmp(key_names[key], line) != 0)
        key++;
    if (key == N_KEYS)
        return 0;
    if (*seen & (1u << key))
        return -1;
    *seen |= 1u << key;
    return read_value(key, value, state);
}

int hpcb_state_parse(const char *text, size_t length, hpcb_job_state_t *state,
                     hpcb_error_t *err)
{
    char copy[RECORD_BYTES];
    hpcb_job_state_t read = {0};
    char *rest = copy, *line;
    unsigned seen = 0;

    errno = EINVAL;
    if (length == 0 || length >= sizeof(copy) || memchr(text, '\0', length) ||
        text[length - 1] != '\n')
        return hpcb_error(err, "not a record of a job");
    memcpy(copy, text, length - 1);
    copy[length - 1] = '\0';
    for (unsigned number = 1; (line = strsep(&rest, "\n")); number++)
        if (read_pair(line, &read, &seen))
            return hpcb_error(err, "line %u of a job's record is damaged", number);
    if ((seen & NEEDED_KEYS) != NEEDED_KEYS)
        return hpcb_error(err, "a job's record is incomplete");
    *state = read;
    return 0;
}

int hpcb_state_load(const char *state_dir, uint32_t job_id, hpcb_job_state_t *state,
                    hpcb_error_t *err)
{
    char path[PATH_MAX], text[RECORD_BYTES];
    hpcb_job_state_t read = {0};
    hpcb_error_t why;
    ssize_t length;

    if (check_dirs(state_dir, err) || job_path(path, state_dir, job_id, "", err))
        return -1;
    length = hpcb_file_read_trusted(path, text, sizeof(text), err);
    if (length < 0)
        return -1;
    if (hpcb_state_parse(text, (size_t)length, &read, &why))
        return hpcb_error(err, "%.300s: %.150s", path, why.text);
    if (read.job_id != job_id) {
        errno = EINVAL;
        return hpcb_error(err, "%.300s: the record of another job", path);
    }
    *state = read;
    return 0;
}

static void read_boot(char boot[HPCB_BOOT_MAX])
{
    char text[HPCB_BOOT_MAX + 2];

    boot[0] = '\0';
    if (hpcb_file_read("/proc/sys/kernel/random/boot_id", text, sizeof(text), NULL) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    (void)hpcb_text_copy(boot, HPCB_BOOT_MAX, text);
}

static int render(const hpcb_job_state_t *state, char *text, hpcb_error_t *err)
{
    bool bad_class =
        state->klass != HPCB_CLASS_PRIMARY && state->klass != HPCB_CLASS_GUEST;
    bool windowed = state->window.period_us != 0;
    char window[HPCB_WINDOW_TEXT_MAX], boot[HPCB_BOOT_MAX];
    int n;

    read_boot(boot);
    n = snprintf(text, RECORD_BYTES,
                 "JobId=%" PRIu32 "\nUid=%" PRIu32 "\nClass=%s\nPolicy=%s\n"
                 "YieldWaits=%s\nPartition=%s\nBegin=%" PRIu64 "\n%s%s%s%s%s%s%s%s%s",
                 state->job_id, (uint32_t)state->uid, hpcb_class_name(state->klass),
                 hpcb_policy_name(state->policy), state->yield_waits ? "yes" : "no",
                 state->partition, state->begin_us, *state->sluid ? "Sluid=" : "",
                 state->sluid, *state->sluid ? "\n" : "", windowed ? "Window=" : "",
                 windowed ? hpcb_window_print(&state->window, window, sizeof(window))
                          : "",
                 windowed ? "\n" : "", *boot ? "Boot=" : "", boot, *boot ? "\n" : "");

    if (state->job_id && !bad_class && is_word(state->partition) &&
        is_sluid(state->sluid) && n < RECORD_BYTES)
        return n;
    errno = EINVAL;
    return hpcb_error(err, "job %" PRIu32 " cannot be recorded: %s", state->job_id,
                      state->job_id == 0       ? "0 is no job"
                      : bad_class              ? "it is neither primary nor guest"
                      : is_sluid(state->sluid) ? "its partition's name is not one word"
                                               : "its SLUID is none");
}

/* How to treat an existing record at path. */
typedef enum { LEFTOVER_KEEP, LEFTOVER_REPLACE, LEFTOVER_UNKNOWN } leftover_t;

/* The job that a file in jobs/ belongs to, with what follows the number, or 0. */
static uint32_t job_of_file(const char *name, const char **rest)
{
    size_t digits = strspn(name, "0123456789");
    char number[16];
    uint32_t id;

    *rest = name + digits;
    if (digits == 0 || digits >= sizeof(number) || name[0] == '0')
        return 0;
    memcpy(number, name, digits);
    number[digits] = '\0';
    return read_u32(number, &id) ? 0 : id;
}

/* jobs/ opened, or NULL with errno (ENOENT where there is none) and err. */
static DIR *open_jobs(const char *state_dir, hpcb_error_t *err)
{
    char path[PATH_MAX];
    DIR *dir;

    if (job_path(path, state_dir, 0, "", err) || check_dirs(state_dir, err))
        return NULL;
    dir = opendir(path);
    if (!dir)
        hpcb_error(err, "cannot read %.300s: %s", path, strerror(errno));
    return dir;
}

static bool exists(const char *state_dir, uint32_t job_id, const char *suffix)
{
    char path[PATH_MAX];
    struct stat status;

    return job_path(path, state_dir, job_id, suffix, NULL) == 0 &&
           lstat(path, &status) == 0;
}

bool hpcb_state_is_over(const char *state_dir, uint32_t job_id)
{
    return exists(state_dir, job_id, OVER) && !exists(state_dir, job_id, "");
}

static int remove_file(const char *state_dir, int jobs, const char *name,
                       hpcb_error_t *err)
{
    if (unlinkat(jobs, name, 0) == 0 || errno == ENOENT)
        return 0;
    return hpcb_error(err, "cannot remove %.200s/jobs/%.100s: %s", state_dir, name,
                      strerror(errno));
}

/* A file that is not there yet (common/file.c): its writer may be at it. */
static bool is_being_written(const char *rest)
{
    return strncmp(rest, ".tmp", strlen(".tmp")) == 0;
}

/* All files of the job but its record, whatever it is called now, and on demand its
 * undo log. */
static int remove_rest(const char *state_dir, DIR *dir, uint32_t job_id, bool keep_undo,
                       hpcb_error_t *err)
{
    struct dirent *entry;
    int status = 0;

    while ((entry = readdir(dir))) {
        const char *rest;
        uint32_t id = job_of_file(entry->d_name, &rest);

        if (id == 0 || id != job_id || *rest != '.' || strcmp(rest, OVER) == 0 ||
            (keep_undo && (strcmp(rest, UNDO) == 0 || is_being_written(rest))))
            continue;
        if (remove_file(state_dir, dirfd(dir), entry->d_name, err))
            status = -1;
    }
    return status;
}

static int finish_removal(const char *state_dir, DIR *dir, uint32_t job_id,
                          hpcb_error_t *err)
{
    char over[32];
    int status = remove_rest(state_dir, dir, job_id, false, err);

    snprintf(over, sizeof(over), "%" PRIu32 OVER, job_id);
    return remove_file(state_dir, dirfd(dir), over, err) ? -1 : status;
}

/* Remove files of an earlier run, which must not count for this one. */
static void drop_leftovers(const char *state_dir, uint32_t job_id)
{
    hpcb_autoclosedir DIR *dir = NULL;
    hpcb_error_t err;

    if (!hpcb_state_is_over(state_dir, job_id))
        return;
    dir = open_jobs(state_dir, &err);
    if (!dir || finish_removal(state_dir, dir, job_id, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

/* Remove files of a job without a record, or of an earlier run's record.  Its undo log
 * may still have to be replayed, but not after a reboot. */
static void clear_rest(const char *state_dir, uint32_t job_id, bool rebooted)
{
    hpcb_autoclosedir DIR *dir = NULL;
    hpcb_error_t err;

    dir = open_jobs(state_dir, &err);
    if (!dir || remove_rest(state_dir, dir, job_id, !rebooted, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
}

static bool is_of_this_boot(const hpcb_job_state_t *old)
{
    char boot[HPCB_BOOT_MAX];

    read_boot(boot);
    return !*old->boot || !*boot || strcmp(old->boot, boot) == 0;
}

static leftover_t judge_leftover(const char *state_dir, const hpcb_job_state_t *state,
                                 hpcb_error_t *err)
{
    hpcb_job_state_t old = {0};
    hpcb_error_t why = {""};
    bool rebooted = false;

    if (hpcb_state_load(state_dir, state->job_id, &old, &why) == 0) {
        rebooted = !is_of_this_boot(&old);
        if (old.uid == state->uid && !rebooted)
            return LEFTOVER_KEEP;
        if (rebooted)
            hpcb_error(&why, "the node has been booted since");
        else
            hpcb_error(&why, "it is of uid %" PRIu32, (uint32_t)old.uid);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO) {
        /* It may be a good one, which must win. */
        hpcb_error(err, "%s", why.text);
        return LEFTOVER_UNKNOWN;
    }
    hpcb_log(HPCB_LOG_ERROR, "replacing an old record of job %" PRIu32 ": %s",
             state->job_id, why.text);
    clear_rest(state_dir, state->job_id, rebooted);
    return LEFTOVER_REPLACE;
}

int hpcb_state_save(const char *state_dir, const hpcb_job_state_t *state,
                    hpcb_error_t *err)
{
    char path[PATH_MAX], text[RECORD_BYTES];
    int length = render(state, text, err);

    if (length < 0 || job_path(path, state_dir, 0, "", err) ||
        hpcb_file_mkdirs(path, DIR_MODE, err) || check_dirs(state_dir, err) ||
        job_path(path, state_dir, state->job_id, "", err))
        return -1;
    drop_leftovers(state_dir, state->job_id);
    if (!exists(state_dir, state->job_id, ""))
        clear_rest(state_dir, state->job_id, false);
    if (hpcb_file_create(path, text, (size_t)length, FILE_MODE, err) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    switch (judge_leftover(state_dir, state, err)) {
    case LEFTOVER_KEEP:
        return 0;
    case LEFTOVER_REPLACE:
        return hpcb_file_replace(path, text, (size_t)length, FILE_MODE, err);
    case LEFTOVER_UNKNOWN:
        break;
    }
    return -1;
}

int hpcb_state_save_place(const char *state_dir, uint32_t job_id, const char *dir,
                          hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (check_dirs(state_dir, err) || job_path(path, state_dir, job_id, PLACE, err))
        return -1;
    if (hpcb_file_create(path, dir, strlen(dir), FILE_MODE, err) == 0)
        return 0;
    return errno == EEXIST ? 0 : -1;
}

/* A whole file of the job without a NUL in it. */
static int load_text(const char *state_dir, uint32_t job_id, const char *suffix,
                     char *text, size_t size, hpcb_error_t *err)
{
    char path[PATH_MAX], read[PATH_MAX];
    ssize_t length;

    if (check_dirs(state_dir, err) || job_path(path, state_dir, job_id, suffix, err))
        return -1;
    length = hpcb_file_read_trusted(path, read, sizeof(read), err);
    if (length < 0)
        return -1;
    if (length > 0 && (size_t)length == strlen(read) &&
        hpcb_text_copy(text, size, read) == 0)
        return 0;
    errno = EINVAL;
    hpcb_error(err, "%.300s: damaged", path);
    return -1;
}

int hpcb_state_load_place(const char *state_dir, uint32_t job_id, char *dir,
                          size_t size, hpcb_error_t *err)
{
    char text[PATH_MAX];

    if (load_text(state_dir, job_id, PLACE, text, sizeof(text), err) < 0)
        return -1;
    if (text[0] == '/' && hpcb_text_copy(dir, size, text) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "job %" PRIu32 ": not the place of a job", job_id);
}

int hpcb_state_save_cores(const char *state_dir, uint32_t job_id, const char *cores,
                          hpcb_error_t *err)
{
    char path[PATH_MAX], known[PATH_MAX];

    if (load_text(state_dir, job_id, CORES, known, sizeof(known), NULL) == 0 &&
        strcmp(known, cores) == 0)
        return 0;
    if (check_dirs(state_dir, err) || job_path(path, state_dir, job_id, CORES, err))
        return -1;
    return hpcb_file_replace(path, cores, strlen(cores), FILE_MODE, err);
}

int hpcb_state_load_cores(const char *state_dir, uint32_t job_id, char *cores,
                          size_t size, hpcb_error_t *err)
{
    return load_text(state_dir, job_id, CORES, cores, size, err);
}

int hpcb_state_remove(const char *state_dir, uint32_t job_id, hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *dir = open_jobs(state_dir, err);
    char record[16], over[32];

    if (!dir)
        return errno == ENOENT ? 0 : -1;
    snprintf(record, sizeof(record), "%" PRIu32, job_id);
    snprintf(over, sizeof(over), "%s" OVER, record);
    if (renameat(dirfd(dir), record, dirfd(dir), over) && errno != ENOENT)
        return hpcb_error(err, "cannot remove %.200s/jobs/%s: %s", state_dir, record,
                          strerror(errno));
    return finish_removal(state_dir, dir, job_id, err);
}

int hpcb_state_each(const char *state_dir,
                    int (*visit)(const hpcb_job_state_t *state, void *arg), void *arg,
                    hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *dir = open_jobs(state_dir, err);
    struct dirent *entry;
    int visited = 0;

    if (!dir)
        return errno == ENOENT ? 0 : -1;
    while ((entry = readdir(dir))) {
        const char *rest;
        uint32_t id = job_of_file(entry->d_name, &rest);
        hpcb_job_state_t state;
        hpcb_error_t why;

        if (id == 0 || *rest)
            continue;
        if (hpcb_state_load(state_dir, id, &state, &why)) {
            if (errno != ENOENT)
                hpcb_log(HPCB_LOG_ERROR, "%s", why.text);
            continue;
        }
        visited++;
        if (visit(&state, arg))
            break;
    }
    return visited;
}

/* Take "NAME=DIGITS" off the front of *rest. */
static int take_figure(char **rest, const char *name, uint64_t *value)
{
    char *word = strsep(rest, " ");
    size_t length = strlen(name);

    if (!word || strncmp(word, name, length) != 0 || word[length] != '=')
        return -1;
    return hpcb_text_u64(word + length + 1, UINT64_MAX, value);
}

/* 0, or -1 for a line that is cut short or none of ours. */
static int read_usage_line(char *line, hpcb_usage_scope_t *scope, hpcb_usage_t *usage)
{
    char *rest = line;
    const char *word = strsep(&rest, " ");

    *scope = strcmp(word, "job") == 0 ? HPCB_USAGE_JOB : HPCB_USAGE_STEP;
    if (*scope == HPCB_USAGE_STEP && strcmp(word, "step") != 0)
        return -1;
    if (take_figure(&rest, "cpu_us", &usage->cpu_us) ||
        take_figure(&rest, "run_delay_us", &usage->run_delay_us) ||
        take_figure(&rest, "memory_peak", &usage->memory_peak))
        return -1;
    if (rest)
        rest[strcspn(rest, "\n")] = '\0';
    return rest && strcmp(rest, "end") == 0 ? 0 : -1;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Read the sum over steps, and the largest usage of the job as a whole, which includes
 * the memory peak. */
static int read_sums(FILE *stream, hpcb_usage_t *steps, hpcb_usage_t *job)
{
    hpcb_usage_scope_t scope;
    char line[LINE_BYTES];
    hpcb_usage_t read;

    while (fgets(line, sizeof(line), stream)) {
        if (read_usage_line(line, &scope, &read))
            continue;
        if (scope == HPCB_USAGE_STEP) {
            steps->cpu_us = add_saturating(steps->cpu_us, read.cpu_us);
            steps->run_delay_us =
                add_saturating(steps->run_delay_us, read.run_delay_us);
        } else {
            job->cpu_us = larger(job->cpu_us, read.cpu_us);
            job->run_delay_us = larger(job->run_delay_us, read.run_delay_us);
        }
        job->memory_peak = larger(job->memory_peak, read.memory_peak);
    }
    return ferror(stream) ? -1 : 0;
}

static hpcb_usage_t sum_of(const hpcb_usage_t *steps, const hpcb_usage_t *job)
{
    return (hpcb_usage_t){.cpu_us = add_saturating(steps->cpu_us, job->cpu_us),
                          .run_delay_us =
                              add_saturating(steps->run_delay_us, job->run_delay_us),
                          .memory_peak = job->memory_peak};
}

int hpcb_usage_read(FILE *stream, hpcb_usage_t *usage)
{
    hpcb_usage_t steps = {0}, job = {0};

    if (read_sums(stream, &steps, &job))
        return -1;
    *usage = sum_of(&steps, &job);
    return 0;
}

static void print_usage(hpcb_usage_scope_t scope, const hpcb_usage_t *usage, char *line)
{
    snprintf(line, LINE_BYTES,
             "\n%s cpu_us=%" PRIu64 " run_delay_us=%" PRIu64 " memory_peak=%" PRIu64
             " end\n",
             scope == HPCB_USAGE_JOB ? "job" : "step", usage->cpu_us,
             usage->run_delay_us, usage->memory_peak);
}

/* Two lines in the place of many.  Only by who has the lock alone. */
static void fold_usage(const char *path)
{
    hpcb_usage_t steps = {0}, job = {0};
    hpcb_autofclose FILE *stream = NULL;
    char text[2 * LINE_BYTES];
    int fd = hpcb_file_open_trusted(path, NULL);

    if (fd >= 0)
        stream = fdopen(fd, "r");
    if (!stream) {
        hpcb_cleanup_close(&fd);
        return;
    }
    if (read_sums(stream, &steps, &job))
        return;
    print_usage(HPCB_USAGE_STEP, &steps, text);
    print_usage(HPCB_USAGE_JOB, &job, text + strlen(text));
    (void)hpcb_file_replace(path, text, strlen(text), FILE_MODE, NULL);
}

/* Only root can open the file, so that no user can hold the lock. */
static int open_usage_lock(const char *state_dir, uint32_t job_id)
{
    char path[PATH_MAX];

    if (job_path(path, state_dir, job_id, ".usage.lock", NULL))
        return -1;
    return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* The owner of the lock may be stopped or frozen, so the wait is short. */
static bool take_lock(int fd, int how)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (int tries = 0; fd >= 0 && tries < LOCK_TRIES; tries++) {
        if (flock(fd, how | LOCK_NB) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static bool is_long(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && status.st_size >= USAGE_BYTES;
}

/*
 * Appending takes the lock as shared, folding as exclusive: so nothing is folded while
 * a line is being written, and no line goes to a file that has been read.  If the
 * folding process is stopped in the middle, lines go to a file that nobody folds.
 */
int hpcb_state_add_usage(const char *state_dir, uint32_t job_id,
                         hpcb_usage_scope_t scope, const hpcb_usage_t *usage,
                         hpcb_error_t *err)
{
    char path[PATH_MAX], line[LINE_BYTES];
    hpcb_autoclose int lock = -1;
    bool locked;

    if (check_dirs(state_dir, err))
        return -1;
    lock = open_usage_lock(state_dir, job_id);
    locked = take_lock(lock, LOCK_SH);
    if (job_path(path, state_dir, job_id, locked ? USAGE : USAGE_LATE, err))
        return -1;
    print_usage(scope, usage, line);
    if (hpcb_file_append(path, line, FILE_MODE, err))
        return -1;
    if (locked && is_long(path) && take_lock(lock, LOCK_EX) && is_long(path))
        fold_usage(path);
    return 0;
}

/* Add what the job's file with suffix says; none says nothing. */
static int add_file(const char *state_dir, uint32_t job_id, const char *suffix,
                    hpcb_usage_t *steps, hpcb_usage_t *job, hpcb_error_t *err)
{
    hpcb_autofclose FILE *stream = NULL;
    char path[PATH_MAX];
    int fd;

    if (job_path(path, state_dir, job_id, suffix, err))
        return -1;
    fd = hpcb_file_open_trusted(path, err);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    stream = fdopen(fd, "r");
    if (!stream)
        hpcb_cleanup_close(&fd);
    if (!stream || read_sums(stream, steps, job))
        return hpcb_error(err, "cannot read %.300s: %s", path, strerror(errno));
    return 0;
}

int hpcb_state_usage(const char *state_dir, uint32_t job_id, hpcb_usage_t *usage,
                     hpcb_error_t *err)
{
    hpcb_usage_t steps = {0}, job = {0};

    if (add_file(state_dir, job_id, USAGE, &steps, &job, err) ||
        add_file(state_dir, job_id, USAGE_LATE, &steps, &job, err))
        return -1;
    *usage = sum_of(&steps, &job);
    return 0;
}
