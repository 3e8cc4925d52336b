// SPDX-License-Identifier: Apache-2.0
// As consumer.c, in C++17: the header must work there too.
#include <cstdio>
#include <string>

#include <holdfast/holdfast.h>

int main()
{
    const std::string version = hf_version();

    std::printf("holdfast %s\n", version.c_str());
    if (version != HF_VERSION) {
        std::fprintf(stderr, "the library's version is not the header's, %s\n", HF_VERSION);
        return 1;
    }
    if (std::string(hf_strerror(HF_ERR_BUSY)) != "the lock is held by someone else" ||
        hf_classify(HF_ERR_BUSY) != HF_CLASS_BUSY) {
        std::fprintf(stderr, "hf_strerror or hf_classify does not know HF_ERR_BUSY\n");
        return 1;
    }
    return 0;
}
