// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

// Plays the parts of a desktop in tests. `host` opens URIs for remote launchers, `record` is the program that opens
// them, `application` is started by a bus, `values` exchanges dictionaries over a bus, `portal` shows notifications,
// `send` sends many of them, and `answer` answers many.
let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "host": try await ProbeHost.run()
case "record" where arguments.count >= 2: Record.write(Array(arguments.dropFirst(2)), to: arguments[2])
case "application" where arguments.count == 4:
    ProbeApplication.run(busName: arguments[2], file: arguments[3], behaviour: arguments[4])
case "values" where arguments.count == 2:
    ProbeValues.run(busName: arguments[2])
case "portal" where arguments.count == 1: await ProbePortal.run()
case "send" where arguments.count >= 4:
    await ProbeNotifications.send(
        Int(arguments[2]) ?? 0,
        named: arguments[3],
        to: Array(arguments.dropFirst(3))
    )
case "answer" where arguments.count == 3:
    await ProbeNotifications.answer(Int(arguments[2]) ?? 0, of: max(Int(arguments[3]) ?? 1, 1))
default:
    print(
        "usage: desktop-probe values BUS-NAME | host | portal | record FILE [ARGUMENT…]",
        "| application BUS-NAME FILE (open|refuse|vanish) | send COUNT NAME ADDRESS… | answer REST DIVISOR"
    )
    exit(64)
}
