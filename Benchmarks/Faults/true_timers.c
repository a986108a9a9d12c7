/* Timers that libfaketime leaves alone: preloaded before it, in programs whose time of day jumps.
 *
 * libfaketime 0.9.10 takes the time of every absolute timer for a time of day, and moves it by as much as the clock is
 * ahead. A timer that counts from the start of the machine (CLOCK_BOOTTIME, CLOCK_MONOTONIC), as all of libdispatch's do,
 * then waits for hours or not at all. No real clock does that when it is set.
 */
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int timerfd_settime(int timer, int flags, const struct itimerspec *new_value, struct itimerspec *old_value) {
    return (int)syscall(SYS_timerfd_settime, timer, flags, new_value, old_value);
}
