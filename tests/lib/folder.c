/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        char below[512];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (unlink(below) != 0)
            folder_remove(below);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

int folder_count(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;

    while (dir && (entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}
