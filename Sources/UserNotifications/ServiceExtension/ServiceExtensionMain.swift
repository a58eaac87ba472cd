// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The process of a service extension.
enum ServiceExtensionMain {
    static func run(_ instance: some NotificationServiceExtension) async -> Never {
        let process = StandardLines.take(
            "This program changes notifications. The host daemon of a system starts it, which finds it in an "
                + "application's manifest (notificationServiceExtension)."
        )
        do {
            let response = try await Self.response(of: instance, to: process.lines) { process.write($0) }
            guard process.write(response) else {
                StandardLines.end(1, "The host daemon does not read the response.")
            }
            exit(0)
        } catch {
            StandardLines.end(1, "\(error)")
        }
    }

    /// The response to the request in the first line.
    ///
    /// - Parameters:
    ///   - lines: ends when the host daemon is gone.
    ///   - write: writes what comes before the response.
    static func response(
        of instance: some NotificationServiceExtension,
        to lines: AsyncStream<String>,
        write: @escaping @Sendable (String) -> Void
    ) async throws -> String {
        let context = NotificationServiceContext(scheduler: ExtensionScheduler(write: write))
        let lines = context.scheduler.requests(in: lines)
        var first: String?
        for await line in lines {
            first = line
            break
        }
        guard let first else {
            throw NotificationError(.invalidContent, "The host daemon has sent no notification.")
        }
        let request = try ServiceExtensionMessage.readRequest(first)
        let (results, result) = AsyncStream.makeStream(of: Result<NotificationContent, any Error>.self)
        let work = Task {
            do {
                result.yield(.success(try await instance.didReceive(request, context)))
            } catch {
                result.yield(.failure(error))
            }
        }
        let ending = Task {
            for await line in lines where ServiceExtensionMessage.isTimeWillExpire(line) {
                guard let content = await instance.serviceExtensionTimeWillExpire() else { continue }
                result.yield(.success(content))
            }
            result.finish()
        }
        defer {
            work.cancel()
            ending.cancel()
        }
        for await result in results { return try ServiceExtensionMessage.response(try result.get()) }
        throw NotificationError(.notShown, "The host daemon has ended.")
    }
}
