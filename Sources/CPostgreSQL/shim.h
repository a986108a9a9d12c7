#include <libpq-fe.h>
#include <stddef.h>
#include <stdio.h>
// For `Alarm`, which wakes a thread that waits for libpq's socket.
#include <sys/eventfd.h>

// A request to cancel a statement. Since version 17, libpq encrypts the request if the connection is encrypted; older versions
// always send it unencrypted (https://www.postgresql.org/docs/current/libpq-cancel.html).
#ifdef LIBPQ_HAS_ASYNC_CANCEL
typedef PGcancelConn quakes_cancel;

static inline quakes_cancel *quakes_cancel_create(PGconn *connection) { return PQcancelCreate(connection); }

static inline int quakes_cancel_send(quakes_cancel *cancel, char *reason, int size) {
    int is_sent = PQcancelBlocking(cancel);
    if (!is_sent) snprintf(reason, (size_t)size, "%s", PQcancelErrorMessage(cancel));
    return is_sent;
}

static inline void quakes_cancel_free(quakes_cancel *cancel) { PQcancelFinish(cancel); }
#else
typedef PGcancel quakes_cancel;

static inline quakes_cancel *quakes_cancel_create(PGconn *connection) { return PQgetCancel(connection); }

static inline int quakes_cancel_send(quakes_cancel *cancel, char *reason, int size) {
    return PQcancel(cancel, reason, size);
}

static inline void quakes_cancel_free(quakes_cancel *cancel) { PQfreeCancel(cancel); }
#endif
