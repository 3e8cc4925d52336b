/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter that is served in order: start several of these at once, on as many hosts as you like, and each gets
 * its turn as it came. A waiter that dies is passed over.
 *
 *     fair [STORE]      STORE: sqlite:PATH, redis://HOST; without one, the embedded store in its usual place
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
    struct hf_holder busy = { .size = sizeof busy };
    hf_client *client;
    hf_hold *hold;
    int error;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open");
    error =
        hf_fair_acquire(client, "counter",
                        HF_ACQUIRE(.wait_ms = 60000, .label = "a customer", .busy = &busy), &hold);
    if (error == HF_ERR_BUSY) {
        printf("no turn within a minute: %s has it, \"%s\"\n", busy.owner, busy.label);
        hf_close(client);
        return 75;
    }
    if (error)
        return failed("acquire");
    printf("served, with token %" PRIu64 "\n", hf_hold_token(hold));
    error = hf_release(hold);
    hf_close(client);
    return error ? failed("release") : 0;
}
