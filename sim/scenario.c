/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "sim/scenario.h"

#define DEPTH_MAX 16

/* Path of a scenario.  Not as user data, because json_object_put of json-c 0.19 crashes
 * for an object with user data. */
#define PATH_MEMBER "\001path"

static json_object *parse(const char *text, size_t length, const char *what,
                          hpcb_error_t *err)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_object *object;
    enum json_tokener_error state;
    size_t at;

    if (!tokener) {
        hpcb_error(err, "%s: %s", what, strerror(ENOMEM));
        return NULL;
    }
    /* The closing NUL ends a bare number. */
    object = json_tokener_parse_ex(tokener, text, (int)length + 1);
    state = json_tokener_get_error(tokener);
    at = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (state != json_tokener_success) {
        unsigned line = 1;

        for (size_t i = 0; i < at && i < length; i++)
            line += text[i] == '\n';
        hpcb_error(err, "%s:%u: not JSON: %s", what, line,
                   json_tokener_error_desc(state));
        json_object_put(object);
        return NULL;
    }
    for (; at < length; at++) {
        if (!strchr(" \t\r\n", text[at])) {
            hpcb_error(err, "%s: more than one JSON value", what);
            json_object_put(object);
            return NULL;
        }
    }
    return object;
}

/* All of fd, with a NUL behind; NULL with errno. */
static char *slurp(int fd, size_t *length)
{
    char *text = malloc(HPCB_SIM_FILE_MAX + 1);
    size_t n = 0;
    ssize_t got = 1;

    while (text && got > 0 && n <= HPCB_SIM_FILE_MAX - 1) {
        got = read(fd, text + n, HPCB_SIM_FILE_MAX - n);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            n += (size_t)got;
    }
    if (text && (got < 0 || n == HPCB_SIM_FILE_MAX)) {
        errno = got < 0 ? errno : EFBIG;
        free(text);
        return NULL;
    }
    if (text)
        text[n] = '\0';
    *length = n;
    return text;
}

