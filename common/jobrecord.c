/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A run is kept as what its nodes have said; sums are made when it is rendered, so that
 * a better record of a node can take the place of a worse one at any time.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/jobrecord.h"
#include "common/text.h"

#define MILLION 1000000u

typedef struct {
    char name[HPCB_NAME_MAX];
    uint64_t begin_us, end_us;
    unsigned cpus;
    hpcb_usage_t usage;
    hpcb_task_usage_t *tasks;
    size_t n_tasks;
    hpcb_beside_t beside;
} node_t;

struct hpcb_run {
    hpcb_run_key_t key;
    hpcb_class_t klass;
    hpcb_policy_t policy;
    uid_t uid;
    char partition[HPCB_NAME_MAX];
    hpcb_about_t about;
    node_t *nodes;
    size_t n_nodes, n_tasks, n_beside;
};

void hpcb_run_key_of(const hpcb_record_t *record, hpcb_run_key_t *key)
{
    *key = (hpcb_run_key_t){.job_id = record->job.job_id,
                            .restart = record->about.restart};
    memcpy(key->cluster, record->cluster, sizeof(key->cluster));
}

/* Takes text off the front of what is between *line and end. */
static int skip(const char **line, const char *end, const char *text)
{
    size_t length = strlen(text);

    if ((size_t)(end - *line) < length || memcmp(*line, text, length) != 0)
        return -1;
    *line += length;
    return 0;
}

static int take_u32(const char **line, const char *end, uint32_t *value)
{
    uint64_t number = 0;
    const char *start = *line;

    for (; *line < end && **line >= '0' && **line <= '9'; (*line)++) {
        number = number * 10 + (uint64_t)(**line - '0');
        if (number > UINT32_MAX)
            return -1;
    }
    *value = (uint32_t)number;
    return *line > start ? 0 : -1;
}

/* A cluster's name has neither quotation marks nor backslashes. */
int hpcb_run_key_of_line(const char *line, size_t length, hpcb_run_key_t *key)
{
    const char *end = line + length, *quote;
    hpcb_run_key_t read = {.job_id = 0};

    if (skip(&line, end, "{\"version\":1,\"kind\":\"job\",\"cluster\":\""))
        return -1;
    quote = memchr(line, '"', (size_t)(end - line));
    if (!quote || (size_t)(quote - line) >= sizeof(read.cluster) ||
        memchr(line, '\\', (size_t)(quote - line)))
        return -1;
    memcpy(read.cluster, line, (size_t)(quote - line));
    line = quote;
    if (skip(&line, end, "\",\"job_id\":") || take_u32(&line, end, &read.job_id) ||
        skip(&line, end, ",\"restart\":") || take_u32(&line, end, &read.restart) ||
        skip(&line, end, ","))
        return -1;
    *key = read;
    return 0;
}

hpcb_run_t *hpcb_run_new(const hpcb_run_key_t *key)
{
    hpcb_run_t *run = calloc(1, sizeof(*run));

    if (run)
        run->key = *key;
    return run;
}

static void free_lists(node_t *node)
{
    free(node->tasks);
    free(node->beside.guests);
}

void hpcb_run_free(hpcb_run_t *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->n_nodes; i++)
        free_lists(&run->nodes[i]);
    free(run->nodes);
    free(run);
}

static void free_run(hpcb_run_t **run)
{
    hpcb_run_free(*run);
}

const hpcb_run_key_t *hpcb_run_key(const hpcb_run_t *run)
{
    return &run->key;
}

bool hpcb_run_complete(const hpcb_run_t *run)
{
    return run->about.nodes > 0 && run->n_nodes >= run->about.nodes;
}

size_t hpcb_run_nodes(const hpcb_run_t *run)
{
    return run->n_nodes;
}

size_t hpcb_run_bytes(const hpcb_run_t *run)
{
    return sizeof(*run) + run->n_nodes * sizeof(node_t) +
           run->n_tasks * sizeof(hpcb_task_usage_t) + run->n_beside * sizeof(uint32_t);
}

static uint64_t wall_of(const node_t *node)
{
    return node->end_us > node->begin_us ? node->end_us - node->begin_us : 0;
}

