"""What an operator has to go by: the log and the metrics."""

import json
import os
import re
import signal

from tests.e2e.tallyd import E2eTest, Tallyd, eventually

TABLES = """
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}

[tables.OTHER]
stream = "other"
pattern = "latest"
row_key = "{k}"
families.F = {}
"""
ONE_TABLE = TABLES[:TABLES.index("[tables.OTHER]")]
EVENT = {"ts": 1, "k": "a", "v": 1}


def series(tallyd, name):
    """labels -> value of a metric: {'stream="s",reason="event"': 1.0}."""
    text = tallyd.get("/metrics").expect(200).text
    return {match[1] or "": float(match[2])
            for match in re.finditer(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.M)}


def rejects(tallyd):
    """(stream, reason) -> how many, of those that there were."""
    found = {}
    for labels, value in series(tallyd, "tallyd_rejects_total").items():
        of = dict(re.findall(r'(\w+)="(.*?)"', labels))
        if value:
            found[of["stream"], of["reason"]] = value
    return found


class LogTest(E2eTest):
    def lines(self, tallyd, text):
        return [line for line in tallyd.log().splitlines() if text in line]

    def test_refused_batches_are_told_at_times(self):
        tallyd = self.start(TABLES)
        for _ in range(50):
            tallyd.post("s", [{"v": 1}]).problem(400)
        lines = self.lines(tallyd, "stream s: ")
        self.assertLessEqual(1, len(lines))
        self.assertLess(len(lines), 20)
        self.assertRegex(lines[0], r" warning stream s: 1 refused \(event\), the last one: .*k")
        tallyd.post("none", [EVENT]).problem(404)
        [line] = self.lines(tallyd, "writes to no stream: 1 refused (malformed)")
        self.assertIn("none", line)


class MetricsTest(E2eTest):
    def test_rejects_are_counted_by_stream_and_reason(self):
        tallyd = self.start(TABLES, server='max_body = "64KiB"')
        self.assertEqual({}, rejects(tallyd))
        tallyd.post("s", [{"v": 1}]).problem(400)
        tallyd.post_bytes("s", b"{").problem(400)
        tallyd.post_bytes("s", b"{", "image/png").problem(415)
        tallyd.post_bytes("other", b" " * 65537).problem(413)
        tallyd.post("s", EVENT, dry_run="x").problem(400)
        tallyd.post("none", EVENT).problem(404)
        tallyd.post_bytes("s", b"{", headers={"Origin": "null"}).problem(403)
        self.assertEqual({("s", "event"): 1, ("s", "malformed"): 2, ("s", "unsupported"): 1,
                          ("other", "too_large"): 1, ("", "malformed"): 1, ("", "http"): 1},
                         rejects(tallyd))

    def test_only_writes_of_events_are_counted(self):
        tallyd = self.start(TABLES)
        tallyd.get("/v1/streams/none/events").problem(404)
        tallyd.get("/v1/streams/s/events", limit="x").problem(400)
        tallyd.delete("/v1/streams/s/events").problem(400)
        tallyd.request("PUT", "/v1/streams/s/events", b"{}").problem(405)
        for bad in b"GET /%\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"*\r\n\r\n":
            with tallyd.raw(bad) as connection:
                connection.answer().problem(400)
        self.assertEqual({}, rejects(tallyd))
