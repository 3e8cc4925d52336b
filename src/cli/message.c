/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages go out in one write() each, so that lines of several processes do not mix. A message that cannot
 * be written is dropped: what we supervise matters more.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/text.h"

#define PREFIX        "holdfast: "
#define CLEAR_LINE    "\r\033[K"
#define WIDTH_UNKNOWN 80

static bool drawn;
static char *arguments;
static size_t arguments_room;

void hfi_cli_message_init(int argc, char **argv)
{
    char *end;

    if (argc < 1)
        return;
    end = argv[0] + strlen(argv[0]);
    for (int i = 1; i < argc && argv[i] == end + 1; i++)
        end = argv[i] + strlen(argv[i]);
    arguments = argv[0];
    arguments_room = (size_t)(end - argv[0]);
}

void hfi_cli_rename(const char *text, size_t length)
{
    if (length > arguments_room)
        length = arguments_room;
    for (size_t i = 0; i < arguments_room; i++)
        arguments[i] = i < length ? text[i] : '\0';
}

static void write_all(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, count);

        if (written <= 0)
            return;
        bytes += written;
        count -= (size_t)written;
    }
}

void hfi_cli_say(const char *format, ...)
{
    char text[CLI_MESSAGE_MAX], line[CLI_MESSAGE_MAX + sizeof PREFIX];
    size_t length = sizeof PREFIX - 1;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(line, PREFIX, length);
    length += hfi_cli_clean(line + length, sizeof line - length - 1, text);
    line[length++] = '\n';
    hfi_cli_clear();
    write_all(line, length);
}

bool hfi_cli_can_draw(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0 &&
           tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void hfi_cli_draw(const char *text)
{
    char clean[CLI_MESSAGE_MAX], line[CLI_MESSAGE_MAX + sizeof CLEAR_LINE];
    struct winsize size;
    size_t columns = WIDTH_UNKNOWN, length = sizeof CLEAR_LINE - 1, fit;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        columns = size.ws_col;
    hfi_cli_clean(clean, sizeof clean, text);
    fit = hfi_cli_fit(clean, columns - 1); /* the last column would wrap */
    memcpy(line, CLEAR_LINE, length);
    memcpy(line + length, clean, fit);
    drawn = true;
    write_all(line, length + fit);
}

void hfi_cli_clear(void)
{
    if (!drawn)
        return;
    drawn = false;
    write_all(CLEAR_LINE, sizeof CLEAR_LINE - 1);
}
