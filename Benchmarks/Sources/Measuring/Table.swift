// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A text table. The first column is left-aligned, the others are right-aligned.
package struct Table: CustomStringConvertible, Sendable {
    /// The maximum width of a line, in columns.
    package static let widestLine = 100

    package var title: String
    package var header: [String]
    package var rows: [[String]] = []

    package init(title: String, header: [String]) {
        self.title = title
        self.header = header
    }

    package mutating func append(_ row: [String]) {
        rows.append(row)
    }

    package var description: String {
        let lines = [header] + rows
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        let body = lines.map { line in
            let cells = zip(line, widths).enumerated().map { index, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return index == 0 ? cell.0 + padding : padding + cell.0
            }
            return "  " + cells.joined(separator: "  ")
        }
        return ([title] + body).joined(separator: "\n")
    }
}

extension Double {
    /// The number with so many decimals and digits in groups of three; a dash if it is not finite.
    package func formatted(decimals: Int) -> String {
        guard isFinite, magnitude < 1e15 else { return "–" }
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let scaled = Int64((magnitude * scale).rounded())
        let whole = String(scaled / Int64(scale))
        let grouped = whole.reversed().enumerated().map { index, digit in
            index > 0 && index.isMultiple(of: 3) ? "\(digit) " : "\(digit)"
        }.reversed().joined()
        let sign = self < 0 && scaled != 0 ? "-" : ""
        guard decimals > 0 else { return sign + grouped }
        let fraction = String(scaled % Int64(scale))
        return sign + grouped + "." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }

    /// The number with about three significant digits, the precision of a benchmark on a shared machine.
    package var formatted: String {
        switch magnitude {
        case 100...: formatted(decimals: 0)
        case 10...: formatted(decimals: 1)
        default: formatted(decimals: 2)
        }
    }
}

extension Double? {
    package var formatted: String { map(\.formatted) ?? "–" }
}
