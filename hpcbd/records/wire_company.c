/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "hpcbd/records/wire.h"
#include "hpcbd/records/wire_company.h"

#define TYPE "company"

/* Length of the part with version and type. */
#define HEAD_BYTES 48

char *hpcbd_company_report(const hpcb_company_t *company, hpcb_error_t *err)
{
    hpcb_autofree char *pairs = malloc(HPCB_COMPANY_TEXT_MAX);
    hpcb_rjson_auto hpcb_rjson_t *message = hpcbd_message_new(TYPE, NULL);

    if (pairs)
        hpcb_company_print(company, pairs);
    if (!pairs || !message || hpcb_rjson_add_text(message, "pairs", pairs)) {
        errno = ENOMEM;
        hpcb_error(err, "out of memory");
        return NULL;
    }
    return hpcb_rjson_print(message, "", err);
}

bool hpcbd_company_is_report(const char *text)
{
    static const char mark[] = "\"" TYPE "\"";
    size_t length = strnlen(text, HEAD_BYTES);

    return memmem(text, length, mark, sizeof(mark) - 1) != NULL;
}

int hpcbd_company_read(const char *text, hpcb_company_t *company)
{
    hpcb_rjson_auto hpcb_rjson_t *message = hpcbd_message_read(text, TYPE, NULL);
    const char *pairs = message ? hpcb_rjson_get_text(message, "pairs") : NULL;

    return pairs ? hpcb_company_parse(company, pairs) : -1;
}
