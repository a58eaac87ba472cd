// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

/// The host daemon. One after the other where it starts processes.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HostDaemonTests {}
