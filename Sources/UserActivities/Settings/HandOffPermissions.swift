// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystems

/// The user's permissions for one application, as they are now.
struct HandOffPermissions: Sendable {
    private let account: RemoteSystemsAccount
    private let application: String
    private let logger: Logger
    private let options: UserActivityHost.Options

    init(_ configuration: RemoteSystemsConfiguration, _ options: UserActivityHost.Options) {
        self.account = RemoteSystemsAccount(configuration)
        self.application = configuration.applicationID
        self.logger = configuration.logger
        self.options = options
    }

    /// What the application itself and the user permit. Reads a small file.
    var now: HandOffSettings.Permission {
        var permission: HandOffSettings.Permission
        do throws(RemoteSystemError) {
            permission = try HandOffSettings.read(self.account).permission(of: self.application)
        } catch {
            self.logger.error("Hand-off is off", metadata: ["reason": "\(error.message)"])
            permission = HandOffSettings.Permission(sending: false, receiving: false)
        }
        permission.sending = permission.sending && self.options.allowsSending
        permission.receiving = permission.receiving && self.options.allowsReceiving
        return permission
    }
}
