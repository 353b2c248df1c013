/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hpcbctl/scontrol.h"

static int copy_text(const char *text, size_t length, hpcb_table_t *table)
{
    *table = (hpcb_table_t){.text = strndup(text, length)};
    return table->text ? 0 : -1;
}

static int add_pair(hpcb_table_t *table, char *key, char *value)
{
    if ((table->count & (table->count - 1)) == 0) {
        size_t room = table->count ? table->count * 2 : 1;
        hpcb_pair_t *larger = reallocarray(table->pairs, room, sizeof(*larger));

        if (!larger)
            return -1;
        table->pairs = larger;
    }
    table->pairs[table->count++] = (hpcb_pair_t){key, value};
    return 0;
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t\r");
    length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int add_config_line(hpcb_table_t *table, char *line)
{
    char *equals = strchr(line, '=');
    char *key;

    if (!equals)
        return 0;
    *equals = '\0';
    key = trim(line);
    key[strcspn(key, "[")] = '\0';
    if (*key == '\0' || strchr(key, ' '))
        return 0;
    return add_pair(table, key, trim(equals + 1));
}

int hpcb_table_parse_config(const char *text, hpcb_table_t *table)
{
    char *rest, *line;

    if (copy_text(text, strlen(text), table))
        return -1;
    rest = table->text;
    while ((line = strsep(&rest, "\n")))
        if (add_config_line(table, line))
            return -1;
    return 0;
}

/* Puts back the blank that was taken for the end of the last value. */
static void lengthen(hpcb_table_t *table, char *word)
{
    if (table->count > 0)
        word[-1] = ' ';
}

int hpcb_table_parse_line(const char *line, hpcb_table_t *table)
{
    char *rest, *word;

    if (copy_text(line, strcspn(line, "\n"), table))
        return -1;
    rest = table->text + strspn(table->text, " ");
    while ((word = strsep(&rest, " "))) {
        char *equals = strchr(word, '=');

        if (!equals || equals == word) {
            lengthen(table, word);
            continue;
        }
        *equals = '\0';
        if (add_pair(table, word, equals + 1))
            return -1;
    }
    for (size_t i = 0; i < table->count; i++)
        table->pairs[i].value = trim(table->pairs[i].value);
    return 0;
}

void hpcb_table_free(hpcb_table_t *table)
{
    free(table->text);
    free(table->pairs);
    *table = (hpcb_table_t){0};
}

static const char *meaning(const char *value)
{
    bool nothing = strcmp(value, "(null)") == 0 || strcmp(value, "N/A") == 0;

    return nothing ? "" : value;
}

const char *hpcb_table_get(const hpcb_table_t *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcasecmp(table->pairs[i].key, key) == 0)
            return meaning(table->pairs[i].value);
    return NULL;
}

const char *hpcb_table_text(const hpcb_table_t *table, const char *key)
{
    const char *value = hpcb_table_get(table, key);

    return value ? value : "";
}

uint64_t hpcb_table_number(const hpcb_table_t *table, const char *key,
                           uint64_t fallback)
{
    const char *value = hpcb_table_text(table, key);

    return *value >= '0' && *value <= '9' ? strtoull(value, NULL, 10) : fallback;
}

/* The word of list that starts with the length bytes of text and goes on with one of
 * next (a NUL counts); NULL where there is none. */
static const char *find_word(const char *list, const char *text, const char *next)
{
    size_t length = strlen(text);

    while (*list) {
        list += strspn(list, ", ");
        if (strncasecmp(list, text, length) == 0 &&
            (strchr(next, list[length]) || list[length] == '\0'))
            return list;
        list += strcspn(list, ",");
    }
    return NULL;
}

bool hpcb_list_has(const char *list, const char *word)
{
    return find_word(list, word, ", ") != NULL;
}

bool hpcb_list_value(const char *list, const char *key, char *value, size_t size)
{
    const char *word = find_word(list, key, "=");
    size_t skip = strlen(key) + 1;

    if (!word || word[skip - 1] != '=')
        return false;
    word += skip;
    return snprintf(value, size, "%.*s", (int)strcspn(word, ", "), word) < (int)size;
}
