"""A mail server, made with aiosmtpd. The arguments determine its behaviour:

    starttls        offers STARTTLS with CERTIFICATE, and requires it
    tls             speaks TLS from the start
    login           requires the user `quakes` and the password `right`
    refuse-address  answers each recipient with 550
    defer-address   answers each recipient with 450
    refuse-mail     answers each mail with 554
    refuse-all      greets with 554
    late            greets after a second
    hide-login      requires a login, but does not offer it
    defer-mail      answers each mail with 451
    hang            never answers after the end of a mail
    die             resets the connection after the end of a mail

It prints its port, and then each mail as a line of JSON.
"""

import asyncio
import base64
import email
import email.policy
import json
import os
import ssl
import sys
import threading

from aiosmtpd.smtp import SMTP, AuthResult

modes = set(sys.argv[1:])


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()


class Handler:
    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        return [line for line in responses if not ("hide-login" in modes and "AUTH" in line)]

    async def handle_RCPT(self, server, session, envelope, address, options):
        if "refuse-address" in modes:
            return "550 5.1.1 SECRET: no such user"
        if "defer-address" in modes:
            return "450 4.2.1 SECRET: later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        print(json.dumps({
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "is_encrypted": session.ssl is not None or "tls" in modes,
            "login": session.auth_data.login.decode() if session.auth_data else None,
            "raw": base64.b64encode(envelope.original_content).decode(),
            "headers": {name.lower(): str(value) for name, value in mail.items()},
            "defects": [str(defect) for defect in mail.defects],
            "text": mail.get_content().replace("\r\n", "\n"),
        }), flush=True)
        if "refuse-mail" in modes:
            return "554 5.7.1 SECRET: spam"
        if "defer-mail" in modes:
            return "451 4.3.0 SECRET: later"
        if "hang" in modes:
            await asyncio.Event().wait()
        if "die" in modes:
            server.transport.abort()
        return "250 OK"


class Server(SMTP):
    async def push(self, status):
        if "refuse-all" in modes and status.startswith("220 mail.test"):
            status = "554 5.3.2 SECRET: not now"
        if "late" in modes and status.startswith("220 mail.test"):
            await asyncio.sleep(1)
        await super().push(status)


def authenticate(server, session, envelope, mechanism, data):
    is_right = data.login == b"quakes" and data.password == b"right"
    # If `handled` is false, aiosmtpd answers with 535.
    return AuthResult(success=is_right, handled=is_right, auth_data=data)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if "CERTIFICATE" in os.environ:
        context.load_cert_chain(os.environ["CERTIFICATE"])
    options = {"hostname": "mail.test", "enable_SMTPUTF8": False}
    if "starttls" in modes:
        options |= {"tls_context": context, "require_starttls": True}
    if "login" in modes:
        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": "starttls" in modes}
    server = await asyncio.get_running_loop().create_server(
        lambda: Server(Handler(), **options), "127.0.0.1", 0, ssl=context if "tls" in modes else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
