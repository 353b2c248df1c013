/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>
#include <strings.h>

#include "jobsubmit/decide.h"

/* Maximum part of a user's text that a rejection repeats. */
#define SHOWN "%.64s"

/* Names in a comma-separated list. */
typedef struct {
    bool ours;
    bool others;
} names_t;

typedef int (*compare_t)(const char *a, const char *b, size_t length);

/* Split like Slurm's get_part_list: empty items do not count. */
static names_t read_names(const char *list, const char *name, compare_t compare)
{
    names_t names = {.ours = false};

    while (list && *list) {
        size_t length = strcspn(list, ",");

        if (length == strlen(name) && compare(list, name, length) == 0)
            names.ours |= length > 0;
        else
            names.others |= length > 0;
        list += length + (list[length] == ',');
    }
    return names;
}

static names_t partition_names(const hpcb_conf_t *conf, const char *list)
{
    return read_names(list, conf->guest_partition, strncmp);
}

/* slurmctld compares QOS names without regard to case, partitions with. */
static names_t qos_names(const hpcb_conf_t *conf, const char *list)
{
    return read_names(list, conf->guest_qos, strncasecmp);
}

hpcb_class_t hpcb_partition_class(const hpcb_conf_t *conf, const char *partition)
{
    if (!partition || !*partition)
        return HPCB_CLASS_UNKNOWN;
    return partition_names(conf, partition).ours ? HPCB_CLASS_GUEST
                                                 : HPCB_CLASS_PRIMARY;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

static bool item_names_gres(const char *item, size_t length)
{
    size_t type = strcspn(item, ":/=,");

    if (length == 0)
        return false;
    if (is_word(item, type, "gres") && type < length) {
        item += type + 1;
        length -= type + 1;
        return !is_word(item, length, "none") && length > 0;
    }
    return !(is_word(item, type, "cpu") || is_word(item, type, "license") ||
             is_word(item, length, "none"));
}

bool hpcb_partition_is_exclusive(const hpcb_conf_t *conf, const char *partitions)
{
    char name[HPCB_NAME_MAX];

    while (*partitions) {
        size_t length = strcspn(partitions, ",");

        if (length < sizeof(name)) {
            memcpy(name, partitions, length);
            name[length] = '\0';
            if (length > 0 && hpcb_conf_is_exclusive(conf, name))
                return true;
        }
        partitions += length + (partitions[length] == ',');
    }
    return false;
}

bool hpcb_names_gres(const char *tres)
{
    while (tres && *tres) {
        size_t length = strcspn(tres, ",");

        if (item_names_gres(tres, length))
            return true;
        tres += length + (tres[length] == ',');
    }
    return false;
}

static int check_claims(const hpcb_conf_t *conf, const hpcb_claims_t *claims,
                        hpcb_error_t *err)
{
    if (claims->exclusive)
        return hpcb_error(err, "a guest shares its nodes with primaries: remove "
                               "--exclusive, --core-spec and --thread-spec");
    if (claims->all_memory)
        return hpcb_error(err, "a guest cannot have all memory of a node: say how much "
                               "it needs, for example --mem=1G");
    if (claims->gres && !conf->guest_gres)
        return hpcb_error(err, "guests get no GRES on this cluster (GuestGres=no): "
                               "remove --gres and --gpus, or submit without --guest");
    return 0;
}

static int check_guest_names(const hpcb_conf_t *conf, const hpcb_request_t *request,
                             hpcb_error_t *err)
{
    names_t partition = partition_names(conf, request->partition);
    names_t qos = qos_names(conf, request->qos);

    if (partition.ours && partition.others)
        return hpcb_error(err,
                          "--partition=" SHOWN " mixes guests and primaries: name %s "
                          "alone, or leave it out",
                          request->partition, conf->guest_partition);
    if (partition.others)
        return hpcb_error(err,
                          "guests run in partition %s: remove --partition=" SHOWN
                          ", or submit without %s",
                          conf->guest_partition, request->partition,
                          request->options.guest ? "--guest" : "the QOS of guests");
    if (*conf->guest_qos && qos.others)
        return hpcb_error(err, "guests run in QOS %s: remove --qos=" SHOWN,
                          conf->guest_qos, request->qos);
    return 0;
}

/* slurmd forks it from itself, and what it leaves behind is in no job.  scrontab always
 * asks for it, and sbatch does for each --export but ALL alone. */
static int check_login_shell(const hpcb_request_t *request, hpcb_error_t *err)
{
    if (!request->login_shell)
        return 0;
    if (request->crontab)
        return hpcb_error(err, "a guest cannot come from scrontab: a login shell would "
                               "run outside of the job, not as a guest; let the entry "
                               "call sbatch --guest");
    return hpcb_error(err,
                      "a guest cannot have --get-user-env, nor --export with a name or "
                      "NONE: a login shell would run outside of the job, not as a "
                      "guest; use --export=ALL (for ALL,NAME=value: NAME=value sbatch "
                      "--export=ALL) and unset SLURM_GET_USER_ENV");
}

static int check_window(const hpcb_conf_t *conf, const hpcb_options_t *options,
                        hpcb_error_t *err)
{
    char window[HPCB_WINDOW_TEXT_MAX];

    if (hpcb_conf_window_fits(conf, &options->window))
        return 0;
    return hpcb_error(err,
                      "--hpc-window=%s: PERIOD is longer than this cluster allows; "
                      "allowed: up to %us (WindowMaxPeriod)",
                      hpcb_window_print(&options->window, window, sizeof(window)),
                      conf->window_max_period);
}

static int check_components(const hpcb_request_t *request, hpcb_class_t klass,
                            hpcb_error_t *err)
{
    if (!request->later_component || klass == request->first_class)
        return 0;
    return hpcb_error(err, "a heterogeneous job cannot mix guests and primaries: give "
                           "every component --guest, or none");
}

int hpcb_decide_submit(const hpcb_conf_t *conf, const hpcb_request_t *request,
                       hpcb_class_t *klass, hpcb_error_t *err)
{
    hpcb_options_t options = request->options;
    hpcb_class_t decided;

    options.guest |= partition_names(conf, request->partition).ours ||
                     qos_names(conf, request->qos).ours;
    decided = options.guest ? HPCB_CLASS_GUEST : HPCB_CLASS_PRIMARY;
    if (decided == HPCB_CLASS_GUEST &&
        (check_guest_names(conf, request, err) ||
         check_claims(conf, &request->claims, err) || check_login_shell(request, err)))
        return -1;
    if (hpcb_options_check(&options, err) || check_window(conf, &options, err) ||
        check_components(request, decided, err))
        return -1;
    *klass = decided;
    return 0;
}

bool hpcb_tell_spread(const hpcb_conf_t *conf, const hpcb_options_t *options,
                      bool has_layout, hpcb_error_t *line)
{
    const char *why = NULL;

    if (!conf->admin_comment_tag)
        why = "this cluster writes no tag, which it needs (AdminCommentTag=no)";
    else if (has_layout)
        why = "the job sets its own layout (--ntasks-per-node or the like)";
    else if (options->bw_mem == 0)
        why = "the memory bandwidth of the job is not known; set it with "
              "--bw-profile=mem=SIZE";
    if (why)
        hpcb_error(line, "--bw-spread changes nothing: %s", why);
    else
        hpcb_error(line, "--bw-spread: SystemComment of scontrol show job shows the "
                         "decision when the job runs");
    return !why;
}

bool hpcb_change_matters(const hpcb_change_t *change)
{
    return change->partition || change->qos || change->priority || change->nice ||
           change->claims.exclusive || change->claims.all_memory || change->claims.gres;
}

/* Return the class of a new partition or QOS; UNKNOWN if none is given. */
static hpcb_class_t target_class(bool given, names_t names)
{
    if (!given)
        return HPCB_CLASS_UNKNOWN;
    return names.ours ? HPCB_CLASS_GUEST : HPCB_CLASS_PRIMARY;
}

static int check_border(const hpcb_change_t *change, hpcb_class_t target,
                        const char *what, const char *value, hpcb_error_t *err)
{
    if (change->privileged || target == HPCB_CLASS_UNKNOWN || target == change->klass)
        return 0;
    if (change->klass == HPCB_CLASS_UNKNOWN)
        return hpcb_error(err,
                          "%s=" SHOWN ": cannot see whether this job is a guest: "
                          "cancel it and submit it again, or ask an operator",
                          what, value);
    return hpcb_error(err,
                      "%s=" SHOWN " would make a %s of a %s: cancel the job and submit "
                      "it again %s --guest, or ask an operator",
                      what, value, hpcb_class_name(target),
                      hpcb_class_name(change->klass),
                      target == HPCB_CLASS_GUEST ? "with" : "without");
}

static int check_guest_priority(const hpcb_change_t *change, hpcb_error_t *err)
{
    if (change->privileged || change->klass != HPCB_CLASS_GUEST)
        return 0;
    if (change->priority || change->nice)
        return hpcb_error(err,
                          "the %s of a guest is fixed: submit the job without --guest, "
                          "or ask an operator",
                          change->priority ? "priority" : "nice value");
    return 0;
}

int hpcb_decide_modify(const hpcb_conf_t *conf, const hpcb_change_t *change,
                       hpcb_class_t *klass_after, hpcb_error_t *err)
{
    names_t partition = partition_names(conf, change->partition);
    bool qos_counts = change->qos && *conf->guest_qos;
    hpcb_class_t by_partition = target_class(change->partition, partition);
    hpcb_class_t by_qos = target_class(qos_counts, qos_names(conf, change->qos));
    hpcb_class_t after =
        by_partition == HPCB_CLASS_UNKNOWN ? change->klass : by_partition;

    if (partition.ours && partition.others)
        return hpcb_error(err,
                          "partition=" SHOWN " mixes guests and primaries: name %s "
                          "alone, or only others",
                          change->partition, conf->guest_partition);
    if (check_border(change, by_partition, "partition", change->partition, err) ||
        check_border(change, by_qos, "qos", change->qos, err) ||
        check_guest_priority(change, err))
        return -1;
    if (after == HPCB_CLASS_GUEST && check_claims(conf, &change->claims, err))
        return -1;
    *klass_after = after;
    return 0;
}
