/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "hpcbctl/decisions.h"
#include "hpcbctl/output.h"

static size_t count_jobs(json_object *decision)
{
    json_object *jobs = json_object_object_get(decision, "jobs");

    return json_object_is_type(jobs, json_type_array) ? json_object_array_length(jobs)
                                                      : 0;
}

/* Return whether part continues the decision after its present jobs. */
static bool goes_on(json_object *decision, json_object *part)
{
    return decision && hpcb_json_get_u64(part, "from") > 0 &&
           strcmp(hpcb_json_get_text(decision, "gang"),
                  hpcb_json_get_text(part, "gang")) == 0 &&
           hpcb_json_get_u64(decision, "quantum") ==
               hpcb_json_get_u64(part, "quantum") &&
           hpcb_json_get_u64(part, "from") == count_jobs(decision);
}

static int add_jobs(json_object *decision, json_object *part)
{
    json_object *to = json_object_object_get(decision, "jobs");
    json_object *jobs = json_object_object_get(part, "jobs");

    for (size_t i = 0; i < count_jobs(part); i++)
        if (hpcb_json_append(to, json_object_get(json_object_array_get_idx(jobs, i))) <
            0)
            return -1;
    return 0;
}

/* Put decision into decisions if nothing of it is missing. */
static int add_if_whole(json_object *decisions, json_object *decision)
{
    if (!decision || count_jobs(decision) != hpcb_json_get_u64(decision, "of"))
        return 0;
    json_object_object_del(decision, "from");
    json_object_object_del(decision, "of");
    return hpcb_json_append(decisions, json_object_get(decision));
}

json_object *hpcb_decisions_join(json_object *parts)
{
    hpcb_autojson json_object *decisions = json_object_new_array();
    json_object *last = NULL;
    int rc = decisions ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < json_object_array_length(parts); i++) {
        json_object *part = json_object_array_get_idx(parts, i);

        if (goes_on(last, part)) {
            rc = add_jobs(last, part);
        } else if (hpcb_json_get_u64(part, "from") == 0) {
            rc = add_if_whole(decisions, last);
            last = part;
        }
    }
    if (rc < 0 || add_if_whole(decisions, last) < 0)
        return NULL;
    return json_object_get(decisions);
}
