#!/usr/bin/python3
"""Who may ask a ctprof that listens: by the permissions of a Unix socket, and by a token.

Environment: CTPROF."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402


class Access(unittest.TestCase):
    """Who may ask a ctprof with privileges."""

    TOKEN = "0123456789abcdef-token"

    def ask(self, path, *headers):
        """The answer of a Unix socket."""
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(path)
            asking.sendall("\r\n".join(["GET /metrics HTTP/1.1", "Host: localhost", *headers, "", ""]).encode())
            pieces = []
            while piece := asking.recv(1 << 16):
                pieces.append(piece)
        return b"".join(pieces).decode()

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.place = scratch.name

    def listening(self, *words):
        """A ctprof that listens; ended with the test."""
        server = subprocess.Popen([harness.CTPROF, "export", "--to", "prometheus", "--listen", *words], stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        for line in server.stderr:
            if "listening at" in line:
                return server
        raise AssertionError("it does not listen")

    def token(self, text=TOKEN, mode=0o600):
        path = os.path.join(self.place, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(path, mode)
        return path

    def test_a_socket_for_its_user_alone(self):
        path = os.path.join(self.place, "socket")
        with socket.socket(socket.AF_UNIX) as left:  # as a server that was killed leaves it
            left.bind(path)
        server = self.listening(f"unix:{path}")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertTrue(self.ask(path).startswith("HTTP/1.1 200 "))
        self.assertIn("Address already in use", harness.run("export", "--to", "prometheus", "--listen", f"unix:{path}").stderr)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(60), 0)
        self.assertFalse(os.path.exists(path))

    def test_a_token(self):
        path = os.path.join(self.place, "socket")
        self.listening(f"unix:{path}", "--token-file", self.token())
        for headers, status in (((), 401), (("Authorization: Bearer " + self.TOKEN + "x",), 401), (("Authorization: Basic " + self.TOKEN,), 401),
                                (("Authorization: Bearer " + self.TOKEN[:-1],), 401), (("Authorization: Bearer " + self.TOKEN,), 200)):
            self.assertTrue(self.ask(path, *headers).startswith(f"HTTP/1.1 {status} "), headers)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
