// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#ifndef C_BUS_PEER_H
#define C_BUS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// One connection to a bus, of the service or of a caller. Used by one thread at a time.
struct bus_peer;

/// Connects to the bus at `address` and offers the service there. Returns 0 or a negative errno.
int bus_service_open(const char *address, struct bus_peer **service);

/// Responds to calls until the connection to the bus ends. Returns a negative errno.
int bus_service_run(struct bus_peer *service);

/// Connects to the bus at `address`. Returns 0 or a negative errno.
int bus_caller_open(const char *address, struct bus_peer **caller);

/// The parameters of ``bus_caller_exchange``.
struct bus_exchange {
    size_t bytes;
    size_t in_flight;
    /// Whether the response contains the bytes. Otherwise it is empty.
    bool echo;
    size_t count;
    int64_t nanoseconds;
};

/// Calls the service and writes the time of each call to `latencies`, which must have space for `exchange.count`.
/// Returns the number of calls that got a response, or a negative errno. `elapsed` is the time of all calls.
int64_t bus_caller_exchange(
    struct bus_peer *caller, struct bus_exchange exchange, int64_t *latencies, int64_t *elapsed
);

void bus_peer_close(struct bus_peer *peer);

#endif
