#!/usr/bin/env python3
"""What connections that do nothing take of a tallyd's memory: by hand, half a minute.

Opens so many plain connections and so many that speak TLS, each with one request answered, and
prints the daemon's memory before and after each kind. The exit status is 1 where all of them take
more than 256 MiB.

    tests/idle_connections.py [--tallyd build/tallyd] [--plain 10000] [--tls 2000]
"""

import argparse
import http.client
import pathlib
import resource
import socket
import ssl
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.certificates import Pair  # pylint: disable=wrong-import-position
from tests.e2e.tallyd import free_port  # pylint: disable=wrong-import-position

MIB = 1 << 20
MOST_BYTES = 256 * MIB
SECONDS = 30
REST_SECONDS = 4  # After a second or two of nothing a connection lets go of what it reads into.
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
CONFIG = """
[server]
listen = [{{ at = "127.0.0.1:{plain}" }}, {{ at = "127.0.0.1:{tls}", tls = true }}]
max_connections = {most}
idle_timeout = "1h"
[server.tls]
cert = "{cert}"
key = "{key}"
[tables.T]
pattern = "latest"
row_key = "{{a}}"
families.F = {{}}
"""


def memory_of(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def await_ready(process, port):
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    sys.exit("the daemon is not ready")


def opened(port, context):
    connection = socket.create_connection(("127.0.0.1", port), SECONDS)
    if context is not None:
        connection = context.wrap_socket(connection, server_hostname="localhost")
    connection.sendall(REQUEST)
    if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
        sys.exit("a connection is not answered")
    return connection


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tallyd", default=str(ROOT / "build" / "tallyd"))
    parser.add_argument("--plain", type=int, default=10_000)
    parser.add_argument("--tls", type=int, default=2_000)
    asked = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="tallyd-idle-") as folder:
        pair = Pair(folder, "server")
        ports = free_port(), free_port()
        config = pathlib.Path(folder) / "tallyd.toml"
        config.write_text(CONFIG.format(plain=ports[0], tls=ports[1], cert=pair.cert, key=pair.key,
                                        most=asked.plain + asked.tls + 100), encoding="utf-8")
        process = subprocess.Popen([asked.tallyd, "serve", "--config", str(config)],
                                   stderr=subprocess.DEVNULL)
        try:
            await_ready(process, ports[0])
            base = before = memory_of(process)
            print(f"{'':16}{'MiB':>8}{'KB each':>9}\n{'none':16}{base / MIB:8.1f}")
            context = ssl.create_default_context(cafile=str(pair.cert))
            kept = []
            for name, count, port, speaks in (("plain", asked.plain, ports[0], None),
                                              ("TLS", asked.tls, ports[1], context)):
                kept += [opened(port, speaks) for _ in range(count)]
                time.sleep(REST_SECONDS)
                now = memory_of(process)
                each = (now - before) / max(1, count) / 1000
                print(f"{f'{count:,} {name}':16}{now / MIB:8.1f}{each:9.1f}")
                before = now
            return 1 if before - base > MOST_BYTES else 0
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
