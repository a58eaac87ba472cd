// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import UserActivities
internal import UserNotifications

/// An interface that the host daemon has on the session bus. The bus has the same name, and one object at its path.
struct BusInterface: Sendable {
    let name: String
    /// The maximum length of a call's arguments, in bytes of their `GVariant`. What a program may state fits into it.
    let maxCallBytes: Int
    /// The methods, signals and properties, in D-Bus introspection form.
    let members: String

    var path: String { "/" + self.name.replacing(".", with: "/") }

    /// The node, in D-Bus introspection form.
    var introspection: String { "<node><interface name=\"\(self.name)\">\(self.members)</interface></node>" }

    /// Checks the length of a call's arguments before any of them is read: the bus passes on calls of many MiB.
    func checkSize(_ bytes: Int) throws(BusCallError) {
        guard bytes <= self.maxCallBytes else {
            throw BusCallError(
                code: "payloadTooLarge",
                message: "The arguments of the call have \(bytes) bytes; the maximum is \(self.maxCallBytes)."
            )
        }
    }

    /// The D-Bus name of an error.
    func errorName(_ code: String) -> String {
        "\(self.name).Error.\(code.prefix(1).uppercased())\(code.dropFirst())"
    }
}

/// A call failed. The name ends with the code of the error.
struct BusCallError: Error, Equatable {
    var code: String
    var message: String

    static let notRegistered = BusCallError(code: "notRegistered", message: "Call Register first.")
    static let alreadyRegistered = BusCallError(code: "misuse", message: "This program is registered already.")

    static func taken(_ application: String) -> BusCallError {
        BusCallError(code: "misuse", message: "Another program is registered as \(application).")
    }

    static func unknownMethod(_ method: String) -> BusCallError {
        BusCallError(code: "unknownMethod", message: "There is no method \(method).")
    }

    static func invalid(_ message: String) -> BusCallError {
        BusCallError(code: "invalidArgument", message: message)
    }
}

extension BusCallError {
    /// The error that a program gets for the error of its call.
    init(of error: any Error) {
        switch error {
        case let error as BusCallError: self = error
        case let error as ContinuationError: self.init(code: "\(error.code)", message: error.message)
        case let error as NotificationError: self.init(error)
        case let error as RemoteSystemError: self.init(code: "\(error.code)", message: error.message)
        default: self.init(code: "failed", message: "The call was cancelled.")
        }
    }
}
