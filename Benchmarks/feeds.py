"""A server on loopback that answers as a feed's does."""

import http.server
import threading


class FeedAnswer(http.server.BaseHTTPRequestHandler):
    """Sends a document, and says nothing."""

    def send(self, body, **headers):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(answer):
    """Answers in the background with this handler. Returns the server's URL, without a slash at the end."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
