/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Our plugins and scripts in Slurm: slurmctld's job_submit plugin, the nodes' prolog
 * and epilog, the SPANK plugin, and the library that it preloads.  Settings are
 * slurmctld's; files are checked on this host.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "hpcbctl/check/elf.h"
#include "hpcbctl/check/plugstack.h"
#include "hpcbctl/check/rule_tests.h"

#define SUBMIT_NAME    "hpc_balance"
#define SUBMIT_FILE    "job_submit_hpc_balance.so"
#define PREEMPT_NAME   "preempt/hpc_balance"
#define PREEMPT_FILE   "preempt_hpc_balance.so"
#define SELECT_FILE    "select_cons_tres.so"
#define SELECT_SYMBOL  "hpcb_select_plugin" /* Slurm's own has none */
#define VERSION_SYMBOL "plugin_version"
#define MPI_LIBRARY    HPCB_PKGLIBDIR "/libhpcb_mpi.so"

/* As in Slurm's plugin_version: a byte each for major, minor and micro.  SPANK plugins
 * need the first two only. */
#define RELEASE_MASK 0xffff00u

#define SCRIPT_LINE_BYTES 4096
#define SCRIPT_LINES_MAX  10000

static const char *slurm_conf(const hpcb_facts_t *facts)
{
    return hpcb_slurm_file(facts, "slurm.conf");
}

/* Return 0 if slurmctld does not report it in a known form. */
static uint32_t version_of_slurm(const hpcb_facts_t *facts)
{
    unsigned major, minor, micro;

    if (sscanf(hpcb_setting(facts, "SLURM_VERSION"), "%3u.%3u.%3u", &major, &minor,
               &micro) != 3 ||
        major > 255 || minor > 255 || micro > 255)
        return 0;
    return major << 16 | minor << 8 | micro;
}

static const char *print_version(uint32_t version, char *text, size_t size)
{
    snprintf(text, size, "%u.%02u.%u", version >> 16 & 0xff, version >> 8 & 0xff,
             version & 0xff);
    return text;
}

/* Return NULL if only root can change the file, otherwise the problem. */
static const char *distrust(const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "is not a file";
    if (st.st_uid != 0)
        return "does not belong to root";
    return st.st_mode & (S_IWGRP | S_IWOTH) ? "is writable by others than root" : NULL;
}

/* Copy the next entry of a list; NULL after the last.  Empty entries are passed over.
 */
static const char *next_entry(const char *list, const char *separators, char *entry,
                              size_t size)
{
    size_t length;

    list += strspn(list, separators);
    length = strcspn(list, separators);
    if (length == 0)
        return NULL;
    snprintf(entry, size, "%.*s", (int)length, list);
    return list + length;
}

/* The next file of that name in PluginDir, whose rest is *list.  0, or -1. */
static int next_in_plugin_dirs(const char **list, const char *name, char *path,
                               size_t size)
{
    char dir[PATH_MAX];
    struct stat st;

    while ((*list = next_entry(*list, ":", dir, sizeof(dir))))
        if (snprintf(path, size, "%s/%s", dir, name) < (int)size &&
            stat(path, &st) == 0 && S_ISREG(st.st_mode))
            return 0;
    return -1;
}

/* Find the file that slurmctld loads: builds for several releases may be installed, and
 * those of another version are skipped.  If all are of another version, the first one.
 * Return 0 or -1. */
static int find_plugin(const hpcb_facts_t *facts, const char *name, char *path,
                       size_t size)
{
    const char *list = hpcb_setting(facts, "PluginDir");
    char other[PATH_MAX];
    uint32_t version;

    if (next_in_plugin_dirs(&list, name, path, size))
        return -1;
    snprintf(other, sizeof(other), "%s", path);
    do {
        if (hpcb_elf_u32(other, VERSION_SYMBOL, &version, NULL) == 0 &&
            version == version_of_slurm(facts)) {
            snprintf(path, size, "%s", other);
            break;
        }
    } while (next_in_plugin_dirs(&list, name, other, sizeof(other)) == 0);
    return 0;
}

