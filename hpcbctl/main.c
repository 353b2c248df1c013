/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "hpcbctl/verbs.h"

#define EXIT_USAGE 2

static const char general_help[] =
    "Usage: hpcbctl [--config FILE] [--json] VERB\n"
    "\n"
    "Manage slurm-hpc-balance on this host.\n"
    "\n"
    "  check       test the settings of the cluster and of this host that guests and\n"
    "              primaries depend on; print file, value and the line that fixes it\n"
    "  status      show the mechanisms of this node, its jobs and their classes\n"
    "  release     undo all changes to jobs on this node\n"
    "  guests      stop, drain or resume guests on all nodes (controller)\n"
    "  top         show what the jobs on this node use now\n"
    "  gang        list, pause or resume jobs of this node that take turns, let jobs\n"
    "              join or leave them, or set their quantum\n"
    "  company     show guests that placement keeps off primaries that they harmed\n"
    "              (collector)\n"
    "  snapshot    write the files that discovery reads on this node, for a report\n"
    "  calibrate   measure the bandwidth of this node; print its line of\n"
    "              hpc-balance.conf\n"
    "  profile     show, set, forget or learn the bandwidth that users' jobs need\n"
    "  metrics     print figures of this node for Prometheus\n"
    "  records     verify, vacuum or import the collector's records\n"
    "  help        print this text, or the text of a verb\n"
    "  job begin   record the class of a job (called by the prolog)\n"
    "  job end     write the record of a job and remove its state (called by the\n"
    "              epilog)\n"
    "\n"
    "  -c, --config FILE   hpc-balance.conf to use instead of the one next to\n"
    "                      slurm.conf\n"
    "  -j, --json          print one JSON object\n"
    "  -o, --output PATH   snapshot: the directory or .tar.gz to create; metrics: the\n"
    "                      file\n"
    "      --keep-names    snapshot: do not replace names and IDs\n"
    "      --cpus LIST     calibrate: the CPUs to use\n"
    "      --seconds N     calibrate: duration\n"
    "      --net SIZE      calibrate: bandwidth of the network, or none\n"
    "      --force         calibrate: measure next to primaries\n"
    "      --nodes LIST    guests: only these nodes; check: these nodes, too\n"
    "      --remote CMD    guests stop, check: how to reach nodes (ssh), or none\n"
    "      --wait SECONDS  guests stop: how long to wait (60)\n"
    "      --state-dir DIR release: StateDir, if hpc-balance.conf cannot be read\n"
    "  -u, --user USER, -n, --name NAME, -e, --executable NAME, -a, --all\n"
    "                      profile: select profiles\n"
    "  -h, --help          print this text, or that of the verb\n"
    "  -V, --version       print the version\n";

typedef struct {
    const char *name;
    const char *sub; /* second word, or NULL */
    int (*run)(const hpcb_ctl_t *ctl);
    const char *help;
} verb_t;

static int run_check(const hpcb_ctl_t *ctl)
{
    return ctl->nodes ? hpcb_check_nodes(ctl) : hpcb_check(ctl);
}

