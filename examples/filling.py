"""Sends batches of events to a running tallyd over a few connections, and shows how far it is."""

import http.client
import itertools
import json
import queue
import sys
import threading
import time
import urllib.parse

CONNECTIONS = 4
BATCH_EVENTS = 1000
TRIES = 20
TIMEOUT_SECONDS = 60


class Refused(Exception):
    """The daemon does not answer, or does not take what it was sent."""


class Progress:
    """A bar on a terminal, elsewhere a line every few seconds; always on standard error."""

    WIDTH = 40
    LINE_SECONDS = 3

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.shown = self.began
        self.on_terminal = sys.stderr.isatty()

    def add(self, events):
        with self.lock:
            self.done += events
            now = time.monotonic()
            if now - self.shown >= (0.1 if self.on_terminal else self.LINE_SECONDS):
                self.shown = now
                self._show()

    def finish(self):
        self._show()
        if self.on_terminal:
            sys.stderr.write("\n")

    def _show(self):
        seconds = max(time.monotonic() - self.began, 0.001)
        share = self.done / self.total if self.total else 1
        text = f"{share:4.0%}  {self.done:,} of {self.total:,} events, {self.done / seconds:,.0f}/s"
        if self.on_terminal:
            bar = "#" * round(share * self.WIDTH)
            sys.stderr.write(f"\r[{bar:.<{self.WIDTH}}] {text}  ")
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()


class _Sender(threading.Thread):
    """Sends what it finds in the queue until it finds None, or until anyone has failed."""

    def __init__(self, url, batches, progress, failures):
        super().__init__(daemon=True)
        self.address = urllib.parse.urlsplit(url)
        self.batches = batches
        self.progress = progress
        self.failures = failures

    def run(self):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port,
                                                timeout=TIMEOUT_SECONDS)
        try:
            while True:
                batch = self.batches.get()
                if batch is None:
                    return
                if self.failures:
                    continue  # the producer must not wait for room
                try:
                    self._send(connection, *batch)
                except (OSError, http.client.HTTPException, Refused) as error:
                    self.failures.append(error)
        finally:
            connection.close()

    def _send(self, connection, stream, lines):
        body = "\n".join(lines).encode()
        for _ in range(TRIES):
            connection.request("POST", f"/v1/streams/{stream}/events", body,
                               {"Content-Type": "application/x-ndjson"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status not in (429, 503):
                break
            time.sleep(float(answer.headers.get("Retry-After") or 1))
        if answer.status != 200:
            raise Refused(f"stream {stream}: HTTP {answer.status}: {_detail(text)}")
        self.progress.add(len(lines))


def _detail(text):
    try:
        problem = json.loads(text)
        errors = problem.get("errors") or [{}]
        return f"{problem.get('detail', '')} {errors[0] or ''}".strip()
    except ValueError:
        return text[:200].decode(errors="replace")


def _batches(worlds, start, end, slice_ms):
    """All worlds move on together, a slice of time after the other."""
    for begin in range(start, end, slice_ms):
        for world in worlds:
            events = world.events(begin, min(begin + slice_ms, end))
            while lines := list(itertools.islice(events, BATCH_EVENTS)):
                yield world.stream, lines


def fill(url, worlds, start, end, slice_ms):
    """Returns the number of events sent and the seconds it took. Raises Refused."""
    progress = Progress(sum(world.count(start, end) for world in worlds))
    batches = queue.Queue(maxsize=2 * CONNECTIONS)
    failures = []
    senders = [_Sender(url, batches, progress, failures) for _ in range(CONNECTIONS)]
    for sender in senders:
        sender.start()
    for batch in _batches(worlds, start, end, slice_ms):
        if failures:
            break
        batches.put(batch)
    for _ in senders:
        batches.put(None)
    for sender in senders:
        sender.join()
    progress.finish()
    if failures:
        raise Refused(str(failures[0]))
    return progress.done, time.monotonic() - progress.began
