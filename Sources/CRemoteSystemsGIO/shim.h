// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef REMOTE_SYSTEMS_GIO_SHIM_H
#define REMOTE_SYSTEMS_GIO_SHIM_H

// GLib installs it beside the directory of its other headers, which is the one that the compiler is told.
#include <../gio-unix-2.0/gio/gdesktopappinfo.h>
#include <gio/gio.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// A descriptor that can be read once the process has ended. The C library's own pidfd_open is younger than the oldest one that we
// build with, and Swift cannot call syscall(), which is variadic.
static inline int remote_systems_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

// The struct that fstat fills is found by Swift in one module or another, as the order of a build has it.
static inline int remote_systems_is_plain_file(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// GNU's additions to posix_spawn, which its header shows to few: Swift's Glibc module is not among them.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
enum { REMOTE_SYSTEMS_SPAWN_SETSID = 0x80 };

#endif
