/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpcbctl gang: the jobs of this node that take turns, as this node's hpcbd says, and
 * what can be changed while it runs (hpcbd/node/socket.h).
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/conf.h"
#include "common/log.h"
#include "common/tell.h"
#include "common/text.h"
#include "hpcbctl/ask.h"
#include "hpcbctl/decisions.h"
#include "hpcbctl/output.h"
#include "hpcbctl/verbs.h"

#define EXIT_USAGE 2

static int __attribute__((format(printf, 1, 2))) usage(const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "hpcbctl: %s (see hpcbctl gang --help)\n", hpcb_text_clean(text));
    return EXIT_USAGE;
}

static int complain(const hpcb_error_t *err)
{
    hpcb_log(HPCB_LOG_ERROR, "%s", err->text);
    return 1;
}

static int load_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf, hpcb_error_t *err)
{
    char path[PATH_MAX];

    return hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), conf,
                          err);
}

/* ---- list ---- */

/* Jobs and decisions apart. */
static int sort_out(json_object *last, json_object *all)
{
    hpcb_autojson json_object *jobs = json_object_new_array();
    hpcb_autojson json_object *parts = json_object_new_array();

    for (size_t i = 0; jobs && parts && i < json_object_array_length(all); i++) {
        json_object *item = json_object_array_get_idx(all, i), *part;
        bool is_job = !json_object_object_get_ex(item, "decision", &part);

        if (hpcb_json_append(is_job ? jobs : parts,
                             json_object_get(is_job ? item : part)) < 0)
            return -1;
    }
    json_object_object_del(last, "end");
    json_object_object_del(last, "next");
    if (!parts || hpcb_json_add(last, "jobs", json_object_get(jobs)) < 0)
        return -1;
    return hpcb_json_add(last, "decisions", hpcb_decisions_join(parts));
}

static json_object *ask_list(const char *state_dir, hpcb_error_t *err)
{
    hpcb_autojson json_object *all = json_object_new_array();
    json_object *last = all ? hpcb_ask_pages(state_dir, "gang", all, err) : NULL;

    if (!last || sort_out(last, all) == 0)
        return last;
    json_object_put(last);
    hpcb_error(err, "out of memory");
    return NULL;
}

/* Return MB/s, or "-" if it is not measured. */
static const char *rate_of(json_object *job, const char *key, char text[static 24])
{
    json_object *value;

    if (json_object_object_get_ex(job, key, &value) && value)
        snprintf(text, 24, "%.1f", (double)json_object_get_int64(value) / 1e6);
    else
        strcpy(text, "-");
    return text;
}

/* "SLOT/CYCLE" as it was dealt by bandwidth, "id" if it follows from the job's id, "-"
 * for a job of this node alone. */
static const char *slot_of(json_object *job, char text[static 24])
{
    const char *by = hpcb_json_get_text(job, "owns_by");

    if (strcmp(by, "bandwidth") == 0)
        snprintf(text, 24, "%" PRIu64 "/%" PRIu64, hpcb_json_get_u64(job, "slot"),
                 hpcb_json_get_u64(job, "cycle"));
    else
        strcpy(text, *by ? "id" : "-");
    return text;
}

static void text_list(json_object *hpcbd, FILE *out)
{
    json_object *jobs = json_object_object_get(hpcbd, "jobs");
    char mem[24], net[24], slot[24];

    fprintf(out, "quanta of %g s, predicted from %" PRIu64 "; %" PRIu64 " elected%s\n",
            hpcb_json_get_double(hpcbd, "quantum_seconds"),
            hpcb_json_get_u64(hpcbd, "window"), hpcb_json_get_u64(hpcbd, "quanta"),
            hpcb_json_get_bool(hpcbd, "paused") ? "; paused: no job takes turns" : "");
    if (*hpcb_json_get_text(hpcbd, "clock"))
        fprintf(out, "clock: %s\n", hpcb_json_get_text(hpcbd, "clock"));
    fprintf(out, "%-10s  %-7s  %-12s  %-10s  %-9s  %9s  %9s  %9s  %5s  %7s  %10s\n",
            "JOB", "CLASS", "PARTITION", "CPUS", "STATE", "QUANTUM s", "MEM MB/s",
            "NET MB/s", "SLOT", "TURNS", "ELECTED s");
    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        json_object *job = json_object_array_get_idx(jobs, i);

        fprintf(out,
                "%-10" PRIu64
                "  %-7s  %-12.12s  %-10s  %-9s  %9g  %9s  %9s  %5s  %7" PRIu64
                "  %10.1f\n",
                hpcb_json_get_u64(job, "job"), hpcb_json_get_text(job, "class"),
                hpcb_json_get_text(job, "partition"), hpcb_json_get_text(job, "cpus"),
                hpcb_json_get_text(job, "state"),
                hpcb_json_get_double(job, "quantum_seconds"), rate_of(job, "mem", mem),
                rate_of(job, "net", net), slot_of(job, slot),
                hpcb_json_get_u64(job, "turns"),
                hpcb_json_get_double(job, "elected_seconds"));
    }
}

int hpcb_gang_list(const hpcb_ctl_t *ctl)
{
    hpcb_autojson json_object *hpcbd = NULL;
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (ctl->n_operands > 0)
        return usage("gang list: takes no argument");
    if (load_conf(ctl, &conf, &err) < 0)
        return complain(&err);
    hpcbd = ask_list(conf.state_dir, &err);
    if (!hpcbd)
        return complain(&err);
    if (ctl->json)
        return hpcb_json_print(hpcbd, stdout) || fflush(stdout) ? 1 : 0;
    text_list(hpcbd, stdout);
    return fflush(stdout) ? 1 : 0;
}