static bool is_better(const node_t *node, const node_t *old)
{
    if (node->usage.cpu_us != old->usage.cpu_us)
        return node->usage.cpu_us > old->usage.cpu_us;
    return wall_of(node) > wall_of(old);
}

static node_t *find_node(const hpcb_run_t *run, const char *name)
{
    for (size_t i = 0; i < run->n_nodes; i++)
        if (strcmp(run->nodes[i].name, name) == 0)
            return &run->nodes[i];
    return NULL;
}

/* Takes node over where it returns 1. */
static int put_node(hpcb_run_t *run, const node_t *node)
{
    node_t *old = find_node(run, node->name);

    if (old && !is_better(node, old))
        return 0;
    if (old) {
        run->n_tasks -= old->n_tasks;
        run->n_beside -= old->beside.count;
        free_lists(old);
    } else {
        old = reallocarray(run->nodes, run->n_nodes + 1, sizeof(*old));
        if (!old)
            return -1;
        run->nodes = old;
        old += run->n_nodes++;
    }
    *old = *node;
    run->n_tasks += node->n_tasks;
    run->n_beside += node->beside.count;
    return 1;
}

/* What the first record says of the job, and what it did not know. */
static void describe(hpcb_run_t *run, const hpcb_record_t *record)
{
    if (run->n_nodes == 0 || run->klass == HPCB_CLASS_UNKNOWN) {
        run->klass = record->job.klass;
        run->policy = record->job.policy;
        run->uid = record->job.uid;
        memcpy(run->partition, record->job.partition, sizeof(run->partition));
    }
    hpcb_about_fill(&run->about, &record->about);
}

/* The node's tasks and guests. */
static int get_lists(hpcb_rjson_t *object, node_t *node, hpcb_error_t *err)
{
    long n_tasks = hpcb_record_get_tasks(object, &node->tasks);

    if (n_tasks < 0) {
        errno = EINVAL;
        return hpcb_error(err, "a record's tasks cannot be");
    }
    node->n_tasks = (size_t)n_tasks;
    if (hpcb_record_get_beside(object, &node->beside) == 0)
        return 0;
    free_lists(node);
    errno = EINVAL;
    return hpcb_error(err, "a record's guests_beside cannot be");
}

int hpcb_run_add(hpcb_run_t *run, hpcb_rjson_t *object, hpcb_error_t *err)
{
    hpcb_record_t record;
    node_t node = {0};
    int status;

    if (hpcb_record_from_json(object, &record, err) || get_lists(object, &node, err))
        return -1;
    memcpy(node.name, record.node, sizeof(node.name));
    node.begin_us = record.job.begin_us;
    node.end_us = record.end_us;
    node.cpus = record.cpus;
    node.usage = record.usage;
    status = put_node(run, &node);
    if (status > 0) {
        describe(run, &record);
        return 1;
    }
    free_lists(&node);
    if (status == 0)
        return 0;
    errno = ENOMEM;
    return hpcb_error(err, "out of memory");
}

typedef struct {
    uint64_t begin_us, end_us, wall_us, walls_us, cpu_us, run_delay_us, memory_peak;
    uint64_t cpus;
    double held; /* CPUs x microseconds */
} sums_t;

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void sum_up(const hpcb_run_t *run, sums_t *sums)
{
    *sums = (sums_t){.begin_us = UINT64_MAX};
    for (size_t i = 0; i < run->n_nodes; i++) {
        const node_t *node = &run->nodes[i];
        uint64_t wall = wall_of(node);

        if (node->begin_us < sums->begin_us)
            sums->begin_us = node->begin_us;
        if (node->end_us > sums->end_us)
            sums->end_us = node->end_us;
        if (wall > sums->wall_us)
            sums->wall_us = wall;
        if (node->usage.memory_peak > sums->memory_peak)
            sums->memory_peak = node->usage.memory_peak;
        sums->walls_us = plus(sums->walls_us, wall);
        sums->cpu_us = plus(sums->cpu_us, node->usage.cpu_us);
        sums->run_delay_us = plus(sums->run_delay_us, node->usage.run_delay_us);
        sums->cpus += node->cpus;
        sums->held += (double)wall * node->cpus;
    }
}

