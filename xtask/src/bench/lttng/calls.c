// Calls with three arguments in bursts, without and with events of LTTng-UST. Commands and answers are those of the program
// `loops`: burst KIND THREADS BURSTS -> burst KIND THREADS BEST MEDIAN, in nanoseconds of processor time per call.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 500, WARM_BURSTS = 20, PAUSE_MICROSECONDS = 25000, MOST_THREADS = 8 };

__attribute__((noinline)) static int numbers(int a, long b, double c)
{
    __asm__ volatile("" : : "m"(c));
    return a ^ (int)b;
}

__attribute__((noinline)) static int written(int a, long b, double c)
{
    lttng_ust_tracepoint(redial_bench, entered, a, b, c);
    int result = a ^ (int)b;
    lttng_ust_tracepoint(redial_bench, left, result);
    return result;
}

static volatile long sink;

static void call_burst(int is_written)
{
    long sum = 0;
    for (int i = 0; i < BURST; i++)
        sum += is_written ? written(i, i, 0.5) : numbers(i, i, 0.5);
    sink += sum;
}

static double thread_nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

struct work {
    int is_written;
    int bursts;
    double *samples;
};

static void *run(void *argument)
{
    struct work *work = argument;
    for (int i = 0; i < WARM_BURSTS; i++) {
        call_burst(work->is_written);
        usleep(PAUSE_MICROSECONDS);
    }
    for (int i = 0; i < work->bursts; i++) {
        double start = thread_nanoseconds();
        call_burst(work->is_written);
        work->samples[i] = (thread_nanoseconds() - start) / BURST;
        usleep(PAUSE_MICROSECONDS);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(void)
{
    char line[200], kind[50];
    int threads, bursts;
    printf("ready %d\n", getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "burst %49s %d %d", kind, &threads, &bursts) != 3 || threads < 1 || threads > MOST_THREADS
            || bursts < 1)
            return 1;
        int many = threads * bursts;
        double *samples = malloc(many * sizeof *samples);
        pthread_t running[MOST_THREADS];
        struct work work[MOST_THREADS];
        for (int i = 0; i < threads; i++) {
            work[i] = (struct work){strcmp(kind, "Written") == 0, bursts, samples + i * bursts};
            pthread_create(&running[i], NULL, run, &work[i]);
        }
        for (int i = 0; i < threads; i++)
            pthread_join(running[i], NULL);
        qsort(samples, many, sizeof *samples, compare);
        printf("burst %s %d %.4f %.4f\n", kind, threads, samples[0], samples[many / 2]);
        fflush(stdout);
        free(samples);
    }
    return 0;
}
