// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// A successful validation allocates nothing. Entries and fields are both in canonical key order, so one pass compares
// them. Key paths are built only while an error propagates.
extension AllowedValueSchema {
    /// Checks a dictionary against this schema.
    ///
    /// - Parameter set: The dictionary to check.
    /// - Throws: ``ValueSetError`` with the key path, what was found and what is allowed. Its code is
    ///   ``ValueSetError/Code/typeMismatch``, ``ValueSetError/Code/missingKey``, ``ValueSetError/Code/unexpectedKey``,
    ///   or ``ValueSetError/Code/limitExceeded`` for values nested more than 128 levels deep.
    public func validate(_ set: ValueSet) throws(ValueSetError) {
        // A schema that allows everything needs no check.
        guard profile != .full || !fields.isEmpty || !allowsFurtherKeys else { return }
        try validate(set, profile: profile, depth: 1)
    }

    private func validate(_ set: ValueSet, profile: Profile, depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else { throw .tooDeep(limits: ValueSetLimits(depth: .max)) }
        var next = 0
        let entries = set.entries.span
        for index in entries.indices {
            var isDeclared = false
            while next < fields.count {
                let order = fields[next].name.canonicalOrder(to: entries[index].key)
                if order > 0 { break }
                if order < 0 {
                    try requireOptional(fields[next])
                    next += 1
                    continue
                }
                isDeclared = true
                break
            }
            do throws(ValueSetError) {
                if isDeclared {
                    try fields[next].type.kind.validate(entries[index].value, profile: profile, depth: depth + 1)
                    next += 1
                } else if allowsFurtherKeys {
                    try profile.validate(entries[index].value, depth: depth + 1)
                } else {
                    throw .unexpectedKey(entries[index].key, in: self)
                }
            } catch {
                throw error.inside(key: entries[index].key)
            }
        }
        while next < fields.count {
            try requireOptional(fields[next])
            next += 1
        }
    }

    @inline(__always)
    private func requireOptional(_ field: Field) throws(ValueSetError) {
        if field.isRequired { throw .missingKey(field) }
    }

    fileprivate func validateNested(_ value: Value, profile: Profile, depth: Int) throws(ValueSetError) {
        guard case .dictionary(let nested) = value else { throw .type(value, allowed: "dictionary") }
        try validate(nested, profile: profile, depth: depth)
    }
}

extension FieldType.Kind {
    fileprivate func validate(
        _ value: Value,
        profile: AllowedValueSchema.Profile,
        depth: Int
    ) throws(ValueSetError) {
        switch self {
        case .any:
            try profile.validate(value, depth: depth)
        case .scalar(let type):
            guard value.type == type else { throw .type(value, allowed: name) }
            try profile.validate(value, depth: depth)
        case .number:
            guard value.isNumber else { throw .type(value, allowed: name) }
        case .array(let element):
            guard case .array(let array) = value else { throw .type(value, allowed: name) }
            try profile.validateArrayShape(array)
            for index in array.indices {
                do {
                    try element.validate(array[index], profile: profile, depth: depth + 1)
                } catch {
                    throw error.inside(index: index)
                }
            }
        case .set(let element):
            guard case .set(let set) = value, profile != .appService else { throw .type(value, allowed: name) }
            for member in set {
                try element.validate(member, profile: profile, depth: depth + 1)
            }
        case .dictionary(let schema):
            try schema.validateNested(value, profile: profile, depth: depth)
        }
    }
}

extension AllowedValueSchema.Profile {
    fileprivate func validate(_ value: Value, depth: Int) throws(ValueSetError) {
        switch self {
        case .full: return
        case .appService: try validateAppService(value, depth: depth)
        case .userActivity: try validateUserActivity(value, depth: depth)
        }
    }

    private func validateAppService(_ value: Value, depth: Int) throws(ValueSetError) {
        switch value {
        case .string, .integer, .unsigned, .double, .bool, .date, .uuid:
            return
        case .array(let array):
            try validateArrayShape(array)
        case .dictionary(let dictionary):
            try validateEntries(of: dictionary, depth: depth)
        case .null, .data, .url, .set:
            throw .notForAppServices(value, allowed: Self.appServiceTypes)
        }
    }