/* ---- pause, resume, join, leave, set ---- */

/* Say text to hpcbd; its refusal is the error. */
static int command(const hpcb_ctl_t *ctl, const char *text)
{
    hpcb_autojson json_object *answer = NULL;
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (load_conf(ctl, &conf, &err) < 0)
        return complain(&err);
    answer = hpcb_ask(conf.state_dir, text, &err);
    if (answer && *hpcb_json_get_text(answer, "error")) {
        hpcb_error(&err, "hpcbd: %s", hpcb_json_get_text(answer, "error"));
        return complain(&err);
    }
    if (!answer)
        return complain(&err);
    if (!ctl->json)
        return 0;
    json_object_object_del(answer, "end");
    return hpcb_json_print(answer, stdout) || fflush(stdout) ? 1 : 0;
}

static int pause_or_resume(const hpcb_ctl_t *ctl, const char *verb)
{
    char text[96], job[32] = "";
    uint64_t job_id = 0;

    if (ctl->n_operands > 1 ||
        (ctl->n_operands == 1 &&
         (hpcb_text_u64(ctl->operands[0], UINT32_MAX - 1, &job_id) || job_id == 0)))
        return usage("gang %s: give a job's number or nothing", verb);
    if (job_id)
        snprintf(job, sizeof(job), ",\"job\":%" PRIu64, job_id);
    snprintf(text, sizeof(text), "{\"verb\":\"gang-%s\"%s}", verb, job);
    return command(ctl, text);
}

int hpcb_gang_pause(const hpcb_ctl_t *ctl)
{
    return pause_or_resume(ctl, "pause");
}

int hpcb_gang_resume(const hpcb_ctl_t *ctl)
{
    return pause_or_resume(ctl, "resume");
}

static int join_or_leave(const hpcb_ctl_t *ctl, const char *verb)
{
    char text[96];
    uint64_t job_id = 0;

    if (ctl->n_operands != 1 ||
        hpcb_text_u64(ctl->operands[0], UINT32_MAX - 1, &job_id) || job_id == 0)
        return usage("gang %s: give a job's number", verb);
    snprintf(text, sizeof(text), "{\"verb\":\"gang-%s\",\"job\":%" PRIu64 "}", verb,
             job_id);
    return command(ctl, text);
}

int hpcb_gang_join(const hpcb_ctl_t *ctl)
{
    return join_or_leave(ctl, "join");
}

int hpcb_gang_leave(const hpcb_ctl_t *ctl)
{
    return join_or_leave(ctl, "leave");
}

/* In microseconds. */
static int read_quantum(const char *text, uint64_t *us)
{
    hpcb_decimal_t number;
    const char *rest = hpcb_text_decimal(text, &number);

    return rest && !*rest &&
                   hpcb_decimal_scale(&number, 1000000, HPCB_GANG_QUANTUM_MAX_US, us) ==
                       0 &&
                   *us >= HPCB_GANG_QUANTUM_MIN_US
               ? 0
               : -1;
}

typedef struct {
    uint64_t quantum_us, window;
    const char *partition;
} turn_t;

/* One of gang set's; 0 or the exit code. */
static int read_operand(const char *operand, turn_t *turn)
{
    if (strncmp(operand, "quantum=", 8) == 0) {
        if (read_quantum(operand + 8, &turn->quantum_us) < 0)
            return usage("gang set: quantum: allowed: 0.05 to 10 (seconds)");
    } else if (strncmp(operand, "window=", 7) == 0) {
        if (hpcb_text_u64(operand + 7, HPCB_GANG_WINDOW_LIMIT, &turn->window) ||
            turn->window == 0)
            return usage("gang set: window: allowed: 1 to %d", HPCB_GANG_WINDOW_LIMIT);
    } else if (strncmp(operand, "partition=", 10) == 0) {
        turn->partition = operand + 10;
        if (!*turn->partition || strlen(turn->partition) >= HPCB_NAME_MAX)
            return usage("gang set: partition: give the name of one");
    } else {
        return usage("gang set: '%s' is none of quantum=, window= and partition=",
                     operand);
    }
    return 0;
}

/* With json-c's quotes: a name may have any letters. */
static json_object *message_of(const turn_t *turn)
{
    json_object *message = json_object_new_object();
    int rc = message
                 ? hpcb_json_add(message, "verb", json_object_new_string("gang-set"))
                 : -1;

    if (rc == 0 && turn->quantum_us)
        rc = hpcb_json_add(message, "quantum_us",
                           json_object_new_int64((int64_t)turn->quantum_us));
    if (rc == 0 && turn->window)
        rc = hpcb_json_add(message, "window",
                           json_object_new_int64((int64_t)turn->window));
    if (rc == 0 && turn->partition)
        rc = hpcb_json_add(message, "partition",
                           json_object_new_string(turn->partition));
    if (rc == 0)
        return message;
    json_object_put(message);
    return NULL;
}

int hpcb_gang_set(const hpcb_ctl_t *ctl)
{
    hpcb_autojson json_object *message = NULL;
    turn_t turn = {0};
    hpcb_error_t err;
    int rc = 0;

    for (int i = 0; i < ctl->n_operands && rc == 0; i++)
        rc = read_operand(ctl->operands[i], &turn);
    if (rc)
        return rc;
    if (!turn.quantum_us && !turn.window)
        return usage("gang set: give quantum=SECONDS or window=QUANTA");
    message = message_of(&turn);
    if (message)
        return command(ctl, json_object_to_json_string(message));
    hpcb_error(&err, "out of memory");
    return complain(&err);
}
