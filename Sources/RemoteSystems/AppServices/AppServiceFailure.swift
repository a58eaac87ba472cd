// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// An error that a handler throws to send the caller a reason. The text of any other error is not sent.
public struct AppServiceFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The sentence that the caller receives, cut off after 512 bytes of UTF-8.
    public var message: String
    /// The machine-readable reason, defined by the service, such as `com.example.orders.sold-out`. Defaults to `nil`.
    ///
    /// The code begins with a reversed domain name. The caller receives it as ``RemoteSystemError/failureCode``. Valid:
    /// 1–64 of the characters `a`–`z`, `0`–`9`, `-` and `.`, with at least one dot. An invalid code is not sent.
    ///
    /// Interceptors also receive failures of the SDK, whose codes have no dot. An interceptor that rethrows such a
    /// failure sends its code, unless it sets another one.
    public var code: String? {
        get { self.ownCode ?? self.registeredCode }
        set {
            self.ownCode = newValue
            self.registeredCode = nil
        }
    }
    /// Whether the same request may succeed later. The caller receives it as ``RemoteSystemError/canRetry``. Defaults
    /// to `false`.
    public var canRetry: Bool
    /// The status that the caller receives. Defaults to ``AppServiceResponseStatus/failure``.
    /// Valid range: 1 or more; other values count as ``AppServiceResponseStatus/failure``.
    ///
    /// Set another status when a limit of the service was exceeded, or when another system that the service needs is
    /// unavailable.
    public var status: AppServiceResponseStatus

    private var ownCode: String?
    /// A code of the wire protocol, which services cannot set.
    private var registeredCode: String?

    /// Creates a failure for the caller.
    ///
    /// - Parameters:
    ///   - message: a sentence for the caller, cut off after 512 bytes of UTF-8.
    ///   - code: the machine-readable reason, such as `com.example.orders.sold-out`. Defaults to `nil`.
    ///   - canRetry: whether the same request may succeed later. Defaults to `false`.
    ///   - status: the status that the caller receives. Defaults to ``AppServiceResponseStatus/failure``, which also
    ///     replaces ``AppServiceResponseStatus/success``.
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

    /// The ``message``, so that the failure prints as a sentence.
    public var description: String { self.message }
}

extension AppServiceFailure {
    /// Creates the failure that a caller receives with an unsuccessful response.
    init(_ response: Response) {
        self.init(
            response.failure?.text ?? "The service could not carry out the request.",
            canRetry: response.failure?.canRetry ?? false,
            status: AppServiceResponseStatus(response.status)
        )
        self.registeredCode = response.failure?.code
    }

    var wireFailure: WireFailure {
        let own = self.ownCode.flatMap { WireFailure.isCode($0) && $0.contains(".") ? $0 : nil }
        return WireFailure(self.message, codeText: own ?? self.registeredCode, canRetry: self.canRetry)
    }
}
