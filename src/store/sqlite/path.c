/* SPDX-License-Identifier: Apache-2.0 */
/* From the URI to the path of the file: the usual place, relative paths, symbolic links. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "holdfast/holdfast.h"
#include "store/sqlite/fs.h"

#define ROOT_FOLDER "/var/lib/holdfast"
#define FILE_NAME   "holdfast.db"

struct complaint {
    char *text;
    size_t room;
};

__attribute__((format(printf, 3, 4))) static int complain(const struct complaint *to, int error,
                                                          const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(to->text, to->room, format, args);
    va_end(args);
    return error;
}

/* Makes a folder and those above it that are missing. */
static int make_folders(const char *folder, mode_t mode, const struct complaint *to)
{
    char path[PATH_MAX];
    size_t len = strlen(folder);

    memcpy(path, folder, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (folder[i] != '/' && folder[i] != '\0')
            continue;
        path[i] = '\0';
        if (mkdir(path, mode) != 0 && errno != EEXIST) {
            int number = errno;
            struct stat status;

            /* Some file systems say EROFS or EACCES before EEXIST. */
            if (stat(path, &status) != 0)
                return complain(to, hfi_sqlite_errno(number), "cannot make the folder %s: %s",
                                hfi_sqlite_shown(path), strerror(number));
        }
        path[i] = folder[i];
    }
    return HF_OK;
}

/* The home folder of this user; NULL: it has none. */
static const char *home(char *buffer, size_t room)
{
    const char *named = secure_getenv("HOME");
    struct passwd entry, *found = NULL;

    if (named && named[0] == '/')
        return named;
    if (getpwuid_r(geteuid(), &entry, buffer, room, &found) != 0 || !found)
        return NULL;
    return found->pw_dir && found->pw_dir[0] == '/' ? found->pw_dir : NULL;
}

static int usual_place(char *path, const struct complaint *to)
{
    const char *state = secure_getenv("XDG_STATE_HOME");
    char buffer[4096], folder[PATH_MAX];
    const char *base;
    mode_t mode = 0700;
    int error, len;

    if (geteuid() == 0) {
        mode = 0755;
        len = snprintf(folder, sizeof folder, "%s", ROOT_FOLDER);
    } else if (state && state[0] == '/') {
        len = snprintf(folder, sizeof folder, "%s/holdfast", state);
    } else {
        base = home(buffer, sizeof buffer);
        if (!base)
            return complain(to, HF_ERR_SYSTEM,
                            "this user has no home folder: name a file, as sqlite:/path/locks.db");
        len = snprintf(folder, sizeof folder, "%s/.local/state/holdfast", base);
    }
    if (len < 0 || (size_t)len + sizeof "/" FILE_NAME > HFI_SQLITE_PATH_MAX)
        return complain(to, HF_ERR_URI, "the path of this user's state folder is too long");
    error = make_folders(folder, mode, to);
    if (error)
        return error;
    snprintf(path, PATH_MAX, "%.*s/%s", HFI_SQLITE_PATH_MAX, folder, FILE_NAME);
    return HF_OK;
}

/* Where the path in the URI begins; relative ones are made absolute. */
static int named_place(const char *rest, char *path, const struct complaint *to)
{
    char folder[PATH_MAX] = "";
    size_t len = strlen(rest);
    int written;

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)rest[i] < 0x20 || rest[i] == 0x7f)
            return complain(to, HF_ERR_URI, "the store's path has a control character");
    if (rest[0] == '/' && rest[1] == '/') {
        if (rest[2] != '/')
            return complain(to, HF_ERR_URI,
                            "sqlite:%.200s names a host: write sqlite:/path or sqlite:///path",
                            rest);
        rest += 2;
        len -= 2;
    }
    if (rest[len - 1] == '/')
        return complain(to, HF_ERR_URI, "%.200s is a folder: name a file in it", rest);
    if (rest[0] != '/' && !getcwd(folder, sizeof folder))
        return complain(to, hfi_sqlite_errno(errno), "cannot tell the current folder: %s",
                        strerror(errno));
    written = snprintf(path, PATH_MAX, "%s%s%s", folder, rest[0] == '/' ? "" : "/", rest);
    if (written < 0 || written >= PATH_MAX)
        return complain(to, HF_ERR_URI, "the store's path is longer than %d bytes",
                        HFI_SQLITE_PATH_MAX);
    return HF_OK;
}

/* Clients that come by different symbolic links must meet in one folder of liveness files. */
static int resolve(const char *given, char *path, const struct complaint *to)
{
    char real[PATH_MAX], folder[PATH_MAX];
    const char *base = strrchr(given, '/');
    size_t len = (size_t)(base - given);
    struct stat status;

    if (!realpath(given, real)) {
        if (errno != ENOENT)
            return complain(to, hfi_sqlite_errno(errno), "%s: %s", hfi_sqlite_shown(given),
                            strerror(errno));
        memcpy(folder, given, len);
        memcpy(folder + len, len ? "" : "/", len ? 1 : 2);
        if (!realpath(folder, real))
            return complain(to, hfi_sqlite_errno(errno), "the folder %s: %s%s",
                            hfi_sqlite_shown(folder), strerror(errno),
                            errno == ENOENT ? ": make it first" : "");
        if (strlen(real) + strlen(base) > HFI_SQLITE_PATH_MAX)
            return complain(to, HF_ERR_URI, "the store's path is longer than %d bytes",
                            HFI_SQLITE_PATH_MAX);
        memcpy(real + strlen(real), real[1] ? base : base + 1, strlen(base) + (real[1] ? 1 : 0));
    } else if (stat(real, &status) == 0 && !S_ISREG(status.st_mode)) {
        return complain(to, HF_ERR_NOT_A_STORE, "%s is not a file: name another path",
                        hfi_sqlite_shown(given));
    }
    if (strlen(real) > HFI_SQLITE_PATH_MAX)
        return complain(to, HF_ERR_URI, "the store's path is longer than %d bytes",
                        HFI_SQLITE_PATH_MAX);
    memcpy(path, real, strlen(real) + 1);
    return HF_OK;
}

int hfi_sqlite_path(const char *rest, char *path, bool *ret_private, char *detail, size_t room)
{
    const struct complaint to = { detail, room };
    char given[PATH_MAX];
    bool usual = rest[0] == '\0';
    int error = usual ? usual_place(given, &to) : named_place(rest, given, &to);

    if (error)
        return error;
    error = resolve(given, path, &to);
    if (!error)
        *ret_private = usual;
    return error;
}
