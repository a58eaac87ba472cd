// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef REMOTE_SYSTEMS_GIO_SHIM_H
#define REMOTE_SYSTEMS_GIO_SHIM_H

// GLib installs this header in a directory beside its other headers. Only the latter is on the compiler's search path.
#include <../gio-unix-2.0/gio/gdesktopappinfo.h>
#include <gio/gio.h>
// Older versions install it beside the first header.
#if __has_include(<gio/gunixfdlist.h>)
#include <gio/gunixfdlist.h>
#else
#include <../gio-unix-2.0/gio/gunixfdlist.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Returns a descriptor that becomes readable when the process has ended. The C library's pidfd_open is newer than the
// oldest C library that we build with, and Swift cannot call syscall(), which is variadic.
static inline int remote_systems_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// In C, because Swift finds the struct that fstat fills in different modules, depending on the order of the build.
static inline int remote_systems_is_plain_file(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// Stores the disk space of a file in bytes, and whether it is a directory and not a link to one. Returns 0, or -1 with
// errno set.
static inline int remote_systems_measure(const char *path, int64_t *bytes, int *is_directory) {
    struct stat status;
    if (lstat(path, &status) != 0) { return -1; }
    *bytes = (int64_t)status.st_blocks * 512;
    *is_directory = S_ISDIR(status.st_mode);
    return 0;
}

// Stores the owner and the permissions of an open file. Returns 0, or -1 with errno set.
static inline int remote_systems_owner(int descriptor, uid_t *owner, mode_t *mode) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) { return -1; }
    *owner = status.st_uid;
    *mode = status.st_mode;
    return 0;
}

// Declared by the headers only with _GNU_SOURCE, which Swift's Glibc module does not set.
extern int dup3(int from, int to, int flags);
extern int pipe2(int ends[2], int flags);
extern void closefrom(int from);
extern pid_t vfork(void);

// The part of remote_systems_start that runs in the new process. It shares the memory of this process until it executes
// the program, so it only calls what is safe there. Writes the errno to `report` if it fails.
__attribute__((noinline, noreturn)) static inline void remote_systems_execute(
    char *const *paths, char *const *arguments, char *const *environment, const char *directory, const int *streams,
    const struct rlimit *files, int report
) {
    struct sigaction action;
    sigset_t none;
    int denied = 0;
    int null = -1;
    // It must not be one of the standard streams.
    report = fcntl(report, F_DUPFD_CLOEXEC, 3);
    // A handler of this process must not run in the new one.
    sigemptyset(&none);
    action.sa_handler = SIG_DFL;
    action.sa_mask = none;
    action.sa_flags = 0;
    // Fails for the two that cannot be handled, and for those of the C library.
    for (int number = 1; number < 65; number++) { (void)sigaction(number, &action, NULL); }
    if (report < 0 || setsid() < 0) { goto failed; }
    null = open("/dev/null", O_RDWR);
    if (null < 0) { goto failed; }
    for (int stream = 0; stream < 3; stream++) {
        int source = streams[stream] < 0 ? null : streams[stream];
        if ((source == stream ? fcntl(source, F_SETFD, 0) : dup2(source, stream)) < 0) { goto failed; }
    }
    if (report != 3 && dup3(report, 3, O_CLOEXEC) < 0) { goto failed; }
    report = 3;
    closefrom(4);
    if (directory && chdir(directory) != 0) { goto failed; }
    if (setrlimit(RLIMIT_NOFILE, files) != 0) { goto failed; }
    if (sigprocmask(SIG_SETMASK, &none, NULL) != 0) { goto failed; }
    for (; *paths; paths++) {
        execve(*paths, arguments, environment);
        // As execvp: a later directory of the search path may have the program.
        if (errno == EACCES) { denied = 1; }
        else if (errno != ENOENT && errno != ENOTDIR) { goto failed; }
    }
    errno = denied ? EACCES : ENOENT;
failed:
    denied = errno;
    (void)!write(report, &denied, sizeof denied);
    _exit(127);
}

// Starts a program in a new session, without open descriptors but the standard streams, without blocked or handled
// signals, and with these limits of open files. posix_spawn cannot set limits, and this process cannot set those of the
// program before it starts.
//
// paths: where the program may be, up to NULL. streams: what becomes 0, 1 and 2; -1 is /dev/null.
// Returns 0, or the errno.
__attribute__((noinline)) static inline int remote_systems_start(
    pid_t *process, char *const *paths, char *const *arguments, char *const *environment, const char *directory,
    const int *streams, rlim_t softFiles, rlim_t hardFiles
) {
    const struct rlimit files = {.rlim_cur = softFiles, .rlim_max = hardFiles};
    int ends[2];
    int error = 0;
    int saved = 0;
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC) != 0) { return errno; }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = vfork();
    if (child == 0) { remote_systems_execute(paths, arguments, environment, directory, streams, &files, ends[1]); }
    saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return saved;
    }
    ssize_t count;
    do { count = read(ends[0], &error, sizeof error); } while (count < 0 && errno == EINTR);
    close(ends[0]);
    if (count != (ssize_t)sizeof error) {
        *process = child;
        return 0;
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    return error;
}

#endif
