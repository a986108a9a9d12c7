// Many clients of a stream of Server-Sent Events in one process, which does little work per client.
//
//     live_clients PORT PATH COUNT
//
// It connects the clients, prints "ready" when each has a response, and waits for a line on standard input. After that line, all
// clients get the same bytes: the first client keeps them, the others only count them. Then the program reads lines with a token
// and the time of its commit (ns of CLOCK_MONOTONIC), up to an empty line. When every client has all of these tokens, it prints
// p50, p90, p99 and the maximum of the time from a commit to the event with its position, in ms, and the bytes per commit. Then
// it ends.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct { unsigned long offset; long moment; } Sighting;

static struct Client {
    int socket, sightings, room, is_open;
    unsigned long offset;
    Sighting *seen;
} *clients;
static int count, opened;
static volatile int is_counting, is_over;
static char *kept;
static const size_t kept_room = 1UL << 30;
static volatile unsigned long kept_size;

static void fail(const char *reason) {
    fprintf(stderr, "live_clients: %s: %s\n", reason, strerror(errno));
    exit(1);
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void take(struct Client *client) {
    static char buffer[1 << 20];
    int is_first = client == clients;
    for (;;) {
        // MSG_TRUNC drops the bytes without copying them.
        ssize_t size = recv(client->socket, buffer, sizeof buffer,
                            MSG_DONTWAIT | (is_counting && !is_first ? MSG_TRUNC : 0));
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) fail("a client lost its connection");
        if (!is_counting) {
            if (!client->is_open && (client->is_open = 1)) {
                if (strncmp(buffer, "HTTP/1.1 200", 12)) fail("a client was refused");
                opened++;
            }
            continue;
        }
        client->offset += size;
        if (client->sightings == client->room)
            client->seen = realloc(client->seen, (client->room = 2 * client->room + 64) * sizeof *client->seen);
        client->seen[client->sightings++] = (Sighting){client->offset, now()};
        if (!is_first) continue;
        if (kept_size + size > kept_room) fail("too many bytes to keep");
        memcpy(kept + kept_size, buffer, size);
        kept_size += size;
    }
}

static void *receive(void *poll) {
    struct epoll_event events[512];
    while (!is_over) {
        int ready = epoll_wait(*(int *)poll, events, 512, 100);
        for (int index = 0; index < ready; index++) take(events[index].data.ptr);
    }
    return NULL;
}

static int by_value(const void *one, const void *other) {
    double left = *(double *)one, right = *(double *)other;
    return left < right ? -1 : left > right;
}

int main(int arguments, char **argument) {
    if (arguments != 4) fail("PORT PATH COUNT");
    count = atoi(argument[3]);
    clients = calloc(count, sizeof *clients);
    kept = malloc(kept_room);  // uses memory only as it is filled
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argument[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char request[300];
    int size = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
                        argument[2]);

    int poll = epoll_create1(0);
    pthread_t thread;
    pthread_create(&thread, NULL, receive, &poll);
    for (int index = 0; index < count; index++) {
        struct Client *client = &clients[index];
        client->socket = socket(AF_INET, SOCK_STREAM, 0);
        // This fails if one address has too few ports for all clients.
        if (connect(client->socket, (struct sockaddr *)&address, sizeof address)) fail("a client cannot connect");
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, client->socket, &event)) fail("epoll_ctl");
        if (write(client->socket, request, size) != size) fail("a client cannot send its request");
        while (index - opened > 100) usleep(1000);
    }
    while (opened < count) usleep(10000);
    // Waits for data that arrive together with the response.
    sleep(1);
    printf("ready\n");
    fflush(stdout);

    char line[100];
    if (!fgets(line, sizeof line, stdin)) return 1;
    is_counting = 1;
    printf("counting\n");
    fflush(stdout);

    long tokens[100000], moments[100000];
    int commits = 0;
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%ld %ld", &tokens[commits], &moments[commits]) == 2) commits++;

    // For each token, the offset of the end of the first position event with this token or a later one.
    unsigned long *ends = calloc(commits, sizeof *ends), total = 0;
    for (int done = 0; done < commits; usleep(100000)) {
        done = 0;
        size_t known = kept_size;
        for (char *place = kept, *found; place && (found = memmem(place, kept + known - place, "{\"store\":\"", 10));) {
            char *end = memchr(found, '\n', kept + known - found), *token = memmem(found, 100, "\"token\":", 8);
            if (!end || !token) break;
            long reached = atol(token + 8);
            while (done < commits && tokens[done] <= reached) ends[done++] = total = end - kept;
            place = end;
        }
    }
    for (int index = 0; index < count; index++)
        while (clients[index].offset < total) usleep(10000);
    is_over = 1;
    pthread_join(thread, NULL);

    size_t all = 0;
    double *latencies = malloc(sizeof *latencies * count * commits);
    for (int index = 0; index < count; index++)
        for (int commit = 0, sighting = 0; commit < commits; commit++) {
            while (clients[index].seen[sighting].offset < ends[commit]) sighting++;
            latencies[all++] = (clients[index].seen[sighting].moment - moments[commit]) / 1e6;
        }
    qsort(latencies, all, sizeof *latencies, by_value);
    printf("%f %f %f %f %lu\n", latencies[all / 2], latencies[all * 9 / 10], latencies[all * 99 / 100], latencies[all - 1],
           total / commits);
}
