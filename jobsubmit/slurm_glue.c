/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * job_submit/hpc_balance: the plugin's entry points, called by slurmctld.
 *
 *   init, fini	when the plugin is loaded and unloaded
 *   job_submit	for each submission (each component of a hetjob on its own),
 *		under slurmctld's job read lock
 *   job_modify	for each `scontrol update`, hold, release, under its job
 *		write lock
 *
 * Since 23.02 calls run concurrently; all state is the settings and the
 * profiles, each protected by a mutex, and one thread-local variable. Nothing
 * here blocks except for one stat() a second, for our settings after slurmctld
 * was reconfigured and, in job_modify, for NSS (see slurmctld.h). A thread of
 * our own reads a changed profile store; fini waits for it.
 *
 * This file collects the input of jobsubmit/decide.c and applies its decisions.
 * It must leave a job_desc_msg_t with slurm_x memory only, and unchanged if a
 * job is rejected.
 *
 * Not visible here: a cluster's default partition and an association's default
 * QOS. A job that comes to the guest partition that way is a guest on its
 * nodes, but has neither priority nor tag of one: neither may be the guests'.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/class.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/tag.h"
#include "jobsubmit/decide.h"
#include "jobsubmit/profiles.h"
#include "jobsubmit/settings.h"
#include "jobsubmit/slurmctld.h"
#include "jobsubmit/spank_env.h"

/*
 * A guest's explicit priority is lost when it is held and released or suspended
 * and resumed, also by its owner: the priority plugin then computes one as for
 * any job. The site factor, which only job_submit plugins and operators set and
 * which slurmctld keeps, is added there: the lowest possible one leaves
 * priority 1 (priority/multifactor), so that a guest never gets above
 * bf_min_prio_reserve again.
 */
#define SITE_FACTOR_GUEST   (NICE_OFFSET - 0x7fffffff)
#define SITE_FACTOR_PRIMARY NICE_OFFSET

#define LABEL_MAX (sizeof(HPCB_CLASS_LABEL_GUEST) + HPCB_NAME_MAX)

const char plugin_name[] = "hpc-balance: guests next to primaries";
const char plugin_type[] = "job_submit/hpc_balance";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static hpcb_settings_t settings = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static hpcb_profile_cache_t profiles = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/*
 * Class of the first component of the heterogeneous job that this thread is
 * working on: one thread asks for all components, in order, without another
 * submission in between.
 */
static __thread hpcb_class_t first_component = HPCB_CLASS_UNKNOWN;

/* Message about --bw-spread of an earlier component, likewise. */
static __thread hpcb_error_t told = { "" };

static void _log_line(hpcb_log_level_t level, const char *line)
{
	if (level == HPCB_LOG_ERROR)
		slurm_error("%s: %s", plugin_type, line);
	else if (level == HPCB_LOG_INFO)
		slurm_info("%s: %s", plugin_type, line);
	else
		slurm_debug("%s: %s", plugin_type, line);
}

static int64_t _now_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Return when slurmctld has last read slurm.conf; it writes this under locks of
 * its own, and a single read of a time is consistent.
 */
static time_t _configured(void)
{
	return &slurm_conf ? slurm_conf.last_update : 0;
}

extern int init(void)
{
	char path[PATH_MAX];
	hpcb_conf_t conf;

	hpcb_log_set_sink(_log_line);
	hpcb_settings_open(&settings,
			   hpcb_conf_find(NULL, path, sizeof(path)),
			   _configured());
	hpcb_settings_get(&settings, _configured(), &conf);
	hpcb_profile_cache_close(&profiles);
	hpcb_profile_cache_open(&profiles,
				hpcb_conf_profile_store(&conf, path),
				_now_ms());
	return SLURM_SUCCESS;
}

extern int fini(void)
{
	hpcb_profile_cache_close(&profiles);
	return SLURM_SUCCESS;
}

static void _set_string(char **field, const char *value)
{
	slurm_xfree((void **) field);
	*field = slurm_xstrdup(value);
}

