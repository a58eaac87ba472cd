// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What the requests in flight on a connection use of the ``MemoryBudget``, whether they wait or their handlers run, or
/// what its responses use that are not sent. Also the places of the requests whose handlers run. A value type without
/// I/O.
///
/// The first bytes are not counted, and the others in steps. The budget is therefore not used for messages that are
/// small and held for a short time.
struct HeldMemory {
    /// The unit in which bytes are reserved by default.
    static var step: Int { 16 << 10 }

    /// The unit in which bytes are reserved.
    let step: Int
    /// The bytes that are not counted.
    let allowance: Int
    /// Reserved of the budget.
    private(set) var reserved = 0

    init(allowance: Int, step: Int = HeldMemory.step) {
        self.allowance = allowance
        self.step = step
    }

    /// The bytes to reserve before the messages hold so many bytes; 0 if none.
    func missing(for bytes: Int) -> Int {
        bytes <= self.allowance + self.reserved ? 0 : self.steps(bytes - self.allowance) - self.reserved
    }

    /// Records that bytes were reserved.
    mutating func reserve(_ bytes: Int) {
        self.reserved += bytes
    }

    /// Returns the bytes that are no longer used when the messages hold so many bytes. A step more than needed stays
    /// reserved, so that a number of bytes that goes up and down by little changes nothing.
    mutating func release(for bytes: Int) -> Int {
        let needed = bytes == 0 ? 0 : self.steps(max(bytes - self.allowance, 0)) + self.step
        let surplus = max(self.reserved - needed, 0)
        self.reserved -= surplus
        return surplus
    }

    private func steps(_ bytes: Int) -> Int { (bytes + self.step - 1) / self.step * self.step }
}
