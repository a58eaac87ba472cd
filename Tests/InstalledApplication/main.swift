// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle
import UserNotifications

// An application that offers one service and ends by itself after a minute.
//
// Arguments: its id; the file in which it records its environment; the scheme of the URIs that it opens, or '-'; and
// the network interface. Without the last two it opens nothing and stays on the loopback interface. With the variable
// SESSION_BUS_DAEMON in its environment it finds its host daemon over the session bus, too. With the id test.notified
// it also handles the responses to its notifications, and updates. With KILLED_IN_HANDLER in its environment it is
// killed while it handles a response, and with KILLED_ONCE_IN_HANDLER if it handles none that its record names before.
let arguments = CommandLine.arguments
guard (3...5).contains(arguments.count) else { exit(64) }

@Sendable func record(_ line: String) {
    guard let record = unsafe fopen(arguments[2], "a") else { return }
    unsafe fputs(line + "\n", record)
    unsafe fclose(record)
}

let environment = ProcessInfo.processInfo.environment.keys.sorted().joined(separator: ",")
let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
let start = "arguments=\(arguments.count - 1) descriptors=\(descriptors.count) session=\(getsid(0) == getpid())"
record("started \(environment) \(start)")

var options = RemoteSystemHost.Options()
if arguments.count > 3, arguments[3] != "-" {
    options.launchURIProvider = LaunchURIHandler(schemes: [arguments[3]]) { request in
        record("opened \(request.uri)")
        if let input = request.inputData.flatMap({ try? $0.json() }) {
            record("given \(input) by \(request.caller.claimedApplicationID) of \(request.caller.systemID)")
        }
        return .opened
    }
}
if ProcessInfo.processInfo.environment["SESSION_BUS_DAEMON"] != nil { options.hostDaemonLocator = SessionBusDaemon() }
var configuration = RemoteSystemsConfiguration(
    applicationID: arguments[1],
    network: arguments.count > 4 ? .interfaces([arguments[4]]) : .loopback
)
// Generous, since no test measures how fast a handshake is.
configuration.transport.helloTimeout = .seconds(10)
let host = RemoteSystemHost(
    configuration,
    services: [AppService("test.echo") { ["pid": .integer(Int64(getpid())), "echo": .dictionary($0.message)] }],
    options: options
)
try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await host.run() }
    if arguments[1] == "test.notified" {
        group.addTask {
            let center = try await UserNotificationCenter(
                connectingToDaemonOf: configuration,
                applicationName: "Calendar",
                within: .seconds(30),
                responseHandler: { response in
                    let isFirst = (try? String(contentsOfFile: arguments[2], encoding: .utf8))
                        .map { !$0.contains("\nhandling ") }
                    record("handling \(response.id)")
                    let variables = ProcessInfo.processInfo.environment
                    if variables["KILLED_IN_HANDLER"] != nil { kill(getpid(), SIGKILL) }
                    if isFirst == true, variables["KILLED_ONCE_IN_HANDLER"] != nil { kill(getpid(), SIGKILL) }
                    record("response \(response.requestIdentifier) \(response.actionIdentifier)")
                },
                updateHandler: { update in
                    let day = update.request.content.userInfo["day"]?.string ?? "nothing"
                    record("update \(day) by \(update.claimedApplicationID) of \(update.systemID)")
                    guard day != "someday" else { throw AppServiceFailure("There is no such day.") }
                }
            )
            // The centre receives responses until the program ends, which is after a minute at the latest.
            try await Task.sleep(for: .seconds(60))
            await center.close()
        }
    }
    // Limits the life of an application that a failed test has left behind.
    group.addTask { try await Task.sleep(for: .seconds(60)) }
    _ = try await group.next()
    group.cancelAll()
}
