/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * hpcbd: on a node (the default) or, with --collector, on the controller's host.  It
 * stays in the foreground; systemd, or the sandbox, supervises it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "hpcbd/balance/balance.h"
#include "hpcbd/gang/ask.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/crumbs.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/hpcbd.h"
#include "hpcbd/log.h"
#include "hpcbd/memory/memory.h"
#include "hpcbd/node/capacity.h"
#include "hpcbd/node/saturation.h"
#include "hpcbd/node/sense.h"
#include "hpcbd/node/socket.h"
#include "hpcbd/windows/peers.h"
#include "hpcbd/windows/windows.h"
#include "hpcbd/worker.h"

#define EXIT_USAGE 2

static const char help[] =
    "Usage: hpcbd [--collector] [--config FILE] [--debug]\n"
    "\n"
    "Run the daemon of slurm-hpc-balance in the foreground (hpcbd(8)).\n"
    "\n"
    "      --collector     merge the records of all nodes, on the controller's host\n"
    "  -c, --config FILE   hpc-balance.conf to use instead of the one next to\n"
    "                      slurm.conf\n"
    "  -d, --debug         log more\n"
    "  -h, --help          print this text\n"
    "  -V, --version       print the version\n"
    "\n"
    "SIGHUP reads the configuration again, SIGTERM and SIGINT end the daemon.\n";

static const hpcbd_part_t *const node_parts[] = {
    /* These fork: before others lock memory. */
    &hpcbd_ship,
    &hpcbd_memory,
    &hpcbd_calibrate,
    &hpcbd_probe,
    &hpcbd_gang_ask,
    &hpcbd_window,
    &hpcbd_crumbs,
    &hpcbd_restrain,
    &hpcbd_slices,
    &hpcbd_experiment,
    &hpcbd_balance,
    &hpcbd_gang,
    &hpcbd_sense, /* ends before gang, which knows for how long jobs were elected */
    &hpcbd_node,
    &hpcbd_peers,
    /* End of node_parts */
    NULL,
};

static const hpcbd_part_t *const collector_parts[] = {
    &hpcbd_collector,
    &hpcbd_writer,
    &hpcbd_learner,
    /* End of collector_parts */
    NULL,
};

typedef struct {
    const char *name;
    const hpcbd_part_t *const *parts;
    const char *(*dir)(const hpcb_conf_t *conf); /* of which it is the only owner */
} hpcbd_mode_t;

static const char *node_dir(const hpcb_conf_t *conf)
{
    return conf->spool_dir;
}

static const char *collector_dir(const hpcb_conf_t *conf)
{
    return conf->collector_dir;
}

static const hpcbd_mode_t node_mode = {"node", node_parts, node_dir};
static const hpcbd_mode_t collector_mode = {"collector", collector_parts,
                                            collector_dir};

static int start_part(const hpcbd_part_t *part, hpcbd_t *daemon, hpcb_error_t *err)
{
    return part->worker ? hpcbd_worker_start(part->worker, daemon, err)
                        : part->start(daemon, err);
}

static void reload_part(const hpcbd_part_t *part, hpcbd_t *daemon)
{
    if (part->worker)
        hpcbd_worker_reload(part->worker, daemon);
    else if (part->reload)
        part->reload(daemon);
}

static void stop_part(const hpcbd_part_t *part, hpcbd_t *daemon)
{
    if (part->worker)
        hpcbd_worker_stop(part->worker);
    else if (part->stop)
        part->stop(daemon);
}

typedef struct {
    const hpcbd_mode_t *mode;
    const char *conf;
    bool debug;
} args_t;

/* -1: go on; else the exit code. */
static int parse_args(int argc, char **argv, args_t *args)
{
    static const struct option options[] = {
        {"collector", no_argument, NULL, 'C'}, {"config", required_argument, NULL, 'c'},
        {"debug", no_argument, NULL, 'd'},     {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},   {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "c:dhV", options, NULL)) != -1) {
        switch (option) {
        case 'C':
            args->mode = &collector_mode;
            break;
        case 'c':
            args->conf = optarg;
            break;
        case 'd':
            args->debug = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case 'V':
            printf("hpcbd %s\n", PACKAGE_VERSION);
            return 0;
        default:
            return EXIT_USAGE;
        }
    }
    if (optind == argc)
        return -1;
    fputs("hpcbd: takes no argument (see hpcbd --help)\n", stderr);
    return EXIT_USAGE;
}

/* Two daemons on one directory would interfere with each other.  Return the descriptor
 * with the lock, which the kernel releases when the process ends; or -1. */
