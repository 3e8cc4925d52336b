#include <holdfast/holdfast.h>
#include <stdio.h>

int main(void)
{
    hf_client *client;
    hf_hold *hold;

    if (hf_open(NULL, NULL, &client) || /* NULL: the embedded store; or "redis://host:6379" */
        hf_acquire(client, "order:1001", HF_ACQUIRE(.wait_ms = 5000, .label = "settle"), &hold))
        return fprintf(stderr, "%s\n", hf_last_error()), 1;
    /* Pass the token to whatever you write to. */
    printf("mine, token %llu\n", (unsigned long long)hf_hold_token(hold));
    return hf_release(hold) || hf_close(client);
}
