// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One run of a type's `init(from:)`: gives it placeholders in place of values, and notes what it reads.
final class SchemaProbe {
    /// That a type cannot be made of placeholders, or is part of itself.
    struct NoPlaceholder: Error {}

    /// What is common to the containers of a run.
    private final class Run {
        let types: ProbedTypes
        let refusedRead: Int?
        var reads = 0
        var hasGoneOn = false

        init(_ types: ProbedTypes, refusing read: Int?) {
            self.types = types
            self.refusedRead = read
        }
    }

    private let run: Run
    let placeholders: Placeholders
    /// Whether this is a container inside that of the type.
    private let isChild: Bool
    private(set) var findings = SchemaFindings()
    /// How many elements an array still has: enough for a key and its value, which some types read one after the other.
    private var elements: Int

    /// - Parameter read: the number of the read that fails, as it does when the value is of another type or missing.
    convenience init(_ types: ProbedTypes, _ placeholders: Placeholders, refusing read: Int? = nil) {
        self.init(Run(types, refusing: read), placeholders, isChild: false)
    }

    private init(_ run: Run, _ placeholders: Placeholders, isChild: Bool) {
        self.run = run
        self.placeholders = placeholders
        self.isChild = isChild
        self.elements = placeholders.isPresent ? 2 : 0
    }

    /// How often the type has read something that it could be refused.
    var reads: Int { self.run.reads }
    /// Whether it has read something after it was refused.
    var hasGoneOn: Bool { self.run.hasGoneOn }
    var hasElements: Bool { self.elements > 0 }

    // MARK: What the type asks for

    /// Counts a read.
    ///
    /// - Throws: `DecodingError` if this is the one that fails.
    private func read(_ type: any Any.Type) throws {
        if let refused = self.run.refusedRead, self.run.reads > refused { self.run.hasGoneOn = true }
        guard !self.isChild else { return }
        defer { self.run.reads += 1 }
        guard self.run.reads == self.run.refusedRead else { return }
        throw DecodingError.typeMismatch(type, .init(codingPath: [], debugDescription: "A read that is made to fail."))
    }

    func beginDictionary() throws {
        try self.read([String: Any].self)
        self.findings.beginDictionary()
    }

    func beginArray() throws {
        try self.read([Any].self)
        self.findings.beginArray()
    }

    /// - Returns: the placeholder.
    /// - Throws: ``NoPlaceholder``; `DecodingError` if the read is made to fail.
    func single<T: Decodable>(_ type: T.Type) throws -> T {
        try self.read(type)
        let (field, value) = self.nested(type)
        self.findings.note(field)
        guard let value else { throw NoPlaceholder() }
        return value
    }

    /// - Throws: `DecodingError` if the read is made to fail.
    func note(_ key: some CodingKey, _ type: FieldType, isRequired: Bool) throws {
        try self.read(Any.self)
        self.findings.note(key, type, isRequired: isRequired)
    }

    /// - Returns: whether the key is there, and has a value.
    func question(about key: some CodingKey) -> Bool {
        if let refused = self.run.refusedRead, self.run.reads > refused { self.run.hasGoneOn = true }
        self.findings.noteQuestion(about: key)
        return self.placeholders.isPresent
    }

    /// - Throws: `DecodingError` if the read is made to fail.
    func noteElement(_ type: FieldType) throws {
        self.elements -= 1
        do {
            try self.read(Any.self)
        } catch {
            // For a type that goes on, such an element will do.
            self.findings.noteElement(.any)
            throw error
        }
        self.findings.noteElement(type)
    }

    func nested<T: Decodable>(_ type: T.Type) -> (type: FieldType, value: T?) {
        self.run.types.probe(type, self.placeholders)
    }

    /// For containers that the type opens inside this one. What is inside is not looked into: only the type knows when
    /// it is complete.
    func child(_ note: (FieldType) throws -> Void, isArray: Bool) rethrows -> SchemaProbe {
        try note(isArray ? .array(of: .any) : .dictionary(AllowedValueSchema.full))
        return SchemaProbe(self.run, self.placeholders, isChild: true)
    }
}
