/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's process group: is anyone of it left? For holdfast and for its guard; async-signal-safe.
 *
 * The group's number is the process id of its leader, and holdfast reaps the leader last of all, after the
 * guard has been dismissed. So nobody else can get the number while one of us may still signal it.
 */
#ifndef HFI_CLI_GROUP_H
#define HFI_CLI_GROUP_H

#include <stddef.h>
#include <sys/types.h>

enum cli_group {
    CLI_GROUP_GONE, /* no process of it is left, zombies apart */
    CLI_GROUP_ALIVE,
    CLI_GROUP_UNKNOWN /* /proc cannot tell: not there, or it hides processes of others */
};

enum cli_group hfi_cli_group_look(pid_t group);

/* What /proc/PID/stat says: is it of this group? 0: no; 1: alive; -1: a zombie of it. */
int hfi_cli_group_member(const char *stat, size_t length, pid_t group);

/* Closes every descriptor but those in keep[count], which is in ascending order. */
void hfi_cli_close_others(const int *keep, unsigned count);

#endif
