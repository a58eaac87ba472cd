// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ValueSets

// Writing and reading JSON.
// snippet.json
let set: ValueSet = ["at": .date(secondsSince1970: 1.5), "ratio": 5.0, "count": 5]
print(try set.json())
// {"at":{"$date":1.5},"count":5,"ratio":{"$double":5}}

let read = try ValueSet(json: #"{"at": {"$date": "2026-01-31T12:00:00Z"}, "count": 5}"#)
// snippet.end