uint64_t hpcb_run_end(const hpcb_run_t *run)
{
    sums_t sums;

    sum_up(run, &sums);
    return sums.end_us / MILLION;
}

static int add_run(hpcb_rjson_t *object, const hpcb_run_t *run)
{
    return hpcb_rjson_add_u64(object, "version", HPCB_RECORD_VERSION) ||
           hpcb_rjson_add_text(object, "kind", "job") ||
           hpcb_rjson_add_text(object, "cluster", run->key.cluster) ||
           hpcb_rjson_add_u64(object, "job_id", run->key.job_id) ||
           hpcb_record_add_about(object, &run->about) ||
           hpcb_rjson_add_u64(object, "user_id", run->uid) ||
           hpcb_rjson_add_text(object, "partition", run->partition) ||
           hpcb_rjson_add_text(object, "class", hpcb_class_name(run->klass)) ||
           hpcb_rjson_add_text(object, "policy", hpcb_policy_name(run->policy));
}

/* The figures that a node and a run have. */
static int add_figures(hpcb_rjson_t *object, const sums_t *sums)
{
    return hpcb_rjson_add_millionths(object, "wall_seconds", sums->wall_us) ||
           hpcb_rjson_add_u64(object, "cpus", sums->cpus) ||
           hpcb_rjson_add_millionths(object, "cpu_seconds", sums->cpu_us) ||
           hpcb_rjson_add_millionths(object, "run_delay_seconds", sums->run_delay_us) ||
           hpcb_rjson_add_u64(object, "memory_peak_bytes", sums->memory_peak) ||
           hpcb_rjson_add_ratio(object, "efficiency", sums->cpu_us, sums->held) ||
           hpcb_rjson_add_ratio(object, "stolen_fraction", sums->run_delay_us,
                                (double)sums->walls_us);
}

static int add_node(hpcb_rjson_t *array, node_t *node)
{
    hpcb_rjson_t *object = json_object_new_object();
    hpcb_run_t alone = {.nodes = node, .n_nodes = 1};
    sums_t sums;

    if (!object || json_object_array_add(array, object)) {
        json_object_put(object);
        return -1;
    }
    sum_up(&alone, &sums);
    return hpcb_rjson_add_text(object, "node", node->name) ||
           hpcb_rjson_add_millionths(object, "begin", node->begin_us) ||
           hpcb_rjson_add_millionths(object, "end", node->end_us) ||
           add_figures(object, &sums) ||
           hpcb_record_add_beside(object, &node->beside) ||
           hpcb_record_add_tasks(object, node->tasks, node->n_tasks);
}

static int add_nodes(hpcb_rjson_t *object, const hpcb_run_t *run)
{
    hpcb_rjson_t *array = json_object_new_array();

    if (hpcb_rjson_add(object, "node_records", array))
        return -1;
    for (size_t i = 0; i < run->n_nodes; i++)
        if (add_node(array, &run->nodes[i]))
            return -1;
    return 0;
}

