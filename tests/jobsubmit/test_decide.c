/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Primary or guest, allowed or refused: slurmctld's answers without slurmctld. */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "jobsubmit/decide.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static hpcb_conf_t conf;

static void setup(void)
{
    hpcb_conf_defaults(&conf);
    strcpy(conf.guest_partition, "guest");
    strcpy(conf.guest_qos, "gq");
}

/* The class of a submission; UNKNOWN where it is refused, and err says why. */
static hpcb_class_t submit(hpcb_request_t request, hpcb_error_t *err)
{
    hpcb_class_t klass = HPCB_CLASS_UNKNOWN;
    int rc;

    err->text[0] = '\0';
    rc = hpcb_decide_submit(&conf, &request, &klass, err);
    ck_assert_int_eq(rc, klass == HPCB_CLASS_UNKNOWN ? -1 : 0);
    ck_assert_int_eq(rc == 0, err->text[0] == '\0');
    return klass;
}

static hpcb_class_t submit_names(bool guest, const char *partition, const char *qos)
{
    hpcb_error_t err;

    return submit(
        (hpcb_request_t){.options.guest = guest, .partition = partition, .qos = qos},
        &err);
}

static const struct {
    bool guest;
    hpcb_class_t klass; /* UNKNOWN: refused */
    const char *partition, *qos;
} names[] = {
    {false, HPCB_CLASS_PRIMARY, NULL, NULL},
    {false, HPCB_CLASS_PRIMARY, "primary", NULL},
    {false, HPCB_CLASS_PRIMARY, "a,b,", "normal"},
    {false, HPCB_CLASS_PRIMARY, "guests,xguest,Guest", "gq2"},
    {false, HPCB_CLASS_PRIMARY, "", ""},
    {true, HPCB_CLASS_GUEST, NULL, NULL},
    {true, HPCB_CLASS_GUEST, "guest", "gq"},
    {true, HPCB_CLASS_GUEST, "", ""},
    {false, HPCB_CLASS_GUEST, "guest", NULL},
    {false, HPCB_CLASS_GUEST, ",guest,,guest,", NULL},
    {false, HPCB_CLASS_GUEST, NULL, "GQ"},
    {true, HPCB_CLASS_UNKNOWN, "primary", NULL},
    {false, HPCB_CLASS_UNKNOWN, "guest,primary", NULL},
    {false, HPCB_CLASS_UNKNOWN, "primary,guest", NULL},
    {false, HPCB_CLASS_UNKNOWN, "primary", "gq"},
    {false, HPCB_CLASS_UNKNOWN, "guest", "normal"},
    {true, HPCB_CLASS_UNKNOWN, NULL, "normal"},
    {true, HPCB_CLASS_UNKNOWN, NULL, "gq,normal"},
};

START_TEST(partition_and_qos_decide_the_class)
{
    ck_assert_int_eq(submit_names(names[_i].guest, names[_i].partition, names[_i].qos),
                     names[_i].klass);
}
END_TEST

START_TEST(without_a_guest_qos_any_qos_will_do)
{
    conf.guest_qos[0] = '\0';
    ck_assert_int_eq(submit_names(true, NULL, "normal"), HPCB_CLASS_GUEST);
    ck_assert_int_eq(submit_names(false, NULL, "normal"), HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(submit_names(false, NULL, ","), HPCB_CLASS_PRIMARY);
}
END_TEST

START_TEST(refusals_say_what_to_do)
{
    hpcb_error_t err;

    submit((hpcb_request_t){.options.guest = true, .partition = "primary"}, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "remove --partition=primary"));
    submit((hpcb_request_t){.options.guest = true, .claims.exclusive = true}, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "--exclusive"));
    submit((hpcb_request_t){.options.guest = true, .claims.all_memory = true}, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "--mem=1G"));
    submit((hpcb_request_t){.options.guest = true, .claims.gres = true}, &err);
    ck_assert_ptr_nonnull(strstr(err.text, "--gres"));
}
END_TEST

START_TEST(primaries_may_claim_anything)
{
    hpcb_error_t err;
    hpcb_request_t request = {
        .claims = {.exclusive = true, .all_memory = true, .gres = true}};

    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_PRIMARY);
}
END_TEST

START_TEST(guests_get_gres_where_the_site_says_so)
{
    hpcb_error_t err;
    hpcb_request_t request = {.options.guest = true, .claims.gres = true};

    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_UNKNOWN);
    conf.guest_gres = true;
    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_GUEST);
}
END_TEST

START_TEST(a_window_has_a_longest_period)
{
    hpcb_error_t err;
    hpcb_request_t request = {.options.window = {10000000, 9000000}};

    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_PRIMARY);
    request.options.window = (hpcb_window_spec_t){3600000000, 3384000000};
    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_UNKNOWN);
    ck_assert_str_eq(err.text, "--hpc-window=3600s:94%: PERIOD is longer than this "
                               "cluster allows; allowed: up to 10s (WindowMaxPeriod)");
    conf.window_max_period = 3600;
    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_PRIMARY);
}
END_TEST

