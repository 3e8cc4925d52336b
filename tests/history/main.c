/* SPDX-License-Identifier: Apache-2.0 */
/* hf-check: reads histories and says what is wrong with them. */
#include <stdlib.h>
#include <string.h>

#include "history/check.h"

static int usage(void)
{
    fputs("usage: hf-check [--model mutex|reentrant|fenced|none] [--show N] [--budget N] FILE...\n"
          "Checks histories (- is standard input). 0: nothing is wrong; 1: something is; 2: it was "
          "not checked.\n",
          stderr);
    return 2;
}

static bool number_of(const char *text, size_t *ret_number)
{
    char *end;

    *ret_number = strtoul(text, &end, 10);
    return *text && *end == '\0' && *ret_number > 0;
}

/* An option and its value; false: there is no such. */
static bool take_option(struct check_options *options, const char *name, const char *value)
{
    size_t number;

    if (strcmp(name, "--model") == 0) {
        options->model = lin_model_of(value);
        return options->model || strcmp(value, "none") == 0;
    }
    if (!number_of(value, &number))
        return false;
    if (strcmp(name, "--show") == 0)
        options->show = (unsigned)number;
    else if (strcmp(name, "--budget") == 0)
        options->budget = number;
    else
        return false;
    return true;
}

static int check_file(const char *path, const struct check_options *options)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    struct check_counts counts;
    struct history history;
    char why[256];
    int result = 2;

    if (!file) {
        fprintf(stderr, "hf-check: %s: cannot be opened\n", path);
        return 2;
    }
    hist_init(&history);
    if (hist_read(&history, file, why, sizeof why)) {
        result = check_history(&history, options, &counts) ? 0 : 1;
        check_print_counts(&counts, stdout);
    } else {
        fprintf(stderr, "hf-check: %s: %s\n", path, why);
    }
    hist_free(&history);
    if (file != stdin)
        fclose(file);
    return result;
}

int main(int argc, char **argv)
{
    struct check_options options = { .out = stdout, .model = &LIN_FENCED };
    int i = 1, worst = 0;

    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2)
        if (!take_option(&options, argv[i], argv[i + 1]))
            return usage();
    if (i >= argc)
        return usage();
    for (; i < argc; i++) {
        int result = check_file(argv[i], &options);

        worst = result > worst ? result : worst;
    }
    return worst;
}
