/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview.  The first half is what the plugin imports (spank_*, slurm_*): it answers
 * from `now`, which says which hook is running where.  The second half plays srun,
 * slurmd and slurmstepd.  Order and identities are those of 22.05 (src/common/
 * plugstack.c and src/slurmd/slurmstepd/mgr.c): in particular a forked task prepares
 * itself while slurmstepd goes on to task_post_fork, in either order, and only
 * task_init waits for slurmstepd.
 */
#include "config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/options.h"
#include "tests/spank/host.h"

#define EXPORT          __attribute__((visibility("default")))
#define OPTIONS_MAX     16
#define ENV_MAX_ENTRIES 64

typedef enum {
    NO_HOOK,
    INIT,
    POST_OPT,
    SCRIPT,
    USER_INIT,
    PRIVILEGED,
    POST_FORK,
    TASK_INIT,
    TASK_EXIT,
    EXIT
} phase_t;

static struct {
    spank_context_t context;
    phase_t phase;
    uint32_t job_id;
    uint32_t step_id;
    uid_t uid;
    uint32_t tasks;
    int task; /* -1: none */
    pid_t task_pid;
} now;

static struct {
    void *handle;
    char *argv[OPTIONS_MAX];
    int argc;
    struct spank_option options[OPTIONS_MAX];
    int n_options;
    char *env[ENV_MAX_ENTRIES];
    int log_fd;
    int failures;
    long longest_us;
} host = {.log_fd = -1};

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "host: %s\n", what);
    abort();
}

/* ---- what the plugin imports ---- */

static void log_line(const char *level, const char *format, va_list arguments)
{
    char line[2048];
    int used = snprintf(line, sizeof(line), "%s: ", level);

    used += vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, arguments);
    if (used > (int)sizeof(line) - 2)
        used = sizeof(line) - 2;
    line[used] = '\n';
    if (write(host.log_fd, line, (size_t)used + 1) < 0)
        give_up("log");
}

#define LOGGER(function, level)                                                        \
    EXPORT void function(const char *format, ...)                                      \
    {                                                                                  \
        va_list arguments;                                                             \
        va_start(arguments, format);                                                   \
        log_line(level, format, arguments);                                            \
        va_end(arguments);                                                             \
    }

LOGGER(slurm_error, "error")
LOGGER(slurm_info, "info")
LOGGER(slurm_debug, "debug")
LOGGER(slurm_spank_log, "user")

EXPORT spank_context_t spank_context(void)
{
    return now.context;
}

EXPORT spank_err_t spank_option_register(spank_t sp, struct spank_option *option)
{
    (void)sp;
    if (now.phase != INIT || !option->name || !option->usage)
        return ESPANK_BAD_ARG;
    if (host.n_options == OPTIONS_MAX)
        return ESPANK_NOSPACE;
    host.options[host.n_options++] = *option;
    return ESPANK_SUCCESS;
}

/* In prolog and epilog: from the environment, unless it has been registered. */
EXPORT spank_err_t spank_option_getopt(spank_t sp, struct spank_option *option,
                                       char **value)
{
    char name[256];
    char *text;

    (void)sp;
    if (now.phase != SCRIPT || host.n_options)
        return ESPANK_NOT_AVAIL;
    if (!option->name || (option->has_arg && !value))
        return ESPANK_BAD_ARG;
    snprintf(name, sizeof(name), "SPANK__SLURM_SPANK_OPTION_hpc_balance_%s",
             option->name);
    for (char *p = name; *p; p++)
        *p = *p == '-' ? '_' : *p;
    text = getenv(name);
    if (!text)
        return ESPANK_ERROR;
    if (option->has_arg)
        *value = text;
    return ESPANK_SUCCESS;
}

