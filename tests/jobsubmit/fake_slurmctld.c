/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobsubmit/slurmctld.h"
#include "tests/jobsubmit/fake_slurmctld.h"

#define MAGIC 0x42c0ffee42c0ffeeULL

typedef struct {
    uint64_t magic;
    size_t size;
} header_t;

struct job_record {
    char partition[128];
};

static atomic_long blocks;
static atomic_uint errors;

static void die(const char *what)
{
    fprintf(stderr, "fake slurmctld: %s\n", what);
    abort();
}

static header_t *header_of(void *item)
{
    header_t *header = (header_t *)item - 1;

    if (header->magic != MAGIC)
        die("not Slurm's memory");
    return header;
}

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool try_only,
                    const char *file, int line, const char *function)
{
    header_t *header;

    (void)clear, (void)try_only, (void)file, (void)line, (void)function;
    if (!count || !size)
        return NULL;
    header = calloc(1, sizeof(*header) + count * size);
    if (!header)
        die("out of memory");
    *header = (header_t){.magic = MAGIC, .size = count * size};
    atomic_fetch_add(&blocks, 1);
    return header + 1;
}

void slurm_xfree(void **item)
{
    header_t *header;

    if (!*item)
        return;
    header = header_of(*item);
    header->magic = 0;
    free(header);
    *item = NULL;
    atomic_fetch_sub(&blocks, 1);
}

size_t slurm_xsize(void *item)
{
    return header_of(item)->size;
}

