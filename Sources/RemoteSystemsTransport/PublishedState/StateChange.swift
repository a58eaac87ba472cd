// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// What changed in a subscribed topic since the last change was taken. Applied as a whole, it leads from one version of
/// the publisher's state to another.
package struct StateChange: Sendable, Hashable {
    /// New records, and those that changed.
    package var put: [StateKey: ValueSet]
    /// Keys that are gone.
    package var drop: Set<StateKey>
    /// The version that the state has now.
    package var version: UInt64
    /// Whether a snapshot is part of the change. `put` and `drop` hold the difference all the same.
    package var isSnapshot: Bool
}
