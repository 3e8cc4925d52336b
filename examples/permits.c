/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At most three downloads at a time, over all processes and hosts. A permit is a hold: renewed, and back by itself
 * when its process dies.
 *
 *     permits [STORE]
 */
#include <holdfast/objects.h>
#include <inttypes.h>
#include <stdio.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    hf_client *client;
    hf_hold *permit;
    int64_t available, taken;
    int error;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open");

    /* Whoever comes first says how many there are. */
    error = hf_permits_set(client, "downloads", 3);
    if (error && error != HF_ERR_EXISTS)
        return failed("set");
    if (hf_permits_acquire(client, "downloads", 1, HF_ACQUIRE(.wait_ms = 5000, .ttl_ms = 10000),
                           &permit))
        return failed("acquire");
    if (hf_permits_count(client, "downloads", &available, &taken))
        return failed("count");
    printf("downloading; %" PRId64 " taken, %" PRId64 " left\n", taken, available);
    error = hf_release(permit);
    hf_close(client);
    return error ? failed("release") : 0;
}
