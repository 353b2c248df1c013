/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * As much of slurmctld as a job_submit plugin sees: Slurm's memory, whose blocks carry
 * a header of their own so that foreign memory is found; its log; who is an operator;
 * and one job, of which only the partition is known.
 */
#ifndef HPCB_TESTS_FAKE_SLURMCTLD_H
#define HPCB_TESTS_FAKE_SLURMCTLD_H

#include <stdbool.h>
#include <stdint.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

typedef struct job_record job_record_t;

typedef struct {
    void *handle;
    int (*init)(void);
    int (*fini)(void);
    int (*submit)(job_desc_msg_t *job_desc, uint32_t uid, char **err_msg);
    /* One argument more than 22.05 knows; it does no harm there. */
    int (*modify)(job_desc_msg_t *job_desc, job_record_t *job, uint32_t uid,
                  char **err_msg);
} fake_plugin_t;

#define FAKE_USER     1000
#define FAKE_OPERATOR 2000

/* Load the built plugin and resolve it as Slurm does, or end the test program. */
fake_plugin_t fake_load(void);

/* Slurm's copy of text, or NULL. */
char *fake_string(const char *text);

/* A description as slurm_init_job_desc_msg leaves it. */
job_desc_msg_t *fake_desc(void);

/* Append an entry to the SPANK environment. */
void fake_add_env(job_desc_msg_t *desc, const char *entry);

/* Append an entry to the environment of the job itself. */
void fake_add_environment(job_desc_msg_t *desc, const char *entry);

/* Give the job of FAKE_USER a name and, unless NULL, an executable. */
void fake_set_program(job_desc_msg_t *desc, const char *name, const char *executable);

/* That many bytes without a NUL. */
char *fake_unterminated(size_t bytes);

/* Put count bytes without a NUL there. */
void fake_add_unterminated(job_desc_msg_t *desc, size_t count);

/* The value of name in the SPANK environment, NULL where there is none. */
const char *fake_get_env(const job_desc_msg_t *desc, const char *name);

/* Free desc as slurmctld does. Ends the test program at foreign memory. */
void fake_free_desc(job_desc_msg_t *desc);
void fake_free_string(char **text);

/* Blocks of Slurm's memory that are in use. */
long fake_blocks(void);

/* A job in this partition, for job_modify. */
job_record_t *fake_job(const char *partition);

/* Lines of the log since the last call that were errors. */
unsigned fake_errors(void);

#endif