static bool is_submit_plugin(const char *name)
{
    static const char prefix[] = "job_submit/";

    if (strncmp(name, prefix, strlen(prefix)) == 0)
        name += strlen(prefix);
    return strcmp(name, SUBMIT_NAME) == 0;
}

/* A plugin that is called after ours can route jobs elsewhere, past our checks. */
void hpcb_rule_job_submit(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *value = hpcb_setting(facts, "JobSubmitPlugins"), *rest = value;
    char name[NAME_MAX], others[PATH_MAX] = "";
    bool listed = false, last = false;

    while ((rest = next_entry(rest, ", ", name, sizeof(name)))) {
        last = is_submit_plugin(name);
        listed |= last;
        if (!last && strlen(others) + strlen(name) + 2 <= sizeof(others))
            strcat(strcat(others, name), ",");
    }
    hpcb_found(report,
               last     ? HPCB_VERDICT_OK
               : listed ? HPCB_VERDICT_WARN
                        : HPCB_VERDICT_FAIL,
               slurm_conf(facts), "JobSubmitPlugins=%s%s", value,
               listed && !last ? " (those after " SUBMIT_NAME " can undo its routing)"
                               : "");
    if (!last)
        hpcb_mend(report, "JobSubmitPlugins=%s" SUBMIT_NAME, others);
}

static void mend_build(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    hpcb_mend(report,
              "build and install slurm-hpc-balance with the headers of Slurm %s",
              hpcb_setting(facts, "SLURM_VERSION"));
}

/* No setting helps if this installation has no build for that version. */
static void mend_plugin_dir(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *version = hpcb_setting(facts, "SLURM_VERSION");
    const char *dirs = hpcb_setting(facts, "PluginDir");
    char dir[PATH_MAX];

    snprintf(dir, sizeof(dir), HPCB_PKGLIBDIR "/slurm-%s", version);
    if (access(dir, F_OK) == 0 && !strstr(dirs, dir))
        hpcb_mend(report, "PluginDir=%s:%s", dir, dirs);
    else
        mend_build(facts, report);
}

static void check_version(const hpcb_facts_t *facts, hpcb_report_t *report,
                          const char *path, const char *note)
{
    char text[16];
    uint32_t version;
    hpcb_error_t err;

    if (hpcb_elf_u32(path, VERSION_SYMBOL, &version, &err)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s", err.text);
    } else if (version != version_of_slurm(facts)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path,
                   "it is built for Slurm %s, slurmctld is %s%s",
                   print_version(version, text, sizeof(text)),
                   hpcb_setting(facts, "SLURM_VERSION"), note);
        mend_plugin_dir(facts, report);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, path, "it is built for Slurm %s",
                   hpcb_setting(facts, "SLURM_VERSION"));
    }
}

/* Of a plugin without which slurmctld does not start. */
static void check_plugin(const hpcb_facts_t *facts, hpcb_report_t *report,
                         const char *name)
{
    char path[PATH_MAX];
    const char *flaw;

    if (find_plugin(facts, name, path, sizeof(path))) {
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "PluginDir=%s: no %s there", hpcb_setting(facts, "PluginDir"), name);
        mend_plugin_dir(facts, report);
    } else if ((flaw = distrust(path))) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s %s", name, flaw);
        hpcb_mend(report, "chown root: %s && chmod 755 %s", path, path);
    } else {
        check_version(facts, report, path, "");
    }
}

void hpcb_rule_job_submit_plugin(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    check_plugin(facts, report, SUBMIT_FILE);
}

static bool is_installed(const hpcb_facts_t *facts, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), HPCB_PKGLIBDIR "/slurm-%s/%s",
             hpcb_setting(facts, "SLURM_VERSION"), name);
    return access(path, F_OK) == 0;
}