START_TEST(every_kind_of_guest_excludes_balancing)
{
    hpcb_error_t err;
    hpcb_options_t balance = {.policy = HPCB_POLICY_AUTO};
    hpcb_options_t both = {.guest = true, .policy = HPCB_POLICY_AUTO};
    hpcb_request_t by_option = {.options = both};
    hpcb_request_t by_partition = {.options = balance, .partition = "guest"};
    hpcb_request_t by_qos = {.options = balance, .qos = "gq"};
    hpcb_request_t primary = {.options = balance};

    ck_assert_int_eq(submit(by_option, &err), HPCB_CLASS_UNKNOWN);
    ck_assert_int_eq(submit(by_partition, &err), HPCB_CLASS_UNKNOWN);
    ck_assert_int_eq(submit(by_qos, &err), HPCB_CLASS_UNKNOWN);
    ck_assert_int_eq(submit(primary, &err), HPCB_CLASS_PRIMARY);
}
END_TEST

/* A component after one of class first: with --guest (or the leaked one), with -p. */
static const struct {
    hpcb_class_t first;
    bool option;
    bool allowed;
    const char *partition;
} later[] = {
    {HPCB_CLASS_PRIMARY, false, true, NULL},
    {HPCB_CLASS_PRIMARY, true, false, NULL},
    {HPCB_CLASS_PRIMARY, false, false, "guest"},
    {HPCB_CLASS_GUEST, true, true, NULL},
    {HPCB_CLASS_GUEST, true, true, "guest"},
    {HPCB_CLASS_GUEST, true, false, "primary"},
    {HPCB_CLASS_GUEST, false, false, NULL},
    {HPCB_CLASS_UNKNOWN, false, false, NULL},
};

START_TEST(heterogeneous_jobs_are_of_one_class)
{
    hpcb_error_t err;
    hpcb_request_t request = {.options.guest = later[_i].option,
                              .partition = later[_i].partition,
                              .later_component = true,
                              .first_class = later[_i].first};

    ck_assert_int_eq(submit(request, &err) != HPCB_CLASS_UNKNOWN, later[_i].allowed);
}
END_TEST

