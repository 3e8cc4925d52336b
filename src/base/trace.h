/* SPDX-License-Identifier: Apache-2.0 */
/* Notes for people: the library never prints, it hands lines to the program's hook, if there is one. */
#ifndef HFI_BASE_TRACE_H
#define HFI_BASE_TRACE_H

#include "holdfast/holdfast.h"

#define HFI_TRACE_MAX 512 /* bytes of a line, the final NUL included; longer is cut */

struct hfi_trace {
    void (*hook)(void *arg, enum hf_trace_level level, const char *text);
    void *arg;
};

/* What is said is one line, whatever a server has put into it: control characters become '?'. */
void hfi_one_line(char *text);

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hfi_trace(const struct hfi_trace *trace, enum hf_trace_level level, const char *format, ...);

#endif
