// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension NotificationContent {
    /// The content as a value set. Fields with their default values are omitted.
    public var valueSet: ValueSet {
        var set: ValueSet = [:]
        set.put(self.title, "Title")
        set.put(self.subtitle, "Subtitle")
        set.put(self.body, "Body")
        set.put(self.sound?.name, "Sound")
        if let badge { set["Badge"] = .integer(Int64(badge)) }
        if !self.userInfo.isEmpty { set["UserInfo"] = .dictionary(self.userInfo) }
        set.put(self.threadIdentifier, "Thread")
        set.put(self.categoryIdentifier, "Category")
        if self.interruptionLevel != .active { set["Level"] = .string(self.interruptionLevel.rawValue) }
        if self.relevanceScore != 0 { set["Relevance"] = .double(self.relevanceScore) }
        set.put(self.targetContentIdentifier, "Target")
        set.put(self.filterCriteria, "Filter")
        if !self.attachments.isEmpty { set["Attachments"] = .array(self.attachments.map { .dictionary($0.valueSet) }) }
        return set
    }

    /// Creates content from a value set, and checks every field.
    ///
    /// Unknown keys are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.init(
            title: try reader.string("Title") ?? "",
            subtitle: try reader.string("Subtitle") ?? "",
            body: try reader.string("Body") ?? "",
            sound: try reader.string("Sound").map { NotificationSound(name: $0) },
            categoryIdentifier: try reader.string("Category"),
            userInfo: try reader.dictionary("UserInfo") ?? [:]
        )
        self.badge = try reader.int("Badge")
        self.threadIdentifier = try reader.string("Thread")
        if let level = try reader.string("Level") {
            // A later version may have further levels.
            self.interruptionLevel = NotificationInterruptionLevel(rawValue: level) ?? .active
        }
        self.relevanceScore = try reader.double("Relevance") ?? 0
        self.targetContentIdentifier = try reader.string("Target")
        self.filterCriteria = try reader.string("Filter")
        for (index, set) in try reader.dictionaries("Attachments", max: NotificationLimits.attachments).enumerated() {
            do throws(NotificationError) {
                if let attachment = try NotificationAttachment(set) { self.attachments.append(attachment) }
            } catch {
                throw error.inside("Attachments[\(index)]")
            }
        }
        try self.validate()
    }
}

extension NotificationAction {
    /// The action as a value set. Fields with their default values are omitted.
    public var valueSet: ValueSet {
        var set: ValueSet = ["Id": .string(self.identifier.rawValue), "Title": .string(self.title)]
        if !self.options.isEmpty { set["Options"] = .integer(Int64(self.options.rawValue)) }
        if let textInput {
            set["Text"] = [
                "Button": .string(textInput.buttonTitle), "Placeholder": .string(textInput.placeholder),
            ]
        }
        return set
    }

    /// Creates an action from a value set, and checks every field. Unknown keys and options are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.init(
            identifier: NotificationActionIdentifier(try reader.requiredString("Id")),
            title: try reader.requiredString("Title"),
            options: Options(rawValue: try reader.int("Options") ?? 0).intersection(.all)
        )
        if let text = try reader.dictionary("Text") {
            let reader = FieldReader(text)
            self.textInput = TextInput(
                buttonTitle: try reader.string("Button") ?? "Send",
                placeholder: try reader.string("Placeholder") ?? ""
            )
        }
        try self.validate()
    }
}

extension NotificationCategory {
    /// The category as a value set. Fields with their default values are omitted.
    public var valueSet: ValueSet {
        var set: ValueSet = ["Id": .string(self.identifier)]
        if !self.actions.isEmpty { set["Actions"] = .array(self.actions.map { .dictionary($0.valueSet) }) }
        if !self.intentIdentifiers.isEmpty { set["Intents"] = .array(self.intentIdentifiers.map { .string($0) }) }
        if !self.options.isEmpty { set["Options"] = .integer(Int64(self.options.rawValue)) }
        set.put(self.hiddenPreviewsBodyPlaceholder, "HiddenBody")
        set.put(self.summaryFormat, "Summary")
        return set
    }

    /// Creates a category from a value set, and checks every field. Unknown keys and options are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        var actions: [NotificationAction] = []
        for (index, set) in try reader.dictionaries("Actions", max: NotificationLimits.actions).enumerated() {
            do throws(NotificationError) {
                actions.append(try NotificationAction(set))
            } catch {
                throw error.inside("Actions[\(index)]")
            }
        }
        self.init(
            identifier: try reader.requiredString("Id"),
            actions: actions,
            intentIdentifiers: try reader.strings("Intents", max: NotificationLimits.intentIdentifiers),
            options: Options(rawValue: try reader.int("Options") ?? 0).intersection(.all)
        )
        self.hiddenPreviewsBodyPlaceholder = try reader.string("HiddenBody")
        self.summaryFormat = try reader.string("Summary")
        try self.validate()
    }
}

extension NotificationResponse {
    /// The response as a value set.
    public var valueSet: ValueSet {
        var set: ValueSet = [
            "Id": .string(self.id), "Request": .string(self.requestIdentifier),
            "Action": .string(self.actionIdentifier.rawValue),
        ]
        if let userText { set["Text"] = .string(userText) }
        set.put(self.systemID, "SystemId")
        set.put(self.systemName, "SystemName")
        set.put(self.activationToken, "ActivationToken")
        set.put(self.targetContentIdentifier, "Target")
        return set
    }

    /// Creates a response from a value set, and checks every field. Unknown keys are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.init(
            id: try reader.requiredString("Id"),
            requestIdentifier: try reader.requiredString("Request"),
            actionIdentifier: NotificationActionIdentifier(try reader.requiredString("Action")),
            userText: try reader.string("Text")
        )
        self.systemID = try reader.string("SystemId")
        self.systemName = try reader.string("SystemName")
        self.activationToken = try reader.string("ActivationToken")
        self.targetContentIdentifier = try reader.string("Target")
        try self.validate()
    }
}