char *slurm_xstrdup(const char *text)
{
    char *copy =
        text ? slurm_xcalloc(1, strlen(text) + 1, true, false, "", 0, "") : NULL;

    if (copy)
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

char *slurm_xstrdup_printf(const char *format, ...)
{
    char *text = NULL, *copy;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        die("vasprintf");
    copy = slurm_xstrdup(text);
    free(text);
    return copy;
}

void slurm_error(const char *format, ...)
{
    (void)format;
    atomic_fetch_add(&errors, 1);
}

void slurm_info(const char *format, ...)
{
    (void)format;
}

void slurm_debug(const char *format, ...)
{
    (void)format;
}

bool validate_operator(uid_t uid)
{
    return uid == 0 || uid == FAKE_OPERATOR;
}

char *default_part_name;

slurm_conf_t slurm_conf = {.last_update = 1000};

static void add(char ***array, size_t *count, char *entry)
{
    char **longer = slurm_xcalloc(*count + 2, sizeof(char *), true, false, "", 0, "");

    if (*array)
        memcpy(longer, *array, *count * sizeof(char *));
    longer[(*count)++] = entry;
    slurm_xfree((void **)array);
    *array = longer;
}

char **job_common_env_vars(job_record_t *job, bool is_complete)
{
    char **env = NULL;
    size_t count = 0;

    (void)is_complete;
    add(&env, &count, slurm_xstrdup("SPANK_SLURM_JOB_PARTITION=forged"));
    add(&env, &count, slurm_xstrdup_printf("SLURM_JOB_PARTITION=%s", job->partition));
    add(&env, &count, slurm_xstrdup("SLURM_JOB_ID=17"));
    return env;
}

static void *resolve(void *handle, const char *name)
{
    void *symbol = dlsym(handle, name);

    if (!symbol)
        die(dlerror());
    return symbol;
}

fake_plugin_t fake_load(void)
{
    const char *build = getenv("HPCB_BUILDDIR");
    char path[4096];
    fake_plugin_t plugin;

    snprintf(path, sizeof(path), "%s/jobsubmit/.libs/job_submit_hpc_balance.so",
             build ? build : ".");
    plugin.handle = dlopen(path, RTLD_NOW);
    if (!plugin.handle)
        die(dlerror());
    plugin.init = resolve(plugin.handle, "init");
    plugin.fini = resolve(plugin.handle, "fini");
    plugin.submit = resolve(plugin.handle, "job_submit");
    plugin.modify = resolve(plugin.handle, "job_modify");
    return plugin;
}

char *fake_string(const char *text)
{
    return slurm_xstrdup(text);
}

job_desc_msg_t *fake_desc(void)
{
    job_desc_msg_t *desc = slurm_xcalloc(1, sizeof(*desc), true, false, "", 0, "");

    desc->het_job_offset = NO_VAL;
    desc->priority = NO_VAL;
    desc->nice = NO_VAL;
    desc->site_factor = NO_VAL;
    desc->shared = NO_VAL16;
    desc->core_spec = NO_VAL16;
    desc->pn_min_memory = NO_VAL64;
    desc->ntasks_per_tres = NO_VAL16;
    return desc;
}

void fake_add_environment(job_desc_msg_t *desc, const char *entry)
{
    size_t count = desc->env_size;

    add(&desc->environment, &count, slurm_xstrdup(entry));
    desc->env_size = (uint32_t)count;
}

void fake_add_env(job_desc_msg_t *desc, const char *entry)
{
    size_t count = desc->spank_job_env_size;

    add(&desc->spank_job_env, &count, slurm_xstrdup(entry));
    desc->spank_job_env_size = (uint32_t)count;
}

void fake_set_program(job_desc_msg_t *desc, const char *name, const char *executable)
{
    size_t count = 0;

    desc->user_id = FAKE_USER;
    desc->name = slurm_xstrdup(name);
    if (!executable)
        return;
    add(&desc->argv, &count, slurm_xstrdup(executable));
    desc->argc = (uint32_t)count;
}

char *fake_unterminated(size_t bytes)
{
    char *text = slurm_xcalloc(1, bytes, true, false, "", 0, "");

    memset(text, 'x', bytes);
    return text;
}

void fake_add_unterminated(job_desc_msg_t *desc, size_t bytes)
{
    size_t count = desc->spank_job_env_size;
    char *entry = fake_unterminated(bytes);

    entry[bytes / 2] = '=';
    add(&desc->spank_job_env, &count, entry);
    desc->spank_job_env_size = (uint32_t)count;
}

const char *fake_get_env(const job_desc_msg_t *desc, const char *name)
{
    for (uint32_t i = 0; i < desc->spank_job_env_size; i++) {
        const char *entry = desc->spank_job_env[i];

        if (strncmp(entry, name, strlen(name)) == 0 && entry[strlen(name)] == '=')
            return entry + strlen(name) + 1;
    }
    return NULL;
}

void fake_free_string(char **text)
{
    slurm_xfree((void **)text);
}

void fake_free_desc(job_desc_msg_t *desc)
{
    char **strings[] = {&desc->partition,     &desc->qos,
                        &desc->admin_comment, &desc->tres_per_job,
                        &desc->tres_per_node, &desc->tres_per_socket,
                        &desc->tres_per_task, &desc->job_id_str,
                        &desc->name,          &desc->script};

    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
        fake_free_string(strings[i]);
    for (uint32_t i = 0; i < desc->spank_job_env_size; i++)
        fake_free_string(&desc->spank_job_env[i]);
    slurm_xfree((void **)&desc->spank_job_env);
    for (uint32_t i = 0; i < desc->env_size; i++)
        fake_free_string(&desc->environment[i]);
    slurm_xfree((void **)&desc->environment);
    for (uint32_t i = 0; i < desc->argc; i++)
        fake_free_string(&desc->argv[i]);
    slurm_xfree((void **)&desc->argv);
    slurm_xfree((void **)&desc);
}

long fake_blocks(void)
{
    return atomic_load(&blocks);
}

job_record_t *fake_job(const char *partition)
{
    static job_record_t job;

    snprintf(job.partition, sizeof(job.partition), "%s", partition);
    return &job;
}

unsigned fake_errors(void)
{
    return atomic_exchange(&errors, 0);
}
