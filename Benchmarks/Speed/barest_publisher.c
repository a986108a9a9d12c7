// A minimal publisher: LISTEN, one SELECT of the new lines, one POST to a hub such as nchan. It does not check its position or
// reconnect, and any error ends it.
//
//     barest_publisher URL PORT PATH

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static PGconn *connection;

static void fail(const char *reason) {
    fprintf(stderr, "barest_publisher: %s\n", reason);
    exit(1);
}

static PGresult *query(const char *sql, const char *parameter) {
    PGresult *result = PQexecParams(connection, sql, parameter ? 1 : 0, NULL, &parameter, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(PQerrorMessage(connection));
    return result;
}

static int hub_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int hub = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(hub, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(hub, (struct sockaddr *)&address, sizeof address)) fail("cannot reach the hub");
    return hub;
}

// Reads the response to a POST: a head, and a body with the length given in the head.
static void read_answer(int hub) {
    char answer[4096];
    for (ssize_t have = 0;;) {
        ssize_t count = read(hub, answer + have, sizeof answer - 1 - have);
        if (count <= 0) fail("the hub has closed the connection");
        answer[have += count] = 0;
        char *end = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "Content-Length:");
        if (end && length && have >= end + 4 - answer + atol(length + 15)) break;
    }
    if (strncmp(answer, "HTTP/1.1 20", 11)) fail(answer);
}

int main(int count, char **arguments) {
    if (count != 4) fail("URL PORT PATH");
    connection = PQconnectdb(arguments[1]);
    if (PQstatus(connection) != CONNECTION_OK) fail(PQerrorMessage(connection));
    int hub = hub_on(atoi(arguments[2]));

    PQclear(query("listen quake_changes", NULL));
    PQclear(query("set timezone = 'UTC'", NULL));
    PGresult *position = query("select history.current_token()", NULL);
    long token = atol(PQgetvalue(position, 0, 0));
    PQclear(position);
    printf("ready\n");
    fflush(stdout);

    // One snapshot: the lines of the changes, and the position of the snapshot.
    const char *changes =
        "select (row_to_json(change)::text || E'\\n') collate \"C\", null from history.changes($1::bigint, 'quake') as change "
        "union all select row_to_json(position)::text || E'\\n', token::text from history.position() as position";

    for (int is_behind = 1;; is_behind = 0) {
        for (PGnotify *notification; (notification = PQnotifies(connection)); PQfreemem(notification))
            is_behind |= atol(notification->extra) > token;
        if (!is_behind) {
            struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
            poll(&socket, 1, -1);
            if (!PQconsumeInput(connection)) fail(PQerrorMessage(connection));
            continue;
        }
        char after[24], head[200];
        snprintf(after, sizeof after, "%ld", token);
        PGresult *rows = query(changes, after);
        int lines = PQntuples(rows);
        size_t length = 0;
        for (int row = 0; row < lines; row++) length += PQgetlength(rows, row, 0);
        if (lines > 1) {
            char *body = malloc(length), *end = body;
            for (int row = 0; row < lines; row++) end = mempcpy(end, PQgetvalue(rows, row, 0), PQgetlength(rows, row, 0));
            int size = snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: hub\r\nContent-Length: %zu\r\n\r\n",
                                arguments[3], length);
            struct iovec parts[] = {{head, size}, {body, length}};
            for (size_t sent = 0, all = size + length; sent < all;) {
                ssize_t count = sent < (size_t)size
                    ? writev(hub, (struct iovec[]){{head + sent, size - sent}, parts[1]}, 2)
                    : write(hub, body + (sent - size), all - sent);
                if (count <= 0) fail("the hub does not accept the request");
                sent += count;
            }
            free(body);
            read_answer(hub);
        }
        token = atol(PQgetvalue(rows, lines - 1, 1));
        PQclear(rows);
    }
}
