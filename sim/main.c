/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

static const char help[] =
    "Usage: hpcb-sim run SCENARIO [OPTION]...\n"
    "       hpcb-sim replay (--swf FILE | --sacct FILE | --records DIR) --nodes N\n"
    "                       --cpus-per-node C [OPTION]...\n"
    "\n"
    "Run the policies of slurm-hpc-balance on simulated clusters of any size.\n"
    "\n"
    "  run      run a scenario file\n"
    "  replay   run a site's own history again, without and with guests\n"
    "\n"
    "  -h, --help      print this text, or that of the verb\n"
    "  -V, --version   print the version\n";

static const struct {
    const char *name;
    int (*run)(int argc, char *argv[]);
} verbs[] = {
    {"run", hpcb_sim_run},
    {"replay", hpcb_sim_replay},
};

int hpcb_sim_number(const char *option, const char *text, int64_t min, int64_t max,
                    int64_t *value)
{
    char *end;
    long long got;

    errno = 0;
    got = strtoll(text, &end, 10);
    if (end == text || *end || errno || got < min || got > max) {
        fprintf(stderr,
                "hpcb-sim: %s=%s: not a whole number of %" PRId64 " to %" PRId64 "\n",
                option, text, min, max);
        return -1;
    }
    *value = got;
    return 0;
}

int main(int argc, char *argv[])
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "-h") == 0 || strcmp(verb, "--help") == 0) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(verb, "-V") == 0 || strcmp(verb, "--version") == 0) {
        puts("hpcb-sim " PACKAGE_VERSION);
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verb, verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    fprintf(stderr, "hpcb-sim: '%s' is not a verb: run, replay (see --help)\n", verb);
    return HPCB_SIM_USAGE;
}
