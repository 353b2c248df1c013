/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * profile show, set, forget: an administrator's access to the profile store.  learn is
 * in profile_learn.c.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/conf.h"
#include "common/log.h"
#include "common/options.h"
#include "common/text.h"
#include "hpcbctl/output.h"
#include "hpcbctl/profile/profile.h"

#define USER_BYTES 64

int hpcb_profile_usage(const char *verb, const char *what)
{
    hpcb_log(HPCB_LOG_ERROR, "profile %s: %s (see hpcbctl profile %s --help)", verb,
             what, verb);
    return HPCB_EXIT_USAGE;
}

int hpcb_profile_path(const hpcb_ctl_t *ctl, char path[static PATH_MAX])
{
    char conf_path[PATH_MAX];
    hpcb_conf_t conf;
    hpcb_error_t err;

    if (hpcb_conf_load(hpcb_conf_find(ctl->conf_path, conf_path, sizeof(conf_path)),
                       &conf, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return -1;
    }
    hpcb_conf_profile_store(&conf, path);
    return 0;
}

int hpcb_profile_uid(const char *user, uint32_t *uid)
{
    const struct passwd *entry = getpwnam(user);
    char shown[USER_BYTES];
    uint64_t number;

    if (entry) {
        *uid = entry->pw_uid;
        return 0;
    }
    /* (uid_t)-1 is no user. */
    if (hpcb_text_u64(user, UINT32_MAX - 1, &number) == 0) {
        *uid = (uint32_t)number;
        return 0;
    }
    snprintf(shown, sizeof(shown), "%.*s", USER_BYTES - 1, user);
    hpcb_log(HPCB_LOG_ERROR, "--user=%s: no such user", hpcb_text_clean(shown));
    return -1;
}

/* Get the filter of --user, --name and --executable.  Return -1 after an error line. */
static int read_filter(const hpcb_ctl_t *ctl, hpcb_profile_filter_t *filter)
{
    const char *slash = ctl->executable ? strrchr(ctl->executable, '/') : NULL;

    *filter = (hpcb_profile_filter_t){
        .by_user = ctl->user != NULL,
        .name = ctl->name,
        .executable = slash ? slash + 1 : ctl->executable,
    };
    return ctl->user ? hpcb_profile_uid(ctl->user, &filter->uid) : 0;
}

/* ---- show ---- */

static const char *user_name(uint32_t uid)
{
    const struct passwd *entry = getpwuid(uid);

    return entry ? entry->pw_name : NULL;
}

static json_object *figure_json(const hpcb_profile_figure_t *figure)
{
    json_object *object = json_object_new_object();

    if (object && hpcb_json_u64(object, "mean", figure->mean) == 0 &&
        hpcb_json_u64(object, "deviation", figure->deviation) == 0 &&
        hpcb_json_u64(object, "count", figure->count) == 0 &&
        hpcb_json_bool(object, "steady", hpcb_profile_steady(figure)) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

static int add_figures(json_object *object, const hpcb_profile_t *profile)
{
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++) {
        const hpcb_profile_figure_t *figure = &profile->figures[axis];
        const char *name = hpcb_profile_axis_name(axis);

        if (figure->count ? hpcb_json_add(object, name, figure_json(figure))
                          : hpcb_json_text(object, name, NULL))
            return -1;
    }
    return 0;
}

static json_object *profile_json(const hpcb_profile_t *profile)
{
    json_object *object = json_object_new_object();
    char name[HPCB_PROFILE_ENCODED_MAX];
    char executable[HPCB_PROFILE_ENCODED_MAX];

    if (object && hpcb_json_u64(object, "user_id", profile->key.uid) == 0 &&
        hpcb_json_text(object, "user", user_name(profile->key.uid)) == 0 &&
        hpcb_json_text(object, "name", hpcb_profile_encode(profile->key.name, name)) ==
            0 &&
        hpcb_json_text(object, "executable",
                       hpcb_profile_encode(profile->key.executable, executable)) == 0 &&
        add_figures(object, profile) == 0 &&
        hpcb_json_u64(object, "updated", profile->updated) == 0 &&
        hpcb_json_text(object, "source", profile->fixed ? "set" : "measured") == 0 &&
        hpcb_json_bool(object, "fixed", profile->fixed) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

static int show_json(const char *path, const hpcb_profiles_t *store,
                     const hpcb_profile_filter_t *filter)
{
    hpcb_autojson json_object *object = json_object_new_object();
    json_object *array = json_object_new_array();

    if (!object || hpcb_json_text(object, "store", path) ||
        hpcb_json_add(object, "profiles", array))
        return -1;
    for (size_t i = 0; i < hpcb_profiles_count(store); i++) {
        const hpcb_profile_t *profile = hpcb_profiles_at(store, i);

        if (hpcb_profile_matches(profile, filter) &&
            hpcb_json_append(array, profile_json(profile)))
            return -1;
    }
    return hpcb_json_print(object, stdout);
}

/* "12.0G (3%)": mean and deviation; "-" for what was never measured. */
static void print_size(const hpcb_profile_figure_t *figure)
{
    static const char units[] = " KMGTPE";
    double value = (double)figure->mean;
    char text[32] = "-";
    size_t unit = 0;

    while (value >= 1024 && units[unit + 1]) {
        value /= 1024;
        unit++;
    }
    if (figure->count)
        snprintf(text, sizeof(text), "%.1f%.*s (%.0f%%)", value, unit > 0, &units[unit],
                 figure->mean ? 100.0 * (double)figure->deviation / (double)figure->mean
                              : 0);
    printf("  %-14s", text);
}

static void print_cpu(const hpcb_profile_figure_t *figure)
{
    char text[16] = "-";

    if (figure->count)
        snprintf(text, sizeof(text), "%.0f%%",
                 100.0 * (double)figure->mean / HPCB_PROFILE_ONE);
    printf("  %-5s", text);
}

static void print_runs(const hpcb_profile_t *profile)
{
    uint32_t most = 0;

    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++)
        if (profile->figures[axis].count > most)
            most = profile->figures[axis].count;
    if (profile->fixed)
        printf("  %6s", "set");
    else
        printf("  %6" PRIu32, most);
}

static void print_profile(const hpcb_profile_t *profile)
{
    char text[HPCB_PROFILE_ENCODED_MAX], date[32] = "?";
    const char *user = user_name(profile->key.uid);
    time_t updated = (time_t)profile->updated;
    struct tm when;

    if (user)
        printf("%-10s", user);
    else
        printf("%-10" PRIu32, profile->key.uid);
    printf("  %-16s", hpcb_profile_encode(profile->key.name, text));
    printf("  %-16s", *profile->key.executable
                          ? hpcb_profile_encode(profile->key.executable, text)
                          : "-");
    print_size(&profile->figures[HPCB_PROFILE_MEM]);
    print_size(&profile->figures[HPCB_PROFILE_NET]);
    print_cpu(&profile->figures[HPCB_PROFILE_CPU]);
    print_size(&profile->figures[HPCB_PROFILE_PEAK]);
    print_runs(profile);
    if (localtime_r(&updated, &when))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &when);
    printf("  %-16s", date);
    print_size(&profile->figures[HPCB_PROFILE_MEM_PEAK]);
    print_size(&profile->figures[HPCB_PROFILE_NET_PEAK]);
    putchar('\n');
}

static int show_text(const hpcb_profiles_t *store, const hpcb_profile_filter_t *filter)
{
    bool any = false;

    for (size_t i = 0; i < hpcb_profiles_count(store); i++) {
        const hpcb_profile_t *profile = hpcb_profiles_at(store, i);

        if (!hpcb_profile_matches(profile, filter))
            continue;
        if (!any)
            printf("%-10s  %-16s  %-16s  %-14s  %-14s  %-5s  %-14s  %6s  %-16s  %-14s  "
                   "%s\n",
                   "USER", "NAME", "EXECUTABLE", "MEM/s", "NET/s", "CPU", "PEAK",
                   "RUNS", "UPDATED", "MEM-P95", "NET-P95");
        any = true;
        print_profile(profile);
    }
    if (!any)
        puts("No profiles.");
    return fflush(stdout);
}

int hpcb_profile_show(const hpcb_ctl_t *ctl)
{
    hpcb_profile_filter_t filter;
    hpcb_profiles_t *store;
    char path[PATH_MAX];
    hpcb_error_t err;
    int rc;

    if (ctl->n_operands)
        return hpcb_profile_usage("show", "takes no argument");
    if (hpcb_profile_path(ctl, path) || read_filter(ctl, &filter))
        return 1;
    store = hpcb_profiles_load(path, &err);
    if (!store && errno == ENOENT)
        store = hpcb_profiles_new();
    if (!store) {
        hpcb_log(HPCB_LOG_ERROR, "profile show: %s", err.text);
        return 1;
    }
    rc = ctl->json ? show_json(path, store, &filter) : show_text(store, &filter);
    hpcb_profiles_free(store);
    if (rc == 0)
        return 0;
    hpcb_log(HPCB_LOG_ERROR, "profile show: cannot write to stdout");
    return 1;
}

/* ---- set, forget ---- */

typedef struct {
    hpcb_profile_key_t key;
    hpcb_profile_run_t values;
    hpcb_profile_filter_t filter;
    size_t forgotten;
} change_t;

static int set_it(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    const change_t *change = arg;

    return hpcb_profiles_set(store, &change->key, &change->values, (uint64_t)time(NULL),
                             err);
}

static int forget_it(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    change_t *change = arg;

    change->forgotten = hpcb_profiles_forget(store, &change->filter);
    return change->forgotten ? 0 : hpcb_error(err, "no such profile");
}

/* Return the exit code, after a line on failure. */
static int update(const hpcb_ctl_t *ctl, const char *verb,
                  int (*act)(hpcb_profiles_t *, void *, hpcb_error_t *),
                  change_t *change)
{
    char path[PATH_MAX];
    hpcb_error_t err;

    if (hpcb_profile_path(ctl, path))
        return 1;
    if (hpcb_profiles_update(path, act, change, &err) == 0)
        return 0;
    hpcb_log(HPCB_LOG_ERROR, "profile %s: %s", verb, err.text);
    return 1;
}

static hpcb_profile_run_t values_of(const hpcb_options_t *options)
{
    return (hpcb_profile_run_t){
        .known = {options->bw_mem > 0, options->bw_net > 0, options->bw_cpu > 0},
        .value = {options->bw_mem, options->bw_net,
                  (uint64_t)(options->bw_cpu * HPCB_PROFILE_ONE + 0.5)},
    };
}

int hpcb_profile_set(const hpcb_ctl_t *ctl)
{
    hpcb_options_t options = {.guest = false};
    change_t change = {.forgotten = 0};
    hpcb_error_t err;
    uint32_t uid;

    if (ctl->n_operands != 1 || !ctl->user || !ctl->name)
        return hpcb_profile_usage("set", "give --user, --name and one profile such as "
                                         "mem=12G,net=1G");
    if (hpcb_option_parse("bw-profile", ctl->operands[0], &options, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "profile set: %s", err.text);
        return HPCB_EXIT_USAGE;
    }
    if (hpcb_profile_uid(ctl->user, &uid))
        return 1;
    if (hpcb_profile_key(uid, ctl->name, ctl->executable, &change.key))
        return hpcb_profile_usage("set", "--name and --executable: 1 to 255 bytes");
    change.values = values_of(&options);
    return update(ctl, "set", set_it, &change);
}

int hpcb_profile_forget(const hpcb_ctl_t *ctl)
{
    bool chosen = ctl->user || ctl->name || ctl->executable;
    change_t change = {.forgotten = 0};
    int rc;

    if (ctl->n_operands)
        return hpcb_profile_usage("forget", "takes no argument");
    if (chosen == ctl->all)
        return hpcb_profile_usage("forget", "give --user, --name or --executable, or "
                                            "--all alone");
    if (read_filter(ctl, &change.filter))
        return 1;
    rc = update(ctl, "forget", forget_it, &change);
    if (rc == 0 && ctl->json)
        printf("{\"forgotten\": %zu}\n", change.forgotten);
    else if (rc == 0)
        printf("%zu forgotten\n", change.forgotten);
    return rc;
}