bool hpcb_preempt_installed(const hpcb_facts_t *facts)
{
    return facts->on_controller && is_installed(facts, PREEMPT_FILE);
}

void hpcb_rule_preempt_plugin(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    if (strcasecmp(hpcb_setting(facts, "PreemptType"), PREEMPT_NAME) == 0) {
        check_plugin(facts, report, PREEMPT_FILE);
    } else if (is_installed(facts, PREEMPT_FILE)) {
        hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
                   "it is installed and not used");
        hpcb_mend(report, "PreemptType=" PREEMPT_NAME);
        if (strcasecmp(hpcb_setting(facts, "PreemptMode"), "REQUEUE") != 0) {
            hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
                       "PreemptMode=%s, which it needs to be REQUEUE",
                       hpcb_setting(facts, "PreemptMode"));
            hpcb_mend(report, "PreemptMode=REQUEUE");
        }
    } else {
        hpcb_found(report, HPCB_VERDICT_WARN, NULL,
                   "it is not installed: primaries wait for guests' memory and GRES");
    }
}

/* Ours among the files of that name in PluginDir.  first: no other stands before it. */
static int find_select_plugin(const hpcb_facts_t *facts, char *path, size_t size,
                              bool *first)
{
    const char *list = hpcb_setting(facts, "PluginDir");
    uint32_t mark;

    *first = true;
    while (next_in_plugin_dirs(&list, SELECT_FILE, path, size) == 0) {
        if (hpcb_elf_u32(path, SELECT_SYMBOL, &mark, NULL) == 0)
            return 0;
        *first = false;
    }
    return -1;
}

/* Builds for several versions may stand in a row: the one that fits counts. */
static void prefer_fitting(const hpcb_facts_t *facts, char *path, size_t size)
{
    char other[PATH_MAX];
    uint32_t mark;

    if (find_plugin(facts, SELECT_FILE, other, sizeof(other)) == 0 &&
        hpcb_elf_u32(other, SELECT_SYMBOL, &mark, NULL) == 0)
        snprintf(path, size, "%s", other);
}

bool hpcb_has_select_plugin(const hpcb_facts_t *facts)
{
    char path[PATH_MAX];
    bool first;

    return find_select_plugin(facts, path, sizeof(path), &first) == 0 && first;
}

void hpcb_rule_select_plugin(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    char path[PATH_MAX];
    const char *flaw;
    bool first;

    if (find_select_plugin(facts, path, sizeof(path), &first)) {
        hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
                   "PluginDir=%s: no " SELECT_FILE
                   " of ours: stock Slurm places guests",
                   hpcb_setting(facts, "PluginDir"));
        if (is_installed(facts, SELECT_FILE))
            mend_plugin_dir(facts, report);
    } else if (!first) {
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "PluginDir=%s: ours (%s) stands behind Slurm's own",
                   hpcb_setting(facts, "PluginDir"), path);
        hpcb_mend(report, "PluginDir=%.*s:%s", (int)(strrchr(path, '/') - path), path,
                  hpcb_setting(facts, "PluginDir"));
    } else if ((flaw = distrust(path))) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, SELECT_FILE " %s", flaw);
        hpcb_mend(report, "chown root: %s && chmod 755 %s", path, path);
    } else {
        prefer_fitting(facts, path, sizeof(path));
        check_version(facts, report, path, " and works with its own instead");
    }
}

void hpcb_rule_primaries_apart(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *one, *two;
    char path[PATH_MAX];
    bool first;

    if (!hpcb_primaries_meet(facts, &one, &two)) {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts),
                   "each node is in one partition of primaries");
    } else if (find_select_plugin(facts, path, sizeof(path), &first) == 0 && first) {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts),
                   "partitions %s and %s share nodes, but no cores", one, two);
    } else {
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "partitions %s and %s share nodes, and their jobs cores", one, two);
        mend_plugin_dir(facts, report);
    }
}

#define USER_TOP "enable_user_top"

