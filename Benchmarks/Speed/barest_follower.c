// A minimal follower: LISTEN, one SELECT, one SQLite commit. It does not check its position or reconnect. It starts with an empty
// table and reads the whole history, and any error ends it.
//
//     barest_follower URL FILE SCHEMA COLUMNS
//
// SCHEMA creates the table quake in SQLite. COLUMNS are the PostgreSQL expressions for its columns, in order.

#include <libpq-fe.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PGconn *connection;
static sqlite3 *file;

static void fail(const char *reason) {
    fprintf(stderr, "barest_follower: %s\n", reason);
    exit(1);
}

static PGresult *query(const char *sql, const char *parameter) {
    PGresult *result = PQexecParams(connection, sql, parameter ? 1 : 0, NULL, &parameter, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(PQerrorMessage(connection));
    return result;
}

static void execute(const char *sql) {
    if (sqlite3_exec(file, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sqlite3_errmsg(file));
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(file, sql, -1, &statement, NULL) != SQLITE_OK) fail(sqlite3_errmsg(file));
    return statement;
}

// Binds `count` columns of a row as texts, and runs the statement. SQLite converts the texts to numbers for columns with a
// numeric type.
static void run(sqlite3_stmt *statement, PGresult *rows, int row, int column, int count) {
    for (int index = 0; index < count; index++, column++) {
        if (PQgetisnull(rows, row, column))
            sqlite3_bind_null(statement, index + 1);
        else
            sqlite3_bind_text(
                statement, index + 1, PQgetvalue(rows, row, column), PQgetlength(rows, row, column), SQLITE_STATIC);
    }
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(file));
    sqlite3_reset(statement);
}

int main(int count, char **arguments) {
    if (count != 5) fail("URL FILE SCHEMA COLUMNS");
    const char *columns = arguments[4];

    connection = PQconnectdb(arguments[1]);
    if (PQstatus(connection) != CONNECTION_OK) fail(PQerrorMessage(connection));
    if (sqlite3_open(arguments[2], &file) != SQLITE_OK) fail(sqlite3_errmsg(file));
    sqlite3_busy_timeout(file, 10000);
    execute("pragma journal_mode = wal; pragma synchronous = normal");
    execute(arguments[3]);
    execute("create table position (store text not null, token integer not null, committed_at text not null)");

    PQclear(query("listen quake_changes", NULL));
    PGresult *position = query("select store, committed_at from history.position()", NULL);
    run(prepare("insert into position values (?, 0, ?)"), position, 0, 0, 2);
    PQclear(position);
    long token = 0;

    // One snapshot: the current versions of the changed rows, each with the token of the snapshot.
    char *changes = sqlite3_mprintf(
        "select changed.key, quake.code, reached.token, reached.committed_at, %s "
        "from (select token, committed_at from history.transaction "
        "      where token is not null order by token desc limit 1) as reached, "
        "     (select distinct change.key "
        "      from history.transaction join history.change on change.transaction = transaction.id "
        "      where transaction.token > $1::bigint and change.entity = 'quake') as changed "
        "left join public.quake on quake.code = changed.key", columns);
    enum { KEY, CODE, TOKEN, COMMITTED_AT, ROW };
    sqlite3_stmt *begin = prepare("begin"), *commit = prepare("commit");
    sqlite3_stmt *delete = prepare("delete from quake where code = ?");
    sqlite3_stmt *move = prepare("update position set token = ?, committed_at = ?");
    sqlite3_stmt *upsert = NULL;

    for (int is_behind = 1;; is_behind = 0) {
        // Checks for notifications before it waits: some may have arrived together with the last result, and poll() does not
        // report these.
        for (PGnotify *notification; (notification = PQnotifies(connection)); PQfreemem(notification))
            is_behind |= atol(notification->extra) > token;
        if (!is_behind) {
            struct pollfd socket = {.fd = PQsocket(connection), .events = POLLIN};
            poll(&socket, 1, -1);
            if (!PQconsumeInput(connection)) fail(PQerrorMessage(connection));
            continue;
        }

        char after[24];
        snprintf(after, sizeof after, "%ld", token);
        PGresult *rows = query(changes, after);
        if (!upsert) {
            char *marks = sqlite3_mprintf(""), *values = sqlite3_mprintf("");
            for (int column = ROW; column < PQnfields(rows); column++) {
                const char *name = PQfname(rows, column);
                marks = sqlite3_mprintf("%z%s?", marks, column == ROW ? "" : ", ");
                if (strcmp(name, "code"))
                    values = sqlite3_mprintf("%z%s%s = excluded.%s", values, *values ? ", " : "", name, name);
            }
            upsert = prepare(sqlite3_mprintf(
                "insert into quake values (%s) on conflict (code) do update set %s", marks, values));
        }
        if (PQntuples(rows) > 0) {
            run(begin, rows, 0, 0, 0);
            for (int row = 0; row < PQntuples(rows); row++) {
                if (PQgetisnull(rows, row, CODE))
                    run(delete, rows, row, KEY, 1);
                else
                    run(upsert, rows, row, ROW, PQnfields(rows) - ROW);
            }
            run(move, rows, 0, TOKEN, 2);
            run(commit, rows, 0, 0, 0);
            token = atol(PQgetvalue(rows, 0, TOKEN));
        }
        PQclear(rows);
    }
}
