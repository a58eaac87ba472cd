// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The service's name, for both programs.
package let temperatureService = "org.example.temperature"

/// The request that the service sends to its callers.
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

/// The request of a caller: how often it wants readings.
package struct Rate: Codable, Sendable {
    package var perSecond: Double

    package init(perSecond: Double) {
        self.perSecond = perSecond
    }
}
