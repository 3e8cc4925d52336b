/* SPDX-License-Identifier: Apache-2.0 */
#include "holdfast/holdfast.h"

struct error_entry {
    int error;
    enum hf_class class_;
    const char *text;
};

static const struct error_entry ENTRIES[] = {
#define X(name, value, class_, text) { value, HF_CLASS_##class_, text },
    HF_ERRORS(X)
#undef X
};

static const struct error_entry *find(int error)
{
    for (size_t i = 0; i < sizeof ENTRIES / sizeof ENTRIES[0]; i++)
        if (ENTRIES[i].error == error)
            return &ENTRIES[i];
    return NULL;
}

const char *hf_strerror(int error)
{
    const struct error_entry *entry = find(error);

    if (error == HF_OK)
        return "no error";
    return entry ? entry->text : "unknown error";
}

enum hf_class hf_classify(int error)
{
    const struct error_entry *entry = find(error);

    if (error == HF_OK)
        return HF_CLASS_OK;
    return entry ? entry->class_ : HF_CLASS_FATAL;
}

const char *hf_version(void)
{
    return HF_VERSION;
}
