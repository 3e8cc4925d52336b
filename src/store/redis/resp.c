/* SPDX-License-Identifier: Apache-2.0 */
#include "store/redis/resp.h"

#include <string.h>

#define DIGITS_MAX 20

size_t hfi_decimal(char *to, uint64_t number)
{
    char reversed[DIGITS_MAX];
    size_t n = 0;

    do {
        reversed[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (size_t i = 0; i < n; i++)
        to[i] = reversed[n - 1 - i];
    return n;
}

static void put(struct hfi_resp *resp, const char *bytes, size_t len)
{
    if (resp->full || len > (size_t)(resp->end - resp->at)) {
        resp->full = true;
        return;
    }
    memcpy(resp->at, bytes, len);
    resp->at += len;
}

static void put_head(struct hfi_resp *resp, char kind, size_t number)
{
    char head[1 + DIGITS_MAX + 2];
    size_t n = 1 + hfi_decimal(head + 1, number);

    head[0] = kind;
    memcpy(head + n, "\r\n", 2);
    put(resp, head, n + 2);
}

void hfi_resp_command(struct hfi_resp *resp, size_t arguments)
{
    put_head(resp, '*', arguments);
}

void hfi_resp_bytes(struct hfi_resp *resp, const char *bytes, size_t len)
{
    put_head(resp, '$', len);
    put(resp, bytes, len);
    put(resp, "\r\n", 2);
}

void hfi_resp_text(struct hfi_resp *resp, const char *text)
{
    hfi_resp_bytes(resp, text, strlen(text));
}

void hfi_resp_number(struct hfi_resp *resp, uint64_t number)
{
    char digits[DIGITS_MAX];

    hfi_resp_bytes(resp, digits, hfi_decimal(digits, number));
}

void hfi_resp_owner(struct hfi_resp *resp, const char *text, uint64_t number)
{
    char tail[1 + DIGITS_MAX];
    size_t n = 1 + hfi_decimal(tail + 1, number);

    tail[0] = ':';
    hfi_resp_joined(resp, text, tail, n);
}

void hfi_resp_joined(struct hfi_resp *resp, const char *head, const char *tail, size_t tail_len)
{
    size_t head_len = strlen(head);

    put_head(resp, '$', head_len + tail_len);
    put(resp, head, head_len);
    put(resp, tail, tail_len);
    put(resp, "\r\n", 2);
}
