/* SPDX-License-Identifier: Apache-2.0 */
/* Who this process is, for people; and numbers that nobody else has. */
#include <errno.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/list.h"
#include "runtime/client.h"
#include "runtime/clock.h"

static void random_bytes(unsigned char *bytes, size_t count)
{
    size_t n = 0;

    while (n < count) {
        ssize_t got = getrandom(bytes + n, count - n, 0);

        if (got > 0)
            n += (size_t)got;
        else if (errno != EINTR)
            break;
    }
    /* A kernel without getrandom(): still different for each process and call. */
    for (; n < count; n++)
        bytes[n] = (unsigned char)((hfi_now() >> (n % 5)) ^ ((unsigned)getpid() << (n % 3)));
}

uint64_t hfi_random_seed(void)
{
    uint64_t seed;

    random_bytes((unsigned char *)&seed, sizeof seed);
    return seed;
}

/* RFC 9562, version 4. */
static void make_uuid(char *to)
{
    static const char HEX[] = "0123456789abcdef";
    unsigned char b[16];

    random_bytes(b, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = HEX[b[i] >> 4];
        *to++ = HEX[b[i] & 15];
    }
    *to = '\0';
}

static void set_user(struct hfi_identity *identity)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];

    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found)
        hfi_holder_text(identity->user, sizeof identity->user, entry.pw_name,
                        strlen(entry.pw_name));
    else
        snprintf(identity->user, sizeof identity->user, "%u", (unsigned)geteuid());
}

void hfi_identity_init(struct hfi_identity *identity, const char *program)
{
    char host[256] = "";

    memset(identity, 0, sizeof *identity);
    make_uuid(identity->id);
    gethostname(host, sizeof host - 1);
    hfi_holder_text(identity->host, sizeof identity->host, host, strlen(host));
    set_user(identity);
    if (!program)
        program = program_invocation_short_name;
    hfi_holder_text(identity->program, sizeof identity->program, program, strlen(program));
    identity->pid = getpid();
}

uint64_t hfi_thread_owner(void)
{
    static atomic_uint_least64_t last;
    static _Thread_local uint64_t mine;

    if (mine == 0)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}
