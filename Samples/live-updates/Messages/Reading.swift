// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The service's name, as both programs use it.
package let temperatureService = "org.example.temperature"

/// What the service tells its callers, on its own account.
package struct Reading: Codable, Sendable {
    package var number: Int
    package var celsius: Double
    package var time: Date

    package init(number: Int, celsius: Double, time: Date) {
        self.number = number
        self.celsius = celsius
        self.time = time
    }
}

/// What a caller may ask for: how often it is told.
package struct Rate: Codable, Sendable {
    package var perSecond: Double

    package init(perSecond: Double) {
        self.perSecond = perSecond
    }
}
