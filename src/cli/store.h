/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store that a subcommand works on: which one, opening it, what it says, and exit codes for its errors.
 *
 * A password in the URI is kept only by the library: our copy is freed, and what `ps` can show of us
 * (arguments, environment) is overwritten.
 */
#ifndef HFI_CLI_STORE_H
#define HFI_CLI_STORE_H

#include "holdfast/holdfast.h"

#define CLI_STORE_VARIABLE "HOLDFAST_STORE"

struct cli_store {
    hf_client *client;
    int warnings; /* readable when hfi_cli_store_warnings() has something to print */
    int hook;     /* the other end: the library's threads write lines to it, and never block */
    char carry[1024];
    size_t carried;
};

/*
 * Opens what --store said (`uri`: a part of argv, overwritten; NULL: not given), or HOLDFAST_STORE says,
 * or the embedded store. `program` is what people see of us. CLI_EXIT_OK, or an exit code after a message.
 */
int hfi_cli_store_open(struct cli_store *store, char *uri, const char *program);
/* NULL-safe on a half-opened store; blocks for at most the library's close timeout. */
void hfi_cli_store_close(struct cli_store *store);
/* Prints what the library warned of. Does not block. */
void hfi_cli_store_warnings(struct cli_store *store);

/* The exit code for an error of the library: 64, 69, 70 or 71. */
int hfi_cli_store_exit(int error);
/* Says what failed (hf_last_error() of this thread) and returns the exit code. */
int hfi_cli_store_failed(int error);
/* The same of a call for a name, which is said where the server's own words would not help. */
int hfi_cli_store_failed_at(const char *name, int error);

/* hf_inspect(), but WRONG_TYPE, after a message, when something else is stored under the name, which for hf_inspect() is
 * nobody's lock. */
int hfi_cli_store_inspect(struct cli_store *store, const char *name, hf_list **ret_list);

/* Removes the password from a URI in place; the room it took is filled with NUL. */
void hfi_cli_hide_password(char *uri);

#endif
