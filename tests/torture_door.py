#!/usr/bin/env python3
"""Thousands of hostile peers before a tallyd, and one client that means well (make torture-door).

Each attack has CONNECTIONS connections, or a part of them, for SECONDS. Meanwhile the good client
posts one event after the other on a connection of its own, as it did in a quiet time before, and
what it sees is told beside that: how many requests, how many not answered by 200, the median, the
99th of a hundred, and how often the quiet one that is. The daemon's memory is looked at ten times a
second. The report goes to standard output as a table; the exit status is 1 where the good client
was refused anything, or memory grew by more than 256 MiB, and with --bound N where its 99th was
more than N times the quiet one.

    tests/torture_door.py [--tallyd build/tallyd] [--connections 10000] [--seconds 15] [ATTACK...]
"""

import argparse
import gzip
import multiprocessing
import os
import pathlib
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

MIB = 1 << 20
MOST_GROWTH = 256 * MIB
QUIET_SECONDS = 10
BETWEEN_GOOD = 0.005
CONFIG = """
[server]
listen = [{{ at = "127.0.0.1:{port}" }}{secure}]
max_connections = {connections}
{tls}
[storage]
path = "data"
[ingest]
min_time = "1970-01-01"
[tables.LOG]
stream = "log"
pattern = "single-timestamp"
row_key = "{{h}}#{{ts:ms}}"
families.METRIC = {{}}
"""
POST = (b"POST /v1/streams/log/events HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n")
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ZEROS = gzip.compress(b" " * (24 * MIB))
BOMB = POST + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(ZEROS) + ZEROS


class Attack:
    """What each connection sends once, and then again and again: every `pause` seconds, or as fast
    as it is taken. Where the daemon ends a connection another is opened."""

    def __init__(self, first, more=b"", pause=1.0, share=1.0, reads=True, secure=False):
        self.first, self.more, self.pause = first, more, pause
        self.share, self.reads, self.secure = share, reads, secure


