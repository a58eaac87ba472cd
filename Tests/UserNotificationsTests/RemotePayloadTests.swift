// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import UserNotifications
import ValueSets

@Suite struct RemotePayloadTests {
    private static func payload(_ json: String) throws -> RemotePayload { try RemotePayload(json: Data(json.utf8)) }

    @Test("An alert may be a string, which is the body (N-16)")
    func alertString() throws {
        let content = try Self.payload(#"{"aps":{"alert":"Deploy?"}}"#).content
        #expect(content.body == "Deploy?" && content.title.isEmpty && content.hasAlert)
    }

    @Test("An alert may be a dictionary with title, subtitle and body (N-16)")
    func alertDictionary() throws {
        let content = try Self.payload(#"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"}}}"#).content
        #expect((content.title, content.subtitle, content.body) == ("T", "S", "B"))
    }

    private static let keys: [(json: String, isRead: @Sendable (RemotePayload) -> Bool)] = [
        (#""badge":3"#, { $0.content.badge == 3 }),
        (#""badge":0"#, { $0.content.badge == 0 }),
        (#""sound":"default""#, { $0.content.sound == .standard }),
        (#""sound":"bell""#, { $0.content.sound == .named("bell") }),
        (
            #""sound":{"name":"bell","critical":0,"volume":0.5}"#,
            { $0.content.sound == .named("bell") && $0.content.interruptionLevel == .active }
        ),
        (
            #""sound":{"critical":1}"#,
            { $0.content.sound == .standard && $0.content.interruptionLevel == .critical }
        ),
        (
            #""sound":{"critical":1},"interruption-level":"passive""#,
            { $0.content.interruptionLevel == .passive }
        ),
        (#""category":"invite""#, { $0.content.categoryIdentifier == "invite" }),
        (#""thread-id":"builds""#, { $0.content.threadIdentifier == "builds" }),
        (#""interruption-level":"critical""#, { $0.content.interruptionLevel == .critical }),
        (#""interruption-level":"time-sensitive""#, { $0.content.interruptionLevel == .timeSensitive }),
        (#""relevance-score":0.5"#, { $0.content.relevanceScore == 0.5 }),
        (#""target-content-id":"w1""#, { $0.content.targetContentIdentifier == "w1" }),
        (#""filter-criteria":"work""#, { $0.content.filterCriteria == "work" }),
        (#""content-available":1"#, { $0.isContentAvailable && !$0.isMutable && !$0.content.hasAlert }),
        (#""mutable-content":1"#, { $0.isMutable && !$0.isContentAvailable }),
        (#""mutable-content":0"#, { !$0.isMutable }),
    ]

    @Test("A key of aps beside the alert has its effect (N-16)", arguments: 0..<Self.keys.count)
    func key(index: Int) throws {
        let (json, isRead) = Self.keys[index]
        #expect(isRead(try Self.payload("{\"aps\":{\(json)}}")), "\(json)")
    }

    @Test(
        "An alert may have the key of a localised text, which is shown itself (N-16)",
        arguments: [
            (#""title-loc-key":"Lunch""#, "Lunch||"), (#""subtitle-loc-key":"Lunch""#, "|Lunch|"),
            (#""loc-key":"GAME_OVER""#, "||GAME_OVER"),
            (#""loc-key":"%@ beats %@","loc-args":["A","B"]"#, "||A beats B"),
            (#""loc-key":"%2$@ loses to %1$@ by 100 %%","loc-args":["A","B"]"#, "||B loses to A by 100 %"),
            (
                #""title-loc-key":"%@!","title-loc-args":["T"],"subtitle-loc-key":"%@","subtitle-loc-args":["S"]"#,
                "T!|S|"
            ),
            // Neither is a placeholder with an argument.
            (#""loc-key":"%@ %3$@ %0$@ %99999999999999999999$@ %1@ %d %","loc-args":["A"]"#, nil),
            // A text is better than its key.
            (#""title":"T","title-loc-key":"K","body":"","loc-key":"K""#, "T||"),
        ] as [(String, String?)]
    )
    func localized(alert: String, texts: String?) throws {
        let content = try Self.payload("{\"aps\":{\"alert\":{\(alert)}}}").content
        let expected = texts ?? "||A %3$@ %0$@ %99999999999999999999$@ %1@ %d %"
        #expect("\(content.title)|\(content.subtitle)|\(content.body)" == expected)
    }

    @Test(
        "A key of aps that is left out changes nothing (N-16)",
        arguments: [
            #""launch-image":"a.png""#, #""action":"Play""#, #""action-loc-key":"PLAY""#, #""summary-arg":"A""#,
            #""summary-arg-count":2"#, #""unknown":[1,2]"#,
        ]
    )
    func leftOut(key: String) throws {
        let plain = try Self.payload(#"{"aps":{"alert":{"title":"T"}}}"#)
        #expect(try Self.payload("{\"aps\":{\"alert\":{\"title\":\"T\",\(key)},\(key)}}") == plain)
    }

    @Test("The keys beside aps become the user info (N-16, N-19)")
    func userInfo() throws {
        let json = #"{"aps":{"alert":"A"},"my-attachment":"https://example.com/a.png","n":{"m":1}}"#
        let payload = try Self.payload(json)
        #expect(payload.content.userInfo["my-attachment"]?.string == "https://example.com/a.png")
        #expect(payload.content.userInfo["n"]?["m"]?.int == 1)
        #expect(payload.content.userInfo["aps"] == nil)
    }

    @Test(
        "A bad payload is an error that names the key",
        arguments: [
            (#"{"alert":"A"}"#, "aps"), (#"{"aps":5}"#, "aps"), (#"{"aps":{"alert":5}}"#, "aps.alert"),
            (#"{"aps":{"alert":{"title":5}}}"#, "aps.alert.title"),
            (#"{"aps":{"alert":{"loc-key":5}}}"#, "aps.alert.loc-key"),
            (#"{"aps":{"alert":{"title-loc-args":[5]}}}"#, "aps.alert.title-loc-args[0]"),
            (#"{"aps":{"sound":{"critical":2}}}"#, "aps.sound.critical"), (#"{"aps":{"badge":"3"}}"#, "aps.badge"),
            (#"{"aps":{"badge":-1}}"#, "aps.badge"), (#"{"aps":{"sound":{"name":1}}}"#, "aps.sound.name"),
            (#"{"aps":{"mutable-content":2}}"#, "aps.mutable-content"),
            (#"{"aps":{"relevance-score":2}}"#, "aps.relevance-score"),
            (#"{"aps":{"category":""}}"#, "aps.category"), (#"{"aps":{"thread-id":""}}"#, "aps.thread-id"),
            (#"{"aps":{"target-content-id":""}}"#, "aps.target-content-id"),
            (#"{"aps":{"filter-criteria":""}}"#, "aps.filter-criteria"),
            (#"{"aps":{"interruption-level":"urgent"}}"#, "aps.interruption-level"),
            (#"{"aps":{"interruption-level":""}}"#, "aps.interruption-level"),
            (#"{"aps":{"sound":""}}"#, "aps.sound"), (#"{"aps":{"sound":{"name":""}}}"#, "aps.sound.name"),
            (
                #"{"aps":{"alert":{"title":"\#(String(repeating: "a", count: 513))"}}}"#, "aps.alert.title"
            ),
            ("not JSON", nil), ("[]", nil),
        ] as [(String, String?)]
    )
    func bad(json: String, field: String?) {
        let error = #expect(throws: NotificationError.self) { try Self.payload(json) }
        #expect(error?.field == field)
    }

    @Test("4096 bytes are accepted, 4097 are not (X-62)")
    func limit() throws {
        func json(_ count: Int) -> String {
            let frame = #"{"aps":{"alert":""}}"#
            return frame.replacing(#""""#, with: "\"\(String(repeating: "a", count: count - frame.utf8.count))\"")
        }
        #expect(json(4096).utf8.count == 4096)
        #expect(try Self.payload(json(4096)).content.hasAlert)
        #expect(#expect(throws: NotificationError.self) { try Self.payload(json(4097)) }?.code == .payloadTooLarge)
    }

    @Test("A payload survives its JSON")
    func survives() throws {
        var content = NotificationContent(
            title: "T",
            subtitle: "S",
            body: "B",
            sound: .standard,
            categoryIdentifier: "c",
            userInfo: ["k": "v"]
        )
        content.badge = 2
        content.threadIdentifier = "t"
        content.interruptionLevel = .passive
        content.relevanceScore = 0.25
        content.targetContentIdentifier = "w"
        content.filterCriteria = "f"
        let payload = RemotePayload(content: content, isContentAvailable: true, isMutable: true)
        #expect(try Self.payload(try payload.json()) == payload)
    }
}
