/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, by which a server knows scripts. Source: FIPS 180-4. */
#include "redis.h"

#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static void add_block(uint32_t h[5], const unsigned char block[64])
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
        uint32_t next = rotate(a, 5) + f + e + k + w[i];

        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sim_sha1(const char *bytes, size_t count, char hex[41])
{
    uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    unsigned char last[128] = { 0 };
    size_t whole = count / 64 * 64, rest = count - whole, tail = rest < 56 ? 64 : 128;

    for (size_t at = 0; at < whole; at += 64)
        add_block(h, (const unsigned char *)bytes + at);
    memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[tail - 1 - i] = (unsigned char)((uint64_t)count * 8 >> 8 * i);
    add_block(h, last);
    if (tail == 128)
        add_block(h, last + 64);
    for (int i = 0; i < 5; i++)
        snprintf(hex + 8 * i, 9, "%08x", h[i]);
}
