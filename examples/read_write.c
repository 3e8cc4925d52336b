/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers and a writer of one report: the writer makes it, goes on reading it, and lets other readers in meanwhile.
 *
 *     read_write [STORE]
 */
#include <holdfast/holdfast.h>
#include <inttypes.h>
#include <stdio.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    hf_client *client, *other;
    hf_hold *writing, *reading, *also_reading;
    const char *store = argc > 1 ? argv[1] : NULL;

    if (hf_open(store, NULL, &client) || hf_open(store, NULL, &other))
        return failed("open");

    /* With .prefer, new readers wait as long as this waits: else they can keep it out for ever. */
    if (hf_write_acquire(client, "report", HF_ACQUIRE(.wait_ms = 5000, .prefer = 1), &writing))
        return failed("write");
    printf("written, with token %" PRIu64 "\n", hf_hold_token(writing));

    /* Who writes may read, and go on when it has given the writing back. Never the other way. */
    if (hf_shared_acquire(client, "report", NULL, &reading))
        return failed("read");
    if (hf_release(writing))
        return failed("release");

    if (hf_shared_acquire(other, "report", HF_ACQUIRE(.wait_ms = 5000), &also_reading))
        return failed("read by another");
    printf("two read at once\n");
    if (hf_write_acquire(client, "report", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE), &writing) !=
        HF_ERR_UPGRADE)
        return failed("a reader that wants to write would wait for itself");

    hf_release(also_reading);
    hf_release(reading);
    hf_close(other);
    hf_close(client);
    return 0;
}
