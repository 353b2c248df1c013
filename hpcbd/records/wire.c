/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hpcbd/records/wire.h"

#define WIRE_VERSION 1

/* Below are ports that services have. */
#define RESERVED_FIRST 600
#define RESERVED_PORTS (IPPORT_RESERVED - RESERVED_FIRST)

static const unsigned char magic[4] = {'H', 'P', 'B', '1'};

void hpcbd_frame_header(unsigned char header[static HPCBD_FRAME_HEADER], size_t length)
{
    uint32_t wire = htonl((uint32_t)length);

    memcpy(header, magic, sizeof(magic));
    memcpy(header + 4, &wire, 4);
}

int hpcbd_frame_length(const unsigned char header[static HPCBD_FRAME_HEADER],
                       size_t *length)
{
    uint32_t wire;

    memcpy(&wire, header + 4, 4);
    wire = ntohl(wire);
    if (memcmp(header, magic, sizeof(magic)) != 0 || wire == 0 ||
        wire > HPCBD_FRAME_MAX)
        return -1;
    *length = wire;
    return 0;
}

/* From a place that differs from call to call: a port that was just used may still be
 * waiting at the other end. */
int hpcbd_bind_reserved(int fd, int family)
{
    struct sockaddr_in6 address = {.sin6_family = (sa_family_t)family};
    socklen_t length =
        family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    uint16_t first = 0;

    if (getrandom(&first, sizeof(first), GRND_NONBLOCK) != (ssize_t)sizeof(first))
        first = (uint16_t)getpid();
    for (unsigned i = 0; i < RESERVED_PORTS; i++) {
        unsigned port = RESERVED_FIRST + (first + i) % RESERVED_PORTS;

        /* The port is at the same place for both families. */
        address.sin6_port = htons((uint16_t)port);
        if (bind(fd, (struct sockaddr *)&address, length) == 0)
            return 0;
        if (errno != EADDRINUSE)
            return -1;
    }
    return -1;
}