static spank_err_t step_item(spank_item_t item, va_list arguments)
{
    switch (item) {
    case S_JOB_STEPID:
        *va_arg(arguments, uint32_t *) = now.step_id;
        return ESPANK_SUCCESS;
    case S_JOB_GID:
        *va_arg(arguments, gid_t *) = now.uid;
        return ESPANK_SUCCESS;
    case S_JOB_NCPUS:
        *va_arg(arguments, uint16_t *) = HOST_CPUS;
        return ESPANK_SUCCESS;
    case S_JOB_ALLOC_CORES:
        *va_arg(arguments, char **) = (char *)HOST_CORES;
        return ESPANK_SUCCESS;
    case S_JOB_LOCAL_TASK_COUNT:
        *va_arg(arguments, uint32_t *) = now.tasks;
        return ESPANK_SUCCESS;
    case S_TASK_ID:
        *va_arg(arguments, int *) = now.task;
        return now.task < 0 ? ESPANK_NOT_TASK : ESPANK_SUCCESS;
    case S_TASK_PID:
        *va_arg(arguments, pid_t *) = now.task < 0 ? 0 : now.task_pid;
        return now.task < 0 ? ESPANK_NOT_TASK : ESPANK_SUCCESS;
    default:
        return ESPANK_BAD_ARG;
    }
}

EXPORT spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
    spank_err_t result = ESPANK_SUCCESS;
    va_list arguments;

    (void)sp;
    if (now.context != S_CTX_REMOTE && now.context != S_CTX_JOB_SCRIPT)
        return ESPANK_NOT_AVAIL;
    va_start(arguments, item);
    if (item == S_JOB_ID)
        *va_arg(arguments, uint32_t *) = now.job_id;
    else if (item == S_JOB_UID)
        *va_arg(arguments, uid_t *) = now.uid;
    else if (now.context == S_CTX_REMOTE)
        result = step_item(item, arguments);
    else
        result = ESPANK_NOT_AVAIL;
    va_end(arguments);
    return result;
}

static char **find_env(const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < ENV_MAX_ENTRIES; i++) {
        if (host.env[i] && strncmp(host.env[i], name, length) == 0 &&
            host.env[i][length] == '=')
            return &host.env[i];
    }
    return NULL;
}

const char *host_getenv(const char *name)
{
    char **entry = find_env(name);

    return entry ? *entry + strlen(name) + 1 : NULL;
}