/* One more line for the user; an earlier plugin may have left some. */
static void _tell(char **err_msg, const char *line)
{
	char *lines;

	if (!err_msg)
		return;
	lines = *err_msg ?
		slurm_xstrdup_printf("%s\n%s", *err_msg, line) :
		slurm_xstrdup(line);
	slurm_xfree((void **) err_msg);
	*err_msg = lines;
}

static bool _is_operator(uint32_t uid)
{
	if (validate_operator)
		return validate_operator(uid);
	/* slurmctld runs as SlurmUser. */
	return (uid == 0) || (uid == geteuid());
}

static hpcb_claims_t _claims(const job_desc_msg_t *job_desc)
{
	/* JOB_SHARED_OK is --oversubscribe; all other values are forms of
	 * --exclusive, as are specialized cores. */
	bool exclusive = ((job_desc->shared != NO_VAL16) &&
			  (job_desc->shared != JOB_SHARED_OK)) ||
			 ((job_desc->core_spec != NO_VAL16) &&
			  (job_desc->core_spec != INFINITE16));
	/* slurmctld makes GPUs out of --ntasks-per-gpu alone. */
	bool gres = hpcb_names_gres(job_desc->tres_per_job) ||
		    hpcb_names_gres(job_desc->tres_per_node) ||
		    hpcb_names_gres(job_desc->tres_per_socket) ||
		    hpcb_names_gres(job_desc->tres_per_task) ||
		    ((job_desc->ntasks_per_tres != NO_VAL16) &&
		     (job_desc->ntasks_per_tres != 0));

	return (hpcb_claims_t) {
		.exclusive = exclusive,
		.all_memory = (job_desc->pn_min_memory == 0) ||
			      (job_desc->pn_min_memory == MEM_PER_CPU),
		.gres = gres,
	};
}

/*
 * Return a text of the client, or NULL if it is not terminated
 * (_drop_unterminated).
 */
static const char *_text(char *text)
{
	return text && memchr(text, '\0', slurm_xsize(text)) ? text : NULL;
}

/*
 * Return whether slurmd forks a login shell before the job: exactly this text
 * causes it, for batch jobs (_get_user_env of slurmd, 22.05 ... 26.05). An
 * entry may lack a NUL (_text); it is unknown what then follows it on its way
 * to slurmd.
 */
static bool _wants_login_shell(const job_desc_msg_t *job_desc)
{
	static const char text[] = "SLURM_GET_USER_ENV=1";
	const size_t length = sizeof(text) - 1;
	uint32_t i;

	if (!job_desc->script || !job_desc->environment)
		return false;
	for (i = 0; i < job_desc->env_size; i++) {
		const char *entry = job_desc->environment[i];
		size_t size = entry ? slurm_xsize((void *) entry) : 0;

		if ((size >= length) && !memcmp(entry, text, length) &&
		    ((size == length) || !entry[length]))
			return true;
	}
	return false;
}

/*
 * 22.05.8 takes texts without a NUL from a hostile client (unpackstr_array);
 * they end where their memory does.
 */
static void _drop_unterminated(job_desc_msg_t *job_desc)
{
	uint32_t i;

	for (i = 0; i < job_desc->spank_job_env_size; i++) {
		char **entry = &job_desc->spank_job_env[i];

		if (*entry && !memchr(*entry, '\0', slurm_xsize(*entry)))
			slurm_xfree((void **) entry);
	}
}

/*
 * Determine which entries of spank_job_env stay, and our options in them. The
 * caller frees *keep.
 */
static int _read_spank_env(job_desc_msg_t *job_desc, bool **keep, long *kept,
			   hpcb_options_t *options, hpcb_error_t *err)
{
	if (!job_desc->spank_job_env)
		job_desc->spank_job_env_size = 0;
	if (job_desc->spank_job_env_size <= HPCB_SPANK_ENV_MAX)
		_drop_unterminated(job_desc);
	*keep = calloc((size_t) HPCB_SPANK_ENV_MAX, sizeof(**keep));
	if (!*keep)
		return hpcb_error(err, "out of memory");
	*kept = hpcb_spank_env_sift(job_desc->spank_job_env,
				    job_desc->spank_job_env_size, *keep, err);
	if (*kept < 0)
		return -1;
	return hpcb_spank_env_options(job_desc->spank_job_env,
				      job_desc->spank_job_env_size, options,
				      err);
}

