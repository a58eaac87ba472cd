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

    /// Why a notification stays on this system. The log has these words.
    enum Refusal: Hashable {
        /// It was shown by this SDK.
        case own
        /// It only shows a state, or is gone in a moment.
        case state
        /// It has no text.
        case empty
        /// The user has not chosen the application.
        case application
        /// Its text looks as if it had a password or a code for one login.
        case secret
    }

    func refusal(of call: DesktopCall) -> Refusal? {
        guard !call.isOwn else { return .own }
        guard !call.names.isDisjoint(with: self.names) || (self.includesAll && !Self.keepsSecrets(call)) else {
            return .application
        }
        guard !call.isPassing else { return .state }
        guard !call.summary.isEmpty || !call.body.isEmpty else { return .empty }
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
        "1password", "authenticator", "authy", "bitwarden", "dashlane", "enpass", "ente auth", "ente_auth", "ente.auth",
        "gnome-keyring", "gnome.secrets", "gopass", "keepass", "keeweb", "keysmith", "kwallet", "lastpass", "nordpass",
        "org.gnome.world.secrets",
        "otpclient", "pass-otp", "passwordsafe", "pinentry", "polkit", "proton-pass", "protonpass", "qtpass",
        "seahorse", "ssh-askpass", "yubi",
    ]

    private static func keepsSecrets(_ call: DesktopCall) -> Bool {
        call.names.contains { name in Self.secretApplications.contains { name.contains($0) } }
    }

    /// Words beside which no number has to stand.
    private static let words = [
        "passwor", "passwd", "passcode", "passphrase", "kennwort", "mot de passe", "contraseña", "contrasena", "senha",
        "wachtwoord", "lösenord", "losenord", "passord", "adgangskode", "hasło", "haslo", "heslo", "salasana", "parola",
        "şifre", "sifre", "jelszó", "jelszo", "пароль", "密码", "密碼", "パスワード", "비밀번호",
    ]
    /// Words that make a secret of a code beside them.
    private static let wordsOfCodes: [String] =
        [
            "code", "código", "codigo", "codice", "kod", "kód", "код", "verif", "vérif", "authenti", "one-time",
            "one time", "einmal", "bestätig", "bestaetig", "confirm", "two-factor", "2-step", "two-step", "xác minh",
            "xác thực", "验证", "驗證", "確認", "認証", "ワンタイム", "인증", "رمز", "קוד", "कोड", "ओटीपी",
        ] + Self.wordsOfLogins
    /// Words that also make a secret of an address beside them.
    private static let wordsOfLogins = [
        "log in", "login", "log-in", "logging in", "sign in", "signin", "sign-in", "signing in", "magic link", "anmeld",
    ]
    /// Words like ``wordsOfCodes``, but only as whole words.
    private static let shortWordsOfCodes: Set<String> = [
        "otp", "2fa", "mfa", "pin", "tan", "totp", "hotp", "mtan", "smstan", "pushtan", "chiptan", "phototan", "itan",
        "mã",
    ]

    /// Whether a text looks as if it had a password or a code for one login. Rather too often than too seldom.
    static func isSecret(_ text: String) -> Bool {
        let lowercased = text.lowercased()
        if Self.words.contains(where: { lowercased.contains($0) }) { return true }
        if Self.wordsOfLogins.contains(where: { lowercased.contains($0) }), Self.hasAddress(lowercased) { return true }
        let words = lowercased.split { !$0.isLetter && !$0.isNumber }
        let hasWord =
            Self.wordsOfCodes.contains { lowercased.contains($0) }
            // Also `OTP482913`.
            || words.contains { word in
                Self.shortWordsOfCodes.contains(String(word))
                    || Self.shortWordsOfCodes.contains(word.filter(\.isLetter))
            }
        return hasWord && (Self.hasNumber(lowercased) || Self.hasMixedCode(lowercased) || Self.hasCapitalCode(text))
    }

    /// Whether a text has a number of 4 to 10 digits, which may stand in groups: `123456`, `123 456`, `G-123-456`.
    private static func hasNumber(_ text: String) -> Bool {
        // The digits of this group, and of all groups that stand together.
        var (group, together, separators) = (0, 0, 0)
        func isCode() -> Bool { (4...10).contains(group) || (4...10).contains(together) }
        for character in text {
            if character.isNumber {
                (group, together, separators) = (separators == 0 ? group + 1 : 1, together + 1, 0)
                continue
            }
            if separators == 0, isCode() { return true }
            separators += 1
            if separators > 1 || character.isLetter { (group, together, separators) = (0, 0, 1) }
        }
        return isCode()
    }

    /// Whether a text has a word of 4 to 10 letters and digits, which may stand in groups: `F4K2P`, `XJ7-KP2`.
    private static func hasMixedCode(_ text: String) -> Bool {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.contains { word in
            let characters = word.filter { $0 != "-" }
            return (4...10).contains(characters.count) && characters.contains(where: \.isNumber)
                && characters.contains(where: \.isLetter)
        }
    }

    /// Whether a text has a word of 4 to 8 capitals, which may stand in groups: `KPTXQ`, `KPT-XQW`. `TAN` and `PIN` are
    /// shorter.
    private static func hasCapitalCode(_ text: String) -> Bool {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "-" }.contains { word in
            let characters = word.filter { $0 != "-" }
            return (4...8).contains(characters.count) && characters.allSatisfy(\.isUppercase)
        }
    }

    /// Whether a text has the address of a page, with or without its scheme.
    private static func hasAddress(_ text: String) -> Bool {
        text.split(whereSeparator: \.isWhitespace).contains { word in
            if word.contains("://") { return true }
            guard let slash = word.firstIndex(of: "/") else { return false }
            return word[..<slash].contains(".")
        }
    }
}