EXPORT spank_err_t spank_getenv(spank_t sp, const char *name, char *buf, int size)
{
    const char *value = host_getenv(name);

    (void)sp;
    if (now.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (!value)
        return ESPANK_ENV_NOEXIST;
    return snprintf(buf, (size_t)size, "%s", value) >= size ? ESPANK_NOSPACE
                                                            : ESPANK_SUCCESS;
}

static void put_env(const char *name, const char *value)
{
    char **entry = find_env(name);

    for (int i = 0; !entry && i < ENV_MAX_ENTRIES; i++)
        entry = host.env[i] ? NULL : &host.env[i];
    if (!entry)
        give_up("environment full");
    free(*entry);
    if (asprintf(entry, "%s=%s", name, value) < 0)
        give_up("memory");
}

EXPORT spank_err_t spank_setenv(spank_t sp, const char *name, const char *value,
                                int overwrite)
{
    (void)sp;
    if (now.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (host_getenv(name) && !overwrite)
        return ESPANK_ENV_EXISTS;
    put_env(name, value);
    return ESPANK_SUCCESS;
}

EXPORT spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
    char **entry = find_env(name);

    (void)sp;
    if (now.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (entry) {
        free(*entry);
        *entry = NULL;
    }
    return ESPANK_SUCCESS;
}

/* ---- the programs that load plugins ---- */

static char log_text[65536];

const char *host_log(void)
{
    ssize_t length = pread(host.log_fd, log_text, sizeof(log_text) - 1, 0);

    log_text[length > 0 ? length : 0] = '\0';
    return log_text;
}

int host_log_count(const char *text)
{
    int count = 0;

    for (const char *p = host_log(); (p = strstr(p, text)); p += strlen(text))
        count++;
    return count;
}

int host_failures(void)
{
    return host.failures;
}

long host_longest_us(void)
{
    return host.longest_us;
}

static void open_log(void)
{
    char path[] = "/tmp/hpcb-spank-log-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0)
        give_up("log");
    host.log_fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    unlink(path);
    close(fd);
}

/* Where Check does not fork (under valgrind), a new load is a new process's. */
static void forget(void)
{
    if (host.handle)
        dlclose(host.handle);
    if (host.log_fd >= 0)
        close(host.log_fd);
    for (int i = 0; i < host.argc; i++)
        free(host.argv[i]);
    for (int i = 0; i < ENV_MAX_ENTRIES; i++)
        free(host.env[i]);
    memset(&host, 0, sizeof(host));
}

void host_load(const char *const *args)
{
    const char *build = getenv("HPCB_BUILDDIR");
    char path[4096];

    forget();
    open_log();
    for (host.argc = 0; args && args[host.argc]; host.argc++)
        host.argv[host.argc] = strdup(args[host.argc]);
    snprintf(path, sizeof(path), "%s/spank/.libs/hpc_balance.so", build ? build : ".");
    host.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!host.handle)
        give_up(dlerror());
}

static long now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int call(const char *name, phase_t phase)
{
    char symbol[64];
    spank_f *hook;
    long begin = now_us();
    int result;

    snprintf(symbol, sizeof(symbol), "slurm_spank_%s", name);
    *(void **)&hook = dlsym(host.handle, symbol);
    if (!hook)
        return 0;
    now.phase = phase;
    result = hook(NULL, host.argc, host.argv);
    now.phase = NO_HOOK;
    if (now_us() - begin > host.longest_us)
        host.longest_us = now_us() - begin;
    host.failures += result != 0;
    return result;
}

static struct spank_option *registered(const char *name)
{
    for (int i = 0; i < host.n_options; i++) {
        if (strcmp(host.options[i].name, name) == 0)
            return &host.options[i];
    }
    give_up("no such option");
}

static int give_options(const host_option_t *options, int remote)
{
    int result = 0;

    for (; options && options->name && result == 0; options++) {
        struct spank_option *option = registered(options->name);

        result = option->cb(option->val, options->value, remote);
    }
    return result;
}

static void __attribute__((noreturn))
run_command(spank_context_t context, const host_option_t *options)
{
    now.context = context;
    host.n_options = 0;
    call("init", INIT);
    if (give_options(options, 0) != 0)
        _exit(255);
    call("init_post_opt", POST_OPT);
    call("exit", EXIT);
    _exit(host.failures ? 254 : 0);
}

int host_command(spank_context_t context, const host_option_t *options)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        run_command(context, options);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        give_up("command");
    return WEXITSTATUS(status);
}

void host_slurmd(void)
{
    now.context = S_CTX_SLURMD;
    host.n_options = 0;
    call("init", INIT);
    call("init_post_opt", POST_OPT);
    call("slurmd_exit", EXIT);
    call("exit", EXIT);
}

static void job_script(const char *hook, uint32_t job_id, uid_t uid)
{
    now.context = S_CTX_JOB_SCRIPT;
    now.job_id = job_id;
    now.uid = uid;
    host.n_options = 0;
    call(hook, SCRIPT);
}

void host_prolog(uint32_t job_id, uid_t uid)
{
    job_script("job_prolog", job_id, uid);
}

void host_epilog(uint32_t job_id, uid_t uid)
{
    job_script("job_epilog", job_id, uid);
}

/* ---- slurmstepd ---- */

static void set_user(uid_t uid)
{
    if (getuid() == 0 && seteuid(uid) < 0)
        give_up("seteuid");
}

static void become_user(uid_t uid)
{
    set_user(0);
    if (getuid() == 0 && (setregid(uid, uid) < 0 || setreuid(uid, uid) < 0))
        give_up("setreuid");
}

/* What slurmstepd itself does in the forked task before any hook. */
static void prepare_task(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, "0", 1) < 0)
        give_up("oom_score_adj");
    close(fd);
    if (getuid() == 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
        give_up("setpriority");
}

