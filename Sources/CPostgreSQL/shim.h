#include <libpq-fe.h>
// What wakes a thread that waits for libpq's socket.
#include <sys/eventfd.h>
