// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ValueSets

// The message of the example.
// snippet.example
let set: ValueSet = ["track": 3, "type": "play", "at": .date(secondsSince1970: 1.5)]
let bytes = try set.encoded()
// snippet.end
