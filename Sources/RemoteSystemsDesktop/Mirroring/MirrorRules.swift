// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import UserNotifications

/// Which notifications of the desktop the user's other systems show, too, and what of them.
package struct MirrorRules: Sendable, Hashable {
    /// Stands for all applications without ``secretApplications``.
    package static let all = "*"
    /// The maximum number of applications in the list.
    package static let maxApplications = 256
    /// The maximum size of a body. Each notification has at most 4 KiB.
    private static let maxBodyBytes = 2048

    private let names: Set<String>
    private let includesAll: Bool

    /// - Parameter applications: names of programs or of their desktop entries, without regard to case. ``all`` for
    ///   all.
    package init(applications: [String]) {
        self.names = Set(
            applications.map { name in
                let name = name.lowercased()
                return name.hasSuffix(".desktop") ? String(name.dropLast(".desktop".count)) : name
            }
        )
        self.includesAll = self.names.contains(Self.all)
    }

    /// Why a notification stays on this system.
    enum Refusal: Hashable {
        /// It was shown by this SDK, shows only a state, or has no text.
        case notMeant
        /// The user has not chosen the application.
        case application
        /// Its text looks as if it had a password or a code for one login.
        case secret
    }

    func refusal(of call: DesktopCall) -> Refusal? {
        guard !call.isOwn, !call.isPassing, !call.summary.isEmpty || !call.body.isEmpty else { return .notMeant }
        guard !call.names.isDisjoint(with: self.names) || (self.includesAll && !Self.keepsSecrets(call)) else {
            return .application
        }
        return Self.isSecret("\(call.summary)\n\(call.plainBody)") ? .secret : nil
    }

    /// What the other systems show.
    func content(of call: DesktopCall) -> NotificationContent {
        var content = NotificationContent()
        content.title = call.summary.cut(toBytes: NotificationLimits.titleBytes)
        content.body = call.plainBody.cut(toBytes: Self.maxBodyBytes)
        content.interruptionLevel =
            switch call.urgency {
            case .low: .passive
            case .normal: .active
            // No program of the desktop was granted more.
            case .critical: .timeSensitive
            }
        if !call.isSilent, call.urgency != .low { content.sound = .standard }
        return content
    }

    // MARK: Secrets

    /// Parts of the names of programs that keep passwords, create codes or ask for a password. They are included only
    /// by name.
    private static let secretApplications = [
        "1password", "authenticator", "authy", "bitwarden", "dashlane", "enpass", "gnome-keyring", "gnome.secrets",
        "gopass", "keepass", "keysmith", "kwallet", "lastpass", "nordpass", "org.gnome.world.secrets",
        "otpclient", "pass-otp", "passwordsafe", "pinentry", "polkit", "proton-pass", "protonpass", "qtpass",
        "seahorse", "ssh-askpass", "yubi",
    ]

    private static func keepsSecrets(_ call: DesktopCall) -> Bool {
        call.names.contains { name in Self.secretApplications.contains { name.contains($0) } }
    }

    /// Words beside which no number has to stand.
    private static let words = [
        "passwor", "passwd", "passcode", "passphrase", "kennwort", "mot de passe", "contraseña", "senha",
        "пароль", "密码", "パスワード", "비밀번호",
    ]
    /// Words that make a secret of a number beside them.
    private static let wordsOfCodes = [
        "code", "código", "codice", "kod", "код", "verif", "vérif", "authenti", "one-time", "one time", "einmal",
        "bestätig", "two-factor", "2-step", "two-step", "log in", "login", "sign in", "sign-in", "anmeld", "验证",
        "認証", "인증",
    ]
    /// The same, as whole words.
    private static let shortWordsOfCodes: Set<Substring> = ["otp", "2fa", "mfa", "pin", "tan", "totp", "sms-tan"]

    /// Whether a text looks as if it had a password or a code for one login. Rather too often than too seldom.
    static func isSecret(_ text: String) -> Bool {
        let text = text.lowercased()
        if Self.words.contains(where: { text.contains($0) }) { return true }
        guard Self.hasCode(text) else { return false }
        return Self.wordsOfCodes.contains { text.contains($0) }
            || text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.contains { Self.shortWordsOfCodes.contains($0) }
    }

    /// Whether a text has a number of 4 to 10 digits, which may stand in groups: `123456`, `123 456`, `G-123-456`.
    private static func hasCode(_ text: String) -> Bool {
        var digits = 0
        var separators = 0
        func isCode() -> Bool { (4...10).contains(digits) }
        for character in text {
            if character.isNumber {
                digits += 1
                separators = 0
            } else if digits > 0, separators == 0, character == " " || character == "-" || character == "\u{A0}" {
                separators = 1
            } else {
                if isCode() { return true }
                (digits, separators) = (0, 0)
            }
        }
        return isCode()
    }
}
