/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The store as a file: JSON through json-c, one entry a line.  Whatever is read is
 * checked as if a stranger had written it; what is written replaces the file as a
 * whole, under a lock on PATH.lock, which stays.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/profile_store.h"
#include "common/text.h"

#define STORE_VERSION 1
#define DEPTH_MAX     8
#define PATH_SHOWN    200

/* Maximum time that a writer waits for another one. */
#define LOCK_WAIT_MS 5000
#define LOCK_STEP_MS 20

/* The suffix of common/file.c's temporary files, and its length with what replaces the
 * X. */
#define TEMP_SUFFIX ".tmp"
#define TEMP_LENGTH 10

typedef struct json_object json_t;

static void put_json(json_t **object)
{
    json_object_put(*object);
}

static void put_store(hpcb_profiles_t **store)
{
    hpcb_profiles_free(*store);
}

#define autojson  __attribute__((cleanup(put_json)))
#define autostore __attribute__((cleanup(put_store)))

/* ---- Names ---- */

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '%';
}

char *hpcb_profile_encode(const char *name, char buf[static HPCB_PROFILE_ENCODED_MAX])
{
    size_t used = 0;

    for (; *name && used + 3 < HPCB_PROFILE_ENCODED_MAX; name++) {
        if (is_plain((unsigned char)*name))
            buf[used++] = *name;
        else
            used += (size_t)sprintf(buf + used, "%%%02X", (unsigned char)*name);
    }
    buf[used] = '\0';
    return buf;
}

/* Upper case only, so that a name has one form. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int decode_escape(const char *text)
{
    int high = hex_digit(text[0]);
    int low = high < 0 ? -1 : hex_digit(text[1]);
    int byte = low < 0 ? -1 : high * 16 + low;

    return byte <= 0 || is_plain((unsigned char)byte) ? -1 : byte;
}

int hpcb_profile_decode(const char *text, char name[static HPCB_PROFILE_NAME_MAX])
{
    size_t used = 0;

    for (; *text && used < HPCB_PROFILE_NAME_MAX - 1; text++) {
        int byte = is_plain((unsigned char)*text) ? (unsigned char)*text : -1;

        if (*text == '%') {
            byte = decode_escape(text + 1);
            text += 2;
        }
        if (byte < 0)
            return -1;
        name[used++] = (char)byte;
    }
    name[used] = '\0';
    return *text ? -1 : 0;
}

/* ---- Reading ---- */

static int get_u64(json_t *object, const char *key, uint64_t max, uint64_t *value)
{
    json_t *member;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_int) ||
        json_object_get_int64(member) < 0 || json_object_get_uint64(member) > max)
        return -1;
    *value = json_object_get_uint64(member);
    return 0;
}

static int get_name(json_t *object, const char *key, char *name)
{
    json_t *member;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_string) ||
        strlen(json_object_get_string(member)) !=
            (size_t)json_object_get_string_len(member))
        return -1;
    return hpcb_profile_decode(json_object_get_string(member), name);
}

/* A figure that is not there was never measured. */
static int get_figure(json_t *object, hpcb_profile_axis_t axis,
                      hpcb_profile_figure_t *figure)
{
    uint64_t max = hpcb_profile_axis_max(axis), count;
    json_t *member;

    if (!json_object_object_get_ex(object, hpcb_profile_axis_name(axis), &member))
        return 0;
    if (!json_object_is_type(member, json_type_object) ||
        get_u64(member, "mean", max, &figure->mean) ||
        get_u64(member, "deviation", max, &figure->deviation) ||
        get_u64(member, "count", UINT32_MAX, &count) || count == 0)
        return -1;
    figure->count = (uint32_t)count;
    return 0;
}

static int get_fixed(json_t *object, bool *fixed)
{
    json_t *member;

    if (!json_object_object_get_ex(object, "fixed", &member))
        return 0;
    if (!json_object_is_type(member, json_type_boolean))
        return -1;
    *fixed = json_object_get_boolean(member);
    return 0;
}

/* Returns what is wrong, or NULL. */
static const char *get_entry(json_t *object, hpcb_profile_t *entry)
{
    uint64_t uid;

    if (!json_object_is_type(object, json_type_object))
        return "type";
    if (get_u64(object, "user_id", UINT32_MAX, &uid))
        return "user_id";
    if (get_name(object, "name", entry->key.name) || !*entry->key.name)
        return "name";
    if (get_name(object, "executable", entry->key.executable))
        return "executable";
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++)
        if (get_figure(object, axis, &entry->figures[axis]))
            return hpcb_profile_axis_name(axis);
    if (get_u64(object, "updated", INT64_MAX, &entry->updated))
        return "updated";
    if (get_fixed(object, &entry->fixed))
        return "fixed";
    entry->key.uid = (uint32_t)uid;
    return NULL;
}

static int compare_entries(const void *a, const void *b)
{
    const hpcb_profile_t *left = a, *right = b;

    return hpcb_profile_compare(&left->key, &right->key);
}