ATTACKS = {
    "idle": Attack(b""),
    "header": Attack(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"y"),
    "body": Attack(POST + b"Content-Length: 1000000\r\n\r\n{", b" "),
    "chunks": Attack(CHUNKED, b"1\r\n \r\n"),
    "announced": Attack(POST + b"Content-Length: 33554432\r\n\r\n"),
    "bodies": Attack(POST + b"Content-Length: 33554432\r\n\r\n", b" " * 65536, 0.05),
    "bombs": Attack(BOMB, BOMB, 0.5, 0.005),
    "extensions": Attack(CHUNKED + b"5;", b"x" * 64, 0.05, 0.1),
    "trailers": Attack(CHUNKED + b"0\r\n", b"X: y\r\n" * 8, 0.05, 0.1),
    "large": Attack(POST + b"Content-Length: 8388608\r\n\r\n", b" " * 262144, 0, 0.002),
    "pipelined": Attack(b"", b"GET /v1/tables HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100, 0.2, 0.1,
                        reads=False),
    # Of a record of 512 bytes with a hello of 508, which opens TLS.
    "hello": Attack(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0", secure=True),
}


def raise_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Crowd:
    """The connections of one attack, in one process."""

    def __init__(self, attack, count, port):
        self.attack, self.count, self.port = attack, count, port
        self.selector = selectors.EpollSelector()
        self.open, self.rest = {}, {}

    def add(self):
        one = socket.socket()
        if not self.attack.reads:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        try:
            one.connect(("127.0.0.1", self.port))
        except BlockingIOError:
            pass
        self.open[one] = 0.0
        self.rest[one] = self.attack.first
        if self.attack.reads:
            self.selector.register(one, selectors.EVENT_READ)

    def drop(self, one):
        if self.attack.reads:
            self.selector.unregister(one)
        del self.open[one], self.rest[one]
        one.close()

    def send(self, one, now):
        if not self.rest[one]:
            if not self.attack.more or now < self.open[one]:
                return
            self.rest[one] = self.attack.more
            self.open[one] = now + self.attack.pause
        try:
            sent = one.send(self.rest[one])
            self.rest[one] = self.rest[one][sent:]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            if error.errno != 107:  # It is not connected yet.
                self.drop(one)

    def run(self, end, told):
        cut = 0
        while (now := time.monotonic()) < end:
            for _ in range(min(500, self.count - len(self.open))):
                self.add()
            for one in list(self.open):
                self.send(one, now)
            for key, _ in self.selector.select(0.02):
                try:
                    data = key.fileobj.recv(65536)
                except BlockingIOError:
                    continue
                except OSError:
                    data = b""
                if not data:
                    cut += 1
                    self.drop(key.fileobj)
        told.put((len(self.open), cut))


def attack_in_process(name, count, port, end, told):
    raise_files()
    os.nice(5)
    Crowd(ATTACKS[name], count, port).run(end, told)


def post_until(port, end, told):
    """The good client."""
    seconds, failed, number = [], 0, int(time.monotonic() * 1000)
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while time.monotonic() < end:
        number += 1
        body = b'{"ts": %d, "h": "good", "v": 1}' % number
        began = time.monotonic()
        try:
            connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            answer = b""
            while not answer.endswith(b"}\n"):
                data = connection.recv(65536)
                if not data:
                    raise ConnectionError("closed")
                answer += data
            failed += not answer.startswith(b"HTTP/1.1 200")
        except OSError:
            failed += 1
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        seconds.append(time.monotonic() - began)
        time.sleep(BETWEEN_GOOD)
    told.put((seconds, failed))


def part(values, share):
    ordered = sorted(values) or [0.0]
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Daemon:
    def __init__(self, binary, connections):
        self.directory = tempfile.TemporaryDirectory(prefix="tallyd-torture-")
        path = pathlib.Path(self.directory.name)
        self.port, self.secure_port = free_port(), free_port()
        cert, key = path / "cert.pem", path / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days",
                        "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
        key.chmod(0o600)
        (path / "tallyd.toml").write_text(
            CONFIG.format(port=self.port, connections=connections + 500,
                          secure=f', {{ at = "127.0.0.1:{self.secure_port}", tls = true }}',
                          tls=f'[server.tls]\ncert = "{cert}"\nkey = "{key}"'),
            encoding="utf-8")
        with open(path / "log", "wb") as log:
            self.process = subprocess.Popen(
                [binary, "serve", "--config", path / "tallyd.toml"], stdout=log, stderr=log)
        while True:
            try:
                if self.get("/readyz") is not None:
                    break
            except OSError:
                if self.process.poll() is not None:
                    sys.exit((path / "log").read_text(encoding="utf-8"))
                time.sleep(0.05)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return answer.read()

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

    def stop(self):
        self.process.terminate()
        code = self.process.wait(60)
        self.directory.cleanup()
        return code


def measured(daemon, seconds, attack=None, count=0):
    """What the good client sees in that time, and what the daemon's memory grows to."""
    told, crowd = multiprocessing.Queue(), multiprocessing.Queue()
    end = time.monotonic() + seconds
    workers = []
    if attack:
        port = daemon.secure_port if ATTACKS[attack].secure else daemon.port
        workers.append(multiprocessing.Process(
            target=attack_in_process, args=(attack, count, port, end, crowd)))
        workers[0].start()
        time.sleep(min(3, seconds / 3))  # It has built up by then.
    workers.append(multiprocessing.Process(target=post_until, args=(daemon.port, end, told)))
    workers[-1].start()
    most = 0
    while time.monotonic() < end:
        most = max(most, daemon.memory())
        time.sleep(0.1)
    seen, failed = told.get()
    held, cut = crowd.get() if attack else (0, 0)
    for worker in workers:
        worker.join()
    return {"attack": attack or "none", "connections": held, "ended": cut, "requests": len(seen),
            "failed": failed, "p50": part(seen, 0.5), "p99": part(seen, 0.99), "memory": most}


def row(found, quiet):
    growth = (found["memory"] - quiet["memory"]) / MIB
    return (f"| {found['attack']} | {found['connections']} | {found['ended']} "
            f"| {found['requests']} | {found['failed']} | {found['p50'] * 1000:.1f} | {found['p99'] * 1000:.1f} "
            f"| {found['p99'] / quiet['p99']:.1f} | {growth:.0f} |")


def tell(daemon, count, options):
    """The report, line by line; whether the good client and the memory kept to their bounds."""
    quiet = measured(daemon, QUIET_SECONDS)
    print("| attack | connections at the end | ended by the daemon | good requests | not 200 "
          "| p50, ms | p99, ms | times quiet | memory, MiB more |")
    print("|---|---|---|---|---|---|---|---|---|")
    print(row(quiet, quiet), flush=True)
    good = True
    for name in options.attacks or ATTACKS:
        found = measured(daemon, options.seconds, name, max(1, int(count * ATTACKS[name].share)))
        print(row(found, quiet), flush=True)
        good = (good and found["failed"] == 0 and
                found["memory"] - quiet["memory"] <= MOST_GROWTH and
                (options.bound is None or found["p99"] <= options.bound * quiet["p99"]))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tallyd", default="build/tallyd")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--bound", type=float, help="of the 99th, in quiet ones")
    parser.add_argument("attacks", nargs="*", choices=[[], *ATTACKS], metavar="ATTACK")
    options = parser.parse_args()
    files = raise_files()
    count = min(options.connections, files - 2000)
    daemon = Daemon(options.tallyd, count)
    try:
        good = tell(daemon, count, options)
    finally:
        code = daemon.stop()
    sys.exit(0 if good and code == 0 else 1)


if __name__ == "__main__":
    main()
