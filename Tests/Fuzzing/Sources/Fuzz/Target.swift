// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A part of the code that reads foreign bytes, and the rules that must hold for any input.
struct Target: Sendable {
    /// The name in `targets.txt`, and of the corpus and the dictionary.
    let name: String
    /// The maximum memory that one input may use: this many bytes, and `bytesPerByte` for each byte of the input.
    var baseBytes = 1 << 20
    var bytesPerByte = 512
    /// Mutates an input by its structure; `nil` result for one without any.
    var mutate: (@Sendable (_ input: [UInt8], inout SplitMix64) -> [UInt8]?)?
    /// Handles one input. Calls ``broken(_:)`` if a rule is broken.
    let run: @Sendable ([UInt8]) -> Void

    func heapLimit(_ count: Int) -> Int { self.baseBytes + self.bytesPerByte * count }

    /// All targets. `targets.txt` describes each, and `Scripts/fuzz` checks that both lists agree.
    static let all: [Target] = [
        Target(name: "values", mutate: mutateValue, run: fuzzValues),
        Target(name: "frames", mutate: mutateValue, run: fuzzFrames),
        Target(name: "handshake", baseBytes: 4 << 20, mutate: mutateCommands) { Conversation.run($0, .handshake) },
        Target(name: "host-connection", baseBytes: 24 << 20, bytesPerByte: 2048, mutate: mutateCommands) {
            Conversation.run($0, .host)
        },
        Target(name: "client-connection", baseBytes: 24 << 20, bytesPerByte: 2048, mutate: mutateCommands) {
            Conversation.run($0, .client)
        },
        Target(name: "stream", baseBytes: 8 << 20, bytesPerByte: 2048, mutate: mutateCommands) {
            Conversation.run($0, .stream)
        },
        Target(name: "published-state", baseBytes: 24 << 20, mutate: mutateCommands, run: fuzzPublishedState),
        Target(name: "description", baseBytes: 8 << 20, bytesPerByte: 1024, mutate: mutateValue, run: fuzzDescription),
        Target(name: "txt-record", run: fuzzTXTRecord),
        Target(name: "mdns", run: fuzzOneShotResponse),
        Target(name: "join", baseBytes: 2 << 20, mutate: mutateCommands, run: fuzzJoining),
        Target(name: "pairing", baseBytes: 2 << 20, mutate: mutateCommands, run: fuzzPairing),
        Target(name: "invitation", run: fuzzInvitation),
        Target(name: "token", run: fuzzToken),
        Target(name: "revocation-list", run: fuzzRevocationList),
        Target(name: "certificate", run: fuzzCertificate),
        Target(name: "links", bytesPerByte: 1024, run: fuzzLinks),
        Target(name: "manifest", baseBytes: 8 << 20, bytesPerByte: 4096, run: fuzzManifest),
        Target(name: "exec-line", run: fuzzExecLine),
        Target(name: "launch-uri", run: fuzzLaunchURI),
        Target(name: "configuration", baseBytes: 8 << 20, bytesPerByte: 4096, run: fuzzConfiguration),
        Target(name: "association", baseBytes: 8 << 20, bytesPerByte: 4096, run: fuzzAssociation),
        Target(name: "activity", baseBytes: 8 << 20, bytesPerByte: 2048, mutate: mutateValue, run: fuzzActivity),
        Target(
            name: "notification",
            baseBytes: 8 << 20,
            bytesPerByte: 2048,
            mutate: mutateValue,
            run: fuzzNotification
        ),
        Target(name: "format", baseBytes: 8 << 20, bytesPerByte: 4096, run: fuzzFormat),
        Target(name: "message", baseBytes: 8 << 20, bytesPerByte: 4096, run: fuzzMessage),
    ]
}
