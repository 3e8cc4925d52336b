/* SPDX-License-Identifier: Apache-2.0 */
/* Tables. See table.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/text.h"

#define GAP       2
#define LEAST     8 /* a column is not cut below this */
#define CELL_ROOM (HF_NAME_MAX + 1)
#define DOTS      "\xe2\x80\xa6" /* … */

void hfi_cli_table_init(struct cli_table *table, const char *const *heads, unsigned columns,
                        unsigned cut)
{
    memset(table, 0, sizeof *table);
    table->columns = columns;
    table->cut = cut;
    for (unsigned i = 0; i < columns; i++)
        hfi_cli_table_add(table, heads[i]);
}

static bool make_room(struct cli_table *table)
{
    size_t room = table->room ? table->room * 2 : 64;
    char **cells;

    if (table->count < table->room)
        return true;
    cells = realloc(table->cells, room * sizeof *cells);
    if (!cells)
        return false;
    table->cells = cells;
    table->room = room;
    return true;
}

void hfi_cli_table_add(struct cli_table *table, const char *text)
{
    char clean[CELL_ROOM];
    char *cell;

    hfi_cli_clean(clean, sizeof clean, *text ? text : "-");
    cell = strdup(clean);
    if (!cell || !make_room(table)) {
        free(cell);
        table->failed = true;
        return;
    }
    table->cells[table->count++] = cell;
}

static size_t terminal_width(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static void measure(const struct cli_table *table, size_t *widths)
{
    memset(widths, 0, CLI_TABLE_COLUMNS * sizeof *widths);
    for (size_t i = 0; i < table->count; i++) {
        size_t width = hfi_cli_width(table->cells[i]);

        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
}

/* Takes columns off the widest that may be cut, until the line fits or nothing can be taken. */
static void squeeze(const struct cli_table *table, size_t *widths, size_t width)
{
    size_t total = (size_t)GAP * (table->columns - 1);

    for (unsigned i = 0; i < table->columns; i++)
        total += widths[i];
    while (total > width) {
        unsigned widest = table->columns;

        for (unsigned i = 0; i < table->columns; i++)
            if ((table->cut & 1u << i) && widths[i] > LEAST &&
                (widest == table->columns || widths[i] > widths[widest]))
                widest = i;
        if (widest == table->columns)
            return;
        widths[widest]--;
        total--;
    }
}

static void print_cell(const char *cell, size_t width, bool last)
{
    size_t columns = hfi_cli_width(cell), fit;

    if (columns > width) {
        fit = hfi_cli_fit(cell, width - 1);
        printf("%.*s" DOTS, (int)fit, cell);
        columns = width;
    } else {
        fputs(cell, stdout);
    }
    if (last)
        putchar('\n');
    else
        printf("%*s", (int)(width - columns) + GAP, "");
}

int hfi_cli_table_print(struct cli_table *table, size_t width)
{
    size_t widths[CLI_TABLE_COLUMNS];
    bool failed = table->failed;

    measure(table, widths);
    if (width == 0)
        width = terminal_width();
    if (width > 0)
        squeeze(table, widths, width);
    for (size_t i = 0; i < table->count; i++) {
        unsigned column = (unsigned)(i % table->columns);

        if (!failed)
            print_cell(table->cells[i], widths[column], column + 1 == table->columns);
        free(table->cells[i]);
    }
    free(table->cells);
    memset(table, 0, sizeof *table);
    if (failed) {
        hfi_cli_say("out of memory");
        return CLI_EXIT_SYSTEM;
    }
    return hfi_cli_flush();
}
