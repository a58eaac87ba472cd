// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import ServiceLifecycle

// An application as somebody may have installed it: started with its id and the name of a file in which it writes what it
// finds, it offers one service on the loopback interface, and ends by itself after a minute.
let arguments = CommandLine.arguments
guard arguments.count == 3 else { exit(64) }

let environment = ProcessInfo.processInfo.environment.keys.sorted().joined(separator: ",")
let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
let line = "started \(environment) descriptors=\(descriptors.count) session=\(getsid(0) == getpid())\n"
if let record = unsafe fopen(arguments[2], "a") {
    unsafe fputs(line, record)
    unsafe fclose(record)
}

let host = RemoteSystemHost(
    RemoteSystemsConfiguration(applicationID: arguments[1], network: .loopback),
    services: [AppService("test.echo") { ["pid": .integer(Int64(getpid())), "echo": .dictionary($0.message)] }]
)
try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await host.run() }
    group.addTask { try await Task.sleep(for: .seconds(60)) }
    _ = try await group.next()
    group.cancelAll()
}