int hpcbd_nonce(char nonce[static HPCBD_NONCE_MAX], hpcb_error_t *err)
{
    unsigned char bytes[(HPCBD_NONCE_MAX - 1) / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return hpcb_error(err, "no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

hpcb_rjson_t *hpcbd_message_new(const char *type, const char *nonce)
{
    hpcb_rjson_t *object = json_object_new_object();

    if (object && hpcb_rjson_add_u64(object, "version", WIRE_VERSION) == 0 &&
        hpcb_rjson_add_text(object, "type", type) == 0 &&
        (!nonce || hpcb_rjson_add_text(object, "nonce", nonce) == 0))
        return object;
    json_object_put(object);
    return NULL;
}

hpcb_rjson_t *hpcbd_request_new(const char *nonce)
{
    hpcb_rjson_t *object = hpcbd_message_new("records", nonce);

    if (object && hpcb_rjson_add(object, "records", json_object_new_array()) == 0)
        return object;
    json_object_put(object);
    return NULL;
}

/* Takes ownership of record, also on failure, which is NULL. */
static hpcb_rjson_t *entry_of(const char *id, hpcb_rjson_t *record)
{
    hpcb_rjson_auto hpcb_rjson_t *entry = json_object_new_object();

    if (!entry) {
        json_object_put(record);
        return NULL;
    }
    if (hpcb_rjson_add(entry, "record", record) || hpcb_rjson_add_text(entry, "id", id))
        return NULL;
    return json_object_get(entry);
}

int hpcbd_request_add(hpcb_rjson_t *request, const char *id, const char *record,
                      hpcb_error_t *err)
{
    hpcb_rjson_t *array = json_object_object_get(request, "records");
    hpcb_rjson_t *parsed = hpcb_rjson_parse(record);

    if (!parsed) {
        errno = EINVAL;
        return hpcb_error(err, "%.100s is no JSON object", id);
    }
    if (hpcb_rjson_append(array, entry_of(id, parsed))) {
        errno = ENOMEM;
        return hpcb_error(err, "out of memory");
    }
    return 0;
}

hpcb_rjson_t *hpcbd_message_read(const char *text, const char *type, char *nonce)
{
    hpcb_rjson_t *object = hpcb_rjson_parse(text);
    const char *found = object ? hpcb_rjson_get_text(object, "type") : NULL;
    uint64_t version;

    if (found && strcmp(found, type) == 0 &&
        hpcb_rjson_get_u64(object, "version", UINT32_MAX, &version) == 0 &&
        version == WIRE_VERSION &&
        (!nonce || hpcb_rjson_get_word(object, "nonce", nonce, HPCBD_NONCE_MAX) == 0))
        return object;
    json_object_put(object);
    return NULL;
}

/* Return whether id may be a file name on the node; it is a single word in a log,
 * too. */
static bool is_id(const char *id)
{
    size_t length = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ._+-");

    return length > 0 && length < HPCBD_ID_MAX && id[length] == '\0' && id[0] != '.';
}

static int read_entry(hpcb_rjson_t *object, hpcbd_entry_t *entry)
{
    if (!json_object_is_type(object, json_type_object))
        return -1;
    entry->id = hpcb_rjson_get_text(object, "id");
    if (!entry->id || !is_id(entry->id) ||
        !json_object_object_get_ex(object, "record", &entry->record) ||
        !json_object_is_type(entry->record, json_type_object))
        return -1;
    return 0;
}

static int read_request(hpcb_rjson_t *object, hpcbd_request_t *request)
{
    hpcb_rjson_t *array;

    if (!json_object_object_get_ex(object, "records", &array) ||
        !json_object_is_type(array, json_type_array) ||
        json_object_array_length(array) > HPCBD_BATCH_RECORDS)
        return -1;
    request->count = json_object_array_length(array);
    for (size_t i = 0; i < request->count; i++)
        if (read_entry(json_object_array_get_idx(array, i), &request->entries[i]))
            return -1;
    return 0;
}

int hpcbd_request_parse(const char *text, hpcbd_request_t *request, hpcb_error_t *err)
{
    hpcbd_request_t read = {.object = NULL};
    hpcb_rjson_auto hpcb_rjson_t *object =
        hpcbd_message_read(text, "records", read.nonce);

    if (!object || read_request(object, &read)) {
        errno = EINVAL;
        return hpcb_error(err, "not a request");
    }
    read.object = object;
    object = NULL;
    *request = read;
    return 0;
}

static const char *const verdicts[] = {
    [HPCBD_KEPT] = "kept",
    [HPCBD_REFUSED] = "refused",
};

#define N_VERDICTS (sizeof(verdicts) / sizeof(verdicts[0]))

hpcb_rjson_t *hpcbd_answer_new(const char *nonce)
{
    hpcb_rjson_t *object = hpcbd_message_new("ack", nonce);

    for (size_t i = 0; object && i < N_VERDICTS; i++) {
        if (hpcb_rjson_add(object, verdicts[i], json_object_new_array()) == 0)
            continue;
        json_object_put(object);
        object = NULL;
    }
    return object;
}

int hpcbd_answer_add(hpcb_rjson_t *answer, const char *id, hpcbd_verdict_t verdict)
{
    hpcb_rjson_t *array = json_object_object_get(answer, verdicts[verdict]);

    return hpcb_rjson_append(array, json_object_new_string(id));
}

/* Return the verdict's array if all elements are IDs, or NULL. */
static hpcb_rjson_t *ids_of(hpcb_rjson_t *object, const char *verdict)
{
    hpcb_rjson_t *array;

    if (!json_object_object_get_ex(object, verdict, &array) ||
        !json_object_is_type(array, json_type_array))
        return NULL;
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        hpcb_rjson_t *id = json_object_array_get_idx(array, i);

        if (!json_object_is_type(id, json_type_string) ||
            !is_id(json_object_get_string(id)))
            return NULL;
    }
    return array;
}

int hpcbd_answer_parse(const char *text, const char *nonce,
                       void (*visit)(const char *id, hpcbd_verdict_t verdict,
                                     void *arg),
                       void *arg, hpcb_error_t *err)
{
    char found[HPCBD_NONCE_MAX];
    hpcb_rjson_auto hpcb_rjson_t *object = hpcbd_message_read(text, "ack", found);
    hpcb_rjson_t *ids[N_VERDICTS];

    if (!object || strcmp(found, nonce) != 0)
        return hpcb_error(err, "not the answer to this request");
    for (size_t i = 0; i < N_VERDICTS; i++)
        if (!(ids[i] = ids_of(object, verdicts[i])))
            return hpcb_error(err, "not an answer");
    for (size_t i = 0; i < N_VERDICTS; i++)
        for (size_t k = 0; k < json_object_array_length(ids[i]); k++)
            visit(json_object_get_string(json_object_array_get_idx(ids[i], k)),
                  (hpcbd_verdict_t)i, arg);
    return 0;
}
