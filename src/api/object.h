/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of HFI_OP_OBJECT, as the calls of objects.c and values.c make them. */
#ifndef HFI_API_OBJECT_H
#define HFI_API_OBJECT_H

#include "api/options.h"

/* Tokens are below this. */
#define HFI_TOKEN_END (UINT64_C(1) << 53)

/* Checks client and name, and has the request done. `what` the store may not have is said in a message. As the
 * public calls; the object's data may be there after an error, too. */
int hfi_object_run(hf_client *client, const char *name, struct hfi_object *object,
                   const char *what);

#endif
