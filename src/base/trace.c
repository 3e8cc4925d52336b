/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include <stdarg.h>
#include <stdio.h>

void hfi_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

void hfi_trace(const struct hfi_trace *trace, enum hf_trace_level level, const char *format, ...)
{
    char text[HFI_TRACE_MAX];
    va_list args;

    if (!trace->hook)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hfi_one_line(text);
    trace->hook(trace->arg, level, text);
}
