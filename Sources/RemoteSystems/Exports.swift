// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// One import serves: what appears in this module's own API comes with it.
@_exported public import RemoteSystemsDiscovery
@_exported public import RemoteSystemsIdentity
@_exported public import ValueSets
