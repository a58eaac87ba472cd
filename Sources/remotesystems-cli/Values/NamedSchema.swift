// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The schemas that `--schema` can name.
enum NamedSchema: String, ExpressibleByArgument, CaseIterable {
    case appService, userActivity, full

    private var schema: AllowedValueSchema {
        switch self {
        case .appService: .appService
        case .userActivity: .userActivity
        case .full: .full
        }
    }

    func check(_ value: Value) throws(ValueSetError) {
        guard let set = value.dictionary else {
            throw ValueSetError(
                .typeMismatch,
                "A schema describes a dictionary. Give a JSON object, or omit --schema.",
                allowed: "a dictionary"
            )
        }
        try self.schema.validate(set)
    }
}
