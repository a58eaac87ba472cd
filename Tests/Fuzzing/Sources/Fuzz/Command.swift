// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CFuzzSupport

/// Inputs of the targets for conversations: ``Script/headBytes`` bytes of settings, then commands.
///
/// A command is one byte for its kind, one for its argument, two for the length of its payload (big-endian), and the
/// payload. Every input is a valid script: what is cut off counts as missing.
struct Script {
    /// The settings, as each target interprets them.
    static let headBytes = 4

    var head: [UInt8]
    var commands: [Command] = []

    init(_ input: [UInt8]) {
        self.head = Array(input.prefix(Self.headBytes))
        while self.head.count < Self.headBytes { self.head.append(0) }
        var rest = input.dropFirst(Self.headBytes)
        while let kind = rest.popFirst(), let argument = rest.popFirst() {
            let length = Int(rest.popFirst() ?? 0) << 8 | Int(rest.popFirst() ?? 0)
            self.commands.append(Command(kind: kind, argument: argument, payload: Array(rest.prefix(length))))
            rest = rest.dropFirst(length)
        }
    }

    var bytes: [UInt8] {
        var bytes = self.head
        for command in self.commands {
            bytes += [command.kind, command.argument]
            bytes += [UInt8(command.payload.count >> 8 & 0xFF), UInt8(command.payload.count & 0xFF)]
            bytes += command.payload
        }
        return bytes
    }
}

/// One step of a conversation. Its meaning depends on the target.
struct Command {
    static let maxPayload = 0xFFFF

    var kind: UInt8
    var argument: UInt8
    var payload: [UInt8] = []
}

/// Mutates a script: adds, removes, repeats, moves, splits or changes one command.
func mutateCommands(_ input: [UInt8], _ random: inout SplitMix64) -> [UInt8]? {
    var script = Script(input)
    guard let index = script.commands.indices.randomElement(using: &random) else {
        script.commands.append(Command(kind: .random(in: 0...15, using: &random), argument: 0))
        return script.bytes
    }
    let command = script.commands[index]
    switch Int.random(in: 0..<12, using: &random) {
    case 0: script.commands.remove(at: index)
    case 1: script.commands.insert(command, at: index)
    case 2: script.commands.swapAt(index, script.commands.indices.randomElement(using: &random) ?? index)
    case 3:
        let new = Command(kind: .random(in: 0...15, using: &random), argument: .random(in: 0...255, using: &random))
        script.commands.insert(new, at: index)
    case 4 where command.payload.count > 1:
        // The payload in two parts. Two parts of raw bytes are two reads.
        let cut = Int.random(in: 1..<command.payload.count, using: &random)
        script.commands[index].payload = Array(command.payload[..<cut])
        script.commands.insert(
            Command(kind: command.kind, argument: command.argument, payload: Array(command.payload[cut...])),
            at: index + 1
        )
    case 5: script.commands[index].argument = .random(in: 0...255, using: &random)
    case 6: script.commands[index].kind = .random(in: 0...15, using: &random)
    case 7: script.head[Int.random(in: 0..<Script.headBytes, using: &random)] = .random(in: 0...255, using: &random)
    case 8, 9, 10:
        guard let payload = mutateValue(command.payload, &random) else { return nil }
        script.commands[index].payload = Array(payload.prefix(Command.maxPayload))
    default:
        var payload = command.payload + [UInt8](repeating: 0, count: 64)
        let room = payload.count
        let count = payload.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { LLVMFuzzerMutate($0, command.payload.count, room) } ?? 0
        }
        script.commands[index].payload = Array(payload.prefix(min(count, Command.maxPayload)))
    }
    return script.bytes
}
