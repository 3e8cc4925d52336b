/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has nothing but what was installed. Strict C99, as the header promises. */
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

int main(void)
{
    printf("holdfast %s\n", hf_version());
    if (strcmp(hf_version(), HF_VERSION) != 0) {
        fprintf(stderr, "the library's version is not the header's, %s\n", HF_VERSION);
        return 1;
    }
    if (strcmp(hf_strerror(HF_ERR_BUSY), "the lock is held by someone else") != 0 ||
        hf_classify(HF_ERR_BUSY) != HF_CLASS_BUSY) {
        fprintf(stderr, "hf_strerror or hf_classify does not know HF_ERR_BUSY\n");
        return 1;
    }
    return 0;
}
