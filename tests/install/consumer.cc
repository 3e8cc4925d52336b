// SPDX-License-Identifier: Apache-2.0
// As consumer.c, in C++17: the header must work there too.
#include <cstdio>
#include <string>

#include <holdfast/holdfast.h>

static int failed(const char *what)
{
    std::fprintf(stderr, "%s: %s\n", what, hf_last_error());
    return 1;
}

static int take_and_give_back(hf_client *client)
{
    hf_acquire_options options{};
    hf_hold *hold = nullptr;

    options.size = sizeof options;
    options.wait_ms = 5000;
    options.label = "a test";
    if (hf_acquire(client, "consumer", &options, &hold) != HF_OK)
        return failed("hf_acquire");
    if (hf_hold_state(hold) != HF_HELD || hf_hold_token(hold) == 0)
        return failed("hf_hold_state or hf_hold_token");
    if (hf_release(hold) != HF_OK)
        return failed("hf_release");
    return 0;
}

int main(int argc, char **argv)
{
    const std::string version = hf_version();

    std::printf("holdfast %s\n", version.c_str());
    if (argc != 2 || version != HF_VERSION || hf_classify(HF_ERR_BUSY) != HF_CLASS_BUSY ||
        hf_strerror(HF_ERR_BUSY) != std::string("the lock is held by someone else")) {
        std::fprintf(stderr, "the library is not what the header %s says\n", HF_VERSION);
        return 1;
    }

    hf_client *client = nullptr;
    if (hf_open(argv[1], nullptr, &client) != HF_OK)
        return failed("hf_open");
    const int status = take_and_give_back(client);
    hf_close(client);
    return status;
}