/* The list without it. */
static void mend_user_top(hpcb_report_t *report, const char *list)
{
    char kept[1024] = "";
    size_t used = 0;

    while (*list && used < sizeof(kept)) {
        size_t length = strcspn(list, ",");

        if (length > 0 &&
            (length != strlen(USER_TOP) || strncasecmp(list, USER_TOP, length) != 0))
            used += (size_t)snprintf(kept + used, sizeof(kept) - used, "%s%.*s",
                                     used ? "," : "", (int)length, list);
        list += length + (list[length] == ',');
    }
    if (used < sizeof(kept))
        hpcb_mend(report, "SlurmctldParameters=%s", kept);
    else
        hpcb_mend(report, "SlurmctldParameters without " USER_TOP);
}

/* scontrol top gives the first of a user's guests what its others have, which
 * bf_min_prio_reserve may be below; our select plugin hides guests from primaries. */
void hpcb_rule_user_top(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *list = hpcb_setting(facts, "SlurmctldParameters");
    char path[PATH_MAX];
    bool first;

    if (!hpcb_list_has(list, USER_TOP)) {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "no " USER_TOP);
    } else if (find_select_plugin(facts, path, sizeof(path), &first) == 0 && first) {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts),
                   USER_TOP ": guests are hidden from primaries all the same");
    } else {
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   USER_TOP ": scontrol top raises guests, and nothing hides them");
        mend_user_top(report, list);
    }
}

/* "hpcbctl job begin" with options or quotes in between, or our own script. */
static bool calls_us(const char *line, const char *verb)
{
    char words[32], script[PATH_MAX];
    const char *name;

    line += strspn(line, " \t");
    if (*line == '#')
        return false;
    snprintf(words, sizeof(words), " job %s", verb);
    snprintf(script, sizeof(script), HPCB_LIBEXECDIR "/%s",
             strcmp(verb, "begin") == 0 ? "prolog" : "epilog");
    name = strstr(line, "hpcbctl");
    return (name && strstr(name, words)) || strstr(line, script);
}

static FILE *open_script(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *stream = NULL;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        stream = fdopen(fd, "r");
    if (!stream)
        hpcb_cleanup_close(&fd);
    return stream;
}

static bool script_calls_us(const char *path, const char *verb)
{
    hpcb_autofclose FILE *stream = open_script(path);
    char line[SCRIPT_LINE_BYTES];

    if (!stream)
        return false;
    for (int i = 0; i < SCRIPT_LINES_MAX && fgets(line, sizeof(line), stream); i++)
        if (calls_us(line, verb))
            return true;
    return false;
}

typedef struct {
    const char *verb;
    char path[PATH_MAX];  /* the script that calls us */
    char value[PATH_MAX]; /* the setting, its parts joined by commas */
    unsigned scripts;     /* that are on this host */
    bool called;
    bool executable;
} hook_t;

/* slurmd runs what a pattern matches; a directory or a file that cannot be executed
 * fails the job there. */
static void look_at_pattern(const hpcb_facts_t *facts, const char *pattern,
                            hook_t *hook)
{
    const char *full = pattern[0] == '/' ? pattern : hpcb_slurm_file(facts, pattern);
    glob_t matches;

    if (glob(full, 0, NULL, &matches))
        return;
    for (size_t i = 0; i < matches.gl_pathc && !hook->called; i++) {
        const char *path = matches.gl_pathv[i];

        hook->scripts++;
        if (!script_calls_us(path, hook->verb))
            continue;
        hook->called = true;
        hook->executable = access(path, X_OK) == 0;
        snprintf(hook->path, sizeof(hook->path), "%s", path);
    }
    globfree(&matches);
}

static void look_at_value(const hpcb_facts_t *facts, const char *value, hook_t *hook)
{
    size_t used = strlen(hook->value);
    char pattern[PATH_MAX];

    snprintf(hook->value + used, sizeof(hook->value) - used, "%s%s", used ? "," : "",
             value);
    while ((value = next_entry(value, ", ", pattern, sizeof(pattern))))
        look_at_pattern(facts, pattern, hook);
}

