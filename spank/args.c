/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>
#include "common/log.h"
#include "spank/args.h"

static bool path_value(const char *word, const char *key, const char **value)
{
    size_t length = strlen(key);

    if (strncmp(word, key, length) != 0 || word[length] != '/')
        return false;
    *value = word + length;
    return true;
}

static bool parse_word(const char *word, hpcb_spank_args_t *args)
{
    if (path_value(word, "conf=", &args->conf))
        return true;
    if (path_value(word, "root=", &args->root))
        return true;
    if (strcmp(word, "epilog=yes") != 0 && strcmp(word, "epilog=no") != 0)
        return false;
    args->epilog = strcmp(word, "epilog=yes") == 0;
    return true;
}

void hpcb_spank_args(int ac, char *av[], hpcb_spank_args_t *args)
{
    static bool complained;

    *args = (hpcb_spank_args_t){.root = "/"};
    for (int i = 0; i < ac; i++) {
        if (!parse_word(av[i], args))
            hpcb_log_once(&complained, HPCB_LOG_ERROR,
                          "plugstack.conf: argument \"%s\" is ignored; known are "
                          "conf=/PATH, root=/DIR, epilog=yes|no",
                          av[i]);
    }
}
