#!/usr/bin/env python3
"""How long a filter on one label takes that ten of many series match: by hand, a minute.

Writes a point of each of so many series of five labels in line protocol, settles, and asks for the
events and the newest values of one rack 50 times each, each time another. Prints the median and
the 99th percentile of the answers' times, and the daemon's memory. The exit status is 1 where some
answer is wrong, or a percentile beyond --most.

    tests/label_filters.py [--tallyd build/tallyd] [--series 1000000] [--most 100]
"""

import argparse
import http.client
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.tallyd import free_port  # pylint: disable=wrong-import-position

SECONDS = 600
PER_RACK = 10
LINES = 5000
QUESTIONS = 50
START_S = 1_700_000_000
CONFIG = """
[server]
listen = "127.0.0.1:{port}"
[storage]
path = "data"
[protocols.influx]
stream = "telegraf"
[protocols.opentsdb]
stream = "points"
"""


class Daemon:
    def __init__(self, program, directory):
        self.port = free_port()
        config = pathlib.Path(directory) / "tallyd.toml"
        config.write_text(CONFIG.format(port=self.port), encoding="ascii")
        self.process = subprocess.Popen([program, "serve", "--config", config],
                                        stderr=subprocess.DEVNULL)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)

    def await_ready(self):
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return self.ask("GET", "/readyz")
            except OSError:
                self.connection.close()
                time.sleep(0.05)
        raise SystemExit("the daemon does not serve")

    def ask(self, method, path, body=None, **parameters):
        if parameters:
            path += "?" + urllib.parse.urlencode(parameters)
        self.connection.request(method, path, body)
        response = self.connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            raise SystemExit(f"{method} {path}: {response.status} {answer[:500]}")
        return answer

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            kib = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        return kib >> 10

    def stop(self):
        self.process.terminate()
        self.process.wait(SECONDS)


def tags_of(number):
    return f"host=h{number:07},rack=r{number // PER_RACK:06},dc=d{number % 7},os=debian,arch=x86_64"


def write(daemon, series):
    for first in range(0, series, LINES):
        lines = "".join(f"cpu,{tags_of(number)} usage={number % 100}.5 {START_S + number % 60}\n"
                        for number in range(first, min(first + LINES, series)))
        daemon.ask("POST", "/write", lines, db="any", precision="s")
    daemon.ask("POST", "/-/settle")


def hosts_of(rack):
    return [f"h{number:07}" for number in range(rack * PER_RACK, (rack + 1) * PER_RACK)]


def events(daemon, rack):
    answer = json.loads(daemon.ask("GET", "/v1/streams/telegraf/events", rack=f"r{rack:06}"))
    at = answer["columns"].index("host")
    return [row[at] for row in answer["rows"]]


def latest(daemon, rack):
    answer = json.loads(daemon.ask("GET", "/v1/streams/telegraf/latest", rack=f"r{rack:06}"))
    at = answer["columns"].index("host")
    return [row[at] for row in answer["rows"]]


def series(daemon, rack):
    answer = json.loads(daemon.ask("GET", "/v1/streams/telegraf/series", rack=f"r{rack:06}"))
    return [one["host"] for one in answer["series"]]


def metric(filter_text):
    def asked(daemon, rack):
        answer = json.loads(daemon.ask(
            "GET", "/api/query", start=START_S, end=START_S + 60,
            m=f"none:telegraf.usage{{rack={filter_text.format(rack=f'{rack:06}')}}}"))
        return [one["tags"]["host"] for one in answer]
    return asked


KINDS = (
    ("events?rack=R", events),
    ("latest?rack=R", latest),
    ("series?rack=R", series),
    ("/api/query {rack=R}", metric("r{rack}")),
    ("/api/query {rack=*R}", metric("wildcard(*{rack})")),
    ("/api/query {rack=regexp(R)}", metric("regexp(^r{rack}$)")),
)


def measure(daemon, count, most):
    good = True
    for name, asked in KINDS:
        took = []
        for rack in random.Random(count).sample(range(count // PER_RACK), QUESTIONS):
            begun = time.monotonic()
            hosts = asked(daemon, rack)
            took.append(1000 * (time.monotonic() - begun))
            if sorted(hosts) != hosts_of(rack):
                print(f"{name}: wrong for rack {rack}: {len(hosts)} hosts")
                good = False
                break
        took.sort()
        print(f"{name:28} median {took[len(took) // 2]:8.1f} ms, "
              f"p99 {took[len(took) * 99 // 100]:8.1f} ms", flush=True)
        good &= took[len(took) * 99 // 100] <= most
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tallyd", default=ROOT / "build" / "tallyd")
    parser.add_argument("--series", type=int, default=1_000_000)
    parser.add_argument("--most", type=float, default=100, help="milliseconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        daemon = Daemon(options.tallyd, directory)
        try:
            daemon.await_ready()
            empty = daemon.resident_mib()
            begun = time.monotonic()
            write(daemon, options.series)
            print(f"{options.series} series, written and settled in "
                  f"{time.monotonic() - begun:.0f} s; memory {empty} MiB empty, "
                  f"{daemon.resident_mib()} MiB now", flush=True)
            good = measure(daemon, options.series, options.most)
            print(f"memory {daemon.resident_mib()} MiB after the questions")
        finally:
            daemon.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
