// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The values of a slider that its step permits.
package struct SliderSteps: Sendable {
    /// The decimals that a `Double` near 1 can hold.
    private static let maxDecimals = 15
    /// The part of a step by which a computed number may be wrong.
    private static let tolerance = 1e-9

    private let range: ClosedRange<Double>
    package let step: Double

    /// - Parameters:
    ///   - range: The range of the slider, finite and not empty.
    ///   - step: Its step, more than 0; `nil` for a hundredth of the range.
    package init(in range: ClosedRange<Double>, step: Double?) {
        self.range = range
        self.step = step ?? (range.upperBound - range.lowerBound) / 100
    }

    /// The number of decimals in which the permitted values are written. At most two after the first of the step:
    /// values that need more, as with a third or a 64th, are written rounded.
    package var decimals: Int {
        var (decimals, power) = (0, 1.0)
        func add() { (decimals, power) = (decimals + 1, power * 10) }
        while self.step * power < 1, decimals < Self.maxDecimals { add() }
        let last = min(decimals + 2, Self.maxDecimals)
        while decimals < last, !Self.isWhole(self.step * power) || !Self.isWhole(self.range.lowerBound * power) {
            add()
        }
        return decimals
    }

    /// The permitted value that is nearest to a value.
    package func nearest(to value: Double) -> Double {
        let last = ((self.range.upperBound - self.range.lowerBound) / self.step + Self.tolerance).rounded(.down)
        let index = min(max(((value - self.range.lowerBound) / self.step).rounded(), 0), last)
        let exact = self.range.lowerBound + index * self.step
        // As written, so that three times 0.1 is 0.3.
        let power = (0..<self.decimals).reduce(1.0) { power, _ in power * 10 }
        let written = (exact * power).rounded() / power
        let nearest = abs(written - exact) <= self.step * Self.tolerance ? written : exact
        return min(max(nearest, self.range.lowerBound), self.range.upperBound)
    }

    private static func isWhole(_ number: Double) -> Bool {
        abs(number - number.rounded()) <= self.tolerance * max(1, abs(number))
    }
}