/* One setting up to Slurm 23.02, a list from 23.11 on (Prolog[0], Prolog[1], ...). */
static void look_at_setting(const hpcb_facts_t *facts, const char *key, hook_t *hook)
{
    const hpcb_table_t *config = &facts->slurm.config;

    for (size_t i = 0; i < config->count; i++)
        if (strcasecmp(config->pairs[i].key, key) == 0 &&
            strcmp(config->pairs[i].value, "(null)") != 0)
            look_at_value(facts, config->pairs[i].value, hook);
}

static void check_hook(const hpcb_facts_t *facts, hpcb_report_t *report,
                       const char *key, const char *verb, const char *ours)
{
    hook_t hook = {.verb = verb};
    const char *flaw;

    look_at_setting(facts, key, &hook);
    if (hook.called) {
        flaw = hook.executable ? distrust(hook.path) : "is not executable";
        hpcb_found(report, flaw ? HPCB_VERDICT_FAIL : HPCB_VERDICT_OK, hook.path,
                   "%s=%s%s%s", key, hook.value, flaw ? ": the script " : "",
                   flaw ? flaw : "");
        if (flaw)
            hpcb_mend(report, "chown root: %s && chmod 755 %s", hook.path, hook.path);
    } else if (*hook.value && hook.scripts == 0 && !facts->on_node) {
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL,
                   "not here: run hpcbctl check on a node");
    } else {
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "%s=%s: nothing there calls hpcbctl job %s%s", key, hook.value, verb,
                   *hook.value ? "; add this line to such a script" : "");
        hpcb_mend(report, "%s%s%s", *hook.value ? "" : key, *hook.value ? "" : "=",
                  ours);
    }
}

void hpcb_rule_prolog(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    check_hook(facts, report, "Prolog", "begin", HPCB_LIBEXECDIR "/prolog");
}

void hpcb_rule_epilog(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    check_hook(facts, report, "Epilog", "end", HPCB_LIBEXECDIR "/epilog");
}

/* Without Alloc a job of srun alone runs the prolog at its first step, with SPANK_
 * variables of the user's making (seen on Slurm 22.05).  Contain and X11 imply Alloc
 * and exclude NoHold. */
void hpcb_rule_prolog_flags(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *value = hpcb_setting(facts, "PrologFlags");
    bool contains = hpcb_list_has(value, "Contain") || hpcb_list_has(value, "X11");
    bool alloc = contains || hpcb_list_has(value, "Alloc");
    bool good = contains || (alloc && hpcb_list_has(value, "NoHold"));
    hpcb_verdict_t bad = alloc ? HPCB_VERDICT_WARN : HPCB_VERDICT_FAIL;

    hpcb_found(report, good ? HPCB_VERDICT_OK : bad, slurm_conf(facts),
               "PrologFlags=%s%s", value,
               alloc && !good ? " (salloc takes 3 s longer)" : "");
    if (!good)
        hpcb_mend(report, "PrologFlags=%s%s%sNoHold", value, *value ? "," : "",
                  alloc ? "" : "Alloc,");
}

/* PlugStackConfig is slurmctld's; on a configless node the file is elsewhere. */
static const char *plugstack_conf(const hpcb_facts_t *facts)
{
    const char *value = hpcb_setting(facts, "PlugStackConfig");

    if (*value == '\0')
        return hpcb_slurm_file(facts, "plugstack.conf");
    if (*value != '/')
        return hpcb_slurm_file(facts, value);
    return access(value, F_OK) == 0 ? value : hpcb_slurm_file(facts, "plugstack.conf");
}

static void mend_plugstack(hpcb_report_t *report)
{
    hpcb_mend(report, "optional " HPCB_PKGLIBDIR "/" HPCB_SPANK_FILE);
}

