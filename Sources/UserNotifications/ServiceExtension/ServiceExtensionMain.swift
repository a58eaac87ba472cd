// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc

/// The process of a service extension.
enum ServiceExtensionMain {
    /// As in `sysexits.h`: the program was not started by a host daemon.
    private static let usageStatus: CInt = 64

    static func run(_ instance: some NotificationServiceExtension) async -> Never {
        // What the extension prints must not get between the lines for the host daemon.
        let output = dup(1)
        guard output >= 0, dup2(2, 1) == 1 else { Self.end(1, "The standard output cannot be used.") }
        guard isatty(0) == 0 else {
            Self.end(
                Self.usageStatus,
                "This program changes notifications. The host daemon of a system starts it, which finds it in an "
                    + "application's manifest (notificationServiceExtension)."
            )
        }
        do {
            let response = try await Self.response(of: instance, to: Self.standardInput())
            guard Self.write(response, to: output) else { Self.end(1, "The host daemon does not read the response.") }
            exit(0)
        } catch {
            Self.end(1, "\(error)")
        }
    }

    private static func end(_ status: CInt, _ text: String) -> Never {
        _ = Self.write(text, to: 2)
        exit(status)
    }

    private static func write(_ line: String, to descriptor: CInt) -> Bool {
        var rest = Array("\(line)\n".utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The response to the request in the first line.
    ///
    /// - Parameter lines: ends when the host daemon is gone.
    static func response(
        of instance: some NotificationServiceExtension,
        to lines: AsyncStream<String>
    ) async throws -> String {
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
                result.yield(.success(try await instance.didReceive(request)))
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

    private static func standardInput() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        DispatchQueue.global().async {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }
}
