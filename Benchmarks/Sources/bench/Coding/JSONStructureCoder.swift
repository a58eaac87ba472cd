// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring

/// Foundation's JSON coder with a structure whose fields the compiler knows, its fastest case.
struct JSONStructureCoder: DictionaryCoder {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    /// One track, or several by name.
    enum Content {
        case track(Track)
        case tracks([String: Track])
    }

    static func content(_ dictionary: CodingTask.Dictionary) -> Content {
        switch dictionary {
        case .typical: .track(Track(7))
        case .large: .tracks(Track.large)
        }
    }

    func encode(_ content: Content) throws -> Data {
        switch content {
        case .track(let track): try encoder.encode(track)
        case .tracks(let tracks): try encoder.encode(tracks)
        }
    }

    func decode(_ encoded: Data) throws -> Content {
        // A real receiver knows which of the two it expects. Here the length distinguishes them.
        if encoded.count < 4096 {
            .track(try decoder.decode(Track.self, from: encoded))
        } else {
            .tracks(try decoder.decode([String: Track].self, from: encoded))
        }
    }
}