static int check_order(hpcb_profiles_t *store, hpcb_error_t *err)
{
    size_t same_user = 1;

    /* qsort(3) must not be given NULL. */
    if (store->count > 1)
        qsort(store->entries, store->count, sizeof(*store->entries), compare_entries);
    for (size_t i = 1; i < store->count; i++) {
        const hpcb_profile_key_t *key = &store->entries[i].key;

        if (hpcb_profile_compare(key, &store->entries[i - 1].key) == 0)
            return hpcb_error(err, "a profile stands there twice");
        same_user = key->uid == store->entries[i - 1].key.uid ? same_user + 1 : 1;
        if (same_user > HPCB_PROFILES_USER_MAX)
            return hpcb_error(err, "more than %d profiles of user %" PRIu32,
                              HPCB_PROFILES_USER_MAX, key->uid);
    }
    return 0;
}

static int get_entries(json_t *array, hpcb_profiles_t *store, hpcb_error_t *err)
{
    size_t count = json_object_array_length(array);

    if (count > HPCB_PROFILES_MAX)
        return hpcb_error(err, "more than %d profiles", HPCB_PROFILES_MAX);
    if (hpcb_profiles_reserve(store, count))
        return hpcb_error(err, "out of memory");
    for (size_t i = 0; i < count; i++) {
        hpcb_profile_t entry = {.updated = 0};
        const char *bad = get_entry(json_object_array_get_idx(array, i), &entry);

        if (bad)
            return hpcb_error(err, "profile %zu: its %s is missing or cannot be", i + 1,
                              bad);
        store->entries[store->count++] = entry;
    }
    return check_order(store, err);
}

/* One JSON value and nothing after it but blanks, or NULL. */
static json_t *parse_json(const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_t *object;

    if (!tokener || length >= INT_MAX || strlen(text) != length) {
        if (tokener)
            json_tokener_free(tokener);
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    /* With its NUL, so that the tokener knows where the text ends. */
    object = json_tokener_parse_ex(tokener, text, (int)length + 1);
    json_tokener_free(tokener);
    return object;
}

/* The array of a store of this version, or NULL with err. */
static json_t *get_array(json_t *object, hpcb_error_t *err)
{
    json_t *array = NULL;
    uint64_t version;

    if (!object || !json_object_is_type(object, json_type_object)) {
        hpcb_error(err, "not one JSON object");
        return NULL;
    }
    if (get_u64(object, "version", UINT64_MAX, &version)) {
        hpcb_error(err, "no version");
        return NULL;
    }
    if (version != STORE_VERSION) {
        hpcb_error(err, "version %" PRIu64 "; this release reads %d", version,
                   STORE_VERSION);
        return NULL;
    }
    if (!json_object_object_get_ex(object, "profiles", &array) ||
        !json_object_is_type(array, json_type_array)) {
        hpcb_error(err, "no profiles");
        return NULL;
    }
    return array;
}

hpcb_profiles_t *hpcb_profiles_parse(const char *text, size_t length, hpcb_error_t *err)
{
    autojson json_t *object = parse_json(text, length);
    json_t *array = get_array(object, err);
    hpcb_profiles_t *store = array ? hpcb_profiles_new() : NULL;

    if (store && get_entries(array, store, err) == 0)
        return store;
    if (array && !store)
        hpcb_error(err, "out of memory");
    hpcb_profiles_free(store);
    errno = EINVAL;
    return NULL;
}

hpcb_profiles_t *hpcb_profiles_load(const char *path, hpcb_error_t *err)
{
    hpcb_autofree char *text = malloc(HPCB_PROFILES_BYTES + 1);
    ssize_t length = -1;
    hpcb_profiles_t *store;
    hpcb_error_t why;

    if (!text)
        hpcb_error(err, "out of memory");
    else
        length = hpcb_file_read_trusted(path, text, HPCB_PROFILES_BYTES + 1, err);
    if (length < 0)
        return NULL;
    store = hpcb_profiles_parse(text, (size_t)length, &why);
    if (!store)
        hpcb_error(err, "%.*s is not a profile store: %s; remove it or fix it",
                   PATH_SHOWN, path, why.text);
    return store;
}

/* ---- Writing ---- */

/* Takes value over, also on failure. */
static int add_member(json_t *object, const char *key, json_t *value)
{
    if (value && json_object_object_add(object, key, value) == 0)
        return 0;
    json_object_put(value);
    return -1;
}

static int add_u64(json_t *object, const char *key, uint64_t value)
{
    return add_member(object, key, json_object_new_uint64(value));
}

static int add_name(json_t *object, const char *key, const char *name)
{
    char text[HPCB_PROFILE_ENCODED_MAX];

    return add_member(object, key,
                      json_object_new_string(hpcb_profile_encode(name, text)));
}

static int add_figure(json_t *object, hpcb_profile_axis_t axis,
                      const hpcb_profile_figure_t *figure)
{
    json_t *member;

    if (figure->count == 0)
        return 0;
    member = json_object_new_object();
    return add_member(object, hpcb_profile_axis_name(axis), member) ||
           add_u64(member, "mean", figure->mean) ||
           add_u64(member, "deviation", figure->deviation) ||
           add_u64(member, "count", figure->count);
}

static int print_entry(const hpcb_profile_t *entry, FILE *stream)
{
    autojson json_t *object = json_object_new_object();
    const char *text;

    if (!object || add_u64(object, "user_id", entry->key.uid) ||
        add_name(object, "name", entry->key.name) ||
        add_name(object, "executable", entry->key.executable))
        return -1;
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++)
        if (add_figure(object, axis, &entry->figures[axis]))
            return -1;
    if (add_u64(object, "updated", entry->updated) ||
        (entry->fixed && add_member(object, "fixed", json_object_new_boolean(true))))
        return -1;
    text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
                                                      JSON_C_TO_STRING_NOSLASHESCAPE);
    return text && fputs(text, stream) >= 0 ? 0 : -1;
}

