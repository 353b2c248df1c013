/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/comma.h"
#include "tests/common/tmp.h"

/* Of glibc's sources, which Debian has in the package locales. */
#define SOURCE  "de_DE"
#define CHARMAP "ISO-8859-1"

static bool enter(void)
{
    return setlocale(LC_ALL, SOURCE) && strcmp(localeconv()->decimal_point, ",") == 0;
}

bool comma_enter(void)
{
    char dir[TEST_TMP_MAX], command[TEST_TMP_MAX + 128];

    test_tmp_dir(dir);
    snprintf(command, sizeof(command),
             "localedef -i " SOURCE " -f " CHARMAP " %s/" SOURCE " > /dev/null 2>&1",
             dir);
    setenv("LOCPATH", dir, 1);
    if (system(command) == 0 && enter())
        return true;
    comma_leave();
    fprintf(stderr,
            "SKIPPED: no locale with a decimal comma: '%s' fails (install the"
            " package locales)\n",
            command);
    return false;
}

void comma_leave(void)
{
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}
