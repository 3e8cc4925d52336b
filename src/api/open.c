/* SPDX-License-Identifier: Apache-2.0 */
/* hf_open(): from a URI to a store. */
#include <string.h>

#include "api/options.h"

#define SCHEME_MAX 32
/* Nothing else is repeated in a message: it may be the beginning of a password. */
#define SCHEME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."

#define HFI_STORE(name) extern const struct hfi_driver hfi_driver_##name;
#include "hfi_stores.inc"
#undef HFI_STORE

static const struct hfi_driver *const DRIVERS[] = {
#define HFI_STORE(name) &hfi_driver_##name,
#include "hfi_stores.inc"
#undef HFI_STORE
};

/* Is `scheme` one of the words of a driver's list? */
static bool serves(const struct hfi_driver *driver, const char *scheme)
{
    size_t len = strlen(scheme);
    const char *at = driver->schemes;

    while ((at = strstr(at, scheme))) {
        bool begins = at == driver->schemes || at[-1] == ' ';

        if (begins && (at[len] == ' ' || at[len] == '\0'))
            return true;
        at += len;
    }
    return false;
}

static const struct hfi_driver *find_driver(const char *scheme)
{
    for (size_t i = 0; i < sizeof DRIVERS / sizeof DRIVERS[0]; i++)
        if (serves(DRIVERS[i], scheme))
            return DRIVERS[i];
    return NULL;
}

int hf_open(const char *uri, const struct hf_client_options *options, hf_client **ret_client)
{
    struct hfi_client_config config;
    const struct hfi_driver *driver;
    char scheme[SCHEME_MAX];
    size_t len;
    int error;

    if (!ret_client)
        return hfi_fail(HF_ERR_INVALID, "hf_open() needs somewhere to put the client");
    error = hfi_client_options(options, &config);
    if (error)
        return error;
    if (!uri || !*uri)
        uri = "sqlite:";
    len = strspn(uri, SCHEME_CHARACTERS);
    if (uri[len] != ':' || len == 0 || len >= sizeof scheme)
        return hfi_fail(HF_ERR_URI,
                        "a store is named by a URI, such as redis://host or sqlite:PATH");
    memcpy(scheme, uri, len);
    scheme[len] = '\0';
    driver = find_driver(scheme);
    if (!driver)
        return hfi_fail(HF_ERR_UNSUPPORTED,
                        "there is no store for URIs that begin with %s:", scheme);
    return hfi_client_new(driver, scheme, uri + len + 1, &config, ret_client);
}

hf_client *hf_close(hf_client *client)
{
    int state;

    if (!client || hfi_is_forked(client))
        return NULL; /* a child has closed its copies of the descriptors; the memory stays */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    hfi_client_close(client);
    pthread_setcancelstate(state, NULL);
    return NULL;
}

const char *hf_client_store(const hf_client *client)
{
    return client->store->class_->uri(client->store);
}

const char *hf_client_id(const hf_client *client)
{
    return client->identity.id;
}

int hf_guard_fd(hf_client *client)
{
    int error, fd;

    if (!client)
        return hfi_fail(HF_ERR_INVALID, "hf_guard_fd() needs a client");
    error = hfi_enter(client);
    if (error)
        return error;
    fd = client->liveness_fd;
    hfi_leave(client);
    if (client->is_wire)
        return hfi_fail(HF_ERR_UNSUPPORTED,
                        "holds on a server end by their ttl, not with a process");
    return fd >= 0 ? fd : hfi_fail(HF_ERR_NOT_FOUND, "nothing has been held yet");
}
