/* Hides timers from libfaketime in programs whose time of day jumps. This library is preloaded before libfaketime.
 *
 * libfaketime 0.9.10 treats the time of every absolute timer as a time of day, and shifts it by as much as the clock is ahead. A
 * timer that counts from the start of the machine (CLOCK_BOOTTIME, CLOCK_MONOTONIC), like all of libdispatch's timers, then waits
 * for hours or not at all. Setting a real clock does not have this effect.
 */
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int timerfd_settime(int timer, int flags, const struct itimerspec *new_value, struct itimerspec *old_value) {
    return (int)syscall(SYS_timerfd_settime, timer, flags, new_value, old_value);
}
