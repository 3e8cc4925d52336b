/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing commands in RESP into a buffer of fixed size, without allocating: on the path that renews or
 * releases a hold there is no memory to ask for. A command goes in whole or not at all.
 */
#ifndef HFI_REDIS_RESP_H
#define HFI_REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hfi_resp {
    char *at, *end; /* where the next byte goes, and the first that is not ours */
    bool full;      /* something did not fit */
};

/* The head of a command of so many arguments, its name included. */
void hfi_resp_command(struct hfi_resp *resp, size_t arguments);
void hfi_resp_bytes(struct hfi_resp *resp, const char *bytes, size_t len);
void hfi_resp_text(struct hfi_resp *resp, const char *text);
void hfi_resp_number(struct hfi_resp *resp, uint64_t number);
/* "<text>:<number>" as one argument. */
void hfi_resp_owner(struct hfi_resp *resp, const char *text, uint64_t number);
/* Two pieces as one argument. */
void hfi_resp_joined(struct hfi_resp *resp, const char *head, const char *tail, size_t tail_len);

/* Writes a number in decimal; room for 20 digits. Returns how many there are. */
size_t hfi_decimal(char *to, uint64_t number);

#endif
