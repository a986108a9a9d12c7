"""A receiver of webhooks and of ntfy's JSON. Each argument determines the answer to one request:

    200, 500, …     this status, optionally followed by a blank and a header field ("Name: value")
    hang            no answer
    die             the beginning of an answer, and then a reset of the connection
    cut             a part of the head of a 200, and then the end of the connection
    reset           a reset of the connection before the request's body is read
    endless         a valid head and a body that never ends
    ...             (the last argument) all further requests get the same answer as the previous request

It prints its port, and then each request as a line of JSON. If LOG is in the environment, it writes these lines to that file
instead. With SECRET, it checks signatures as Standard Webhooks 1.0.0 requires. With CERTIFICATE, a PEM file that also has the key,
it speaks TLS.
"""

import base64
import hashlib
import hmac
import http.server
import itertools
import json
import os
import socket
import ssl
import struct
import sys
import threading

answers = iter(sys.argv[1:])
if sys.argv[-1:] == ["..."]:
    answers = itertools.chain(sys.argv[1:-1], itertools.repeat(sys.argv[-2]))
lock = threading.Lock()
log = open(os.environ["LOG"], "a") if "LOG" in os.environ else sys.stdout


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()


def signature(headers, body):
    key = base64.b64decode(os.environ["SECRET"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        with lock:
            answer = next(answers, "500")
        if answer == "reset":
            return self.reset()
        body = self.rfile.read(int(self.headers["content-length"]))
        request = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body.decode()}
        if "SECRET" in os.environ:
            request["is_signed"] = hmac.compare_digest(signature(self.headers, body), self.headers["webhook-signature"])
        with lock:
            print(json.dumps(request), file=log, flush=True)
        if answer == "hang":
            threading.Event().wait()
        elif answer == "die":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            self.reset()
        elif answer == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: y\r\n")
            self.close_connection = True
        elif answer == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nand")
            threading.Event().wait()
        else:
            status, *fields = answer.split(" ", 1)
            self.send_response(int(status))
            for field in fields:
                self.send_header(*field.split(": ", 1))
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"SECRET")

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, *arguments):
        pass

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass

    def shutdown_request(self, request):
        try:
            super().shutdown_request(request)
        except OSError:
            pass


server = Server(("127.0.0.1", 0), Handler)
if "CERTIFICATE" in os.environ:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["CERTIFICATE"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
