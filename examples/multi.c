/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer between two accounts, each with a lock of its own: both or neither. Two transfers in opposite
 * directions do not wait for each other in a circle.
 *
 *     multi [STORE]
 */
#include <holdfast/holdfast.h>
#include <inttypes.h>
#include <stdio.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

/* The members' tokens are passed along with what is written to each account. */
static void transfer(const hf_hold *both)
{
    for (size_t i = 0; i < 2; i++)
        printf("%s: write with token %" PRIu64 "\n", hf_hold_name(hf_multi_hold(both, i)),
               hf_hold_token(hf_multi_hold(both, i)));
}

int main(int argc, char **argv)
{
    hf_client *client;
    hf_hold *both;
    int error;

    if (hf_open(argc > 1 ? argv[1] : NULL, NULL, &client))
        return failed("open");

    struct hf_member accounts[] = {
        { .size = sizeof accounts[0], .client = client, .name = "account:4711" },
        { .size = sizeof accounts[0], .client = client, .name = "account:815" },
    };
    if (hf_multi_acquire(accounts, 2, HF_ACQUIRE(.wait_ms = 5000, .label = "transfer"), &both))
        return failed("acquire");
    if (hf_hold_state(both) == HF_HELD) /* the worst of both */
        transfer(both);
    error = hf_release(both);
    hf_close(client);
    return error ? failed("release") : 0;
}