static int take_lock(const hpcbd_mode_t *mode, const hpcb_conf_t *conf,
                     hpcb_error_t *err)
{
    const char *dir = mode->dir(conf);
    char path[PATH_MAX];
    int fd;

    if (hpcb_file_mkdirs(dir, 0755, err) || hpcb_file_trusted(dir, err))
        return -1;
    if (snprintf(path, sizeof(path), "%s/hpcbd.lock", dir) >= (int)sizeof(path))
        return hpcb_error(err, "%.200s is too long", dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return hpcb_error(err, "cannot open %.300s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    hpcb_error(err, errno == EWOULDBLOCK ? "%.300s: another hpcbd holds it" : "%.300s",
               path);
    close(fd);
    return -1;
}

static void on_end(void *arg, uint64_t signo)
{
    hpcbd_t *daemon = arg;

    hpcb_log(HPCB_LOG_INFO, "ending (signal %u)", (unsigned)signo);
    hpcb_loop_stop(daemon->loop);
}

typedef struct {
    hpcbd_t daemon;
    const hpcbd_mode_t *mode;
} running_t;

#define SETTLED(key, member, mode)                                                     \
    {                                                                                  \
        key, offsetof(hpcb_conf_t, member), sizeof(((hpcb_conf_t *)0)->member), mode   \
    }

/* Settings that are fixed when the daemon starts: its directories, the groups that its
 * watchdogs release, and its ports.  mode NULL: for all modes. */
static const struct {
    const char *key;
    size_t at, size;
    const hpcbd_mode_t *mode;
} settled[] = {
    SETTLED("SpoolDir", spool_dir, NULL),
    SETTLED("StateDir", state_dir, NULL),
    SETTLED("CollectorDir", collector_dir, NULL),
    SETTLED("CollectorPort", collector_port, &collector_mode),
    SETTLED("WindowCgroup", window_cgroup, &node_mode),
    SETTLED("BalanceCgroup", balance_cgroup, &node_mode),
    SETTLED("BalancePages", balance_pages, &node_mode),
    /* End of settled */
};

static void keep_settled(const running_t *running, hpcb_conf_t *conf)
{
    const char *now = (const char *)&running->daemon.conf;

    for (size_t i = 0; i < sizeof(settled) / sizeof(settled[0]); i++) {
        char *read = (char *)conf + settled[i].at;

        if (settled[i].mode && settled[i].mode != running->mode)
            continue;
        if (memcmp(read, now + settled[i].at, settled[i].size) != 0)
            hpcb_log(HPCB_LOG_INFO, "%s changes when hpcbd is restarted",
                     settled[i].key);
        memcpy(read, now + settled[i].at, settled[i].size);
    }
}

/* A file with a mistake in it changes nothing. */
static void on_reload(void *arg, uint64_t signo)
{
    running_t *running = arg;
    hpcb_conf_t conf;
    hpcb_error_t err;

    (void)signo;
    if (hpcb_conf_load(running->daemon.conf_path, &conf, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "%s; the settings stay as they are", err.text);
        return;
    }
    keep_settled(running, &conf);
    running->daemon.conf = conf;
    hpcb_log(HPCB_LOG_INFO, "read %s again", conf.path);
    for (size_t i = 0; running->mode->parts[i]; i++)
        reload_part(running->mode->parts[i], &running->daemon);
}

static int watch_signals(running_t *running, hpcb_error_t *err)
{
    hpcbd_t *daemon = &running->daemon;

    signal(SIGPIPE, SIG_IGN);
    return hpcb_loop_signal(daemon->loop, SIGTERM, on_end, daemon, err) &&
                   hpcb_loop_signal(daemon->loop, SIGINT, on_end, daemon, err) &&
                   hpcb_loop_signal(daemon->loop, SIGHUP, on_reload, running, err)
               ? 0
               : -1;
}

static int run_parts(running_t *running, hpcb_error_t *err)
{
    const hpcbd_part_t *const *parts = running->mode->parts;
    size_t started = 0;
    int status = 0;

    while (status == 0 && parts[started]) {
        status = start_part(parts[started], &running->daemon, err);
        started += status == 0;
    }
    if (status == 0) {
        hpcb_log(HPCB_LOG_INFO, "hpcbd %s (%s) runs", PACKAGE_VERSION,
                 running->mode->name);
        status = hpcb_loop_run(running->daemon.loop, err);
    }
    while (started-- > 0)
        stop_part(parts[started], &running->daemon);
    return status;
}

/* Without a file the defaults apply; a damaged one must be fixed by the admin. */
static int load_conf(const args_t *args, hpcbd_t *daemon, hpcb_error_t *err)
{
    hpcb_conf_find(args->conf, daemon->conf_path, sizeof(daemon->conf_path));
    if (hpcb_conf_load(daemon->conf_path, &daemon->conf, err) == 0)
        return 0;
    if (args->conf || errno != ENOENT)
        return -1;
    hpcb_log(HPCB_LOG_INFO, "%s; using defaults", err->text);
    hpcb_conf_defaults(&daemon->conf);
    return 0;
}

static int run(const args_t *args, running_t *running, hpcb_error_t *err)
{
    int lock, status;

    if (load_conf(args, &running->daemon, err))
        return -1;
    lock = take_lock(args->mode, &running->daemon.conf, err);
    if (lock < 0)
        return -1;
    running->daemon.loop = hpcb_loop_new(err);
    status = running->daemon.loop ? watch_signals(running, err) : -1;
    if (status == 0)
        status = run_parts(running, err);
    hpcb_loop_free(running->daemon.loop);
    close(lock);
    return status;
}

int main(int argc, char **argv)
{
    static running_t running;
    args_t args = {.mode = &node_mode};
    int code = parse_args(argc, argv, &args);
    hpcb_error_t err;

    if (code >= 0)
        return code;
    hpcbd_log_open(args.debug);
    running.mode = args.mode;
    if (run(&args, &running, &err) == 0)
        return EXIT_SUCCESS;
    hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    return EXIT_FAILURE;
}