void hpcb_rule_plugstack(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *path = plugstack_conf(facts);
    hpcb_plugstack_line_t line;
    hpcb_error_t err;
    int found = hpcb_plugstack_find(path, &line, &err);

    if (found < 0)
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s", err.text);
    else if (found == 0)
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "no line loads " HPCB_SPANK_FILE);
    else
        hpcb_found(report, line.required ? HPCB_VERDICT_WARN : HPCB_VERDICT_OK,
                   line.file, "line %u: %s %s%s", line.line,
                   line.required ? "required" : "optional", line.plugin,
                   line.required ? " (where it does not load, no job starts)" : "");
    if (found != 1 || line.required)
        mend_plugstack(report);
}

static void check_spank_file(const hpcb_facts_t *facts, hpcb_report_t *report,
                             const char *path)
{
    const char *flaw = distrust(path);
    char text[16];
    uint32_t version;
    hpcb_error_t err;

    if (access(path, F_OK)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s: %s", path, strerror(errno));
        mend_plugstack(report);
    } else if (flaw) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, HPCB_SPANK_FILE " %s", flaw);
        hpcb_mend(report, "chown root: %s && chmod 755 %s", path, path);
    } else if (hpcb_elf_u32(path, VERSION_SYMBOL, &version, &err)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s", err.text);
        mend_plugstack(report);
    } else if ((version ^ version_of_slurm(facts)) & RELEASE_MASK) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path,
                   "it is built for Slurm %s, slurmctld is %s",
                   print_version(version, text, sizeof(text)),
                   hpcb_setting(facts, "SLURM_VERSION"));
        mend_build(facts, report);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, path, "it is built for Slurm %s",
                   print_version(version, text, sizeof(text)));
    }
}

void hpcb_rule_spank_plugin(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *dirs = hpcb_setting(facts, "PluginDir");
    hpcb_plugstack_line_t line;
    char path[PATH_MAX];

    if (hpcb_plugstack_find(plugstack_conf(facts), &line, NULL) != 1) {
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL,
                   "plugstack.conf does not load it");
    } else if (line.plugin[0] == '/') {
        check_spank_file(facts, report, line.plugin);
    } else if (next_in_plugin_dirs(&dirs, line.plugin, path, sizeof(path)) == 0) {
        check_spank_file(facts, report, path);
    } else {
        hpcb_found(report, HPCB_VERDICT_FAIL, line.file,
                   "line %u: %s is not in PluginDir=%s", line.line, line.plugin,
                   hpcb_setting(facts, "PluginDir"));
        mend_plugstack(report);
    }
}

/* Users' tasks load it: they must be able to read it, and it must be no one's to
 * change.  The ELF reader says ENOENT for a whole library without that symbol. */
static const char *flaw_of_library(const char *path)
{
    const char *flaw = distrust(path);
    struct stat st;
    uint32_t value;

    if (flaw)
        return flaw;
    if (stat(path, &st) == 0 && !(st.st_mode & S_IROTH))
        return "cannot be read by users";
    if (hpcb_elf_u32(path, VERSION_SYMBOL, &value, NULL) && errno != ENOENT)
        return "is no shared library for this machine";
    return NULL;
}

/* A job without it runs as it would without us: only a promise in YieldWaits breaks. */
void hpcb_rule_mpi_library(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *path = facts->conf.mpi_library;
    const char *flaw = flaw_of_library(path);
    bool promised = strcasecmp(facts->conf.yield_waits, "none") != 0 &&
                    facts->conf.yield_waits[0] != '\0';

    if (!flaw) {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path, "MpiLibrary=%s", path);
        return;
    }
    hpcb_found(report, promised ? HPCB_VERDICT_FAIL : HPCB_VERDICT_WARN,
               facts->conf_path, "MpiLibrary=%s: %s", path, flaw);
    if (strcmp(path, MPI_LIBRARY) != 0)
        hpcb_mend(report, "MpiLibrary=" MPI_LIBRARY);
}
