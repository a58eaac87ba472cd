// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// A change of a subscribed topic since the previous one that the subscriber received. Applied as a whole, it leads
/// from one version of the publisher's state to another.
package struct StateChange: Sendable, Hashable {
    /// The new and changed records.
    package var put: [StateKey: ValueSet]
    /// The dropped keys.
    package var drop: Set<StateKey>
    /// The version of the state after the change.
    package var version: UInt64
    /// Whether the change includes a snapshot. `put` and `drop` contain the difference in this case, too.
    package var isSnapshot: Bool
}
