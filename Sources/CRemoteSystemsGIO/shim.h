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
#include <spawn.h>
#include <sys/resource.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

// GNU's additions to posix_spawn. The header declares them only with _GNU_SOURCE, which Swift's Glibc module does not
// set.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
enum { REMOTE_SYSTEMS_SPAWN_SETSID = 0x80 };
extern int prlimit(pid_t process, int resource, const struct rlimit *limit, struct rlimit *former);

#endif
