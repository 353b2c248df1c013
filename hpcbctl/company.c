/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * company: which guests placement keeps off which primaries (policy/company.h).  The
 * collector's list has numbers of programs; their names come from the profile store, if
 * they are in there.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/conf.h"
#include "common/file.h"
#include "common/log.h"
#include "common/profile.h"
#include "hpcbctl/output.h"
#include "hpcbctl/verbs.h"
#include "policy/company.h"
#include "policy/fitness.h"

#define USER_BYTES    64
#define PROGRAM_BYTES (2 * HPCB_PROFILE_ENCODED_MAX)

/* The programs of the profile store, by their numbers. */
typedef struct {
    hpcb_profiles_t *store; /* NULL: none can be read */
    uint64_t *numbers;      /* of its entries */
} names_t;

static char *print_program(const hpcb_profile_key_t *key,
                           char text[static PROGRAM_BYTES])
{
    char name[HPCB_PROFILE_ENCODED_MAX], executable[HPCB_PROFILE_ENCODED_MAX];
    bool both = *key->executable && strcmp(key->executable, key->name) != 0;

    snprintf(text, PROGRAM_BYTES, "%s%s%s", hpcb_profile_encode(key->name, name),
             both ? "/" : "",
             both ? hpcb_profile_encode(key->executable, executable) : "");
    return text;
}

static void load_names(const hpcb_conf_t *conf, names_t *names)
{
    char path[PATH_MAX], text[PROGRAM_BYTES];
    size_t count;

    hpcb_conf_profile_store(conf, path);
    *names = (names_t){.store = hpcb_profiles_load(path, NULL)};
    if (!names->store)
        return;
    count = hpcb_profiles_count(names->store);
    names->numbers = calloc(count + 1, sizeof(*names->numbers));
    for (size_t i = 0; names->numbers && i < count; i++) {
        const hpcb_profile_key_t *key = &hpcb_profiles_at(names->store, i)->key;

        names->numbers[i] = hpcb_fit_program(key->uid, print_program(key, text));
    }
}

static void free_names(names_t *names)
{
    free(names->numbers);
    hpcb_profiles_free(names->store);
}

/* The program's name, or its number. */
static const char *name_of(const names_t *names, uint64_t program,
                           char text[static PROGRAM_BYTES])
{
    size_t count = names->numbers ? hpcb_profiles_count(names->store) : 0;

    for (size_t i = 0; i < count; i++)
        if (names->numbers[i] == program)
            return print_program(&hpcb_profiles_at(names->store, i)->key, text);
    snprintf(text, PROGRAM_BYTES, "%016" PRIx64, program);
    return text;
}

static const char *user_of(uint32_t uid, char text[static USER_BYTES])
{
    const struct passwd *entry = getpwuid(uid);

    if (entry)
        snprintf(text, USER_BYTES, "%s", entry->pw_name);
    else
        snprintf(text, USER_BYTES, "%" PRIu32, uid);
    return text;
}

static const char *when(int64_t seconds, char text[static USER_BYTES])
{
    time_t at = (time_t)seconds;
    struct tm tm;

    if (!localtime_r(&at, &tm) || !strftime(text, USER_BYTES, "%Y-%m-%dT%H:%M:%S", &tm))
        snprintf(text, USER_BYTES, "%" PRId64, seconds);
    return text;
}

static void show_pair(const names_t *names, const hpcb_company_pair_t *pair,
                      int64_t now)
{
    char user[USER_BYTES], primary_user[USER_BYTES], last[USER_BYTES],
        until[USER_BYTES];
    char guest[PROGRAM_BYTES], primary[PROGRAM_BYTES];
    bool apart = hpcb_company_judge(pair, now) == HPCB_COMPANY_APART;

    printf("Guest=%s:%s Primary=%s:%s Last=%s Weight=%.3f %s%s\n",
           user_of(pair->guest_uid, user), name_of(names, pair->guest, guest),
           user_of(pair->primary_uid, primary_user),
           name_of(names, pair->primary, primary), when(pair->time, last),
           hpcb_company_weight(pair, now) / (double)HPCB_COMPANY_ONE,
           apart ? "ApartUntil=" : "LastChoice=yes",
           apart ? when(hpcb_company_apart_until(pair), until) : "");
}

