/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a node and the collector say to each other, over TCP: frames, each of which
 * holds one MUNGE credential (hpcbd/records/seal.h), which holds one JSON object.
 *
 *   frame     "HPB1", the length of the rest in 4 bytes (big endian), the credential
 *   request {"version":1,"type":"records","nonce":N,"records":[{"id":I,"record":R},…]}
 *   answer    {"version":1,"type":"ack","nonce":N,"kept":[I,…],"refused":[I,…]}
 *
 * R is the record of a node (doc/record.md), I what its sender calls it.  An answer
 * counts for the request of the same nonce only.  kept: on the collector's disk, or
 * there already; refused: no record, sending it again will not help.  What is in
 * neither is to be sent again.  Reports of live state (hpcbd/records/wire_live.h) have
 * no answer.
 */
#ifndef HPCB_HPCBD_RECORDS_WIRE_H
#define HPCB_HPCBD_RECORDS_WIRE_H

#include <stddef.h>
#include "common/record_json.h"

#define HPCBD_FRAME_HEADER 8

/* The longest credential; munged refuses 1 MiB and more by itself. */
#define HPCBD_FRAME_MAX (1024 * 1024)

/* Records of one request, and their bytes: with base64 around them they fit. */
#define HPCBD_BATCH_RECORDS 64
#define HPCBD_BATCH_BYTES   (512 * 1024)

#define HPCBD_NONCE_MAX 33  /* 128 bits in hexadecimal, with the NUL */
#define HPCBD_ID_MAX    128 /* with the NUL */

/* Write a frame's header for length bytes. */
void hpcbd_frame_header(unsigned char header[static HPCBD_FRAME_HEADER], size_t length);

/* Read it: 0, or -1 where it is no header or the frame is empty or too long. */
int hpcbd_frame_length(const unsigned char header[static HPCBD_FRAME_HEADER],
                       size_t *length);

/* Bind a TCP socket to a free port below 1024, which users cannot: the collector counts
 * what comes from there apart from what users of the same node send.  family: AF_INET
 * or AF_INET6.  0, or -1 with errno (the socket can be used all the same). */
int hpcbd_bind_reserved(int fd, int family);

/* A fresh nonce.  0, or -1 with err where the kernel gives no random bytes. */
int hpcbd_nonce(char nonce[static HPCBD_NONCE_MAX], hpcb_error_t *err);

/* An object of JSON from which messages are made, of that type; nonce is NULL for one
 * that is not answered.  NULL when memory runs out. */
hpcb_rjson_t *hpcbd_message_new(const char *type, const char *nonce);

/* Read text as a message of that type (json_object_put), and its nonce unless that is
 * NULL.  NULL where it is none. */
hpcb_rjson_t *hpcbd_message_read(const char *text, const char *type, char *nonce);

/* Requests and answers: */

/* NULL when memory runs out. */
hpcb_rjson_t *hpcbd_request_new(const char *nonce);

/* Add a record as its file has it.  0; -1 with err where it is no JSON object (EINVAL),
 * or when memory runs out (ENOMEM). */
int hpcbd_request_add(hpcb_rjson_t *request, const char *id, const char *record,
                      hpcb_error_t *err);

/* One record of a request; both belong to the request. */
typedef struct {
    const char *id;
    hpcb_rjson_t *record; /* an object */
} hpcbd_entry_t;

typedef struct {
    hpcb_rjson_t *object; /* the reader's: json_object_put */
    char nonce[HPCBD_NONCE_MAX];
    size_t count;
    hpcbd_entry_t entries[HPCBD_BATCH_RECORDS];
} hpcbd_request_t;

/* Read text, which ends in NUL.  0, or -1 with err and request untouched. */
int hpcbd_request_parse(const char *text, hpcbd_request_t *request, hpcb_error_t *err);

hpcb_rjson_t *hpcbd_answer_new(const char *nonce);

typedef enum { HPCBD_KEPT, HPCBD_REFUSED } hpcbd_verdict_t;

/* 0, or -1 when memory runs out. */
int hpcbd_answer_add(hpcb_rjson_t *answer, const char *id, hpcbd_verdict_t verdict);

/* Call visit for each id of an answer to the request with that nonce.  0, or -1 with
 * err where it is none; visit has not been called then. */
int hpcbd_answer_parse(const char *text, const char *nonce,
                       void (*visit)(const char *id, hpcbd_verdict_t verdict,
                                     void *arg),
                       void *arg, hpcb_error_t *err);

#endif
