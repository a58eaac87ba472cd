// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

/// Characters that text from a peer may not send to a terminal.
@Suite struct ControlCharactersTests {
    @Test func `each scalar is judged by its Unicode category`() {
        for value in UInt32(0)...0xffff {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let categories: [Unicode.GeneralCategory] = [.control, .format, .lineSeparator, .paragraphSeparator]
            #expect(scalar.isControlCharacter == categories.contains(scalar.properties.generalCategory))
        }
    }
}
