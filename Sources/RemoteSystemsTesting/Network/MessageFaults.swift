// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The faults that a test sets for single messages of a link. Each happens once.
struct MessageFaults {
    /// What happens to a selected message.
    enum Fault: Sendable, Equatable {
        case drop
        case delay(Duration)
        case corrupt
        case cut
    }

    private var pending: [(fault: Fault, selector: StagedMessageSelector, left: Int)] = []

    mutating func add(_ fault: Fault, at selector: StagedMessageSelector) {
        self.pending.append((fault, selector, selector.number))
    }

    /// Returns the fault for a message; `nil` if there is none. If several match, the first one that was set applies.
    mutating func pass(_ message: StagedMessage) -> Fault? {
        var fault: Fault?
        for index in self.pending.indices where self.pending[index].selector.matches(message) {
            self.pending[index].left -= 1
            if self.pending[index].left == 0, fault == nil { fault = self.pending[index].fault }
        }
        self.pending.removeAll { $0.left == 0 }
        return fault
    }
}