/* NULL when memory runs out. */
static char *print_store(const hpcb_profiles_t *store, size_t *length)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, length);
    bool failed = !stream;

    if (failed)
        return NULL;
    fprintf(stream, "{\"version\":%d,\"profiles\":[", STORE_VERSION);
    for (size_t i = 0; i < store->count && !failed; i++)
        failed = fputs(i > 0 ? ",\n" : "\n", stream) < 0 ||
                 print_entry(&store->entries[i], stream);
    fputs("\n]}\n", stream);
    failed |= ferror(stream) != 0;
    if (fclose(stream) || failed) {
        free(text);
        return NULL;
    }
    return text;
}

char *hpcb_profiles_render(hpcb_profiles_t *store, size_t *length, hpcb_error_t *err)
{
    char *text = print_store(store, length);

    /* A sixteenth at a time, so that even the worst names take few turns. */
    while (text && *length > HPCB_PROFILES_BYTES) {
        for (size_t n = store->count / 16 + 1; n > 0; n--)
            hpcb_profiles_drop_oldest(store);
        free(text);
        text = print_store(store, length);
    }
    if (!text)
        hpcb_error(err, "out of memory");
    return text;
}

static int wait_for_lock(int fd)
{
    const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};

    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_STEP_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        if (waited >= LOCK_WAIT_MS)
            return -1;
        nanosleep(&step, NULL);
    }
    return 0;
}

/* The lock, which closing the descriptor gives back. */
static int lock_store(const char *path, hpcb_error_t *err)
{
    char lock[PATH_MAX];
    int fd = -1;

    if (snprintf(lock, sizeof(lock), "%s.lock", path) >= (int)sizeof(lock))
        errno = ENAMETOOLONG;
    else
        fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0 && wait_for_lock(fd) == 0)
        return fd;
    hpcb_error(err, "cannot lock %.*s: %s", PATH_SHOWN, path,
               errno == EWOULDBLOCK ? "another process has locked it for 5 s"
                                    : strerror(errno));
    hpcb_cleanup_close(&fd);
    return -1;
}

/* Remove temporary files of killed writers; we have the lock, so nobody uses them. */
static void tidy(const char *dir, const char *base)
{
    hpcb_autoclosedir DIR *stream = opendir(dir);
    size_t length = strlen(base);
    struct dirent *entry;

    while (stream && (entry = readdir(stream)) != NULL)
        if (strncmp(entry->d_name, base, length) == 0 &&
            strncmp(entry->d_name + length, TEMP_SUFFIX, strlen(TEMP_SUFFIX)) == 0 &&
            strlen(entry->d_name) == length + TEMP_LENGTH)
            unlinkat(dirfd(stream), entry->d_name, 0);
}

static hpcb_profiles_t *load_or_begin(const char *path, hpcb_error_t *err)
{
    hpcb_profiles_t *store = hpcb_profiles_load(path, err);

    if (store || errno != ENOENT)
        return store;
    store = hpcb_profiles_new();
    if (!store)
        hpcb_error(err, "out of memory");
    return store;
}

int hpcb_profiles_update(const char *path,
                         int (*change)(hpcb_profiles_t *store, void *arg,
                                       hpcb_error_t *err),
                         void *arg, hpcb_error_t *err)
{
    hpcb_autoclose int lock = -1;
    autostore hpcb_profiles_t *store = NULL;
    hpcb_autofree char *text = NULL;
    char dir[PATH_MAX];
    size_t length;
    char *slash;

    if (hpcb_text_copy(dir, sizeof(dir), path) || !(slash = strrchr(dir, '/')))
        return hpcb_error(err, "%.*s: not the path of a file", PATH_SHOWN, path);
    *slash = '\0';
    if (hpcb_file_mkdirs(*dir ? dir : "/", 0755, err))
        return -1;
    lock = lock_store(path, err);
    store = lock < 0 ? NULL : load_or_begin(path, err);
    if (!store || change(store, arg, err))
        return -1;
    tidy(*dir ? dir : "/", slash + 1);
    text = hpcb_profiles_render(store, &length, err);
    return text ? hpcb_file_replace(path, text, length, 0644, err) : -1;
}
