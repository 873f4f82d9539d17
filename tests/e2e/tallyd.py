"""Runs one tallyd for a test and speaks HTTP to it.

How to run the black-box tests, from the root of the repository:

    python3 -m unittest discover -s tests/e2e -t .        # all of them
    python3 -m unittest tests.e2e.test_writing -v         # one theme

They need Python 3.11 and nothing else. These variables change what is run:

    TALLYD             the binary (default build/tallyd); an ASan or TSan build works, too
    TALLYD_SLOW        multiplies every time limit (default 1; 5 under valgrind)
    TALLYD_TEST_DATA   the folder of nab/, json-test-suite/, naughty-strings/ (tests/data)
    TALLYD_KILLS       how often test_crash kills the daemon (default 20)
    TALLYD_SEED        the seed of the random tests, printed when one of them fails

A test derives from E2eTest and starts daemons with self.start(TOML of streams and tables). Each has
a fresh directory, a free port on 127.0.0.1 and its log in a file; at the end it gets SIGTERM and
must exit with 0. A failed test prints the end of the log.
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime, timezone
from urllib.parse import quote, urlencode

from tests.e2e.wire import Answer, Failure, RawConnection

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TALLYD", ROOT / "build" / "tallyd")).resolve()
DATA = pathlib.Path(os.environ.get("TALLYD_TEST_DATA", ROOT / "tests" / "data"))
SLOW = float(os.environ.get("TALLYD_SLOW", "1"))
SEED = int(os.environ.get("TALLYD_SEED", "20261121"))
START_SECONDS = 60 * SLOW
ANSWER_SECONDS = 60 * SLOW
STOP_SECONDS = 60 * SLOW
LOG_TAIL = 6000
LOG_SECONDS = 0.05 * SLOW
LOG_LOOKS = 20  # At most: some daemons log all the time.
# Of daemons whose configuration has no [ingest]: tests may count their times from 1970 on.
ANY_TIME = '[ingest]\nmin_time = "1970-01-01"\nmax_future = "off"\n'


def ms(text):
    """The epoch milliseconds of an ISO time in UTC: ms("2021-03-05T12:00")."""
    return round(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


def encode(params):
    """A query string: from_ is from, lists repeat, None is left out."""
    pairs = []
    for name, value in params.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append(("from" if name == "from_" else name, one))
    return urlencode(pairs, quote_via=quote, safe="")


def mentions(value, text):
    """Whether text is a name or a value anywhere in parsed JSON."""
    if isinstance(value, dict):
        return any(mentions(key, text) or mentions(one, text) for key, one in value.items())
    if isinstance(value, list):
        return any(mentions(one, text) for one in value)
    return value == text


class Tallyd:
    """One daemon: its directory, its process and the verbs to talk to it."""

    def __init__(self, toml, server="", storage="", directory=None, wrapper=(), stderr=None):
        """wrapper: a command that runs the daemon; stderr: a descriptor instead of the log file."""
        self.directory = pathlib.Path(directory or tempfile.mkdtemp(prefix="tallyd-e2e-"))
        self.config = self.directory / "tallyd.toml"
        self.log_file = self.directory / "log"
        self.server, self.storage, self.toml = server, storage, toml
        self.port, self.process = None, None
        self.environment = {}
        self.wrapper, self.stderr = tuple(wrapper), stderr

    # --- life ---

    def start(self):
        """Starts the daemon, waits until it is ready; tries again where another took the port."""
        for _ in range(5):
            self.port = free_port()
            self.write_config()
            self.spawn()
            if self._wait_ready():
                return self
            if "address" not in self.log().lower() or "in use" not in self.log().lower():
                break
        raise Failure(f"tallyd did not become ready (exit {self.process.poll()}):\n{self.log()}")

    def write_config(self, toml=None):
        self.toml = self.toml if toml is None else toml
        guards = "" if "[ingest]" in self.toml else ANY_TIME
        self.config.write_text(
            f'[server]\nlisten = "127.0.0.1:{self.port}"\n{self.server}\n{guards}'
            f'[storage]\npath = "data"\n{self.storage}\n{self.toml}\n', encoding="utf-8")

    def spawn(self, *more):
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, str(BINARY), "serve", "--config", str(self.config), *more],
                cwd=self.directory, env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL, stdout=log,
                stderr=log if self.stderr is None else self.stderr)

    def _wait_ready(self):
        """Asks /readyz until it says yes (True) or the process ends or takes too long (False)."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.get("/readyz").status == 200 and self._listens():
                    return True
            except OSError:
                pass
            time.sleep(0.01)
        self.kill()
        return False

    def _listens(self):
        """Whether the port is this process's: another's daemon may have taken it in between, and
        answers."""
        with open("/proc/net/tcp", encoding="ascii") as table:
            sockets = [line.split() for line in table][1:]
        inodes = {f"socket:[{one[9]}]" for one in sockets
                  if one[1].endswith(f":{self.port:04X}") and one[3] == "0A"}
        descriptors = pathlib.Path(f"/proc/{self.process.pid}/fd")
        try:
            return any(os.readlink(one) in inodes for one in descriptors.iterdir())
        except PermissionError:
            return True  # A daemon that holds secrets is closed to all but root.
        except OSError:
            return False

    def stop(self):
        """SIGTERM: the daemon drains and exits with 0."""
        if self.process is None or self.process.returncode is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"tallyd did not stop on SIGTERM:\n{self.log()}") from None
        if code != 0:
            raise Failure(f"tallyd exited with {code} on SIGTERM:\n{self.log()}")

    def kill(self):
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            self.process.wait()

    def restart(self):
        self.stop()
        return self.start()

    def reload(self, toml):
        """Puts another configuration in place and asks the daemon to take it."""
        self.write_config(toml)
        return self.request("POST", "/-/reload")

    def discard(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log(self):
        """The end of the log, once no line has come for a moment: a thread of their own writes the
        daemon's lines, a little after what they tell of."""
        text = None
        for _ in range(LOG_LOOKS):
            ended = self.process is None or self.process.returncode is not None
            before, text = text, self._log_as_is()
            if ended or text == before:
                break
            time.sleep(LOG_SECONDS)
        return text[-LOG_TAIL:]

    def _log_as_is(self):
        if not self.log_file.exists():
            return ""
        return self.log_file.read_text(encoding="utf-8", errors="replace")

    # --- HTTP ---

    def request(self, method, path, body=None, headers=None, params=None):
        query = encode(params or {})
        target = path + ("?" + query if query else "")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
        try:
            try:
                connection.request(method, target, body, headers or {})
            except (BrokenPipeError, ConnectionResetError):
                if connection.sock is None:
                    raise  # There never was a connection.
                # The daemon may answer (413) before it has read the whole body.
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def get(self, path, params=None, headers=None, **more):
        return self.request("GET", path, None, headers, {**(params or {}), **more})

    def post_bytes(self, stream, body, content_type="application/json", headers=None, **params):
        headers = {**({"Content-Type": content_type} if content_type else {}), **(headers or {})}
        return self.request("POST", f"/v1/streams/{stream}/events", body, headers, params)

    def post(self, stream, events, **params):
        """POSTs an event or a list of events as JSON."""
        body = json.dumps(events, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return self.post_bytes(stream, body, **params)

    def write(self, stream, events, **params):
        """POSTs events that must be taken; answers the counts."""
        return self.post(stream, events, **params).expect(200).json

    def delete(self, path, params=None, **more):
        return self.request("DELETE", path, None, None, {**(params or {}), **more})

    # --- reading ---

    def query(self, stream, params=None, **more):
        """The whole JSON answer of an events query."""
        return self.get(f"/v1/streams/{stream}/events", params, **more).expect(200).json

    def events(self, stream, params=None, **more):
        return as_dicts(self.query(stream, params, **more))

    def latest(self, stream, params=None, **more):
        return as_dicts(self.get(f"/v1/streams/{stream}/latest", params, **more).expect(200).json)

    def rows(self, table, params=None, **more):
        return self.get(f"/v1/tables/{table}/rows", params, **more).expect(200).json["rows"]

    def keys(self, table, params=None, **more):
        return [row["key"] for row in self.rows(table, params, **more)]

    def row(self, table, key, **params):
        return self.get(f"/v1/tables/{table}/rows/{quote(key, safe='')}", **params)

    def cells(self, table, key, **params):
        """The cells of one row that must be there."""
        return self.row(table, key, **params).expect(200).json["cells"]

    def raw(self, *pieces):
        """Sends bytes as they are on a connection of its own; see RawConnection."""
        connection = RawConnection(self.port, ANSWER_SECONDS)
        for piece in pieces:
            connection.send(piece)
        return connection


def as_dicts(answer):
    """The rows of an events answer, each as column -> value."""
    if answer["columns"][:1] not in ([], ["ts"]):
        raise Failure(f"ts is not the first column: {answer['columns']}")
    if len(set(answer["columns"])) != len(answer["columns"]):
        raise Failure(f"a column comes twice: {answer['columns']}")
    return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]


def plain(cells):
    """family -> column -> the newest value."""
    return {family: {name: cell[0]["value"] for name, cell in columns.items()}
            for family, columns in cells.items()}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(*arguments, directory=None):
    """Runs tallyd to its end; answers exit status and all that it printed."""
    done = subprocess.run([str(BINARY), *map(str, arguments)], cwd=directory, timeout=START_SECONDS,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def unbase64(value):
    """The bytes of {"base64": "..."}."""
    return base64.b64decode(value["base64"], validate=True)


def eventually(condition, what):
    """Waits until condition() is true; what names it in the failure."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f"still not true: {what}")
        time.sleep(0.02)


def in_threads(count, work):
    """Runs work(0) .. work(count - 1) at once and raises the first failure."""
    failures = []

    def guarded(index):
        try:
            work(index)
        except BaseException as failure:  # pylint: disable=broad-except
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def data_folder(name):
    """A folder of tests/data, or of larger data of the same shape."""
    return DATA / name


class E2eTest(unittest.TestCase):
    """Starts daemons, stops each at the end, and shows the log of a failed test."""

    maxDiff = 4000

    def start(self, toml, **options):
        daemon = Tallyd(toml, **options)
        self.addCleanup(self._finish, daemon)
        return daemon.start()

    def _finish(self, daemon):
        outcome = getattr(getattr(self, "_outcome", None), "result", None)
        failed = [test
                  for test, _ in getattr(outcome, "failures", []) + getattr(outcome, "errors", [])]
        try:
            daemon.stop()
        finally:
            if self in failed:
                print(f"--- log of {self.id()}\n{daemon.log()}", file=sys.stderr)
            daemon.discard()

    def refused(self, answer, index=None, field=None, status=400):
        """Asserts a refusal with its reason, for the event and the field where they are given."""
        said = answer.problem(*([status] if isinstance(status, int) else status))
        if index is not None:
            first = said["errors"][0]
            self.assertEqual(index, first["index"], said)
            self.assertTrue(first["detail"], said)
            if field is not None:
                self.assertEqual(field, first["field"], said)
        return said
