// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "CBenchSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs between fork and exec, so it calls only async-signal-safe functions.
static void become(
    char *const arguments[], char *const environment[], int shared, bool silent, int input, int output, pid_t parent
) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before the line above took effect.
    if (getppid() != parent) _exit(127);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0) _exit(127);
    if (silent) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (nowhere < 0 || dup2(nowhere, STDERR_FILENO) < 0) _exit(127);
    }
    // Descriptor 3 is either the shared memory, made inheritable by dup2, or closed by exec like all the others.
    if (shared == BENCH_SHARED_DESCRIPTOR) {
        fcntl(shared, F_SETFD, 0);
    } else if (shared >= 0 && dup2(shared, BENCH_SHARED_DESCRIPTOR) < 0) {
        _exit(127);
    }
    execve(arguments[0], arguments, environment);
    _exit(127);
}

int bench_spawn(
    char *const arguments[], char *const environment[], int shared, bool silent, struct bench_child *child
) {
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0) return errno;
    if (pipe2(output, O_CLOEXEC) != 0) {
        int failure = errno;
        close(input[0]);
        close(input[1]);
        return failure;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    int failure = pid < 0 ? errno : 0;
    if (pid == 0) become(arguments, environment, shared, silent, input[0], output[1], parent);
    close(input[0]);
    close(output[1]);
    if (failure != 0) {
        close(input[1]);
        close(output[0]);
        return failure;
    }
    *child = (struct bench_child){.pid = pid, .input = input[1], .output = output[0]};
    return 0;
}

int bench_shared_memory(long bytes) {
    int descriptor = memfd_create("remote-systems-bench", MFD_CLOEXEC);
    if (descriptor >= 0 && ftruncate(descriptor, bytes) != 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

bool bench_has_ended(int pid) {
    return waitpid(pid, NULL, WNOHANG) != 0;
}

static void *spin(void *unused) {
    (void)unused;
    const struct sched_param parameters = {0};
    // Without this policy, the thread would compete with the measured processes.
    if (sched_setscheduler(0, SCHED_IDLE, &parameters) != 0) return NULL;
    for (;;) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}

int bench_keep_awake(int core) {
    pthread_attr_t attributes;
    pthread_t thread;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    pthread_attr_init(&attributes);
    int failure = pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    if (failure == 0) failure = pthread_create(&thread, &attributes, spin, NULL);
    pthread_attr_destroy(&attributes);
    return failure;
}

// The child that is limited, and the thread that limits it.
static struct {
    bool begun;
    atomic_bool ends;
    pthread_t thread;
    int pid;
    int64_t begin;
    int64_t used;
} limited;

static void pause_for(int64_t nanoseconds) {
    if (nanoseconds <= 0) return;
    const struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    nanosleep(&time, NULL);
}

static void *limit(void *unused) {
    (void)unused;
    const struct sched_param parameters = {.sched_priority = 1};
    // Only root may do this. Without it, busy cores delay this thread, and the child runs for some milliseconds.
    sched_setscheduler(0, SCHED_FIFO, &parameters);
    int64_t seen = limited.used, due = limited.begin;
    while (!atomic_load(&limited.ends)) {
        int64_t begin = bench_monotonic_nanoseconds();
        pause_for(1000000);
        kill(limited.pid, SIGSTOP);
        // The kernel adds the time of a running thread of another process when it stops. All stop within this time; if
        // one is late, its time counts in the next round.
        pause_for(100000);
        int64_t used = bench_processor_nanoseconds(limited.pid);
        if (used < 0) break;
        if (due < begin) due = begin;
        due += 4 * (used - seen);
        seen = used;
        pause_for(due - bench_monotonic_nanoseconds());
        kill(limited.pid, SIGCONT);
    }
    return NULL;
}

int bench_begin_limit(int pid) {
    if (limited.begun) return EBUSY;
    int64_t used = bench_processor_nanoseconds(pid);
    if (used < 0) return ESRCH;
    limited.pid = pid;
    limited.begin = bench_monotonic_nanoseconds();
    limited.used = used;
    atomic_store(&limited.ends, false);
    int failure = pthread_create(&limited.thread, NULL, limit, NULL);
    limited.begun = failure == 0;
    return failure;
}

double bench_end_limit(void) {
    if (!limited.begun) return 0;
    atomic_store(&limited.ends, true);
    pthread_join(limited.thread, NULL);
    limited.begun = false;
    int64_t used = bench_processor_nanoseconds(limited.pid) - limited.used;
    int64_t elapsed = bench_monotonic_nanoseconds() - limited.begin;
    return used > 0 && elapsed > 0 ? (double)used / (double)elapsed : 0;
}
