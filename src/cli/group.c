/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for members of a process group in /proc. kill(-group, 0) cannot tell zombies from the living, and a
 * zombie may stay for long where nobody reaps (a container without an init).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/group.h"

/* The kernel's record; glibc's getdents64() is younger than what we want to run on. */
struct entry {
    uint64_t ino;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

struct stat_reader {
    const char *at, *end;
};

/* The next number of a stat line; a field that is none ends the reading. */
static long next_number(struct stat_reader *reader)
{
    long value = 0, sign = 1;

    while (reader->at < reader->end && *reader->at == ' ')
        reader->at++;
    if (reader->at < reader->end && *reader->at == '-') {
        sign = -1;
        reader->at++;
    }
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        value = (long)((unsigned long)value * 10u + (unsigned long)(*reader->at++ - '0'));
    return sign * value;
}

/*
 * "pid (name) state ppid pgrp …"; the name may have any character in it, so the last ')' counts. Field 20 is
 * the number of threads: a process whose first thread has ended looks like a zombie while others run on.
 */
int hfi_cli_group_member(const char *stat, size_t length, pid_t group)
{
    const char *close = memrchr(stat, ')', length);
    struct stat_reader reader;
    long threads = 0;
    char state;

    if (!close || stat + length - close < 4)
        return 0;
    state = close[2];
    reader.at = close + 3;
    reader.end = stat + length;
    next_number(&reader); /* 4: parent */
    if (next_number(&reader) != group)
        return 0;
    for (int field = 6; field <= 20; field++)
        threads = next_number(&reader);
    return (state == 'Z' || state == 'X' || state == 'x') && threads <= 1 ? -1 : 1;
}

static int look_at(int proc, const char *name, pid_t group)
{
    char path[32], stat[512];
    size_t length = strnlen(name, sizeof path - 6);
    ssize_t count;
    int fd;

    memcpy(path, name, length);
    memcpy(path + length, "/stat", 6);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    count = read(fd, stat, sizeof stat);
    close(fd);
    return count > 0 ? hfi_cli_group_member(stat, (size_t)count, group) : 0;
}

static enum cli_group scan(int proc, pid_t group)
{
    _Alignas(struct entry) char buffer[4096];
    int zombies = 0;
    long count;

    while ((count = syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < count;) {
            const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
            int member;

            at += entry->length;
            if (entry->name[0] < '1' || entry->name[0] > '9')
                continue;
            member = look_at(proc, entry->name, group);
            if (member > 0)
                return CLI_GROUP_ALIVE;
            zombies += member < 0;
        }
    }
    return zombies > 0 && count == 0 ? CLI_GROUP_GONE : CLI_GROUP_UNKNOWN;
}

enum cli_group hfi_cli_group_look(pid_t group)
{
    enum cli_group result;
    int proc;

    if (kill(-group, 0) < 0 && errno == ESRCH)
        return CLI_GROUP_GONE;
    proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return CLI_GROUP_UNKNOWN;
    result = scan(proc, group);
    close(proc);
    /* The last one may have ended, and been reaped, while we looked. */
    if (result == CLI_GROUP_UNKNOWN && kill(-group, 0) < 0 && errno == ESRCH)
        return CLI_GROUP_GONE;
    return result;
}

static int close_range_of(unsigned first, unsigned last)
{
#ifdef SYS_close_range
    return (int)syscall(SYS_close_range, first, last, 0);
#else
    (void)first;
    (void)last;
    errno = ENOSYS;
    return -1;
#endif
}

static int is_kept(int fd, const int *keep, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (keep[i] == fd)
            return 1;
    return 0;
}

/* Without close_range(): closing changes the folder that we read, so it is read again until nothing is left. */
static void close_listed(const int *keep, unsigned count)
{
    _Alignas(struct entry) char buffer[1024];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), closed = 1;
    long bytes;

    while (folder >= 0 && closed) {
        closed = 0;
        lseek(folder, 0, SEEK_SET);
        while ((bytes = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0) {
            for (long at = 0; at < bytes;) {
                const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
                struct stat_reader reader = { entry->name, entry->name + strlen(entry->name) };
                int fd = (int)next_number(&reader);

                at += entry->length;
                if (entry->name[0] == '.' || fd == folder || is_kept(fd, keep, count))
                    continue;
                close(fd);
                closed = 1;
            }
        }
    }
    if (folder >= 0)
        close(folder);
}

void hfi_cli_close_others(const int *keep, unsigned count)
{
    unsigned from = 0;

    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)keep[i] > from && close_range_of(from, (unsigned)keep[i] - 1) < 0) {
            close_listed(keep, count);
            return;
        }
        from = (unsigned)keep[i] + 1;
    }
    if (close_range_of(from, ~0u) < 0)
        close_listed(keep, count);
}
