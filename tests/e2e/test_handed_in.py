"""Sockets that systemd opens and hands in."""

import http.client
import re
import shutil
import socket
import subprocess
import sys
import unittest

from tests.e2e.tallyd import BINARY, ROOT, SLOW, START_SECONDS, E2eTest, Tallyd, free_port

SCHEMA = """
[tables.T]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
"""

# What systemd does between fork and exec. A process that passes the environment on by mistake is no
# addressee: LISTEN_PID says who is.
HAND_IN = """
import os, sys
descriptor, name = sys.argv[1:3]
os.dup2(int(descriptor), 3, inheritable=True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES=name)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def listener(host="127.0.0.1"):
    return socket.create_server((host, 0))


def allowed_calls():
    """What SystemCallFilter= of systemd/tallyd.service lets through."""
    filters = re.findall(r"(?m)^SystemCallFilter=(~?)(.*)$",
                         (ROOT / "systemd" / "tallyd.service").read_text(encoding="utf-8"))
    allowed = calls_of("@default")
    for refused, names in filters:
        for name in names.split():
            allowed = allowed - calls_of(name) if refused else allowed | calls_of(name)
    return allowed


def calls_of(name):
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True,
                            capture_output=True, text=True).stdout.splitlines()[1:]
    names = {line.strip() for line in listed if line.strip() and not line.strip().startswith("#")}
    return set().union(*map(calls_of, names))


class Activated(Tallyd):
    """A daemon that gets a socket; its file names another port."""

    def __init__(self, handed_in, name="http", inside=()):
        super().__init__(SCHEMA)
        self.handed_in, self.name, self.inside = handed_in, name, inside

    def start(self):
        self.port = free_port()
        self.write_config()
        self.port = self.handed_in.getsockname()[1]
        self.spawn()
        assert self._wait_ready(), self.log()
        return self

    def spawn(self, *more):
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*self.inside, sys.executable, "-c", HAND_IN, str(self.handed_in.fileno()),
                 self.name, str(BINARY), "serve", "--config", str(self.config)],
                cwd=self.directory, pass_fds=[self.handed_in.fileno()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)


class HandedInTest(E2eTest):
    def activated(self, handed_in, **options):
        daemon = Activated(handed_in, **options)
        self.addCleanup(handed_in.close)
        self.addCleanup(self._finish, daemon)
        return daemon

    def test_it_replaces_what_the_file_says(self):
        daemon = self.activated(listener()).start()
        configured = int(daemon.config.read_text().split('"127.0.0.1:')[1].split('"')[0])
        self.assertNotEqual(configured, daemon.port)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", configured), 5)
        self.assertEqual(1, daemon.write("T", {"host": "a", "ts": 1_700_000_000_000, "v": 1})["rows"])

    def test_whoever_comes_during_a_restart_is_answered_after_it(self):
        daemon = self.activated(listener()).start()
        daemon.stop()
        early = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=START_SECONDS)
        self.addCleanup(early.close)
        early.request("GET", "/healthz")
        daemon.spawn()
        self.assertEqual(200, early.getresponse().status)

    @unittest.skipUnless(shutil.which("unshare"), "unshare is not installed")
    def test_a_daemon_in_a_network_of_its_own_serves_it(self):
        inside = ("unshare", "--map-root-user", "--net")
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this machine gives nobody a network of their own")
        daemon = self.activated(listener(), inside=inside).start()
        daemon.write("T", {"host": "a", "ts": 1_700_000_000_000, "v": 1})
        self.assertEqual(1, len(daemon.events("T", host="a")))

    @unittest.skipUnless(shutil.which("strace") and shutil.which("systemd-analyze"),
                         "strace or systemd-analyze is not installed")
    @unittest.skipIf(SLOW > 1, "a sanitizer makes calls of its own")
    def test_it_asks_the_kernel_for_nothing_that_its_unit_refuses(self):
        daemon = self.activated(listener())
        calls = daemon.directory / "calls"
        daemon.inside = ("strace", "-D", "-f", "-qq", "-o", str(calls))
        daemon.start()
        daemon.write("T", {"host": "a", "ts": 1_700_000_000_000, "v": 1})
        daemon.request("POST", "/-/settle").expect(200)
        daemon.request("POST", "/-/reload").expect(200)
        daemon.get("/metrics").expect(200)
        daemon.request("POST", "/v1/backup", f'{{"to": "{daemon.directory}/backup"}}').expect(200)
        self.assertEqual(1, len(daemon.events("T", host="a", step="1m", agg="max", fields="v")))
        daemon.stop()
        after_exec = calls.read_text(encoding="utf-8").partition(f'execve("{BINARY}"')[2]
        made = set(re.findall(r"(?m)^\d+ +(\w+)\(", after_exec))
        self.assertGreater(len(made), 30)
        self.assertEqual(set(), made - allowed_calls())
        families = set(re.findall(r"socket\((AF_\w+)", after_exec))
        self.assertLessEqual(families, {"AF_UNIX"}, "it opens no connection")

    def test_what_nobody_serves_is_refused_by_name(self):
        cases = (
            (listener(), "metrics", 'the socket "metrics"', "FileDescriptorName=http"),
            (listener(), "telnet", 'the socket "telnet"', "with telnet = ADDRESS"),
            (socket.socket(), "http", 'the socket "http"', "does not listen for TCP"),
            (listener("0.0.0.0"), "http", "0.0.0.0", "beyond loopback"),
        )
        for handed_in, name, *said in cases:
            daemon = self.activated(handed_in, name=name)
            daemon.port = free_port()
            daemon.write_config()
            daemon.spawn()
            self.assertEqual(2, daemon.process.wait(START_SECONDS), daemon.log())
            for text in said:
                self.assertIn(text, daemon.log().replace('\\"', '"'))


if __name__ == "__main__":
    unittest.main()
