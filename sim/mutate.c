/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the seeded bugs of mutants.list into copies of the sources (its head says in which form).
 *
 *   sim_mutate LIST file NAME FOLDER OUT    FOLDER/NAME with its changes, as OUT
 *   sim_mutate LIST names OUT               the bugs, as SIM_MUTANT(name, kind, what) lines
 *   sim_mutate LIST scripts FOLDER OUT      changes of scripts, as SIM_SCRIPT_MUTANT(name, script, old, new) lines
 *
 * A change whose old text is not there exactly once is an error: whoever changes the product changes the list.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX    (1024 * 1024)
#define MUTANTS_MAX 256
#define HUNKS_MAX   512

struct hunk {
    const char *file;
    char *old, *new;
    int line; /* in the list */
};

struct mutant {
    const char *name, *what, *kind; /* "product", "host", "host library", "env …" */
    size_t first, count;            /* hunks */
};

static struct mutant mutants[MUTANTS_MAX];
static struct hunk hunks[HUNKS_MAX];
static size_t mutant_count, hunk_count;
static const char *list_path;

__attribute__((noreturn, format(printf, 2, 3))) static void stop(int line, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: ", list_path, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = malloc(TEXT_MAX);
    size_t n;

    if (!file || !text) {
        fprintf(stderr, "sim_mutate: %s cannot be read\n", path);
        exit(1);
    }
    n = fread(text, 1, TEXT_MAX - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

/* ------------------------------------------------------------------------------------------------
 * The list
 */

static void append(char **to, const char *text)
{
    size_t len = *to ? strlen(*to) : 0;
    size_t more = strlen(text) + 1;
    char *longer = realloc(*to, len + more + 1);

    if (!longer)
        exit(1);
    if (len)
        longer[len++] = '\n';
    memcpy(longer + len, text, more);
    *to = longer;
}

static void read_line(char *text, int line)
{
    struct mutant *mutant = mutant_count ? &mutants[mutant_count - 1] : NULL;
    struct hunk *hunk = hunk_count ? &hunks[hunk_count - 1] : NULL;

    if (text[0] == '#' || text[0] == '\0')
        return;
    if (text[0] == '=') {
        mutants[mutant_count++] =
            (struct mutant){ .name = text + 2, .kind = "product", .first = hunk_count };
    } else if (!mutant) {
        stop(line, "a bug begins with \"= NAME\"");
    } else if (text[0] == '@') {
        hunks[hunk_count++] = (struct hunk){ .file = text + 2, .line = line };
        mutant->count++;
    } else if (text[0] == '-' && mutant->count && hunk) {
        append(&hunk->old, text + 2);
    } else if (text[0] == '+' && mutant->count && hunk) {
        append(&hunk->new, strlen(text) > 1 ? text + 2 : "");
    } else if (strcmp(text, "host") == 0 || strcmp(text, "host library") == 0 ||
               strncmp(text, "env ", 4) == 0) {
        mutant->kind = text;
    } else if (!mutant->what) {
        mutant->what = text;
    } else {
        stop(line, "not understood");
    }
}

static void read_list(const char *path)
{
    char *text = read_file(path);
    int line = 0;

    list_path = path;
    for (char *at = text, *one; (one = strsep(&at, "\n"));)
        read_line(one, ++line);
}

/* ------------------------------------------------------------------------------------------------
 * Changes
 */

/* The pattern at this place? Runs of white space match each other, and nothing. Returns where it ends. */
static const char *match(const char *text, const char *pattern)
{
    while (*pattern) {
        if (isspace((unsigned char)*pattern)) {
            while (isspace((unsigned char)*pattern))
                pattern++;
            while (isspace((unsigned char)*text))
                text++;
            continue;
        }
        if (isspace((unsigned char)*text) && !isspace((unsigned char)*pattern)) {
            while (isspace((unsigned char)*text))
                text++;
            if (*text != *pattern)
                return NULL;
        }
        if (*text != *pattern)
            return NULL;
        text++;
        pattern++;
    }
    return text;
}

/* Where the old text is, once. */
static const char *find(const char *text, const struct hunk *hunk, const char **ret_end)
{
    const char *found = NULL;

    for (const char *at = text; *at; at++) {
        const char *end;

        if (isspace((unsigned char)*at) || !(end = match(at, hunk->old)))
            continue;
        if (found)
            stop(hunk->line, "this text is more than once in %s", hunk->file);
        found = at;
        *ret_end = end;
    }
    if (!found)
        stop(hunk->line, "this text is no longer in %s", hunk->file);
    return found;
}

static char *change(char *text, const struct hunk *hunk)
{
    const char *end, *at = find(text, hunk, &end);
    char *changed = malloc(TEXT_MAX);

    if (!changed)
        exit(1);
    snprintf(changed, TEXT_MAX, "%.*s%s%s", (int)(at - text), text, hunk->new ? hunk->new : "",
             end);
    free(text);
    return changed;
}

static void write_file(FILE *out, const char *name, const char *folder)
{
    char path[4096];
    char *text;
    bool any = false;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    text = read_file(path);
    for (size_t i = 0; i < hunk_count; i++) {
        if (strcmp(hunks[i].file, name) != 0)
            continue;
        text = change(text, &hunks[i]);
        any = true;
    }
    if (any)
        fprintf(out, "#include \"sim_mutant.h\"\n");
    fputs(text, out);
    free(text);
}

/* ------------------------------------------------------------------------------------------------
 * Names and scripts
 */

static void write_names(FILE *out)
{
    for (size_t i = 0; i < mutant_count; i++)
        fprintf(out, "SIM_MUTANT(%s, \"%s\", \"%s\")\n", mutants[i].name, mutants[i].kind,
                mutants[i].what);
}

static void write_string(FILE *out, const char *text, size_t len)
{
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            fputs("\\n", out);
        else if (text[i] == '"' || text[i] == '\\')
            fprintf(out, "\\%c", text[i]);
        else
            fputc(text[i], out);
    }
    fputc('"', out);
}

static void write_script(FILE *out, const struct mutant *mutant, const struct hunk *hunk,
                         const char *folder)
{
    const char *slash = strrchr(hunk->file, '/'), *dot = strrchr(hunk->file, '.'), *at, *end;
    char path[4096];
    char *text;

    snprintf(path, sizeof path, "%s%s", folder, slash);
    text = read_file(path);
    at = find(text, hunk, &end);
    fprintf(out, "SIM_SCRIPT_MUTANT(%s, \"%.*s\", ", mutant->name, (int)(dot - slash - 1),
            slash + 1);
    write_string(out, at, (size_t)(end - at));
    fputs(", ", out);
    write_string(out, hunk->new ? hunk->new : "", strlen(hunk->new ? hunk->new : ""));
    fputs(")\n", out);
    free(text);
}

static void write_scripts(FILE *out, const char *folder)
{
    for (size_t i = 0; i < mutant_count; i++)
        for (size_t h = mutants[i].first; h < mutants[i].first + mutants[i].count; h++)
            if (strstr(hunks[h].file, ".lua"))
                write_script(out, &mutants[i], &hunks[h], folder);
}

int main(int argc, char **argv)
{
    FILE *out;

    if (argc < 4) {
        fputs("usage: sim_mutate LIST file NAME FOLDER OUT | names OUT | scripts FOLDER OUT\n",
              stderr);
        return 2;
    }
    read_list(argv[1]);
    out = fopen(argv[argc - 1], "we");
    if (!out) {
        fprintf(stderr, "sim_mutate: %s cannot be written\n", argv[argc - 1]);
        return 1;
    }
    if (strcmp(argv[2], "names") == 0)
        write_names(out);
    else if (strcmp(argv[2], "scripts") == 0)
        write_scripts(out, argv[3]);
    else
        write_file(out, argv[3], argv[4]);
    return fclose(out) == 0 ? 0 : 1;
}