    private func validateUserActivity(_ value: Value, depth: Int) throws(ValueSetError) {
        switch value {
        case .null, .bool, .integer, .unsigned, .double, .string, .data, .date, .url:
            return
        case .array(let array):
            try checkDepth(depth)
            for index in array.indices {
                do {
                    try validateUserActivity(array[index], depth: depth + 1)
                } catch {
                    throw error.inside(index: index)
                }
            }
        case .set(let set):
            try checkDepth(depth)
            for member in set {
                try validateUserActivity(member, depth: depth + 1)
            }
        case .dictionary(let dictionary):
            try validateEntries(of: dictionary, depth: depth)
        case .uuid:
            throw .type(
                value,
                allowed: "array, data, date, dictionary, null, number, bool, set, string or url (send a UUID as string)"
            )
        }
    }

    private func validateEntries(of dictionary: ValueSet, depth: Int) throws(ValueSetError) {
        try checkDepth(depth)
        let entries = dictionary.entries.span
        for index in entries.indices {
            do {
                try validate(entries[index].value, depth: depth + 1)
            } catch {
                throw error.inside(key: entries[index].key)
            }
        }
    }

    /// Checks that an array of an app service holds scalars of one type.
    fileprivate func validateArrayShape(_ array: [Value]) throws(ValueSetError) {
        guard self == .appService, let first = array.first else { return }
        for index in array.indices {
            let element = array[index]
            switch element {
            case .string, .integer, .unsigned, .double, .bool, .date, .uuid:
                guard element.type == first.type || (element.isNumber && first.isNumber) else {
                    let allowed = first.isNumber ? "number" : first.type.rawValue
                    throw ValueSetError.notForAppServices(element, allowed: "\(allowed), like the first element")
                        .inside(index: index)
                }
            case .null, .data, .url, .set, .array, .dictionary:
                throw ValueSetError.notForAppServices(element, allowed: "string, number, bool, date or uuid")
                    .inside(index: index)
            }
        }
    }

    private func checkDepth(_ depth: Int) throws(ValueSetError) {
        guard depth <= ValueSetLimits.deepest else { throw .tooDeep(limits: ValueSetLimits(depth: .max)) }
    }

    private static var appServiceTypes: String {
        "string, number, bool, date, uuid, an array of one of these, or dictionary"
    }
}

extension Value {
    @inline(__always)
    fileprivate var isNumber: Bool {
        switch self {
        case .integer, .unsigned, .double: true
        default: false
        }
    }
}

extension ValueSetError {
    @inline(never)
    fileprivate static func type(_ value: Value, allowed: String) -> ValueSetError {
        ValueSetError(
            .typeMismatch,
            "A value is of a type that is not allowed here.",
            found: value.type.rawValue,
            allowed: allowed
        )
    }

    /// A value that an app service accepts only if its schema is based on `full`.
    @inline(never)
    fileprivate static func notForAppServices(_ value: Value, allowed: String) -> ValueSetError {
        let instead =
            switch value {
            case .data: ", or send base64 text"
            case .url: ", or send the URL as a string"
            case .set: ", or send an array"
            case .null: ", or leave the key out"
            default: ""
            }
        return ValueSetError(
            .typeMismatch,
            "A value is of a type that app services do not accept by default. To allow it, give the service a schema "
                + "that is based on 'full': AllowedValueSchema(fields: […], basedOn: .full), "
                + "or '.full' for every value\(instead).",
            found: value.type.rawValue,
            allowed: allowed
        )
    }

    @inline(never)
    fileprivate static func missingKey(_ field: AllowedValueSchema.Field) -> ValueSetError {
        ValueSetError(
            .missingKey,
            "A required key is missing. Add it.",
            found: "nothing",
            allowed: field.type.kind.name
        ).inside(key: field.name)
    }

    @inline(never)
    fileprivate static func unexpectedKey(_ key: String, in schema: AllowedValueSchema) -> ValueSetError {
        let names = schema.fields.prefix(16).map { KeyPathText.quoted($0.name) }
        let rest = schema.fields.count > names.count ? ", and \(schema.fields.count - names.count) more" : ""
        let similar = SimilarNames.closest(to: key, among: schema.fields.lazy.map(\.name))
        let advice = similar.map { "Did you mean \(KeyPathText.quoted($0))?" } ?? "Remove it, or check its spelling."
        return ValueSetError(
            .unexpectedKey,
            "A key is not one that is declared. \(advice)",
            allowed: names.isEmpty ? "no key" : names.joined(separator: ", ") + rest
        )
    }
}