static const verb_t verbs[] = {
    {"check", NULL, run_check,
     "Usage: hpcbctl [--config FILE] check [--nodes LIST|ALL [--remote CMD]] [--json]\n"
     "\n"
     "Test the running cluster (through scontrol) and this host.  Print one line per\n"
     "wrong setting with the line that fixes it.  With --nodes, run it on these\n"
     "nodes, too (ALL: those of the guest partition), and print each finding once,\n"
     "with its nodes.  Exit code: 0 if nothing is broken, 1 if something is or\n"
     "slurmctld does not answer.\n"},
    {"status", NULL, hpcb_status,
     "Usage: hpcbctl [--config FILE] status [--json]\n"
     "\n"
     "Print the mechanisms of this node and why others are missing, its topology,\n"
     "and its jobs with class, mechanism in force and usage so far.\n"},
    {"release", NULL, hpcb_release,
     "Usage: hpcbctl [--config FILE] release [--state-dir DIR] [--json]\n"
     "\n"
     "Undo all changes to jobs on this node: tasks leave the guests' groups, knobs\n"
     "get their previous values, our groups are removed.  Records of running jobs\n"
     "stay, so that later steps of guests are guests.  If there is no valid\n"
     "configuration, set StateDir with --state-dir.  Requires root.\n"},
    {"release", "windows", hpcb_release_windows,
     "Usage: hpcbctl [--config FILE] release windows [--state-dir DIR]\n"
     "\n"
     "End the boost and balance of jobs and thaw guests after hpcbd was killed.\n"
     "Guests stay guests.  Requires root.\n"},
    {"guests", "stop", hpcb_guests,
     "Usage: hpcbctl [--config FILE] guests stop [--nodes LIST] [--remote CMD]\n"
     "                [--wait SECONDS] [--json]\n"
     "\n"
     "Turn guests off: no guest starts, running guests are requeued (jobs without a\n"
     "batch script or with --no-requeue are cancelled), and each node is released.\n"
     "Exit code: 0 if no guest is left and each node is released.\n"},
    {"guests", "drain", hpcb_guests,
     "Usage: hpcbctl [--config FILE] guests drain [--nodes LIST] [--json]\n"
     "\n"
     "Start no more guests; running guests continue.\n"},
    {"guests", "resume", hpcb_guests,
     "Usage: hpcbctl [--config FILE] guests resume [--nodes LIST] [--json]\n"
     "\n"
     "Let guests start again.\n"},
    {"top", NULL, hpcb_top,
     "Usage: hpcbctl [--config FILE] top [--json]\n"
     "\n"
     "Show the jobs on this node, the busiest first, with the CPU time that they\n"
     "used and waited for in the last second, followed by windows and balance of\n"
     "jobs.  Users see their own jobs.  Updates every second on a terminal, otherwise\n"
     "prints once.  With --json, print the answer of hpcbd.\n"},
    {"gang", "list", hpcb_gang_list,
     "Usage: hpcbctl [--config FILE] gang list [--json]\n"
     "\n"
     "Print the jobs on this node that take turns, with the expected bandwidth of\n"
     "each and the time for which it was elected.  Users see their own jobs.  With\n"
     "--json, also print the last decisions and their inputs (root).\n"},
    {"gang", "pause", hpcb_gang_pause,
     "Usage: hpcbctl [--config FILE] gang pause [JOB] [--json]\n"
     "\n"
     "Stop a job on this node until it is resumed (its owner or root).  Without a\n"
     "job, no turns are taken on this node: all jobs run except those that are\n"
     "paused themselves.  That requires root.\n"},
    {"gang", "resume", hpcb_gang_resume,
     "Usage: hpcbctl [--config FILE] gang resume [JOB] [--json]\n"
     "\n"
     "Undo gang pause.\n"},
    {"gang", "join", hpcb_gang_join,
     "Usage: hpcbctl [--config FILE] gang join JOB [--json]\n"
     "\n"
     "Let a job of another partition take turns on this node, until it leaves or\n"
     "hpcbd ends (its owner or root).  Undoes gang leave.\n"},
    {"gang", "leave", hpcb_gang_leave,
     "Usage: hpcbctl [--config FILE] gang leave JOB [--json]\n"
     "\n"
     "Undo gang join.  Root may let any job leave: it then runs all the time.\n"},
    {"gang", "set", hpcb_gang_set,
     "Usage: hpcbctl [--config FILE] gang set [partition=NAME] [quantum=SECONDS]\n"
     "                [window=QUANTA] [--json]\n"
     "\n"
     "Set the length of a turn on this node, and the number of turns from which\n"
     "bandwidth is predicted, for the jobs of one partition (unless those of another\n"
     "take turns with them) or of all.  Valid until hpcbd reads its configuration\n"
     "again.  Requires root.\n"},
    {"company", NULL, hpcb_company,
     "Usage: hpcbctl [--config FILE] company [--json]\n"
     "\n"
     "Print the pairs of programs of which the guest was requeued because it slowed\n"
     "the primary down, and until when placement keeps it off nodes where that\n"
     "primary runs.  After that such nodes are its last choice, until the pair is\n"
     "forgotten.  Run it on the collector's host.\n"},
    {"snapshot", NULL, hpcb_snapshot,
     "Usage: hpcbctl [--config FILE] snapshot [--output DIR|FILE.tar.gz]\n"
     "                [--keep-names] [--json]\n"
     "\n"
     "Write the files that discovery reads on this node: cgroup mounts, the cgroups\n"
     "of Slurm's jobs and their settings, CPU topology, kernel release.  It contains\n"
     "no command lines, environments or addresses, and replaces names of nodes,\n"
     "users and jobs.  The path must not exist (default: hpcb-snapshot).  Only its\n"
     "owner can read it.\n"},
    {"calibrate", NULL, hpcb_calibrate,
     "Usage: hpcbctl [--config FILE] calibrate [--cpus LIST] [--seconds N]\n"
     "                [--net SIZE|none] [--force] [--json]\n"
     "\n"
     "Measure the memory bandwidth of this node with all CPUs (or those of LIST,\n"
     "such as 0-3,8) for N seconds (default 10), read the speed of its network\n"
     "links, and print the node's line of hpc-balance.conf.  Uses up to half of the\n"
     "available memory.  Without --force, nothing is measured next to primaries.\n"},
    {"profile", "show", hpcb_profile_show,
     "Usage: hpcbctl [--config FILE] profile show [--user USER] [--name NAME]\n"
     "                [--executable NAME] [--json]\n"
     "\n"
     "Print all profiles, or those of a user, job name or executable: what earlier\n"
     "runs used, or what was set.\n"},
    {"profile", "set", hpcb_profile_set,
     "Usage: hpcbctl [--config FILE] profile set --user USER --name NAME\n"
     "                [--executable NAME] mem=SIZE,net=SIZE[,cpu=N%]\n"
     "\n"
     "Set the profile of a user's jobs of that name, like --bw-profile.  It is not\n"
     "changed by learning any more.\n"},
    {"profile", "forget", hpcb_profile_forget,
     "Usage: hpcbctl [--config FILE] profile forget --user USER | --name NAME |\n"
     "                --executable NAME | --all [--json]\n"
     "\n"
     "Remove the profiles that match all given options.\n"},
    {"profile", "learn", hpcb_profile_learn,
     "Usage: hpcbctl [--config FILE] profile learn [--user USER] [--name NAME]\n"
     "                [--executable NAME] [--json] RECORD...\n"
     "\n"
     "Merge records of jobs, from the collector or from nodes, into the profiles,\n"
     "each record once.  They contain bandwidths only if the site measures them (see\n"
     "hpcbctl(8)).  --name and --executable override the records.  With --user,\n"
     "records of other users are skipped.\n"},
    {"metrics", NULL, hpcb_metrics,
     "Usage: hpcbctl [--config FILE] metrics [--output FILE]\n"
     "\n"
     "Print figures of this node in Prometheus' text format: jobs, CPU time and\n"
     "stolen time by class, evictions, the mechanisms in force.  With --output FILE\n"
     "(named *.prom, in the directory of node_exporter's textfile collector), the\n"
     "file is replaced as a whole.\n"},
    {"records", "verify", hpcb_records_verify,
     "Usage: hpcbctl [--config FILE] records verify [--json]\n"
     "\n"
     "Read the whole database of the collector and report whether it is intact.\n"
     "Exit code: 0 if it is, 1 if it is damaged or cannot be read.\n"},
    {"records", "vacuum", hpcb_records_vacuum,
     "Usage: hpcbctl [--config FILE] records vacuum [YYYY-MM-DD] [--json]\n"
     "\n"
     "Remove runs that ended before that day (UTC), if one is given, and return free\n"
     "space of the collector's database to the file system.  A running collector\n"
     "acknowledges nothing meanwhile.  Requires root.\n"},
    {"records", "import", hpcb_records_import,
     "Usage: hpcbctl [--config FILE] records import FILE... [--json]\n"
     "\n"
     "Add records in JSON Lines (- for standard input) to the collector's database:\n"
     "runs from hpcb-report --export=jsonl or from earlier releases, or records of\n"
     "nodes.  Known runs are skipped.  Requires root.\n"},
    {"job", "begin", hpcb_job_begin,
     "Usage: hpcbctl [--config FILE] job begin\n"
     "\n"
     "Called by slurmd's prolog, whose environment identifies the job.  Record the\n"
     "job's class.  The exit code is always 0.  Failures are one line on stderr.\n"},
    {"job", "end", hpcb_job_end,
     "Usage: hpcbctl [--config FILE] job end\n"
     "\n"
     "Called by slurmd's epilog.  Write the job's record to SpoolDir and remove the\n"
     "job's state.  The exit code is always 0.  Failures are one line on stderr.\n"},
    /* End of verbs */
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int __attribute__((format(printf, 1, 2))) usage(const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "hpcbctl: %s (see hpcbctl --help)\n", hpcb_text_clean(text));
    return EXIT_USAGE;
}

