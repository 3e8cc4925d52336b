/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HFI_BASE_CLEAR_H
#define HFI_BASE_CLEAR_H

#include <stddef.h>

/* memset() to 0. For constant sizes of a few hundred bytes compilers make an instruction of it that takes
 * longer to start (20 ns) than the C library's function takes in all; so the size must not be seen. */
void hfi_clear(void *at, size_t size);

#endif
