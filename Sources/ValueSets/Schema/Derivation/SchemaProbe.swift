// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One run of a type's `init(from:)`. Supplies placeholders for values and records what is read.
final class SchemaProbe {
    /// A type has no placeholder, or contains itself.
    struct NoPlaceholder: Error {}

    /// The state shared by all containers of a run.
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
    /// Whether this is a container nested in the type's own container.
    private let isChild: Bool
    private(set) var findings = SchemaFindings()
    /// The number of elements left in an array: two at first, since some types read a key and its value one after the
    /// other.
    private var elements: Int

    /// Creates a probe for one run of a type's `init(from:)`.
    ///
    /// - Parameter read: The index of the read that fails, as it does if the value is missing or of another type.
    convenience init(_ types: ProbedTypes, _ placeholders: Placeholders, refusing read: Int? = nil) {
        self.init(Run(types, refusing: read), placeholders, isChild: false)
    }

    private init(_ run: Run, _ placeholders: Placeholders, isChild: Bool) {
        self.run = run
        self.placeholders = placeholders
        self.isChild = isChild
        self.elements = placeholders.isPresent ? 2 : 0
    }

    /// The number of reads that can be made to fail.
    var reads: Int { self.run.reads }
    /// Whether the type read something after the failed read.
    var hasGoneOn: Bool { self.run.hasGoneOn }
    var hasElements: Bool { self.elements > 0 }

    // MARK: Reads of the type

    /// Counts a read.
    ///
    /// - Throws: `DecodingError` if this read is the one that fails.
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

    /// Notes that a single value is read, and returns a placeholder for it.
    ///
    /// - Returns: The placeholder.
    /// - Throws: ``NoPlaceholder``; `DecodingError` if the read is made to fail.
    func single<T: Decodable>(_ type: T.Type) throws -> T {
        try self.read(type)
        let (field, value) = self.nested(type)
        self.findings.note(field)
        guard let value else { throw NoPlaceholder() }
        return value
    }

    /// Notes that a type reads the key, with the type of the value.
    ///
    /// - Throws: `DecodingError` if the read is made to fail.
    func note(_ key: some CodingKey, _ type: FieldType, isRequired: Bool) throws {
        try self.read(Any.self)
        self.findings.note(key, type, isRequired: isRequired)
    }

    /// Notes that a type asks whether a key is present.
    ///
    /// - Returns: Whether the key is present and has a value.
    func question(about key: some CodingKey) -> Bool {
        if let refused = self.run.refusedRead, self.run.reads > refused { self.run.hasGoneOn = true }
        self.findings.noteQuestion(about: key)
        return self.placeholders.isPresent
    }

    /// Notes that a type reads an array element, with the type of the element.
    ///
    /// - Throws: `DecodingError` if the read is made to fail.
    func noteElement(_ type: FieldType) throws {
        self.elements -= 1
        do {
            try self.read(Any.self)
        } catch {
            // The type may continue after the failure, so it accepts elements of any type.
            self.findings.noteElement(.any)
            throw error
        }
        self.findings.noteElement(type)
    }

    func nested<T: Decodable>(_ type: T.Type) -> (type: FieldType, value: T?) {
        self.run.types.probe(type, self.placeholders)
    }

    /// Returns a probe for a container that the type opens inside this one. Its content is not recorded, because only
    /// the type knows when it is complete.
    func child(_ note: (FieldType) throws -> Void, isArray: Bool) rethrows -> SchemaProbe {
        try note(isArray ? .array(of: .any) : .dictionary(AllowedValueSchema.full))
        return SchemaProbe(self.run, self.placeholders, isChild: true)
    }
}
