/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests run as the command: says what it sees of the world.
 *
 *   signals [deaf]     prints "ready", then "signal N" for each; TERM, INT, HUP and QUIT end it with code 40
 *                      unless it is deaf (TERM, INT, HUP, QUIT are only told)
 *   family             a child and a grandchild in its group; prints "leader N child N grandchild N"
 *   escape             as family, but the grandchild leaves the group, by setsid()
 *   background FILE    a child that stays in the group, and an exit at once; the child writes FILE when it
 *                      has seen that its parent is gone, and waits until FILE is removed
 *   daemon FILE        the same, but the child is a daemon: setsid(), standard descriptors closed. FILE lists
 *                      its open descriptors
 *   fds                its open descriptors
 *   standard           which of the descriptors 0, 1, 2 are open: written to the file that is its argument
 *   mask               signals blocked and ignored, as /proc says
 *   tick FILE          writes the clock to FILE every 5 ms
 *   group N            "alive" or "gone": has the process group N members that are no zombies?
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

static void list_descriptors(FILE *to)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        char path[300], target[300] = "";

        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder) ||
            atoi(entry->d_name) == fileno(to))
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof target - 1) > 0)
            fprintf(to, "fd %s %s\n", entry->d_name, target);
    }
    closedir(folder);
    fprintf(to, "end of list\n");
    fflush(to);
}

static int signals(int deaf)
{
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGTSTP); /* stops as programs do */
    sigprocmask(SIG_SETMASK, &all, NULL);
    printf("ready pid %d group %d\n", (int)getpid(), (int)getpgrp());
    fflush(stdout);
    for (;;) {
        int number = sigwaitinfo(&all, NULL);

        if (number < 0)
            continue;
        printf("signal %d\n", number);
        fflush(stdout);
        if (!deaf &&
            (number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT))
            _exit(40); /* a leak checker would have to stop itself, with all signals blocked */
    }
}

static int family(int escape)
{
    int ends[2];
    pid_t child;
    char byte;

    if (pipe(ends) < 0)
        return 1;
    child = fork();
    if (child == 0) {
        pid_t grandchild = fork();

        if (grandchild == 0) {
            if (escape)
                setsid();
            close(ends[0]);
            if (write(ends[1], "", 1) != 1)
                return 1;
            for (;;)
                pause();
        }
        printf("leader %d child %d grandchild %d\n", (int)getppid(), (int)getpid(),
               (int)grandchild);
        fflush(stdout);
        if (write(ends[1], "", 1) != 1)
            return 1;
        for (;;)
            pause();
    }
    for (int i = 0; i < 2; i++)
        if (read(ends[0], &byte, 1) != 1)
            return 1;
    printf("complete\n");
    fflush(stdout);
    for (;;)
        pause();
}

static int background(const char *path, int daemon)
{
    pid_t parent = getpid();
    FILE *file;

    if (fork() > 0)
        return 0;
    if (daemon) {
        setsid();
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
    }
    while (getppid() == parent)
        sleep_ms(2);
    file = fopen(path, "we");
    list_descriptors(file);
    fclose(file);
    while (access(path, F_OK) == 0)
        sleep_ms(5);
    return 0;
}

static int standard(const char *path)
{
    FILE *file;
    int open_ones = 0;

    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            open_ones |= 1 << fd;
    file = fopen(path, "we");
    fprintf(file, "open %d\n", open_ones);
    fclose(file);
    return 0;
}

/* Without signals 32 and 33, the C library's own: it takes what was ignored away where there are threads. */
static int mask(void)
{
    static const unsigned long long OWN = 3ull << 31;
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];

    while (fgets(line, sizeof line, status))
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
            printf("%.6s %llx\n", line, strtoull(line + 7, NULL, 16) & ~OWN);
    fclose(status);
    return 0;
}

static int tick(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    printf("ticking %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        struct timespec now;
        char text[64];

        clock_gettime(CLOCK_BOOTTIME, &now);
        snprintf(text, sizeof text, "%020lld",
                 (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
        if (pwrite(fd, text, 20, 0) != 20)
            return 1;
        sleep_ms(5);
    }
}

static int group(pid_t wanted)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    int alive = 0;

    while ((entry = readdir(proc)) != NULL) {
        char path[300], text[512] = "", state = 0;
        const char *close_at;
        int its = 0, fd;

        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (read(fd, text, sizeof text - 1) > 0 && (close_at = strrchr(text, ')')) != NULL &&
            sscanf(close_at + 2, "%c %*d %d", &state, &its) == 2 && its == wanted && state != 'Z')
            alive++;
        close(fd);
    }
    closedir(proc);
    puts(alive ? "alive" : "gone");
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";

    if (strcmp(what, "signals") == 0)
        return signals(strcmp(argument, "deaf") == 0);
    if (strcmp(what, "family") == 0)
        return family(0);
    if (strcmp(what, "escape") == 0)
        return family(1);
    if (strcmp(what, "background") == 0)
        return background(argument, 0);
    if (strcmp(what, "daemon") == 0)
        return background(argument, 1);
    if (strcmp(what, "fds") == 0)
        list_descriptors(stdout);
    else if (strcmp(what, "standard") == 0)
        return standard(argument);
    else if (strcmp(what, "mask") == 0)
        return mask();
    else if (strcmp(what, "tick") == 0)
        return tick(argument);
    else if (strcmp(what, "group") == 0)
        return group(atoi(argument));
    else
        return 64;
    return 0;
}
