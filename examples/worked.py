"""What the worked examples share: a daemon of their own for a few seconds, and questions to it.

Each of market/, servers/ and meters/ has a configuration, tallyd.toml, and a script, run. The script
starts a daemon on a free port with its data in a temporary directory, sends events, asks what such a
world is usually asked, and checks that each question is answered out of a single range of keys.
The binary is build/tallyd, or what TALLYD says.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_SECONDS = 60
BATCH = 1000
SHOWN = 3


class Failed(Exception):
    """The example does not do what it says."""


def expect(holds, what):
    if not holds:
        raise Failed(what)


class Daemon:
    """A running tallyd, and the verbs to talk to it."""

    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def _ask(self, request):
        try:
            with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            raise Failed(f"{refused.code}: {refused.read().decode()}") from refused

    def send(self, stream, events):
        """Sends events in batches; each is on disk when its answer comes."""
        for first in range(0, len(events), BATCH):
            self._ask(urllib.request.Request(
                f"{self.url}/v1/streams/{stream}/events",
                json.dumps(events[first:first + BATCH]).encode(),
                {"Content-Type": "application/json"}))
        print(f"sent {len(events):,} events to {stream}\n")

    def get(self, path):
        return self._ask(self.url + path)

    def build_day(self, table, date):
        """Builds the nightly table of a day now, as it would be built at its hour."""
        said = self._ask(urllib.request.Request(
            f"{self.url}/v1/tables/{table}/daily?date={date}", b"", method="POST"))
        print(f"built {said['table']}, {said['rows']} rows\n")

    def question(self, title, path, **parameters):
        """Asks, shows, and checks that the answer is out of one range; answers the rows as dicts."""
        given = {name.rstrip("_"): value for name, value in parameters.items()}
        target = path + ("?" + urllib.parse.urlencode(given, safe=":,/*") if given else "")
        answer = self.get(target)
        print(f"{title}\n  curl '{self.url}{target}'")
        for row in answer["rows"][:SHOWN]:
            print("  ", json.dumps(row))
        if len(answer["rows"]) > SHOWN:
            print(f"   ... {len(answer['rows']) - SHOWN:,} more")
        plan = answer["plan"]
        print(f"  plan: {json.dumps(plan)}\n")
        expect((plan["kind"], plan["ranges"]) == ("range", 1),
               f"{title}: not one range: {plan}")
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]


def _port_of(process, log):
    """The port that the daemon says it listens on, once it is there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        said = log.read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"listens on \S+ \(port (\d+)\)", said):
            return int(found.group(1))
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise Failed(f"tallyd does not start:\n{log.read_text(errors='replace')}")


@contextlib.contextmanager
def daemon_of(config):
    """A daemon on a copy of the configuration; it and its data are gone afterwards."""
    binary = pathlib.Path(os.environ.get("TALLYD", ROOT / "build" / "tallyd")).resolve()
    expect(binary.exists(), f"{binary} is not there: build it with `make`, or set TALLYD")
    with tempfile.TemporaryDirectory(prefix="tallyd-example-") as folder:
        file = pathlib.Path(shutil.copy(config, folder))
        log = file.with_name("log")
        with open(log, "wb") as out:
            process = subprocess.Popen([binary, "serve", "--config", file], stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out)
        try:
            yield Daemon(_port_of(process, log))
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def main(script, example):
    """Runs example(daemon) on the configuration beside the script; the exit status."""
    try:
        with daemon_of(pathlib.Path(script).resolve().with_name("tallyd.toml")) as daemon:
            example(daemon)
    except Failed as failed:
        print(f"{script}: {failed}", file=sys.stderr)
        return 1
    print("Every question was answered out of one range of keys.")
    return 0
