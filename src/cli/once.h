/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `holdfast once` does besides `run`: a stamp under the lock's name says that the command was started, and
 * is forgotten after --for.
 */
#ifndef HFI_CLI_ONCE_H
#define HFI_CLI_ONCE_H

struct cli_run;

#define CLI_ONCE_DUE (-1)

/* Before the lock is waited for: CLI_ONCE_DUE, or the exit code, after a message. */
int hfi_cli_once_look(struct cli_run *run);
/* Under the lock: looks again, and stamps. As above. */
int hfi_cli_once_begin(struct cli_run *run);
/* The lock is held by somebody else: it runs now. The exit code. */
int hfi_cli_once_busy(struct cli_run *run);
/* The command has ended so, and the lock is still to be given back: forgets the stamp where it is to be. */
void hfi_cli_once_end(struct cli_run *run, int code);

#endif
