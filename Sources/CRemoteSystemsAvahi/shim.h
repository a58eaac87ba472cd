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

#endif
