// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

/// The host daemon. Tests that start processes are serialized.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HostDaemonTests {}