/*
 * Let only what is kept stay, and what is ours alone. Slurm walks the array
 * both by its count and to a NULL behind it.
 */
static void _write_spank_env(job_desc_msg_t *job_desc, const bool *keep,
			     long kept, const char *label, const char *program,
			     bool spread)
{
	char **old = job_desc->spank_job_env;
	char **env = slurm_xcalloc((size_t) kept + 5, sizeof(*env), true,
				   false, __FILE__, __LINE__, __func__);
	uint32_t i, count = 0;

	for (i = 0; i < job_desc->spank_job_env_size; i++) {
		if (keep[i])
			env[count++] = old[i];
		else
			slurm_xfree((void **) &old[i]);
	}
	env[count++] = slurm_xstrdup_printf("%s=%s", HPCB_SPANK_ENV_CLASS,
					    label);
	env[count++] = slurm_xstrdup_printf("%s=%lld", HPCB_SPANK_ENV_SUBMIT,
					    (long long) time(NULL));
	if (*program)
		env[count++] = slurm_xstrdup_printf(
			"%s=%s", HPCB_SPANK_ENV_PROGRAM, program);
	if (spread)
		env[count++] = slurm_xstrdup_printf("%s=1",
						    HPCB_SPANK_ENV_SPREAD);
	slurm_xfree((void **) &job_desc->spank_job_env);
	job_desc->spank_job_env = env;
	job_desc->spank_job_env_size = count;
}

/* Write the nodes' label of the class (hpcb_class_of_job). */
static void _label(const hpcb_conf_t *conf, hpcb_class_t klass,
		   char label[static LABEL_MAX])
{
	if (klass == HPCB_CLASS_GUEST)
		snprintf(label, LABEL_MAX, HPCB_CLASS_LABEL_GUEST "%s",
			 conf->guest_partition);
	else
		snprintf(label, LABEL_MAX, "%s", hpcb_class_name(klass));
}

/*
 * By what the profile store knows a job. sbatch sends the name of the script,
 * srun that of the program, salloc nothing.
 */
static int _profile_key(job_desc_msg_t *job_desc, hpcb_profile_key_t *key)
{
	char *executable = NULL;

	if (job_desc->argc && job_desc->argv)
		executable = job_desc->argv[0];
	return hpcb_profile_key(job_desc->user_id, _text(job_desc->name),
				_text(executable), key);
}

static bool _is_profile_given(const hpcb_options_t *options)
{
	return options->bw_mem || options->bw_net || (options->bw_cpu > 0);
}

static bool _look_up(const hpcb_conf_t *conf, const hpcb_profile_key_t *key,
		     hpcb_profile_t *profile)
{
	char path[PATH_MAX];

	return hpcb_profile_cache_get(&profiles,
				      hpcb_conf_profile_store(conf, path),
				      _now_ms(), key, profile);
}

/*
 * Use the user's figures of the job's bandwidth, otherwise those of earlier
 * runs.
 */
static void _attach_profile(job_desc_msg_t *job_desc, const hpcb_conf_t *conf,
			    hpcb_options_t *options, hpcb_tag_t *tag,
			    char program[static HPCB_TAG_PROGRAM_MAX])
{
	hpcb_profile_key_t key;
	hpcb_profile_t profile;

	program[0] = '\0';
	if (_profile_key(job_desc, &key))
		return;
	tag->program = hpcb_profile_program(&key, program);
	if (!_look_up(conf, &key, &profile))
		return;
	tag->peak = hpcb_profile_p95(&profile, HPCB_PROFILE_PEAK);
	if (!_is_profile_given(options))
		tag->learned = hpcb_profile_apply(&profile, options);
}

/* A job without tag runs as well: failing here is only logged. Fills program,
 * with AdminCommentTag=no too. */
