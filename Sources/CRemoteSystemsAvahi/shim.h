// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef REMOTE_SYSTEMS_AVAHI_SHIM_H
#define REMOTE_SYSTEMS_AVAHI_SHIM_H

#include <avahi-client/client.h>
#include <avahi-client/lookup.h>
#include <avahi-client/publish.h>
#include <avahi-common/address.h>
#include <avahi-common/domain.h>
#include <avahi-common/error.h>
#include <avahi-common/malloc.h>
#include <avahi-common/strlst.h>
#include <avahi-common/timeval.h>
#include <avahi-common/watch.h>
#include <avahi-core/core.h>
#include <avahi-core/log.h>
#include <avahi-core/lookup.h>
#include <avahi-core/publish.h>
// The C library's parser for DNS messages.
#include <arpa/nameser.h>
// Netlink, the kernel's messages about changes of interfaces and addresses, which Swift's Glibc module lacks.
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
// Readiness of descriptors. Swift's Glibc module lacks it, too.
#include <stdint.h>
#include <sys/epoll.h>

// In C, because Swift would need unsafe code for the union in the kernel's struct. Each function returns -1 with errno
// set if it fails.
static inline int remote_systems_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int remote_systems_epoll_control(int epoll, int operation, int descriptor, uint64_t id, uint32_t events) {
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data = {.u64 = id}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

// Waits for one event of a descriptor, which is reported with the id.
static inline int remote_systems_epoll_add(int epoll, int descriptor, uint64_t id, uint32_t events) {
    return remote_systems_epoll_control(epoll, EPOLL_CTL_ADD, descriptor, id, events);
}

// The same for a descriptor that was added, also after its event.
static inline int remote_systems_epoll_modify(int epoll, int descriptor, uint64_t id, uint32_t events) {
    return remote_systems_epoll_control(epoll, EPOLL_CTL_MOD, descriptor, id, events);
}

static inline int remote_systems_epoll_remove(int epoll, int descriptor) {
    return remote_systems_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0);
}

// Blocks until there is an event. Returns 1, and stores its id.
static inline int remote_systems_epoll_wait(int epoll, uint64_t *id) {
    struct epoll_event event;
    int count = epoll_wait(epoll, &event, 1, -1);
    if (count == 1) { *id = event.data.u64; }
    return count;
}

#endif
