// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

#include "CBusPeer.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>
#include <time.h>

static const char *const service_name = "org.remotesystems.Benchmark";
static const char *const object_path = "/org/remotesystems/Benchmark";
static const char *const interface_name = "org.remotesystems.Benchmark";

/// The timeout of a call.
static const uint64_t call_timeout_microseconds = 10 * 1000000;

struct bus_peer {
    sd_bus *bus;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// MARK: - Both sides

static int peer_open(const char *address, struct bus_peer **result) {
    struct bus_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) return -ENOMEM;
    int status = sd_bus_new(&peer->bus);
    if (status >= 0) status = sd_bus_set_address(peer->bus, address);
    if (status >= 0) status = sd_bus_set_bus_client(peer->bus, 1);
    if (status >= 0) status = sd_bus_start(peer->bus);
    if (status < 0) {
        bus_peer_close(peer);
        return status;
    }
    *result = peer;
    return 0;
}

void bus_peer_close(struct bus_peer *peer) {
    if (peer == NULL) return;
    sd_bus_flush_close_unref(peer->bus);
    free(peer);
}

// MARK: - The service

static int answer_echo(sd_bus_message *call, void *context, sd_bus_error *error) {
    (void)context, (void)error;
    const void *bytes;
    size_t size;
    sd_bus_message *reply = NULL;
    int status = sd_bus_message_read_array(call, 'y', &bytes, &size);
    if (status >= 0) status = sd_bus_message_new_method_return(call, &reply);
    if (status >= 0) status = sd_bus_message_append_array(reply, 'y', bytes, size);
    if (status >= 0) status = sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return status;
}

static int answer_acknowledge(sd_bus_message *call, void *context, sd_bus_error *error) {
    (void)context, (void)error;
    const void *bytes;
    size_t size;
    int status = sd_bus_message_read_array(call, 'y', &bytes, &size);
    return status < 0 ? status : sd_bus_reply_method_return(call, "");
}

static const sd_bus_vtable methods[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Echo", "ay", "ay", answer_echo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Acknowledge", "ay", "", answer_acknowledge, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

int bus_service_open(const char *address, struct bus_peer **result) {
    struct bus_peer *service;
    int status = peer_open(address, &service);
    if (status < 0) return status;
    status = sd_bus_add_object_vtable(service->bus, NULL, object_path, interface_name, methods, NULL);
    if (status >= 0) status = sd_bus_request_name(service->bus, service_name, 0);
    if (status < 0) {
        bus_peer_close(service);
        return status;
    }
    *result = service;
    return 0;
}

int bus_service_run(struct bus_peer *service) {
    for (;;) {
        int status = sd_bus_process(service->bus, NULL);
        if (status == 0) status = sd_bus_wait(service->bus, UINT64_MAX);
        if (status < 0 && status != -EINTR) return status;
    }
}

// MARK: - The caller

int bus_caller_open(const char *address, struct bus_peer **caller) {
    return peer_open(address, caller);
}

struct slot;

struct course {
    sd_bus *bus;
    struct bus_exchange exchange;
    const void *payload;
    int64_t *latencies;
    int64_t deadline;
    size_t sent, answered;
    int failure;
};

struct slot {
    struct course *course;
    int64_t start;
};

static int new_call(struct course *course, sd_bus_message **call) {
    const char *member = course->exchange.echo ? "Echo" : "Acknowledge";
    int status =
        sd_bus_message_new_method_call(course->bus, call, service_name, object_path, interface_name, member);
    if (status >= 0) status = sd_bus_message_append_array(*call, 'y', course->payload, course->exchange.bytes);
    return status;
}

static int check_answer(const struct course *course, sd_bus_message *answer) {
    const sd_bus_error *error = sd_bus_message_get_error(answer);
    if (error != NULL) {
        int number = sd_bus_error_get_errno(error);
        return number > 0 ? -number : -EIO;
    }
    if (!course->exchange.echo) return 0;
    const void *bytes;
    size_t size;
    int status = sd_bus_message_read_array(answer, 'y', &bytes, &size);
    if (status < 0) return status;
    return size == course->exchange.bytes ? 0 : -EBADMSG;
}

// Makes one call after the other. The blocking call is the fastest that sd-bus has.
static void call_in_turn(struct course *course) {
    while (course->answered < course->exchange.count && now() < course->deadline) {
        sd_bus_message *call = NULL, *answer = NULL;
        int64_t start = now();
        int status = new_call(course, &call);
        if (status >= 0) status = sd_bus_call(course->bus, call, call_timeout_microseconds, NULL, &answer);
        if (status >= 0) status = check_answer(course, answer);
        sd_bus_message_unref(call);
        sd_bus_message_unref(answer);
        if (status < 0) {
            course->failure = status;
            return;
        }
        course->latencies[course->answered++] = now() - start;
    }
}

static int answered(sd_bus_message *answer, void *context, sd_bus_error *error);

static int send_next(struct slot *slot) {
    struct course *course = slot->course;
    sd_bus_message *call = NULL;
    slot->start = now();
    int status = new_call(course, &call);
    if (status >= 0) status = sd_bus_call_async(course->bus, NULL, call, answered, slot, call_timeout_microseconds);
    sd_bus_message_unref(call);
    if (status >= 0) course->sent++;
    return status;
}

static int answered(sd_bus_message *answer, void *context, sd_bus_error *error) {
    (void)error;
    struct slot *slot = context;
    struct course *course = slot->course;
    int status = check_answer(course, answer);
    int64_t end = now();
    course->latencies[course->answered++] = end - slot->start;
    if (status >= 0 && course->sent < course->exchange.count && end < course->deadline) status = send_next(slot);
    if (status < 0 && course->failure == 0) course->failure = status;
    return 0;
}

static void call_together(struct course *course, struct slot *slots) {
    for (size_t i = 0; i < course->exchange.in_flight && i < course->exchange.count; i++) {
        slots[i].course = course;
        int status = send_next(&slots[i]);
        if (status < 0) {
            course->failure = status;
            return;
        }
    }
    // Terminates because every call gets a response or times out.
    while (course->answered < course->sent && course->failure == 0) {
        int status = sd_bus_process(course->bus, NULL);
        if (status == 0) status = sd_bus_wait(course->bus, UINT64_MAX);
        if (status < 0 && status != -EINTR) course->failure = status;
    }
}

int64_t bus_caller_exchange(
    struct bus_peer *caller, struct bus_exchange exchange, int64_t *latencies, int64_t *elapsed
) {
    void *payload = calloc(1, exchange.bytes);
    struct slot *slots = calloc(exchange.in_flight, sizeof *slots);
    int64_t start = now();
    struct course course = {
        .bus = caller->bus,
        .exchange = exchange,
        .payload = payload,
        .latencies = latencies,
        .deadline = start + exchange.nanoseconds,
    };
    if (payload == NULL || slots == NULL) {
        course.failure = -ENOMEM;
    } else if (exchange.in_flight == 1) {
        call_in_turn(&course);
    } else {
        call_together(&course, slots);
    }
    *elapsed = now() - start;
    free(payload);
    // After a failure, responses to outstanding calls could still use the slots. They are not freed: the caller closes.
    if (course.failure == 0) free(slots);
    return course.failure < 0 ? course.failure : (int64_t)course.answered;
}
