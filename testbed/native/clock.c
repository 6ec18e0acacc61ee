/* Moves the wall clock of one process, as seen through libc: LD_PRELOAD this library. The file that REDIAL_TEST_CLOCK
 * names holds the offset in seconds, a native 64-bit integer, which a test may change at any time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shared;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("REDIAL_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *page = mmap(NULL, sizeof *shared, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED)
        shared = page;
}

static int64_t offset(void) { return shared ? *shared : 0; }

int clock_gettime(clockid_t clock, struct timespec *time) {
    int answer = syscall(SYS_clock_gettime, clock, time);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += offset();
    return answer;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int answer = syscall(SYS_gettimeofday, time, zone);
    if (answer == 0)
        time->tv_sec += offset();
    return answer;
}

time_t time(time_t *stored) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (stored)
        *stored = now.tv_sec;
    return now.tv_sec;
}
