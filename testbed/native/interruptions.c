/* Interrupts the system calls of threads by their names: LD_PRELOAD this library. While the file that
 * REDIAL_TEST_INTERRUPT names exists, one thread sends a signal, whose handler is installed without SA_RESTART, to
 * each thread whose name begins with REDIAL_TEST_INTERRUPT_NAME, almost without a pause. The file
 * REDIAL_TEST_INTERRUPT.count gets the numbers of handled and of sent signals, two native 64-bit integers. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *path, *name;
static uint64_t *counts;

static void handle(int number) {
    (void)number;
    __atomic_fetch_add(&counts[0], 1, __ATOMIC_RELAXED);
}

static int is_named(const char *thread) {
    char file[64], text[32] = "";
    snprintf(file, sizeof file, "/proc/self/task/%.16s/comm", thread);
    int comm = open(file, O_RDONLY | O_CLOEXEC);
    if (comm < 0)
        return 0;
    ssize_t length = read(comm, text, sizeof text - 1);
    close(comm);
    return length > 0 && strncmp(text, name, strlen(name)) == 0;
}

static void *interrupt(void *unused) {
    int number = SIGRTMAX - 3;
    (void)unused;
    for (;;) {
        if (access(path, F_OK) != 0) {
            usleep(2000);
            continue;
        }
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *task;
        while (tasks && (task = readdir(tasks)) != NULL) {
            if (task->d_name[0] == '.' || !is_named(task->d_name))
                continue;
            for (int i = 0; i < 20; i++) {
                if (syscall(SYS_tgkill, getpid(), atoi(task->d_name), number) == 0)
                    __atomic_fetch_add(&counts[1], 1, __ATOMIC_RELAXED);
                usleep(50);
            }
        }
        if (tasks)
            closedir(tasks);
    }
    return NULL;
}

__attribute__((constructor)) static void begin(void) {
    char count[4096];
    pthread_t thread;
    path = getenv("REDIAL_TEST_INTERRUPT");
    name = getenv("REDIAL_TEST_INTERRUPT_NAME");
    if (!path || !name)
        return;
    snprintf(count, sizeof count, "%s.count", path);
    int file = open(count, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    counts = mmap(NULL, 2 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (counts == MAP_FAILED)
        return;
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGRTMAX - 3, &action, NULL);
    pthread_create(&thread, NULL, interrupt, NULL);
}
