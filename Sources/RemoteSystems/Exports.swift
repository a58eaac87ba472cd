// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Re-exports the modules whose types appear in this module's public API, so that users need one import.
@_exported public import RemoteSystemsDiscovery
@_exported public import RemoteSystemsIdentity
@_exported public import ValueSets