static void _write_tag(job_desc_msg_t *job_desc, const hpcb_conf_t *conf,
		       hpcb_class_t klass, hpcb_options_t *options,
		       char program[static HPCB_TAG_PROGRAM_MAX])
{
	hpcb_error_t err = { "" };
	hpcb_tag_t said = { .klass = klass, .options = options };
	hpcb_autofree char *comment = NULL;

	_attach_profile(job_desc, conf, options, &said, program);
	if (!conf->admin_comment_tag)
		return;
	comment = hpcb_tag_add(job_desc->admin_comment, &said, &err);
	if (comment)
		_set_string(&job_desc->admin_comment, comment);
	else
		hpcb_log(HPCB_LOG_ERROR, "a job gets no tag: %s", err.text);
}

/*
 * A held job (priority 0) stays held. Negative nice values are reserved for
 * operators; they could only raise the priority.
 */
static void _route_guest(job_desc_msg_t *job_desc, const hpcb_conf_t *conf)
{
	_set_string(&job_desc->partition, conf->guest_partition);
	if (*conf->guest_qos)
		_set_string(&job_desc->qos, conf->guest_qos);
	if (job_desc->priority != 0)
		job_desc->priority = conf->guest_priority;
	if ((job_desc->nice != NO_VAL) && (job_desc->nice < NICE_OFFSET))
		job_desc->nice = NICE_OFFSET;
	job_desc->site_factor = SITE_FACTOR_GUEST;
}

/* In partitions that were OverSubscribe=EXCLUSIVE, as there: whatever the job
 * says. */
static void _give_whole_nodes(job_desc_msg_t *job_desc, const hpcb_conf_t *conf)
{
	const char *partition = job_desc->partition;

	if (!partition && &default_part_name)
		partition = default_part_name;
	if (partition && hpcb_partition_is_exclusive(conf, partition))
		job_desc->shared = JOB_SHARED_NONE;
}

static bool _is_given(uint16_t number)
{
	return number && (number != NO_VAL16) && (number != INFINITE16);
}

/* Does the job say itself how many tasks a node gets? As select/spread.c has
 * it of a job that is accepted. */
static bool _has_layout(const job_desc_msg_t *job_desc)
{
	uint32_t dist = job_desc->task_dist & SLURM_DIST_STATE_BASE;

	return _is_given(job_desc->ntasks_per_node) ||
	       _is_given(job_desc->ntasks_per_board) ||
	       _is_given(job_desc->ntasks_per_socket) ||
	       _is_given(job_desc->ntasks_per_tres) ||
	       (job_desc->overcommit && (job_desc->overcommit != NO_VAL8)) ||
	       ((job_desc->task_dist != NO_VAL) &&
		((dist == SLURM_DIST_ARBITRARY) || (dist == SLURM_DIST_PLANE)));
}

/*
 * Return whether the job may be spread. line is the message to its user, which
 * components of a heterogeneous job get once.
 */
static bool _is_spread(const job_desc_msg_t *job_desc, const hpcb_conf_t *conf,
		       const hpcb_options_t *options, hpcb_error_t *line)
{
	bool later = (job_desc->het_job_offset != NO_VAL) &&
		     job_desc->het_job_offset;
	bool spread;

	if (!later)
		told.text[0] = '\0';
	if (!options->spread)
		return false;
	spread = hpcb_tell_spread(conf, options, _has_layout(job_desc), line);
	if (!strcmp(line->text, told.text))
		line->text[0] = '\0';
	else
		told = *line;
	return spread;
}

/* line stays "" where there is nothing to say to a job that is accepted. */
static int _submit(job_desc_msg_t *job_desc, hpcb_error_t *line,
		   hpcb_error_t *err)
{
	hpcb_conf_t conf;
	hpcb_request_t request = { 0 };
	hpcb_class_t klass;
	hpcb_autofree bool *keep = NULL;
	bool component = (job_desc->het_job_offset != NO_VAL);
	char program[HPCB_TAG_PROGRAM_MAX], label[LABEL_MAX];
	bool spread;
	long kept = 0;

	hpcb_settings_get(&settings, _configured(), &conf);
	if (_read_spank_env(job_desc, &keep, &kept, &request.options, err))
		return -1;
	request.partition = job_desc->partition;
	request.qos = job_desc->qos;
	request.claims = _claims(job_desc);
	request.login_shell = _wants_login_shell(job_desc);
	request.crontab = (job_desc->crontab_entry != NULL);
	request.later_component = component && job_desc->het_job_offset;
	request.first_class = first_component;
	if (hpcb_decide_submit(&conf, &request, &klass, err))
		return -1;
	if (component && !job_desc->het_job_offset)
		first_component = klass;
	_write_tag(job_desc, &conf, klass, &request.options, program);
	spread = _is_spread(job_desc, &conf, &request.options, line);
	_label(&conf, klass, label);
	_write_spank_env(job_desc, keep, kept, label, program, spread);
	if (klass == HPCB_CLASS_GUEST)
		_route_guest(job_desc, &conf);
	else
		_give_whole_nodes(job_desc, &conf);
	return 0;
}

extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid,
		      char **err_msg)
{
	hpcb_error_t err = { "" }, line = { "" };

	if (!_submit(job_desc, &line, &err)) {
		if (*line.text)
			_tell(err_msg, line.text);
		return SLURM_SUCCESS;
	}
	hpcb_log(HPCB_LOG_DEBUG, "refused a job of uid %u: %s", submit_uid,
		 err.text);
	_tell(err_msg, err.text);
	return ESLURM_NOT_SUPPORTED;
}

/*
 * Class of a job as it is, by its partition. User-supplied entries of that
 * environment begin with SPANK_.
 */
static hpcb_class_t _job_class(job_record_t *job_ptr, const hpcb_conf_t *conf)
{
	static const char name[] = "SLURM_JOB_PARTITION=";
	hpcb_class_t klass = HPCB_CLASS_UNKNOWN;
	char **env, **entry;

	if (!job_common_env_vars || !job_ptr)
		return klass;
	env = job_common_env_vars(job_ptr, false);
	for (entry = env; entry && *entry; entry++) {
		if (!strncmp(*entry, name, strlen(name)))
			klass = hpcb_partition_class(conf,
						     *entry + strlen(name));
		slurm_xfree((void **) entry);
	}
	slurm_xfree((void **) &env);
	return klass;
}

/*
 * If an operator moves a job to the other class its place in the queue follows.
 * An explicit priority stays until it is released.
 */
static void _follow_border(job_desc_msg_t *job_desc, hpcb_class_t before,
			   hpcb_class_t after)
{
	if ((after == HPCB_CLASS_GUEST) && (before != HPCB_CLASS_GUEST))
		job_desc->site_factor = SITE_FACTOR_GUEST;
	else if ((after == HPCB_CLASS_PRIMARY) && (before == HPCB_CLASS_GUEST))
		job_desc->site_factor = SITE_FACTOR_PRIMARY;
}

static int _modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		   uint32_t uid, hpcb_error_t *err)
{
	hpcb_conf_t conf;
	hpcb_class_t after;
	hpcb_change_t change = {
		.partition = job_desc->partition,
		.qos = job_desc->qos,
		/* 0 holds, INFINITE releases */
		.priority = (job_desc->priority != NO_VAL) &&
			    (job_desc->priority != INFINITE) &&
			    (job_desc->priority != 0),
		.nice = (job_desc->nice != NO_VAL),
		.claims = _claims(job_desc),
	};

	/* AdminComment and SiteFactor of others than administrators are
	 * refused by slurmctld before and after us. */
	if (!hpcb_change_matters(&change))
		return 0;
	hpcb_settings_get(&settings, _configured(), &conf);
	change.privileged = _is_operator(uid);
	change.klass = _job_class(job_ptr, &conf);
	if (hpcb_decide_modify(&conf, &change, &after, err))
		return -1;
	_follow_border(job_desc, change.klass, after);
	return 0;
}

extern int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
		      uint32_t submit_uid HPCB_ERR_MSG_PARAMETER)
{
	hpcb_error_t err = { "" };

	if (!_modify(job_desc, job_ptr, submit_uid, &err))
		return SLURM_SUCCESS;
	hpcb_log(HPCB_LOG_INFO, "refused a change of job %.32s by uid %u: %s",
		 job_desc->job_id_str ? job_desc->job_id_str : "?", submit_uid,
		 err.text);
	_tell(HPCB_ERR_MSG, err.text);
	return ESLURM_ACCESS_DENIED;
}
