// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension DesktopNotification {
    /// The body as a server gets it. Servers read it as markup, with links and images, and the text may come from
    /// another system.
    var markupBody: String {
        var escaped = ""
        for scalar in self.body.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
