// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// What Scripts/sanitize tries before it trusts the leak sanitizer: objects that only references with tags reach, and
// with the argument "leak" also two objects that only refer to each other.

final class Node {
    var bytes = [UInt8](repeating: 7, count: 64)
    var next: Node?
    weak var previous: Node?
}

enum Reference {
    case first(Node), second(Node), third(Node)
}

struct References {
    var kept: [Reference] = []

    @inline(never)
    mutating func fill() {
        for index in 0..<30 {
            let node = Node()
            node.next = Node()
            node.next?.previous = node
            self.kept.append(index % 3 == 0 ? .first(node) : index % 3 == 1 ? .second(node) : .third(node))
        }
    }
}

@inline(never)
func leak() {
    for _ in 0..<30 {
        let node = Node()
        node.next = Node()
        node.next?.next = node
    }
}

// Global, because the sanitizer begins its search at globals. Only the main thread uses it.
nonisolated(unsafe) var references = References()
references.fill()
if CommandLine.arguments.last == "leak" { leak() }
precondition(references.kept.count == 30)