json_object *hpcb_sim_scenario_read(const char *path, hpcb_error_t *err)
{
    hpcb_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    hpcb_autofree char *text = NULL;
    json_object *object;
    size_t length = 0;

    if (fd < 0 || !(text = slurp(fd, &length))) {
        hpcb_error(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    object = parse(text, length, path, err);
    if (object && !json_object_is_type(object, json_type_object)) {
        hpcb_error(err, "%s: not a JSON object", path);
        json_object_put(object);
        return NULL;
    }
    /* If memory is short, files are searched in the working directory. */
    if (object)
        json_object_object_add(object, PATH_MEMBER, json_object_new_string(path));
    return object;
}

char *hpcb_sim_scenario_file(json_object *scenario, const char *name, hpcb_error_t *err)
{
    json_object *member = NULL;
    const char *path = json_object_object_get_ex(scenario, PATH_MEMBER, &member)
                           ? json_object_get_string(member)
                           : NULL;
    const char *slash = path && name[0] != '/' ? strrchr(path, '/') : NULL;
    char *file;

    if (asprintf(&file, "%.*s%s", slash ? (int)(slash - path) + 1 : 0,
                 slash ? path : "", name) >= 0)
        return file;
    hpcb_error(err, "%s: %s", name, strerror(ENOMEM));
    return NULL;
}

int hpcb_sim_scenario_set(json_object *scenario, const char *setting, hpcb_error_t *err)
{
    const char *equals = strchr(setting, '=');
    hpcb_autofree char *name =
        equals ? strndup(setting, (size_t)(equals - setting)) : NULL;
    char *key = name, *dot;
    json_object *value;

    if (!name || !*name)
        return hpcb_error(err, "--set=%s: not MEMBER=VALUE", setting);
    for (; (dot = strchr(key, '.')); key = dot + 1) {
        *dot = '\0';
        if (!json_object_object_get_ex(scenario, key, &scenario) ||
            !json_object_is_type(scenario, json_type_object))
            return hpcb_error(err, "--set=%s: the scenario has no object '%s'", setting,
                              key);
    }
    value = parse(equals + 1, strlen(equals + 1), "--set", NULL);
    if (!value)
        value = json_object_new_string(equals + 1);
    if (!value || json_object_object_add(scenario, key, value) < 0)
        return hpcb_error(err, "--set=%s: %s", setting, strerror(ENOMEM));
    return 0;
}

static bool is_one_of(const char *name, const char *const names[])
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

int hpcb_sim_known(json_object *object, const char *where, const char *const known[],
                   hpcb_error_t *err)
{
    static const char *const everywhere[] = {"source", "title", "note", PATH_MEMBER,
                                             NULL};

    json_object_object_foreach(object, key, value)
    {
        (void)value;
        if (!is_one_of(key, everywhere) && !is_one_of(key, known))
            return hpcb_error(err, "%s: nothing knows the member '%s'", where, key);
    }
    return 0;
}

bool hpcb_sim_has(json_object *object, const char *key)
{
    return json_object_object_get_ex(object, key, NULL);
}

static json_object *member(json_object *object, const char *where, const char *key,
                           hpcb_error_t *err)
{
    json_object *found = NULL;

    if (!json_object_object_get_ex(object, key, &found) || !found)
        hpcb_error(err, "%s: the member '%s' is missing", where, key);
    return found;
}

/* A whole number, also one that is written as 1e9. */
static int whole(json_object *found, const char *where, const char *key, int64_t min,
                 int64_t max, int64_t *value, hpcb_error_t *err)
{
    int64_t got = 0;
    bool good = json_object_is_type(found, json_type_int);

    if (good) {
        got = json_object_get_int64(found);
    } else if (json_object_is_type(found, json_type_double)) {
        double number = json_object_get_double(found);

        good = number > -9e15 && number < 9e15 && (double)(int64_t)number == number;
        got = good ? (int64_t)number : 0;
    }
    if (!good || got < min || got > max)
        return hpcb_error(err,
                          "%s: %s=%s: not a whole number of %" PRId64 " to %" PRId64,
                          where, key, json_object_to_json_string(found), min, max);
    *value = got;
    return 0;
}

static int real(json_object *found, const char *where, const char *key, double min,
                double max, double *value, hpcb_error_t *err)
{
    double got = json_object_get_double(found);

    if ((!json_object_is_type(found, json_type_int) &&
         !json_object_is_type(found, json_type_double)) ||
        !(got >= min && got <= max))
        return hpcb_error(err, "%s: %s=%s: not a number of %g to %g", where, key,
                          json_object_to_json_string(found), min, max);
    *value = got;
    return 0;
}

int hpcb_sim_int(json_object *object, const char *where, const char *key, int64_t min,
                 int64_t max, int64_t *value, hpcb_error_t *err)
{
    json_object *found = member(object, where, key, err);

    return found ? whole(found, where, key, min, max, value, err) : -1;
}

int hpcb_sim_real(json_object *object, const char *where, const char *key, double min,
                  double max, double *value, hpcb_error_t *err)
{
    json_object *found = member(object, where, key, err);

    return found ? real(found, where, key, min, max, value, err) : -1;
}

int hpcb_sim_bool(json_object *object, const char *where, const char *key, bool *value,
                  hpcb_error_t *err)
{
    json_object *found = member(object, where, key, err);

    if (!found)
        return -1;
    if (!json_object_is_type(found, json_type_boolean))
        return hpcb_error(err, "%s: %s=%s: not true or false", where, key,
                          json_object_to_json_string(found));
    *value = json_object_get_boolean(found);
    return 0;
}

int hpcb_sim_text(json_object *object, const char *where, const char *key,
                  const char **value, hpcb_error_t *err)
{
    json_object *found = member(object, where, key, err);

    if (!found)
        return -1;
    if (!json_object_is_type(found, json_type_string))
        return hpcb_error(err, "%s: %s=%s: not a text", where, key,
                          json_object_to_json_string(found));
    *value = json_object_get_string(found);
    return 0;
}

int hpcb_sim_list(json_object *object, const char *where, const char *key, size_t max,
                  json_object **value, hpcb_error_t *err)
{
    json_object *found = member(object, where, key, err);
    size_t n;

    if (!found)
        return -1;
    n = json_object_is_type(found, json_type_array) ? json_object_array_length(found)
                                                    : 0;
    if (n == 0 || n > max)
        return hpcb_error(err, "%s: %s: not a list of 1 to %zu", where, key, max);
    *value = found;
    return 0;
}

int hpcb_sim_object(json_object *object, const char *where, const char *key,
                    json_object **value, hpcb_error_t *err)
{
    json_object *found = member(object, where, key, err);

    if (!found)
        return -1;
    if (!json_object_is_type(found, json_type_object))
        return hpcb_error(err, "%s: %s: not an object", where, key);
    *value = found;
    return 0;
}

int hpcb_sim_int_at(json_object *list, size_t i, const char *where, const char *key,
                    int64_t min, int64_t max, int64_t *value, hpcb_error_t *err)
{
    return whole(json_object_array_get_idx(list, i), where, key, min, max, value, err);
}

int hpcb_sim_ints(json_object *list, const char *where, const char *key, int64_t min,
                  int64_t max, int64_t *values, hpcb_error_t *err)
{
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (hpcb_sim_int_at(list, i, where, key, min, max, &values[i], err) < 0)
            return -1;
    return 0;
}

int hpcb_sim_reals(json_object *list, const char *where, const char *key, double min,
                   double max, double *values, hpcb_error_t *err)
{
    for (size_t i = 0; i < json_object_array_length(list); i++)
        if (real(json_object_array_get_idx(list, i), where, key, min, max, &values[i],
                 err) < 0)
            return -1;
    return 0;
}

static int uniform(json_object *object, const char *where, int64_t min,
                   hpcb_sim_dist_t *dist, hpcb_error_t *err)
{
    json_object *list = NULL;
    int64_t ends[2] = {0};

    if (hpcb_sim_list(object, where, "uniform", 2, &list, err) < 0 ||
        hpcb_sim_ints(list, where, "uniform", min, HPCB_SIM_NS_MAX, ends, err) < 0)
        return -1;
    if (json_object_array_length(list) != 2 || ends[0] > ends[1])
        return hpcb_error(err, "%s: uniform=%s: not [LEAST, MOST]", where,
                          json_object_to_json_string(list));
    dist->kind = HPCB_SIM_UNIFORM;
    dist->a = ends[0];
    dist->b = ends[1];
    return 0;
}

static int trace(json_object *object, const char *where, int64_t min,
                 hpcb_sim_dist_t *dist, hpcb_error_t *err)
{
    json_object *list = NULL;

    if (hpcb_sim_list(object, where, "trace", HPCB_SIM_TRACE_MAX, &list, err) < 0)
        return -1;
    dist->kind = HPCB_SIM_TRACE;
    dist->n = json_object_array_length(list);
    dist->trace = calloc(dist->n, sizeof(*dist->trace));
    if (!dist->trace)
        return hpcb_error(err, "%s: %s", where, strerror(errno));
    if (hpcb_sim_ints(list, where, "trace", min, HPCB_SIM_NS_MAX, dist->trace, err) <
        0) {
        hpcb_sim_dist_free(dist);
        return -1;
    }
    return 0;
}

int hpcb_sim_dist(json_object *object, const char *where, const char *key, int64_t min,
                  hpcb_sim_dist_t *value, hpcb_error_t *err)
{
    hpcb_sim_dist_t dist = {.kind = HPCB_SIM_CONSTANT};
    json_object *found = NULL;
    int rc;

    if (hpcb_sim_object(object, where, key, &found, err) < 0)
        return -1;
    if (json_object_object_length(found) != 1)
        return hpcb_error(err,
                          "%s: %s: not one of constant, uniform, exponential, trace",
                          where, key);
    if (hpcb_sim_has(found, "uniform"))
        rc = uniform(found, key, min, &dist, err);
    else if (hpcb_sim_has(found, "trace"))
        rc = trace(found, key, min, &dist, err);
    else if (hpcb_sim_has(found, "exponential"))
        rc = hpcb_sim_int(found, key, "exponential", min, HPCB_SIM_NS_MAX / 1024,
                          &dist.a, err);
    else
        rc = hpcb_sim_int(found, key, "constant", min, HPCB_SIM_NS_MAX, &dist.a, err);
    if (rc < 0)
        return -1;
    if (hpcb_sim_has(found, "exponential"))
        dist.kind = HPCB_SIM_EXPONENTIAL;
    *value = dist;
    return 0;
}
