// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// Thrown by a handler to tell the caller why its request failed. The text of any other error stays here.
public struct AppServiceFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence that the caller gets; at most 512 bytes of it.
    public var message: String
    /// The reason, for programs: a code of the service's own, which begins with a reversed domain name, such as
    /// `com.example.orders.sold-out`. The caller gets it as ``RemoteSystemError/failureCode``. None unless set.
    ///
    /// Valid: 1 to 64 of the characters `a`–`z`, `0`–`9`, `-` and `.`, one of them a dot. Another code is not sent.
    /// Interceptors also see failures of the SDK, whose codes have no dot; such a code is sent as long as it is not
    /// replaced.
    public var code: String? {
        get { self.ownCode ?? self.registeredCode }
        set {
            self.ownCode = newValue
            self.registeredCode = nil
        }
    }
    /// Whether the same request may succeed later.
    public var canRetry: Bool
    /// What the caller gets as status: ``AppServiceResponseStatus/failure`` unless it is over a limit of the service's
    /// own, or another system that the service needs cannot be reached. Valid range: 1 or more; others count as
    /// ``AppServiceResponseStatus/failure``.
    public var status: AppServiceResponseStatus

    private var ownCode: String?
    /// A code of the wire protocol, which services cannot set.
    private var registeredCode: String?

    /// Creates a failure. A status of success counts as ``AppServiceResponseStatus/failure``.
    public init(
        _ message: String,
        code: String? = nil,
        canRetry: Bool = false,
        status: AppServiceResponseStatus = .failure
    ) {
        self.message = message
        self.ownCode = code
        self.canRetry = canRetry
        self.status = status == .success ? .failure : status
    }

    /// The sentence.
    public var description: String { self.message }
}

extension AppServiceFailure {
    /// What the caller would be told by a response that is no success.
    init(_ response: Response) {
        self.init(
            response.failure?.text ?? "The service could not carry out the request.",
            canRetry: response.failure?.canRetry ?? false,
            status: AppServiceResponseStatus(rawValue: Int(clamping: response.status.rawValue))
        )
        self.registeredCode = response.failure?.code
    }

    var wireFailure: WireFailure {
        let own = self.ownCode.flatMap { WireFailure.isCode($0) && $0.contains(".") ? $0 : nil }
        return WireFailure(self.message, codeText: own ?? self.registeredCode, canRetry: self.canRetry)
    }
}