static void log_line(hpcb_log_level_t level, const char *line)
{
    if (level != HPCB_LOG_DEBUG)
        fprintf(stderr, "hpcbctl: %s\n", line);
}

/* These check their operands themselves. */
static bool has_operands(const verb_t *verb)
{
    return strcmp(verb->name, "profile") == 0 || strcmp(verb->name, "records") == 0 ||
           strcmp(verb->name, "gang") == 0;
}

static const verb_t *find_verb(int argc, char **argv)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        const verb_t *verb = &verbs[i];

        if (strcmp(verb->name, argv[0]) != 0)
            continue;
        if (verb->sub ? argc >= 2 && strcmp(verb->sub, argv[1]) == 0 &&
                            (has_operands(verb) || argc == 2)
                      : argc == 1)
            return verb;
    }
    return NULL;
}

static bool is_verb(const char *name)
{
    for (size_t i = 0; i < N_VERBS; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return true;
    return false;
}

/* Return the message if the first word is a verb and the rest is invalid. */
static const char *rest_of(const char *name)
{
    if (strcmp(name, "job") == 0)
        return "give begin or end";
    if (strcmp(name, "release") == 0)
        return "give nothing or windows";
    if (strcmp(name, "guests") == 0)
        return "give stop, drain or resume";
    if (strcmp(name, "gang") == 0)
        return "give list, pause, resume, join, leave or set";
    if (strcmp(name, "records") == 0)
        return "give verify, vacuum or import";
    return strcmp(name, "profile") == 0 ? "give show, set, forget or learn"
                                        : "takes no argument";
}

/* The options of one verb only that were given to another. */
static const char *misplaced(const hpcb_ctl_t *ctl, const verb_t *verb)
{
    if (ctl->output && verb->run != hpcb_snapshot && verb->run != hpcb_metrics)
        return "--output is for snapshot and metrics";
    if (ctl->keep_names && verb->run != hpcb_snapshot)
        return "--keep-names is for snapshot";
    if (ctl->json && verb->run == hpcb_metrics)
        return "--json is not for metrics (see status)";
    if ((ctl->cpus || ctl->seconds || ctl->net || ctl->force) &&
        verb->run != hpcb_calibrate)
        return "--cpus, --seconds, --net and --force are for calibrate";
    if ((ctl->user || ctl->name || ctl->executable || ctl->all) &&
        strcmp(verb->name, "profile") != 0)
        return "--user, --name, --executable and --all are for profile";
    if ((ctl->nodes || ctl->remote) && verb->run != hpcb_guests &&
        verb->run != run_check)
        return "--nodes and --remote are for guests and check";
    if (ctl->state_dir && strcmp(verb->name, "release") != 0)
        return "--state-dir is for release";
    if (ctl->state_dir && ctl->state_dir[0] != '/')
        return "--state-dir: give an absolute path";
    if (ctl->wait && verb->run != hpcb_guests)
        return "--wait is for guests stop";
    if (ctl->remote && !ctl->nodes && verb->run == run_check)
        return "--remote needs --nodes";
    return ctl->all && verb->run != hpcb_profile_forget ? "--all is for profile forget"
                                                        : NULL;
}

/* `help` and `help VERB` are `--help` and `VERB --help`. */
static bool asks_for_help(int *argc, char ***argv)
{
    if (*argc == 0 || strcmp((*argv)[0], "help") != 0)
        return false;
    --*argc;
    ++*argv;
    return true;
}

static int run(hpcb_ctl_t *ctl, bool help, int argc, char **argv)
{
    const verb_t *verb;
    const char *flaw;

    help |= asks_for_help(&argc, &argv);
    if (argc == 0 && !help)
        return usage("a verb is missing");
    if (argc == 0) {
        fputs(general_help, stdout);
        return 0;
    }
    verb = find_verb(argc, argv);
    if (!verb && is_verb(argv[0]))
        return usage("%s: %s", argv[0], rest_of(argv[0]));
    if (!verb)
        return usage("unknown verb '%s'", argv[0]);
    flaw = misplaced(ctl, verb);
    if (flaw)
        return usage("%s: %s", argv[0], flaw);
    ctl->sub = verb->sub;
    ctl->n_operands = argc - (verb->sub ? 2 : 1);
    ctl->operands = argv + argc - ctl->n_operands;
    if (!help)
        return verb->run(ctl);
    fputs(verb->help, stdout);
    return 0;
}

static const struct option options[] = {
    {"all", no_argument, NULL, 'a'},
    {"config", required_argument, NULL, 'c'},
    {"cpus", required_argument, NULL, 'C'},
    {"executable", required_argument, NULL, 'e'},
    {"force", no_argument, NULL, 'F'},
    {"json", no_argument, NULL, 'j'},
    {"keep-names", no_argument, NULL, 'k'},
    {"name", required_argument, NULL, 'n'},
    {"net", required_argument, NULL, 'N'},
    {"nodes", required_argument, NULL, 'L'},
    {"output", required_argument, NULL, 'o'},
    {"remote", required_argument, NULL, 'R'},
    {"seconds", required_argument, NULL, 'S'},
    {"state-dir", required_argument, NULL, 'T'},
    {"user", required_argument, NULL, 'u'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"wait", required_argument, NULL, 'W'},
    {NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
    hpcb_ctl_t ctl = {0};
    bool help = false;
    int c;

    opterr = 0;
    hpcb_log_set_sink(log_line);
    while ((c = getopt_long(argc, argv, ":ac:e:jn:o:u:hV", options, NULL)) != -1) {
        switch (c) {
        case 'c':
            ctl.conf_path = optarg;
            break;
        case 'j':
            ctl.json = true;
            break;
        case 'o':
            ctl.output = optarg;
            break;
        case 'C':
            ctl.cpus = optarg;
            break;
        case 'S':
            ctl.seconds = optarg;
            break;
        case 'T':
            ctl.state_dir = optarg;
            break;
        case 'N':
            ctl.net = optarg;
            break;
        case 'F':
            ctl.force = true;
            break;
        case 'L':
            ctl.nodes = optarg;
            break;
        case 'R':
            ctl.remote = optarg;
            break;
        case 'W':
            ctl.wait = optarg;
            break;
        case 'k':
            ctl.keep_names = true;
            break;
        case 'u':
            ctl.user = optarg;
            break;
        case 'n':
            ctl.name = optarg;
            break;
        case 'e':
            ctl.executable = optarg;
            break;
        case 'a':
            ctl.all = true;
            break;
        case 'h':
            help = true;
            break;
        case 'V':
            puts(PACKAGE_STRING);
            return 0;
        case ':':
            return usage("option '%s' needs a value", argv[optind - 1]);
        default:
            return usage("unknown option '%s'", argv[optind - 1]);
        }
    }
    return run(&ctl, help, argc - optind, argv + optind);
}