static int compare_ids(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

/* The guests on all nodes together, each counted once.  False where a node does not
 * know them (or memory runs out). */
static bool guests_of(const hpcb_run_t *run, uint64_t *count, uint64_t *cpu_us)
{
    hpcb_autofree uint32_t *ids = calloc(run->n_beside + 1, sizeof(*ids));
    size_t n = 0;

    *count = *cpu_us = 0;
    if (!ids)
        return false;
    for (size_t i = 0; i < run->n_nodes; i++) {
        const hpcb_beside_t *beside = &run->nodes[i].beside;

        if (!beside->known)
            return false;
        if (beside->count)
            memcpy(ids + n, beside->guests, beside->count * sizeof(*ids));
        n += beside->count;
        *cpu_us = plus(*cpu_us, beside->cpu_us);
    }
    qsort(ids, n, sizeof(*ids), compare_ids);
    for (size_t i = 0; i < n; i++)
        *count += i == 0 || ids[i] != ids[i - 1];
    return true;
}

static int add_guests(hpcb_rjson_t *object, const hpcb_run_t *run)
{
    uint64_t count, cpu_us;

    if (!guests_of(run, &count, &cpu_us))
        return hpcb_rjson_add_null(object, "guests_beside") ||
               hpcb_rjson_add_null(object, "guest_cpu_seconds");
    return hpcb_rjson_add_u64(object, "guests_beside", count) ||
           hpcb_rjson_add_millionths(object, "guest_cpu_seconds", cpu_us);
}

/* What nothing here measures is null. */
static int add_rest(hpcb_rjson_t *object, const hpcb_run_t *run)
{
    bool guest = run->klass == HPCB_CLASS_GUEST;

    return hpcb_rjson_add_null(object, "mem_bandwidth") ||
           hpcb_rjson_add_null(object, "net_bandwidth") || add_guests(object, run) ||
           hpcb_rjson_add_u64(object, "evictions", guest ? run->key.restart : 0);
}

static int fill(hpcb_rjson_t *object, const hpcb_run_t *run)
{
    sums_t sums;

    sum_up(run, &sums);
    return add_run(object, run) ||
           hpcb_rjson_add_millionths(object, "start", sums.begin_us) ||
           hpcb_rjson_add_millionths(object, "end", sums.end_us) ||
           hpcb_rjson_add(object, "complete",
                          json_object_new_boolean(hpcb_run_complete(run))) ||
           hpcb_rjson_add_u64(object, "nodes",
                              run->about.nodes ? run->about.nodes : run->n_nodes) ||
           add_figures(object, &sums) || add_rest(object, run) ||
           add_nodes(object, run);
}

char *hpcb_run_render(const hpcb_run_t *run, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = json_object_new_object();

    if (run->n_nodes == 0) {
        errno = EINVAL;
        hpcb_error(err, "a run without nodes");
        return NULL;
    }
    if (object && fill(object, run) == 0)
        return hpcb_rjson_print(object, "\n", err);
    errno = ENOMEM;
    hpcb_error(err, "out of memory");
    return NULL;
}

/* A node's part has not what all nodes have in common: with it, it is a record. */
static int put_in_common(hpcb_rjson_t *node, hpcb_rjson_t *run)
{
    static const char *const keys[] = {
        "version",      "job_id",     "cluster",   "class",
        "policy",       "user_id",    "partition", "restart",
        "nodes",        "user",       "job_name",  "executable",
        "array_job_id", "het_job_id", "submit",    "array_task_id",
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        hpcb_rjson_t *member;

        if (json_object_object_get_ex(run, keys[i], &member) &&
            json_object_object_add(node, keys[i], json_object_get(member)))
            return -1;
    }
    return 0;
}

static hpcb_run_t *read_nodes(hpcb_rjson_t *object, hpcb_rjson_t *array,
                              hpcb_error_t *err)
{
    hpcb_run_t *run __attribute__((cleanup(free_run))) = NULL;
    hpcb_run_t *done;

    for (size_t i = 0; i < json_object_array_length(array); i++) {
        hpcb_rjson_t *node = json_object_array_get_idx(array, i);
        hpcb_record_t record;
        hpcb_run_key_t key;

        if (!json_object_is_type(node, json_type_object) ||
            put_in_common(node, object) || hpcb_record_from_json(node, &record, err))
            return NULL;
        hpcb_run_key_of(&record, &key);
        if (!run && !(run = hpcb_run_new(&key)))
            return NULL;
        if (hpcb_run_add(run, node, err) < 0)
            return NULL;
    }
    done = run;
    run = NULL;
    return done;
}

hpcb_run_t *hpcb_run_parse(const char *line, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = hpcb_rjson_parse(line);
    hpcb_rjson_t *array, *complete;
    hpcb_run_t *run;
    const char *kind = object ? hpcb_rjson_get_text(object, "kind") : NULL;

    hpcb_error(err, "not the record of a job");
    if (!kind || strcmp(kind, "job") != 0 ||
        !json_object_object_get_ex(object, "node_records", &array) ||
        !json_object_is_type(array, json_type_array) ||
        !json_object_object_get_ex(object, "complete", &complete))
        return NULL;
    run = read_nodes(object, array, err);
    /* How many nodes there are may be all that is not known. */
    if (run && !json_object_get_boolean(complete) && hpcb_run_complete(run))
        run->about.nodes = 0;
    return run;
}

/* Three digits after the point are enough for people. */
static int add_short(hpcb_rjson_t *object, const char *key, double value)
{
    char text[32];

    if (!(value >= 0 && value < 1e15))
        return 0;
    snprintf(text, sizeof(text), "%" PRIu64 ".%03u", (uint64_t)value,
             (unsigned)((value - (double)(uint64_t)value) * 1000));
    return hpcb_rjson_add(object, key, json_object_new_double_s(value, text));
}

static int add_used(hpcb_rjson_t *tag, const hpcb_run_t *run)
{
    uint64_t guests, guest_cpu_us;
    sums_t sums;

    sum_up(run, &sums);
    if (guests_of(run, &guests, &guest_cpu_us) &&
        hpcb_rjson_add_u64(tag, "guests", guests))
        return -1;
    return (run->key.restart && hpcb_rjson_add_u64(tag, "run", run->key.restart)) ||
           add_short(tag, "eff",
                     sums.held > 0 ? (double)sums.cpu_us / sums.held : -1) ||
           add_short(tag, "stolen",
                     sums.walls_us ? (double)sums.run_delay_us / (double)sums.walls_us
                                   : -1) ||
           add_short(tag, "cpu", (double)sums.cpu_us / MILLION) ||
           add_short(tag, "wall", (double)sums.wall_us / MILLION);
}

/* The object "hpcb" in outer, made where there is none (of a job that was submitted
 * while the plugin was not there). */
static hpcb_rjson_t *tag_in(hpcb_rjson_t *outer, const hpcb_run_t *run)
{
    hpcb_rjson_t *tag;

    if (json_object_object_get_ex(outer, "hpcb", &tag) &&
        json_object_is_type(tag, json_type_object))
        return tag;
    tag = json_object_new_object();
    if (hpcb_rjson_add(outer, "hpcb", tag) || hpcb_rjson_add_u64(tag, "v", 1) ||
        (run->klass != HPCB_CLASS_UNKNOWN &&
         hpcb_rjson_add_text(tag, "class", hpcb_class_name(run->klass))))
        return NULL;
    return tag;
}

static hpcb_rjson_t *start_comment(const char *before)
{
    hpcb_rjson_t *outer = before && *before ? hpcb_rjson_parse(before) : NULL;

    if (outer)
        return outer;
    outer = json_object_new_object();
    if (outer && before && *before && hpcb_rjson_add_text(outer, "comment", before)) {
        json_object_put(outer);
        return NULL;
    }
    return outer;
}

/* Return whether slurmdbd takes the text (hpcbd/writer_slurm.h): its SQL is made with
 * neither quotes nor backslashes, and JSON writes a quotation mark as \". */
static bool slurmdbd_takes(const char *text)
{
    return strlen(text) < HPCB_COMMENT_MAX && !strpbrk(text, "'\\");
}

/* The name of the program, which the record has, makes room for figures, and goes if it
 * has characters that slurmdbd does not take. */
static char *print_comment(hpcb_rjson_t *outer, hpcb_rjson_t *tag, hpcb_error_t *err)
{
    char *text = hpcb_rjson_print(outer, "", err);

    if (!text || slurmdbd_takes(text))
        return text;
    free(text);
    json_object_object_del(tag, "program");
    text = hpcb_rjson_print(outer, "", err);
    if (!text || strlen(text) < HPCB_COMMENT_MAX)
        return text;
    free(text);
    errno = EMSGSIZE;
    hpcb_error(err, "what others wrote into AdminComment leaves no room");
    return NULL;
}

char *hpcb_run_comment(const hpcb_run_t *run, const char *before, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *outer = start_comment(before);
    hpcb_rjson_t *tag = outer ? tag_in(outer, run) : NULL;

    if (tag && add_used(tag, run) == 0)
        return print_comment(outer, tag, err);
    errno = ENOMEM;
    hpcb_error(err, "out of memory");
    return NULL;
}
