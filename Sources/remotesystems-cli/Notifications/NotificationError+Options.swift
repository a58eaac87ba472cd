// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import UserNotifications

extension NotificationError {
    /// The error with the option that the user has given in place of the field that it became.
    func naming(_ options: [String: String]) -> NotificationError {
        var error = self
        if let field {
            error.field = options[field] ?? field
        } else if let (field, option) = options.first(where: { self.message.hasPrefix("\($0.key): ") }) {
            // The text of the host daemon has it.
            error.field = option
            error.message = String(self.message.dropFirst(field.count + 2))
        }
        return error
    }
}
