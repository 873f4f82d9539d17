"""What goes over the wire: an HTTP answer, and a connection that sends any bytes."""

import http.client
import json
import socket

PROBLEM = "application/problem+json"


class Failure(AssertionError):
    """What the daemon did is not what the contract says."""


class Answer:
    """One HTTP answer: status, headers (any case), body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode("utf-8")

    @property
    def lines(self):
        return [json.loads(line) for line in self.text.split("\n") if line]

    @property
    def errors(self):
        return self.json["errors"]

    def header(self, name):
        return self.headers.get(name, "")

    def expect(self, *statuses):
        if self.status not in statuses:
            raise Failure(f"status {self.status} instead of {statuses}: {self.body[:2000]!r}")
        return self

    def problem(self, *statuses):
        """Asserts a problem+json of one of these statuses, and answers its JSON."""
        self.expect(*statuses)
        if not self.header("Content-Type").startswith(PROBLEM):
            raise Failure(
                f"{self.status} came as {self.header('Content-Type')!r}: {self.body[:500]!r}")
        said = self.json
        if said.get("status") != self.status or not said.get("title") or not said.get("detail"):
            raise Failure(f"problem lacks title, status or detail: {said}")
        return said


class RawConnection:
    """A socket for requests that no HTTP library would send."""

    def __init__(self, port, seconds):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # What it answered before is still to be read.
        return self

    def answer(self):
        """The next answer, interim ones (100) included, or None where the daemon closed."""
        try:
            line = self.file.readline()
            if not line:
                return None
            headers = http.client.parse_headers(self.file)
            status = int(line.split()[1])
            return Answer(status, headers, b"" if status < 200 else self._body(headers))
        except ConnectionResetError:
            return None

    def _body(self, headers):
        if "chunked" not in headers.get("Transfer-Encoding", ""):
            return self.file.read(int(headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.file.readline().split(b";")[0], 16):
            body += self.file.read(size)
            self.file.readline()
        while self.file.readline().strip():
            pass
        return body

    def closed(self):
        """Whether nothing more comes and the daemon closes; waits for it."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
