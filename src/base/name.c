/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name.h"

#include "holdfast/holdfast.h"

static bool continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t hfi_utf8_length(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;

    if (len == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    if (u[0] < 0xc2 || u[0] > 0xf4)
        return 0;
    if (len < 2 || !continues(u[1]))
        return 0;
    if (u[0] < 0xe0)
        return 2;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0; /* overlong, surrogate, or past U+10FFFF */
    if (len < 3 || !continues(u[2]))
        return 0;
    if (u[0] < 0xf0)
        return 3;
    return len >= 4 && continues(u[3]) ? 4 : 0;
}

bool hfi_text_ok(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;

    for (size_t i = 0; i < len;) {
        size_t n;

        if (u[i] >= 0x20 && u[i] < 0x7f) {
            i++; /* nearly always */
            continue;
        }
        n = hfi_utf8_length(s + i, len - i);
        if (n == 0 || u[i] < 0x20 || u[i] == 0x7f || (u[i] == 0xc2 && u[i + 1] < 0xa0))
            return false;
        i += n;
    }
    return true;
}

int hfi_name_check(const char *name, size_t len)
{
    return len >= 1 && len <= HF_NAME_MAX && hfi_text_ok(name, len) ? HF_OK : HF_ERR_NAME;
}

int hfi_label_check(const char *label, size_t len)
{
    return len <= HF_LABEL_MAX && hfi_text_ok(label, len) ? HF_OK : HF_ERR_LABEL;
}
