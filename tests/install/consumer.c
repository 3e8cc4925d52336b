/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has nothing but what was installed. Strict C99, as the header promises.
 * consumer URI: takes a lock in that store and gives it back. */
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

static int versions_agree(void)
{
    printf("holdfast %s\n", hf_version());
    if (strcmp(hf_version(), HF_VERSION) != 0)
        fprintf(stderr, "the library's version is not the header's, %s\n", HF_VERSION);
    return strcmp(hf_version(), HF_VERSION) == 0;
}

static int errors_are_known(void)
{
    int known = strcmp(hf_strerror(HF_ERR_BUSY), "the lock is held by someone else") == 0 &&
                hf_classify(HF_ERR_BUSY) == HF_CLASS_BUSY;

    if (!known)
        fprintf(stderr, "hf_strerror or hf_classify does not know HF_ERR_BUSY\n");
    return known;
}

static int take_and_give_back(hf_client *client)
{
    hf_hold *hold;

    if (hf_acquire(client, "consumer", HF_ACQUIRE(.wait_ms = 5000, .label = "a test"), &hold) !=
        HF_OK)
        return failed("hf_acquire");
    if (hf_hold_state(hold) != HF_HELD || hf_hold_token(hold) == 0)
        return failed("hf_hold_state or hf_hold_token");
    printf("held, token %llu\n", (unsigned long long)hf_hold_token(hold));
    if (hf_release(hold) != HF_OK)
        return failed("hf_release");
    return 0;
}

int main(int argc, char **argv)
{
    hf_client *client;
    int status;

    if (argc != 2 || !versions_agree() || !errors_are_known())
        return 1;
    if (hf_open(argv[1], NULL, &client) != HF_OK)
        return failed("hf_open");
    status = take_and_give_back(client);
    hf_close(client);
    return status;
}
