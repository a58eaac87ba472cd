// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystems

extension InstalledApplication {
    /// Whether a text can be an activity type.
    package static func isActivityType(_ type: String) -> Bool { ActivityTypeName.isValid(type) }

    /// The maximum number of activity types of one application.
    package static var maxActivityTypes: Int { HandledTypes.max }

    /// Lets the application be listed as one that continues activities of some types, and be started for that.
    ///
    /// - Parameters:
    ///   - types: valid activity types, at most ``maxActivityTypes``.
    ///   - showsWebpages: whether the application is also started to show web pages.
    package mutating func `continue`(activityTypes types: Set<String>, showsWebpages: Bool = false) {
        if !types.isEmpty {
            self.topics[ActivityDescriptor.topic] = [HandledTypes.key: HandledTypes.record(types)]
        }
        guard !types.isEmpty || showsWebpages else { return }
        // Called by programs of this system only, so other systems cannot start the application by it.
        self.services.append(Service(ActivityDescriptor.topic))
    }
}
