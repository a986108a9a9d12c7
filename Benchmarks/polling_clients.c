// Many clients that ask for the changes again and again, each over a connection that it keeps, in one process.
//
//     polling_clients PORT POSITION COUNT
//
// Each asks /changes?after=POSITION&wait=20s, and again from the position at the end of the answer. It says "ready" once all
// have asked. Then come lines on standard input of a token and the moment of its commit (ns of CLOCK_MONOTONIC), and an empty
// line. Once every client has all of these tokens, it prints p50, p90, p99 and the maximum of the time from a commit to the end
// of the answer with it, in ms, and how many answers there were, and ends.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct { long token, moment; } Sighting;

static struct Client {
    int socket, sightings, room;
    long length;  // of the body; -1 if it comes in chunks
    size_t size;  // of what has come of the answer
    char *answer;
    Sighting *seen;
} *clients;
static const size_t answer_room = 1 << 20;
static int count;
static long answers;
static volatile int is_over;
static volatile long least;  // the token that every client has

static void fail(const char *reason) {
    fprintf(stderr, "polling_clients: %s: %s\n", reason, strerror(errno));
    exit(1);
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void ask(struct Client *client, const char *position) {
    char request[300];
    int size = snprintf(request, sizeof request, "GET /changes?after=%s&wait=20s HTTP/1.1\r\nHost: localhost\r\n\r\n", position);
    client->size = 0;
    if (write(client->socket, request, size) != size) fail("a client cannot ask");
}

// Where the text of a member of the last position begins.
static char *member(char *position, const char *name) {
    char *found = strstr(position, name);
    if (!found) fail("an answer without a position");
    return found + strlen(name);
}

static void take(struct Client *client) {
    ssize_t size = recv(client->socket, client->answer + client->size, answer_room - client->size - 1, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) fail("a client lost its connection, or its answer is too long");
    client->answer[client->size += size] = 0;
    char *body = strstr(client->answer, "\r\n\r\n");
    if (!body) return;
    if (strncmp(client->answer, "HTTP/1.1 200", 12)) fail("a client was refused");
    body += 4;
    char *length = strcasestr(client->answer, "\r\ncontent-length:");
    int is_whole = length && length < body ? client->answer + client->size - body >= atol(length + 17)
                                           : !memcmp(client->answer + client->size - 5, "0\r\n\r\n", 5);
    if (!is_whole) return;
    answers++;
    char *position = NULL;
    for (char *next = body; (next = strstr(next, "{\"store\"")); next++) position = next;
    if (!position) fail("an answer without a position");
    long token = atol(member(position, "\"token\":"));
    char word[200];
    snprintf(word, sizeof word, "%ld_%.*s_%.*s_%.*s", token, (int)strcspn(member(position, "\"committed_at\":\""), "\""),
             member(position, "\"committed_at\":\""), (int)strcspn(member(position, "\"nonce\":\""), "\""),
             member(position, "\"nonce\":\""), (int)strcspn(member(position, "\"store\":\""), "\""),
             member(position, "\"store\":\""));
    if (!client->sightings || client->seen[client->sightings - 1].token < token) {
        if (client->sightings == client->room)
            client->seen = realloc(client->seen, (client->room = 2 * client->room + 64) * sizeof *client->seen);
        client->seen[client->sightings++] = (Sighting){token, now()};
    }
    ask(client, word);
}

static void *receive(void *poll) {
    struct epoll_event events[512];
    long checked = 0;
    while (!is_over) {
        int ready = epoll_wait(*(int *)poll, events, 512, 100);
        for (int index = 0; index < ready; index++) take(events[index].data.ptr);
        if (now() - checked < 100000000) continue;
        checked = now();
        long lowest = -1;
        for (int index = 0; index < count; index++) {
            long token = clients[index].sightings ? clients[index].seen[clients[index].sightings - 1].token : 0;
            if (lowest < 0 || token < lowest) lowest = token;
        }
        least = lowest;
    }
    return NULL;
}

static int by_value(const void *one, const void *other) {
    double left = *(double *)one, right = *(double *)other;
    return left < right ? -1 : left > right;
}

int main(int arguments, char **argument) {
    if (arguments != 4) fail("PORT POSITION COUNT");
    count = atoi(argument[3]);
    clients = calloc(count, sizeof *clients);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(argument[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int poll = epoll_create1(0);
    for (int index = 0; index < count; index++) {
        struct Client *client = &clients[index];
        client->socket = socket(AF_INET, SOCK_STREAM, 0);
        client->answer = malloc(answer_room);  // takes memory only as it is filled
        if (connect(client->socket, (struct sockaddr *)&address, sizeof address)) fail("a client cannot connect");
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, client->socket, &event)) fail("epoll_ctl");
        ask(client, argument[2]);
        if (index % 100 == 99) usleep(5000);
    }
    pthread_t thread;
    pthread_create(&thread, NULL, receive, &poll);
    sleep(1);
    printf("ready\n");
    fflush(stdout);

    char line[100];
    static long tokens[100000], moments[100000];
    int commits = 0;
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%ld %ld", &tokens[commits], &moments[commits]) == 2) commits++;
    while (commits && least < tokens[commits - 1]) usleep(10000);
    is_over = 1;
    pthread_join(thread, NULL);

    size_t all = 0;
    double *latencies = malloc(sizeof *latencies * count * (commits + 1));
    for (int index = 0; index < count; index++)
        for (int commit = 0, sighting = 0; commit < commits; commit++) {
            while (clients[index].seen[sighting].token < tokens[commit]) sighting++;
            latencies[all++] = (clients[index].seen[sighting].moment - moments[commit]) / 1e6;
        }
    qsort(latencies, all, sizeof *latencies, by_value);
    printf("%f %f %f %f %ld\n", latencies[all / 2], latencies[all * 9 / 10], latencies[all * 99 / 100], latencies[all - 1], answers);
}
