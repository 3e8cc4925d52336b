/* SPDX-License-Identifier: Apache-2.0 */
/* What a round needs, set up and taken down: folder, log, server, proxies; and nothing of it is left. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/round.h"
#include "lib/folder.h"

#define MEMORY     (UINT64_C(512) << 20)
#define RECORDS    2000000 /* a file with holes: what is not written takes no room */
#define ORPHANS_MS 60000

/* Children of workers that are no more: they end by themselves, soon. */
static bool await_orphans(void)
{
    int64_t until = now_ms() + ORPHANS_MS;
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
        if (pid == 0 && now_ms() > until) {
            fputs("chaos: a child of a worker does not end\n", stderr);
            return false;
        }
        if (pid == 0)
            nap_ms(5);
    }
    return true;
}

void round_clear_away(struct round *round)
{
    crew_end(&round->crew);
    if (round->has_server)
        server_stop(&round->server);
    round->has_server = false;
    hist_log_close(round->crew.log);
    round->crew.log = NULL;
    if (round->folder[0])
        folder_remove(round->folder);
    round->folder[0] = '\0';
}

static void start_store(struct round *round)
{
    struct chaos_shared *shared = round->crew.shared;

    if (!round->scenario->server) {
        for (int slot = 0; slot < CHAOS_SLOTS; slot++)
            snprintf(shared->uri[slot], sizeof shared->uri[slot], "sqlite:%s/store", round->folder);
        return;
    }
    round->server.program = round->scenario->server;
    /* what was answered is in the file, if not on the disk: the machine does not crash here */
    round->server.config = "appendonly yes\nappendfsync no\n";
    round->has_server = true;
    server_start(&round->server);
    shared->server_port = round->server.port;
    round->crew.server = &round->server;
    for (int slot = 0; slot < CHAOS_SLOTS; slot++) {
        char *uri = shared->uri[slot];
        size_t room = sizeof shared->uri[slot];

        proxy_start(&round->crew.member[slot].proxy, round->server.port);
        proxy_uri(&round->crew.member[slot].proxy, uri, room);
        if (round->scenario->options)
            snprintf(uri + strlen(uri), room - strlen(uri), "?%s", round->scenario->options);
    }
    round->has_proxies = true;
}

/* In memory where there is enough of it: this is not about disks, and a busy one stops processes for seconds. */
static bool make_folder(struct round *round)
{
    struct statvfs memory;

    round->in_memory = statvfs("/dev/shm", &memory) == 0 && access("/dev/shm", W_OK) == 0 &&
                       (uint64_t)memory.f_bavail * memory.f_frsize >= MEMORY;
    snprintf(round->folder, sizeof round->folder, "%s/holdfast-chaos-XXXXXX",
             round->in_memory ? "/dev/shm" : "/tmp");
    if (mkdtemp(round->folder))
        return true;
    round->folder[0] = '\0';
    return false;
}

/* What workers must know. */
static bool share(const struct round *round)
{
    struct chaos_shared *shared = round->crew.shared;

    shared->seed = round->options->seed;
    shared->deeds = round->scenario->deeds;
    shared->broken = round->options->broken;
    shared->runner = getpid();
    shared->op_timeout_ms = CHAOS_OP_MS;
    shared->connect_timeout_ms = CHAOS_CONNECT_MS;
    shared->poll_ms = round->scenario->poll_ms;
    if (round->options->trace) {
        strcpy(shared->traces, "/tmp/holdfast-traces-XXXXXX");
        if (!mkdtemp(shared->traces))
            return false;
        printf("traces are in %s\n", shared->traces);
    }
    return true;
}

bool round_start(struct round *round)
{
    struct crew *crew = &round->crew;

    if (!make_folder(round))
        return false;
    snprintf(crew->log_path, sizeof crew->log_path, "%s/log", round->folder);
    crew->log = hist_log_create(crew->log_path, RECORDS, sizeof *crew->shared);
    if (!crew->log)
        return false;
    crew->shared = hist_log_data(crew->log);
    if (!share(round))
        return false;
    crew->random = (uint32_t)round->options->seed * 7919u + 3;
    start_store(round);
    crew_init(crew);
    round->storm.crew = crew;
    round->storm.server = round->has_server ? &round->server : NULL;
    round->storm.forgets = round->scenario->forgets;
    storm_init(&round->storm, (uint32_t)round->options->seed * 2654435761u);
    /* servers write to the disk, and do not wait for it */
    noise_start(&round->noise, crew->log, round->has_server ? "/tmp" : round->folder,
                !round->has_server && !round->in_memory,
                round->has_server && round->scenario->is_calm ? round->server.port : 0);
    return true;
}

void round_finish(struct round *round, bool in_order)
{
    storm_end(&round->storm);
    round->is_stuck = in_order && !crew_finish(&round->crew);
    noise_stop(&round->noise);
    crew_end(&round->crew);
    if (round->has_proxies)
        for (int slot = 0; slot < CHAOS_SLOTS; slot++)
            proxy_stop(&round->crew.member[slot].proxy);
    if (round->has_server)
        server_stop(&round->server);
    round->has_server = false;
    round->is_stuck |= !await_orphans();
}
