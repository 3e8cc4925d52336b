/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a target over the files of folders, or over single files, once each: what was found once stays found,
 * by any compiler. Nothing to run is a failure.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

#define INPUT_MAX (1024 * 1024)

static unsigned long files;

static void run_file(const char *path)
{
    static uint8_t room[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    uint8_t *exact;
    size_t size;

    if (!file) {
        perror(path);
        exit(1);
    }
    size = fread(room, 1, sizeof room, file);
    fclose(file);
    exact = fuzz_alloc(size);
    memcpy(exact, room, size);
    fprintf(stderr, "%s\n", path); /* if it crashes, this is the last line */
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    files++;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort);

    for (int i = 0; i < count; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        run_file(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    struct stat status;

    for (int i = 1; i < argc; i++) {
        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
            run_folder(argv[i]);
        else
            run_file(argv[i]);
    }
    printf("%lu inputs\n", files);
    return files ? 0 : 1;
}
