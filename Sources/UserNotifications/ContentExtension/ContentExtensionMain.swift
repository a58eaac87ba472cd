// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The process of a content extension.
enum ContentExtensionMain {
    static func run(_ instance: some NotificationContentExtension) async -> Never {
        let process = StandardLines.take(
            "This program shows notifications. The host daemon of a system starts it, which finds it in an "
                + "application's manifest (notificationContentExtensions)."
        )
        do {
            try await Self.serve(instance, process.lines) {
                process.write($0)
            } log: {
                StandardLines.log($0)
            }
            exit(0)
        } catch {
            StandardLines.end(1, "\(error)")
        }
    }

    /// Serves one view.
    ///
    /// - Parameters:
    ///   - lines: what the host daemon sends; ends when the view is closed.
    ///   - write: writes a line.
    ///   - log: reports an error that does not close the view.
    static func serve(
        _ instance: some NotificationContentExtension,
        _ lines: AsyncStream<String>,
        write: @escaping @Sendable (String) -> Void,
        log: @Sendable (String) -> Void
    ) async throws {
        let scheduler = ExtensionScheduler(write: write)
        let context = NotificationCardContext(scheduler: scheduler) { reply in
            // Everything was validated before.
            if let line = try? reply.line { write(line) }
        }
        // Read while the extension works, which may wait for a response.
        let lines = scheduler.requests(in: lines)
        try await instance.prepare()
        for await line in lines {
            switch try ContentExtensionRequest(line) {
            case .notification(let notification):
                try context.update(try await instance.didReceive(notification, context))
            case .response(let response):
                do {
                    context.send(.option(try await instance.didReceive(response, context)))
                } catch {
                    log("The action \(response.actionIdentifier) is forwarded to the application: \(error)")
                    context.send(.option(.dismissAndForwardAction))
                }
            case .change(let change):
                do {
                    try await instance.didChange(change, context)
                } catch {
                    log("The change of \(change.identifier) has no effect: \(error)")
                }
            }
        }
    }
}
