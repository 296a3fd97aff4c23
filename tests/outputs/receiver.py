"""A receiver of OTLP on a free port of this host, which behaves as its test requests."""

import http.server
import socket
import threading


class Receiver:
    """Collects the bodies of requests. `behave`: a status to answer, "close" without an answer, or "hang" until the end."""

    def __init__(self, behave=200):
        self.behave, self.requests, self.released = behave, [], threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), body))
                if receiver.behave == "hang":
                    receiver.released.wait()
                if isinstance(receiver.behave, int):
                    self.send_response(receiver.behave)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                else:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}/v1/metrics"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def closed_endpoint():
    """Returns the URL of a port at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1/metrics"