static void wait_for_parent(int fd)
{
    char c;

    if (read(fd, &c, 1) < 0)
        give_up("read");
}

typedef struct {
    int go; /* write end: a byte releases the task */
    int out;
    int err;
    pid_t pid;
} child_t;

static void __attribute__((noreturn))
run_task(const host_step_t *step, int task, int go, int out, int err)
{
    now.task = task;
    if (step->parent_first)
        wait_for_parent(go);
    set_user(0);
    prepare_task();
    if (step->prepare)
        step->prepare();
    call("task_init_privileged", PRIVILEGED);
    become_user(step->uid);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        give_up("dup2");
    if (!step->parent_first)
        wait_for_parent(go);
    if (call("task_init", TASK_INIT) != 0)
        _exit(99);
    if (step->program)
        step->program();
    _exit(0);
}

static void fork_task(const host_step_t *step, int task, child_t *child)
{
    int go[2], out[2], err[2];

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
        pipe2(err, O_CLOEXEC) < 0)
        give_up("pipe");
    child->pid = fork();
    if (child->pid < 0)
        give_up("fork");
    if (child->pid == 0) {
        close(go[1]);
        run_task(step, task, go[0], out[1], err[1]);
    }
    close(go[0]);
    close(out[1]);
    close(err[1]);
    *child = (child_t){.go = go[1], .out = out[0], .err = err[0], .pid = child->pid};
}

static void collect(int fd, char *text)
{
    size_t used = strlen(text);
    ssize_t n;

    while ((n = read(fd, text + used, HOST_TEXT - used - 1)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(fd);
}

static void begin_step(host_step_t *step)
{
    now.context = S_CTX_REMOTE;
    now.job_id = step->job_id;
    now.step_id = step->step_id;
    now.uid = step->uid;
    now.tasks = step->tasks ? (uint32_t)step->tasks : 1;
    now.task = -1;
    host.n_options = 0;
    for (int i = 0; step->env && step->env[i]; i++)
        host.env[i] = strdup(step->env[i]);
    call("init", INIT);
    host.failures += give_options(step->options, 1) != 0;
    call("init_post_opt", POST_OPT);
}

/* A task that could not be prepared has ended by then, and needs none. */
static void let_go(int go)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);

    if (write(go, "g", 1) != 1 && errno != EPIPE)
        give_up("go");
    signal(SIGPIPE, before);
    close(go);
}

static void tasks_run(host_step_t *step, child_t *children)
{
    for (int i = 0; i < (int)now.tasks; i++) {
        now.task = i;
        now.task_pid = children[i].pid;
        if (step->forked)
            step->forked(now.task_pid);
        if (!step->cut || i + 1 < (int)now.tasks)
            call("task_post_fork", POST_FORK);
    }
    if (step->running)
        step->running();
    for (int i = 0; i < (int)now.tasks; i++) {
        let_go(children[i].go);
    }
    for (int i = 0; i < (int)now.tasks; i++) {
        collect(children[i].out, step->out);
        collect(children[i].err, step->err);
        waitpid(children[i].pid, &step->status[i], 0);
        now.task = i;
        call("task_exit", TASK_EXIT);
    }
    if (step->ended)
        step->ended();
}

static void extern_step(host_step_t *step)
{
    pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    if (step->forked)
        step->forked(pid);
    call("task_post_fork", POST_FORK);
    if (step->program)
        step->program();
    kill(pid, SIGKILL);
    waitpid(pid, &step->status[0], 0);
}

void host_step(host_step_t *step)
{
    child_t children[HOST_TASKS];

    begin_step(step);
    if (step->step_id == SLURM_EXTERN_CONT) {
        extern_step(step);
    } else {
        set_user(step->uid);
        call("user_init", USER_INIT);
        for (int i = 0; i < (int)now.tasks; i++)
            fork_task(step, i, &children[i]);
        set_user(0);
        tasks_run(step, children);
    }
    now.task = -1;
    call("exit", EXIT);
}
