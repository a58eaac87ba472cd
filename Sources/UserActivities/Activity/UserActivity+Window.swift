// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension UserActivity {
    /// Chooses the window in which the application continues the activity: the one that shows its
    /// ``targetContentIdentifier`` already.
    ///
    /// - Parameters:
    ///   - windows: the application's open windows, the front one first.
    ///   - identifiers: returns the identifiers of what a window shows.
    /// - Returns: the first window that shows the target; `nil` if none does, or the activity states no target. The
    ///   application then opens a new window, or takes the front one.
    public func window<Window>(
        among windows: [Window],
        showing identifiers: (Window) throws -> Set<String>
    ) rethrows -> Window? {
        guard let target = self.targetContentIdentifier else { return nil }
        return try windows.first { try identifiers($0).contains(target) }
    }
}
