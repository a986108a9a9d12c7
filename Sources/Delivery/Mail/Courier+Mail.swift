import Alerts
import CCurl
import Curl

extension Courier {
    /// Sends a mail in one transaction with the mail server. Each mail has only one recipient, so a refusal always concerns that
    /// recipient.
    func mail(_ message: Message, to address: String, via server: MailServer) async throws {
        let text = MailText(message: message, from: server.from, to: address, date: options.now())
        let password = try server.password.map(read)
        let authorities = try certificates(for: server.url)
        let host = server.url.split(separator: "/").dropFirst().first.map(String.init) ?? "mail server"
        let transfer = CurlTransfer { handle in
            handle.set(CURLOPT_URL, server.url)
            handle.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
            handle.set(CURLOPT_USE_SSL, Int((server.isEncrypted ? CURLUSESSL_ALL : CURLUSESSL_NONE).rawValue))
            // For libcurl, the greeting, EHLO and the login are parts of connecting.
            handle.set(CURLOPT_CONNECTTIMEOUT_MS, options.mailTimeout)
            // This option is in whole seconds. libcurl's default of two minutes is too short for a server that scans mails.
            handle.set(CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, Int(options.mailTimeout.components.seconds)))
            // The limit for the whole transaction: the greeting, the login and the end of the mail may each take long.
            handle.set(CURLOPT_TIMEOUT_MS, options.mailTimeout * 2)
            if let authorities { handle.set(CURLOPT_CAINFO_BLOB, authorities) }
            if let user = server.user, let password {
                handle.set(CURLOPT_USERNAME, user)
                handle.set(CURLOPT_PASSWORD, password)
            }
            handle.set(CURLOPT_MAIL_FROM, "<\(server.from)>")
            handle.set(CURLOPT_MAIL_RCPT, ["<\(address)>"])
            handle.set(mail: text.bytes)
        }
        let outcome = try await transfer.run()
        guard outcome.result != CURLE_OK else { return }
        // A 5xx reply to the address or the mail is final (RFC 5321, section 4.2.1). Three other 5xx replies are not final: a
        // refused login, because people can correct the password; a request for a login that the server has not offered (RFC
        // 4954, section 6); and a greeting, because some servers refuse a sender for a while.
        let refusals = [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_WEIRD_SERVER_REPLY]
        if refusals.contains(outcome.result), (400..<600).contains(outcome.status) {
            let isGreeting = outcome.result == CURLE_WEIRD_SERVER_REPLY && !outcome.hasSentMail
            throw DeliveryFailure(
                "\(host): it refuses the mail with reply \(outcome.status)",
                isFinal: outcome.status >= 500 && !isGreeting
                    && ![530, 534, 535, 538].contains(outcome.status))
        }
        throw failure(outcome, host, limit: options.mailTimeout)
    }
}
