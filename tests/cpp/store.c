/* SPDX-License-Identifier: Apache-2.0 */
#include "cpp/store.h"

#include <string.h>

#include "lib/folder.h"
#include "lib/server.h"

static struct server server;
static char folder[64], uri[256];

const char *store_start(const char *kind)
{
    if (strcmp(kind, "sqlite") == 0) {
        strcpy(folder, "/tmp/holdfast-cpp-XXXXXX");
        if (!mkdtemp(folder))
            return NULL;
        snprintf(uri, sizeof uri, "sqlite:%s/store", folder);
        return uri;
    }
    if (strcmp(kind, "redis") != 0 || !server_exists("redis-server"))
        return NULL;
    server_start(&server);
    return server_uri(&server, uri, sizeof uri);
}

void store_stop(void)
{
    if (folder[0])
        folder_remove(folder);
    else if (server.pid > 0)
        server_stop(&server);
}

int store_can_cancel(void)
{
    return TEST_CAN_CANCEL;
}