static int add_program(json_object *object, const char *key, const names_t *names,
                       uint64_t program, uint32_t uid)
{
    json_object *member = json_object_new_object();
    char text[PROGRAM_BYTES], user[USER_BYTES], number[32];

    snprintf(number, sizeof(number), "%016" PRIx64, program);
    if (hpcb_json_add(object, key, member) || hpcb_json_u64(member, "user_id", uid) ||
        hpcb_json_text(member, "user", user_of(uid, user)) ||
        hpcb_json_text(member, "program", name_of(names, program, text)) ||
        hpcb_json_text(member, "number", number))
        return -1;
    return 0;
}

static int add_pair(json_object *array, const names_t *names,
                    const hpcb_company_pair_t *pair, int64_t now)
{
    json_object *object = json_object_new_object();
    bool apart = hpcb_company_judge(pair, now) == HPCB_COMPANY_APART;
    double weight = hpcb_company_weight(pair, now) / (double)HPCB_COMPANY_ONE;

    if (hpcb_json_append(array, object) ||
        add_program(object, "guest", names, pair->guest, pair->guest_uid) ||
        add_program(object, "primary", names, pair->primary, pair->primary_uid) ||
        hpcb_json_u64(object, "last", (uint64_t)pair->time) ||
        hpcb_json_add(object, "weight", json_object_new_double(weight)) ||
        hpcb_json_bool(object, "apart", apart) ||
        hpcb_json_u64(object, "apart_until", (uint64_t)hpcb_company_apart_until(pair)))
        return -1;
    return 0;
}

static int show_json(const names_t *names, const hpcb_company_t *company, int64_t now)
{
    hpcb_autojson json_object *object = json_object_new_object();
    json_object *array = json_object_new_array();
    int status = object ? hpcb_json_add(object, "company", array) : -1;

    for (size_t i = 0; status == 0 && i < company->count; i++)
        status = add_pair(array, names, &company->pairs[i], now);
    if (status || hpcb_json_print(object, stdout)) {
        hpcb_log(HPCB_LOG_ERROR, "company: out of memory");
        return 1;
    }
    return 0;
}

static int show(const hpcb_ctl_t *ctl, const hpcb_conf_t *conf,
                const hpcb_company_t *company, int64_t now)
{
    names_t names;
    int status = 0;

    load_names(conf, &names);
    if (ctl->json)
        status = show_json(&names, company, now);
    for (size_t i = 0; !ctl->json && i < company->count; i++)
        show_pair(&names, &company->pairs[i], now);
    free_names(&names);
    return status;
}

/* Without a list there is no bad company. */
static int load(const hpcb_conf_t *conf, hpcb_company_t *company, hpcb_error_t *err)
{
    hpcb_autofree char *text = malloc(HPCB_COMPANY_TEXT_MAX);
    char path[PATH_MAX + sizeof(HPCB_COMPANY_FILE)];

    company->count = 0;
    snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE, conf->collector_dir);
    if (!text)
        return hpcb_error(err, "out of memory");
    if (hpcb_file_read_trusted(path, text, HPCB_COMPANY_TEXT_MAX, err) < 0)
        return errno == ENOENT ? 0 : -1;
    if (hpcb_company_parse(company, text) < 0)
        return hpcb_error(
            err, "%.200s: not a list of bad company, or of another version", path);
    return 0;
}

int hpcb_company(const hpcb_ctl_t *ctl)
{
    hpcb_autofree hpcb_company_t *company = malloc(sizeof(*company));
    int64_t now = (int64_t)time(NULL);
    char path[PATH_MAX];
    hpcb_conf_t conf;
    hpcb_error_t err;

    hpcb_error(&err, "out of memory");
    if (!company ||
        hpcb_conf_load(hpcb_conf_find(ctl->conf_path, path, sizeof(path)), &conf,
                       &err) ||
        load(&conf, company, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "company: %s", err.text);
        return 1;
    }
    hpcb_company_expire(company, now);
    return show(ctl, &conf, company, now);
}