START_TEST(hostile_names_stay_on_one_line)
{
    char name[5000];
    hpcb_error_t err;
    hpcb_request_t request = {.options.guest = true, .partition = name};

    memset(name, '\n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ck_assert_int_eq(submit(request, &err), HPCB_CLASS_UNKNOWN);
    ck_assert_ptr_null(strchr(err.text, '\n'));
}
END_TEST

/* What hpcb_decide_modify answers; its error is one sentence. */
static int change(hpcb_change_t change, hpcb_class_t *after)
{
    hpcb_error_t err = {""};
    int rc = hpcb_decide_modify(&conf, &change, after, &err);

    ck_assert_int_eq(rc == 0, err.text[0] == '\0');
    ck_assert(hpcb_change_matters(&change));
    return rc;
}

#define U HPCB_CLASS_UNKNOWN
#define P HPCB_CLASS_PRIMARY
#define G HPCB_CLASS_GUEST

static const struct {
    hpcb_class_t klass, after;
    bool priority, nice;
    bool user;     /* allowed for users */
    bool operator; /* allowed for operators */
    const char *partition, *qos;
} changes[] = {
    {P, P, false, false, true, true, "primary", NULL},
    {P, P, false, false, true, true, "a,b", NULL},
    {P, G, false, false, false, true, "guest", NULL},
    {P, U, false, false, false, false, "guest,a", NULL},
    {P, P, false, false, true, true, NULL, "normal"},
    {P, P, false, false, false, true, NULL, "gq"},
    {P, P, true, false, true, true, NULL, NULL},
    {P, P, false, true, true, true, NULL, NULL},
    {G, G, false, false, true, true, "guest", NULL},
    {G, P, false, false, false, true, "primary", NULL},
    {G, U, false, false, false, false, "primary,guest", NULL},
    {G, P, false, false, false, true, "", NULL},
    {G, G, false, false, true, true, NULL, "gq"},
    {G, G, false, false, false, true, NULL, "normal"},
    {G, G, true, false, false, true, NULL, NULL},
    {G, G, false, true, false, true, NULL, NULL},
    {U, G, false, false, false, true, "guest", NULL},
    {U, P, false, false, false, true, "primary", NULL},
    {U, U, false, false, false, true, NULL, "normal"},
    {U, U, false, false, false, true, NULL, "gq"},
    {U, U, true, false, true, true, NULL, NULL},
};

START_TEST(only_operators_move_jobs_over_the_border)
{
    hpcb_change_t asked = {.klass = changes[_i].klass,
                           .partition = changes[_i].partition,
                           .qos = changes[_i].qos,
                           .priority = changes[_i].priority,
                           .nice = changes[_i].nice};
    hpcb_class_t after = HPCB_CLASS_UNKNOWN;

    ck_assert_int_eq(change(asked, &after), changes[_i].user ? 0 : -1);
    after = HPCB_CLASS_UNKNOWN;
    asked.privileged = true;
    ck_assert_int_eq(change(asked, &after), changes[_i].operator? 0 : - 1);
    ck_assert_int_eq(after, changes[_i].after);
}
END_TEST

START_TEST(what_cannot_be_seen_is_said)
{
    hpcb_change_t change = {.klass = U, .partition = "primary"};
    hpcb_class_t after;
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_decide_modify(&conf, &change, &after, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot see"));
    change.klass = G;
    ck_assert_int_eq(hpcb_decide_modify(&conf, &change, &after, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "without --guest"));
}
END_TEST

START_TEST(without_a_guest_qos_a_guest_may_change_its_qos)
{
    hpcb_class_t after;

    conf.guest_qos[0] = '\0';
    ck_assert_int_eq(change((hpcb_change_t){.klass = G, .qos = "normal"}, &after), 0);
}
END_TEST

START_TEST(a_change_claims_no_more_than_a_submission)
{
    hpcb_class_t after;
    hpcb_claims_t memory = {.all_memory = true}, whole = {.exclusive = true};

    ck_assert_int_eq(change((hpcb_change_t){.klass = G, .claims = memory}, &after), -1);
    ck_assert_int_eq(change((hpcb_change_t){.klass = P, .claims = memory}, &after), 0);
    ck_assert_int_eq(change((hpcb_change_t){.klass = P,
                                            .privileged = true,
                                            .partition = "guest",
                                            .claims = whole},
                            &after),
                     -1);
}
END_TEST

START_TEST(other_changes_are_the_users_affair)
{
    hpcb_change_t none = {.klass = G};

    ck_assert(!hpcb_change_matters(&none));
}
END_TEST

static const struct {
    const char *tres;
    bool gres;
} tres[] = {
    {NULL, false},
    {"", false},
    {"cpu:2", false},
    {"cpu=2", false},
    {"license/x:1", false},
    {"gres:none", false},
    {"none", false},
    {"gres/none", false},
    {",", false},
    {"gres:gpu:1", true},
    {"gres/gpu=1", true},
    {"gpu", true},
    {"cpu:2,gres:gpu", true},
    {"GRES:gpu", true},
    {"gpu:none", true},
    {"gres", true},
    {"cpux:1", true},
    {"gres:", false},
    {"gres:none,shard", true},
};

START_TEST(gres_is_seen_in_every_spelling)
{
    ck_assert_int_eq(hpcb_names_gres(tres[_i].tres), tres[_i].gres);
}
END_TEST

START_TEST(a_partition_has_a_class)
{
    ck_assert_int_eq(hpcb_partition_class(&conf, "guest"), G);
    ck_assert_int_eq(hpcb_partition_class(&conf, "a,guest"), G);
    ck_assert_int_eq(hpcb_partition_class(&conf, "primary"), P);
    ck_assert_int_eq(hpcb_partition_class(&conf, ""), U);
    ck_assert_int_eq(hpcb_partition_class(&conf, NULL), U);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *tcase = tcase_create("decide");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, partition_and_qos_decide_the_class, 0, COUNT(names));
    tcase_add_test(tcase, without_a_guest_qos_any_qos_will_do);
    tcase_add_test(tcase, refusals_say_what_to_do);
    tcase_add_test(tcase, primaries_may_claim_anything);
    tcase_add_test(tcase, guests_get_gres_where_the_site_says_so);
    tcase_add_test(tcase, a_window_has_a_longest_period);
    tcase_add_test(tcase, every_kind_of_guest_excludes_balancing);
    tcase_add_loop_test(tcase, heterogeneous_jobs_are_of_one_class, 0, COUNT(later));
    tcase_add_test(tcase, hostile_names_stay_on_one_line);
    tcase_add_loop_test(tcase, only_operators_move_jobs_over_the_border, 0,
                        COUNT(changes));
    tcase_add_test(tcase, what_cannot_be_seen_is_said);
    tcase_add_test(tcase, without_a_guest_qos_a_guest_may_change_its_qos);
    tcase_add_test(tcase, a_change_claims_no_more_than_a_submission);
    tcase_add_test(tcase, other_changes_are_the_users_affair);
    tcase_add_loop_test(tcase, gres_is_seen_in_every_spelling, 0, COUNT(tres));
    tcase_add_test(tcase, a_partition_has_a_class);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
