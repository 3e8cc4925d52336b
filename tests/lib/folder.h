/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of tests. */
#ifndef LIB_FOLDER_H
#define LIB_FOLDER_H

/* Removes it with all that is in it; what is not there is removed already. */
void folder_remove(const char *path);
/* How many entries it has, hidden ones apart; 0 if it is not there. */
int folder_count(const char *path);

#endif
