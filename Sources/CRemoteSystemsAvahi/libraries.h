// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// libavahi-client and libavahi-core both define a symbol avahi_entry_group_free, with different arguments. In a process
// that is linked with both, the dynamic linker resolves both libraries' calls to one of the two definitions, and the
// other library crashes when it frees a group. So neither is linked: each is loaded with local symbols, and its
// functions are called through one of these tables. As a further benefit, a machine needs only the library that it
// uses.

#ifndef REMOTE_SYSTEMS_AVAHI_LIBRARIES_H
#define REMOTE_SYSTEMS_AVAHI_LIBRARIES_H

#include "shim.h"

#define REMOTE_SYSTEMS_AVAHI_FUNCTION(name) __typeof__(&avahi_##name) _Nonnull name

struct RemoteSystemsAvahiClient {
    REMOTE_SYSTEMS_AVAHI_FUNCTION(client_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(client_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(client_errno);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(client_get_version_string);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(service_browser_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(service_browser_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(service_resolver_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(service_resolver_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(entry_group_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(entry_group_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(entry_group_add_record);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(entry_group_add_address);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(entry_group_commit);
};

struct RemoteSystemsAvahiCore {
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_config_init);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_config_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_errno);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_set_host_name);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_add);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(server_add_address);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(record_new_full);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(record_unref);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(rdata_parse);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_service_browser_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_service_browser_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_service_resolver_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_service_resolver_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_entry_group_new);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_entry_group_free);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(s_entry_group_commit);
    REMOTE_SYSTEMS_AVAHI_FUNCTION(set_log_function);
};

#undef REMOTE_SYSTEMS_AVAHI_FUNCTION

#endif
