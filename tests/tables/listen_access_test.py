#!/usr/bin/python3
"""Tests access to a listening ctprof: permissions of a Unix socket, and a token.

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


class ListenAccess(unittest.TestCase):
    """Access to a ctprof with privileges."""

    TOKEN = "0123456789abcdef-token"

    def request(self, path, *headers):
        """Returns the response of a Unix socket."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall("\r\n".join(["GET /metrics HTTP/1.1", "Host: localhost", *headers, "", ""]).encode())
            pieces = []
            while piece := client.recv(1 << 16):
                pieces.append(piece)
        return b"".join(pieces).decode()

    def setUp(self):
        scratch = harness.scratch()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def start_server(self, *words):
        """Starts a listening ctprof, which ends with the test."""
        server = subprocess.Popen([harness.CTPROF, "export", "--to", "prometheus", "--listen", *words], stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        for line in server.stderr:
            if "listening at" in line:
                return server
        raise AssertionError("the server does not listen")

    def write_token(self, text=TOKEN, mode=0o600):
        path = os.path.join(self.directory, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(path, mode)
        return path

    def test_socket_is_private_to_its_user(self):
        path = os.path.join(self.directory, "socket")
        with socket.socket(socket.AF_UNIX) as stale:  # as a killed server leaves it
            stale.bind(path)
        server = self.start_server(f"unix:{path}")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertTrue(self.request(path).startswith("HTTP/1.1 200 "))
        self.assertIn("Address already in use", harness.run("export", "--to", "prometheus", "--listen", f"unix:{path}").stderr)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(60), 0)
        self.assertFalse(os.path.exists(path))

    def test_silent_clients_use_few_descriptors(self):
        path = os.path.join(self.directory, "socket")
        server = self.start_server(f"unix:{path}")

        def count_descriptors():
            return len(os.listdir(f"/proc/{server.pid}/fd"))

        self.request(path)  # opens what every request needs
        before, limit = count_descriptors(), 32
        clients = [socket.socket(socket.AF_UNIX) for _ in range(limit + 10)]
        for client in clients:
            self.addCleanup(client.close)
            client.connect(path)
        self.assertTrue(self.request(path).startswith("HTTP/1.1 200 "))  # is accepted after all others
        self.assertLessEqual(count_descriptors(), before + limit)

    def test_token_is_required(self):
        path = os.path.join(self.directory, "socket")
        self.start_server(f"unix:{path}", "--token-file", self.write_token())
        for headers, status in (((), 401), (("Authorization: Bearer " + self.TOKEN + "x",), 401), (("Authorization: Basic " + self.TOKEN,), 401),
                                (("Authorization: Bearer " + self.TOKEN[:-1],), 401), (("Authorization: Bearer " + self.TOKEN,), 200)):
            self.assertTrue(self.request(path, *headers).startswith(f"HTTP/1.1 {status} "), headers)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
