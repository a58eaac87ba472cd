// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// How soon a system that has ended is removed.
enum Removal {
    /// The limit in seconds, from before its process is asked to end, which shows that the end of the connection caused
    /// the removal. By silence alone it would take 12 s. It takes 0.01 s on an idle machine, and has taken 1.5 s on a
    /// busy one.
    static let byConnection = 5.0
}
