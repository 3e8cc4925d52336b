/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table on standard output: columns as wide as their widest cell. On a terminal that is too narrow, the
 * widest of the columns that may be cut are cut; elsewhere nothing ever is.
 */
#ifndef HFI_CLI_TABLE_H
#define HFI_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_TABLE_COLUMNS 9

struct cli_table {
    unsigned columns;
    unsigned cut; /* bit i: column i may be cut */
    char **cells;
    size_t count, room; /* of cells; a row is `columns` of them */
    bool failed;        /* out of memory */
};

void hfi_cli_table_init(struct cli_table *table, const char *const *heads, unsigned columns,
                        unsigned cut);
/* The next cell; it is cleaned (text.h). */
void hfi_cli_table_add(struct cli_table *table, const char *text);
/* Prints, and frees what it holds: an exit code. `width` 0: that of the terminal, if it is one. */
int hfi_cli_table_print(struct cli_table *table, size_t width);

#endif
