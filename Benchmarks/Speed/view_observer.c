// Reports when views get new tokens. Prints a line "VIEW TOKEN NANOSECONDS" each time it sees a higher token in a view's file.
// VIEW is the number of the file, from 0; NANOSECONDS is the time of CLOCK_MONOTONIC.
//
//     view_observer FILE…
//
// inotify reports each write to a file's log, but a commit becomes visible only shortly after its last write. So the observer
// reads such a file at growing intervals until its token has increased. It stops after a while, because the write may belong to a
// commit that it has already seen.

#define _GNU_SOURCE  // ppoll
#include <errno.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct view {
    sqlite3_stmt *statement;
    long token;
    int watch;
    long interval;  // nanoseconds; 0 while no new token is expected
    long next;
};

static const long FIRST = 50 * 1000, LAST = 100 * 1000 * 1000;

static void fail(const char *reason) {
    perror(reason);
    exit(1);
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void open_view(struct view *view, const char *path, int inotify) {
    char log[4096];
    snprintf(log, sizeof log, "%s-wal", path);
    view->watch = inotify_add_watch(inotify, log, IN_MODIFY);
    if (view->watch < 0) fail(log);
    sqlite3 *file;
    if (sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK
        || sqlite3_prepare_v2(file, "select token from position", -1, &view->statement, NULL) != SQLITE_OK)
        fail(path);
    view->interval = FIRST;
}

static void look(struct view *view, long number) {
    long token = view->token;
    if (sqlite3_step(view->statement) == SQLITE_ROW) token = sqlite3_column_int64(view->statement, 0);
    sqlite3_reset(view->statement);
    long time = now();
    if (token > view->token) {
        view->token = token;
        view->interval = 0;
        printf("%ld %ld %ld\n", number, token, time);
    } else {
        view->interval = view->interval < LAST ? view->interval * 3 / 2 : 0;
        view->next = time + view->interval;
    }
}

int main(int count, char **paths) {
    int inotify = inotify_init1(IN_NONBLOCK);
    if (inotify < 0) fail("inotify");
    // If the system allows it, the observer runs with a high priority, so that the measured programs do not delay it.
    setpriority(PRIO_PROCESS, 0, -10);
    setvbuf(stdout, NULL, _IOLBF, 0);
    paths++;
    count--;
    struct view *views = calloc(count, sizeof *views);
    for (int number = 0; number < count; number++) open_view(&views[number], paths[number], inotify);

    for (;;) {
        long wait = -1, time = now();
        for (int number = 0; number < count; number++) {
            struct view *view = &views[number];
            if (view->interval && view->next <= time) look(view, number);
            if (!view->interval) continue;
            long rest = view->next > time ? view->next - time : 0;
            if (wait < 0 || rest < wait) wait = rest;
        }
        struct pollfd events = {.fd = inotify, .events = POLLIN};
        struct timespec timeout = {.tv_sec = wait / 1000000000, .tv_nsec = wait % 1000000000};
        ppoll(&events, 1, wait < 0 ? NULL : &timeout, NULL);

        char buffer[65536] __attribute__((aligned(__alignof__(struct inotify_event))));
        ssize_t length = read(inotify, buffer, sizeof buffer);
        if (length < 0 && errno != EAGAIN) fail("inotify");
        for (char *place = buffer; place < buffer + length;) {
            struct inotify_event *event = (struct inotify_event *)place;
            for (int number = 0; number < count; number++) {
                if (views[number].watch != event->wd) continue;
                views[number].interval = FIRST;
                views[number].next = 0;
            }
            place += sizeof *event + event->len;
        }
    }
}
