// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// What an extension and the host daemon send each other to schedule notifications: lines of JSON, in the form that
/// keeps the types. Each request has a response, in the order of the requests.
enum ExtensionSchedule {
    /// The line with which an extension schedules a notification of its application.
    static func request(_ notification: RemoteNotification) throws(NotificationError) -> String {
        var set = notification.localValueSet
        set.putFiles(of: notification.request.content)
        return try ValueSet.line(["Schedule": .dictionary(set)])
    }

    /// - Returns: the notification; `nil` for another line.
    static func request(in line: String) -> ValueSet? { (try? ValueSet(json: line))?["Schedule"]?.dictionary }

    /// The line with which the host daemon responds.
    ///
    /// - Parameter result: the date of the delivery.
    static func response(
        to identifier: String,
        _ result: Result<Date, NotificationError>
    ) throws(NotificationError) -> String {
        var set: ValueSet
        switch result {
        case .success(let date): set = .dated(date)
        case .failure(let error): set = ["Error": .string(error.code.description), "Message": .string("\(error)")]
        }
        set["Id"] = .string(identifier)
        return try ValueSet.line(["Scheduled": .dictionary(set)])
    }

    /// - Returns: the date of the delivery, which one that waits for a region does not have; `nil` for another line.
    static func response(in line: String) -> Result<Date?, NotificationError>? {
        guard let set = (try? ValueSet(json: line))?["Scheduled"]?.dictionary else { return nil }
        guard let name = set["Error"]?.string else { return .success(set["Date"]?.date) }
        let code = NotificationError.Code.all.first { $0.description == name } ?? .requestUnknown
        return .failure(NotificationError(code, set["Message"]?.string ?? name))
    }
}
