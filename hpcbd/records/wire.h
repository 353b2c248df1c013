/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Messages between a node and the collector, over TCP: frames, each of which contains
 * one MUNGE credential (hpcbd/records/seal.h) with one JSON object.
 *
 *   frame     "HPB1", the length of the rest in 4 bytes (big endian), the credential
 *   request {"version":1,"type":"records","nonce":N,"records":[{"id":I,"record":R},…]}
 *   answer    {"version":1,"type":"ack","nonce":N,"kept":[I,…],"refused":[I,…]}
 *
 * R is the record of a node (doc/record.md), I its name chosen by the sender.  An
 * answer is only valid for the request with the same nonce.  kept: on the collector's
 * disk, now or from before; refused: no record, sending it again is useless.  Records
 * in neither list must be sent again.  Reports of live state
 * (hpcbd/records/wire_live.h) have no answer.
 */
#ifndef HPCB_HPCBD_RECORDS_WIRE_H
#define HPCB_HPCBD_RECORDS_WIRE_H

#include <stddef.h>
#include "common/record_json.h"

#define HPCBD_FRAME_HEADER 8

/* Maximum length of a credential; munged refuses 1 MiB and more by itself. */
#define HPCBD_FRAME_MAX (1024 * 1024)

/* Maximum number of records of one request, and of their bytes, so that they fit with
 * base64. */
#define HPCBD_BATCH_RECORDS 64
#define HPCBD_BATCH_BYTES   (512 * 1024)

#define HPCBD_NONCE_MAX 33  /* 128 bits in hexadecimal, including the NUL */
#define HPCBD_ID_MAX    128 /* including the NUL */

/* Write a frame's header for length bytes. */
void hpcbd_frame_header(unsigned char header[static HPCBD_FRAME_HEADER], size_t length);

/* Parse a header.  Return 0, or -1 if it is invalid or the frame is empty or too
 * long. */
int hpcbd_frame_length(const unsigned char header[static HPCBD_FRAME_HEADER],
                       size_t *length);

/* Bind a TCP socket to a free port below 1024, which users cannot, so that the
 * collector can distinguish it from connections of the same node's users.  family:
 * AF_INET or AF_INET6.  Return 0, or -1 with errno (the socket can still be used). */
int hpcbd_bind_reserved(int fd, int family);

/* Generate a nonce.  Return 0, or -1 with err if the kernel provides no random
 * bytes. */
int hpcbd_nonce(char nonce[static HPCBD_NONCE_MAX], hpcb_error_t *err);

/* Return a JSON object for messages of that type; nonce is NULL for one without an
 * answer.  Return NULL if memory is short. */
hpcb_rjson_t *hpcbd_message_new(const char *type, const char *nonce);

/* Parse text as a message of that type (json_object_put), and its nonce unless that is
 * NULL.  Return NULL if it is invalid. */
hpcb_rjson_t *hpcbd_message_read(const char *text, const char *type, char *nonce);

/* Requests and answers: */

/* Return NULL if memory is short. */
hpcb_rjson_t *hpcbd_request_new(const char *nonce);

/* Add a record with the content of its file.  Return 0, or -1 with err if it is no JSON
 * object (EINVAL) or memory is short (ENOMEM). */
int hpcbd_request_add(hpcb_rjson_t *request, const char *id, const char *record,
                      hpcb_error_t *err);

/* One record of a request; both belong to the request. */
typedef struct {
    const char *id;
    hpcb_rjson_t *record; /* an object */
} hpcbd_entry_t;

typedef struct {
    hpcb_rjson_t *object; /* owned by the reader: json_object_put */
    char nonce[HPCBD_NONCE_MAX];
    size_t count;
    hpcbd_entry_t entries[HPCBD_BATCH_RECORDS];
} hpcbd_request_t;

/* Parse text, which ends in NUL.  Return 0, or -1 with err and request unchanged. */
int hpcbd_request_parse(const char *text, hpcbd_request_t *request, hpcb_error_t *err);

hpcb_rjson_t *hpcbd_answer_new(const char *nonce);

typedef enum { HPCBD_KEPT, HPCBD_REFUSED } hpcbd_verdict_t;

/* Return 0, or -1 if memory is short. */
int hpcbd_answer_add(hpcb_rjson_t *answer, const char *id, hpcbd_verdict_t verdict);

/* Call visit for each ID of an answer to the request with that nonce.  Return 0, or -1
 * with err if it is invalid, without calling visit. */
int hpcbd_answer_parse(const char *text, const char *nonce,
                       void (*visit)(const char *id, hpcbd_verdict_t verdict,
                                     void *arg),
                       void *arg, hpcb_error_t *err);

#endif
