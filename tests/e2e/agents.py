"""Agents, clients and proxies that others wrote, and what stands between one of them and a tallyd.

The programs are Debian's, unpacked by .ci/agents into build/agents (TALLYD_AGENTS names another
folder). A test of one that is not there is skipped.
"""

import contextlib
import http.client
import http.server
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import unittest

from tests.e2e.tallyd import ANSWER_SECONDS, E2eTest, ROOT, SLOW

AGENTS = pathlib.Path(os.environ.get("TALLYD_AGENTS", ROOT / "build" / "agents")).resolve()
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
INFLUX = '[protocols.influx]\nstream = "telegraf"\n'
OPENTSDB = '[protocols.opentsdb]\nstream = "opentsdb"\n'


def path_of(file):
    """A file of what was unpacked; skips the test where it is not there."""
    path = AGENTS / file
    if not path.exists():
        raise unittest.SkipTest(f"{path} is not there; .ci/agents {AGENTS} unpacks it")
    return str(path)


def environment():
    """What an unpacked program needs beside its own file."""
    libraries = [AGENTS / "usr/lib/x86_64-linux-gnu", AGENTS / "lib/x86_64-linux-gnu"]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries)), "no_proxy": "*",
            "PYTHONPATH": str(AGENTS / "usr/lib/python3/dist-packages"), "PYTHONNOUSERSITE": "1",
            "LC_ALL": "C.UTF-8"}


class Exchange:
    """A request that was answered, as the agent was told: what it sent, and the status."""

    def __init__(self, method, path, headers, body, status):
        self.method, self.path, self.headers = method, path, headers
        self.body, self.status = body, status


class Between:
    """An HTTP server that hands each request on to a tallyd and notes what was answered. Where
    tallyd does not answer, it closes, as the machine of a daemon that was killed does."""

    def __init__(self, tallyd):
        self.tallyd, self.exchanges = tallyd, []
        between = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = ANSWER_SECONDS

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    answer = between.hand_on(self.command, self.path, dict(self.headers), body)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True
                    return
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "transfer-encoding"):
                        self.send_header(name, value)
                if answer.status != 204 and answer.getheader("Content-Length") is None:
                    self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_GET = do_POST = do_HEAD = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # An agent that leaves is no error.
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def hand_on(self, method, path, headers, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.tallyd.port,
                                                timeout=ANSWER_SECONDS)
        with contextlib.closing(connection):
            headers = {name: value for name, value in headers.items()
                       if name.lower() not in ("connection", "host")}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.content = answer.read()
        self.exchanges.append(Exchange(method, path, headers, body, answer.status))
        return answer

    def told(self, path):
        """What was sent to a path and answered with a 2xx."""
        return [one for one in list(self.exchanges)
                if one.path.split("?")[0] == path and 200 <= one.status < 300]


class AgentTest(E2eTest):
    def run_agent(self, arguments, file=None, timeout=ANSWER_SECONDS):
        """Runs a program to its end, which must be good; answers what it printed."""
        done = subprocess.run(arguments, env=environment(), timeout=timeout, check=False,
                              stdin=file, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = done.stdout.decode("utf-8", "replace")
        self.assertEqual(0, done.returncode, said)
        return said

    def start_agent(self, arguments, log):
        """A program that runs until the test ends."""
        with open(log, "ab") as out:
            agent = subprocess.Popen(arguments, env=environment(), stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=subprocess.STDOUT)
        self.addCleanup(self._end_agent, agent)
        return agent

    def _end_agent(self, agent):
        """How it ends is not what is tested: some take their time."""
        if agent.poll() is None:
            agent.terminate()
            try:
                agent.wait(1)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()

    def kill_and_start(self, tallyd):
        """kill -9, and the same daemon again at the same port."""
        tallyd.kill()
        tallyd.spawn()
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if tallyd.get("/readyz").status == 200:
                    return
            self.assertIsNone(tallyd.process.poll(), tallyd.log())
            time.sleep(0.01)
        self.fail(tallyd.log())

    def all_events(self, tallyd, stream):
        """Every event of a stream, whatever it is made of."""
        answer = tallyd.get(f"/v1/streams/{stream}/events", scan=1, format="ndjson").expect(200)
        return answer.lines

    def assert_once(self, events, labels):
        """No two events of one time have equal labels: nothing was doubled."""
        seen = [(one["ts"], *(one.get(label) for label in labels)) for one in events]
        self.assertEqual(len(seen), len(set(seen)))


def config_of(page):
    """The fenced blocks of a page of docs/agents/, by the language that each names, in order."""
    text = (ROOT / "docs" / "agents" / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def filled(text, places):
    """The configuration of a recipe, with what is a matter of the machine put in its place."""
    for place, value in places.items():
        if place not in text:
            raise AssertionError(f"the recipe has no {place!r}")
        text = text.replace(place, value)
    return text


def answers_at(port):
    """Whether somebody listens there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), SLOW):
        return True
    return False
