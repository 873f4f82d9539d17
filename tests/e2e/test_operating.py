"""What an operator has to go by: the log and the metrics."""

import json
import os
import re
import signal
import threading
import time

from tests.e2e.tallyd import SLOW, E2eTest, Tallyd, eventually, in_threads

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


class HoldingsTest(E2eTest):
    def test_each_stream_tells_its_events_refusals_and_newest_time(self):
        tallyd = self.start(TABLES)
        self.assertEqual({'stream="s"': 0, 'stream="other"': 0}, series(tallyd, "tallyd_events_total"))
        self.assertEqual({}, series(tallyd, "tallyd_newest_event_timestamp_seconds"))
        tallyd.write("s", [{**EVENT, "ts": at} for at in (1426535612045, 1426535612156)])
        tallyd.write("s", {**EVENT, "ts": 5})
        tallyd.post("s", {"ts": 6}).problem(400)
        self.assertEqual({'stream="s"': 3, 'stream="other"': 0}, series(tallyd, "tallyd_events_total"))
        self.assertEqual({'stream="s"': 1426535612.156},
                         series(tallyd, "tallyd_newest_event_timestamp_seconds"))
        self.assertEqual({("s", "event"): 1}, rejects(tallyd))

    def test_each_table_tells_its_rows_and_bytes(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", [{**EVENT, "ts": at} for at in range(5)])
        tallyd.write("other", EVENT)
        tallyd.request("POST", "/-/settle").expect(200)
        rows = {'table="ROWS"': 5, 'table="OTHER"': 1}
        eventually(lambda: series(tallyd, "tallyd_table_rows") == rows, "rows are counted")
        self.assertGreater(series(tallyd, "tallyd_table_disk_bytes")['table="ROWS"'], 0)


class LogTest(E2eTest):
    def lines(self, tallyd, text):
        return [line for line in tallyd.log().splitlines() if text in line]

    def test_each_change_tells_who_did_what(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", [{**EVENT, "ts": at} for at in range(5)])
        changes = (("DELETE", "/v1/tables/ROWS/rows?prefix=a%230000000000000"),
                   ("DELETE", "/v1/tables/ROWS/rows/a%230000000000001"),
                   ("DELETE", "/v1/tables/ROWS/rows/a%230000000000002/cells/F%3Av"),
                   ("DELETE", "/v1/streams/s/events?k=a"),
                   ("POST", "/-/settle"), ("POST", "/-/reload"))
        for method, target in changes:
            with self.subTest(f"{method} {target}"):
                tallyd.request(method, target).expect(200)
                [line] = self.lines(tallyd, f"{method} {target} by ")
                self.assertRegex(line, r" info .* by 127\.0\.0\.1:\d+: done$")
        tallyd.reload(ONE_TABLE).expect(200)
        tallyd.delete("/v1/tables/OTHER").expect(200)
        [line] = self.lines(tallyd, "DELETE /v1/tables/OTHER by ")
        self.assertIn(": done", line)

    def test_a_damaged_file_is_told_once_by_name(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", [{**EVENT, "ts": at} for at in range(500)])
        tallyd.request("POST", "/-/settle").expect(200)
        tallyd.stop()
        [path] = (tallyd.directory / "data" / "blocks").glob("*.blocks")
        damaged = bytearray(path.read_bytes())
        damaged[20] ^= 1
        path.write_bytes(damaged)
        tallyd.start()
        for _ in range(2):
            answer = tallyd.get("/v1/streams/s/events", {"k": "a"})
            self.assertGreaterEqual(answer.status, 500)
            self.assertIn(path.name, answer.text)
        [line] = self.lines(tallyd, "is damaged and left as it is")
        self.assertRegex(line, rf" error .*/{re.escape(path.name)} is damaged")
        self.assertEqual(1, series(tallyd, "tallyd_damaged_files")[""])

    def test_a_change_that_is_refused_tells_why(self):
        tallyd = self.start(TABLES)
        tallyd.delete("/v1/tables/ROWS").problem(409)
        [line] = self.lines(tallyd, "DELETE /v1/tables/ROWS by 127.0.0.1:")
        self.assertRegex(line, r" info .*: 409: .*ROWS")
        tallyd.reload(TABLES + "x = 1").problem(409)
        [line] = self.lines(tallyd, "POST /-/reload by 127.0.0.1:")
        self.assertRegex(line, r" info .*: 409: .*OTHER\.x")
        tallyd.write_config(TABLES)
        tallyd.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.lines(tallyd, "SIGHUP: reloaded"), "a reload by signal is told")

    def test_reloads_come_while_others_are_told_of(self):
        tallyd = self.start(TABLES)
        done = threading.Event()

        def work(number):
            if number > 0:
                while not done.is_set():
                    tallyd.delete("/v1/tables/ROWS").problem(409)
                return
            try:
                for _ in range(100):
                    tallyd.request("POST", "/-/reload").expect(200)
            finally:
                done.set()

        in_threads(4, work)
        log = tallyd.log_file.read_text(encoding="utf-8").splitlines()
        self.assertEqual(100, sum("POST /-/reload by " in line for line in log))

    def test_a_change_that_is_refused_before_it_is_looked_at_tells_why(self):
        tallyd = self.start(TABLES)
        tallyd.request("POST", "/-/settle", headers={"Origin": "http://else.where"}).problem(403)
        [line] = self.lines(tallyd, "POST /-/settle by 127.0.0.1:")
        self.assertRegex(line, r" info .*: 403: .*else\.where")
        tallyd.request("DELETE", "/v1/tables/ROWS/rows?prefix=%zz").problem(400)
        [line] = self.lines(tallyd, "DELETE /v1/tables/ROWS/rows?prefix=%zz by 127.0.0.1:")
        self.assertIn(": 400: ", line)

    def test_what_changes_nothing_is_no_line(self):
        tallyd = self.start(TABLES)
        before = tallyd.log()
        tallyd.post("s", EVENT).expect(200)
        tallyd.get("/v1/streams/s/events", k="a").expect(200)
        tallyd.get("/v1/tables/none/rows").problem(404)
        tallyd.request("HEAD", "/healthz").expect(200)
        self.assertEqual(before, tallyd.log())

    def test_refused_batches_are_told_at_times(self):
        tallyd = self.start(TABLES)
        for _ in range(50):
            tallyd.post("s", [{"v": 1}]).problem(400)
        lines = self.lines(tallyd, "stream s: ")
        self.assertLessEqual(1, len(lines))
        self.assertLess(len(lines), 20)
        self.assertRegex(lines[0], r" warning stream s: 1 refused \(event\), "
                                   r"the last one by 127\.0\.0\.1:\d+: .*k")
        tallyd.post("none", [EVENT]).problem(404)
        [line] = self.lines(tallyd, "writes to no stream: 1 refused (malformed)")
        self.assertIn("none", line)

    def test_a_flood_of_refusals_is_a_line_a_second_that_says_how_many(self):
        tallyd = self.start(TABLES)
        begin = time.monotonic()
        for _ in range(50):
            tallyd.delete("/v1/tables/ROWS/rows").problem(400)
        time.sleep(1.1)
        tallyd.delete("/v1/tables/ROWS/rows").problem(400)
        seconds = time.monotonic() - begin
        lines = self.lines(tallyd, "DELETE /v1/tables/ROWS/rows by 127.0.0.1:")
        self.assertLessEqual(2, len(lines))
        self.assertLessEqual(len(lines), seconds + 1)
        left_out = sum(int(found) for found in re.findall(r"\((\d+) more of this kind",
                                                          "\n".join(lines)))
        self.assertEqual(51, len(lines) + left_out)

    def test_a_standard_error_that_nobody_reads_stops_nothing(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        tallyd = self.start(TABLES, stderr=writer)
        os.close(writer)
        for at in range(1500):  # Changes that are done have a line each.
            tallyd.delete("/v1/tables/ROWS/rows", prefix="x" * 900).expect(200)
        for path in ("/healthz", "/readyz", "/metrics", "/v1/status", "/v1/tables"):
            begin = time.monotonic()
            tallyd.get(path).expect(200)
            self.assertLess(time.monotonic() - begin, 1 * SLOW)
        tallyd.write("s", EVENT)
        self.assertGreater(series(tallyd, "tallyd_log_dropped_total")[""], 0)
        begin = time.monotonic()
        tallyd.stop()
        self.assertLess(time.monotonic() - begin, 5 * SLOW)

    def test_the_last_lines_are_written(self):
        tallyd = self.start(TABLES)
        tallyd.stop()
        self.assertTrue(tallyd.log().rstrip().endswith("stopped"))
        tallyd.start()
        second = Tallyd(TABLES, storage="# the same", directory=tallyd.directory)
        second.port, second.log_file = 1, tallyd.directory / "second"
        second.config = tallyd.directory / "second.toml"
        second.write_config()
        second.spawn()
        self.assertEqual(1, second.process.wait(60 * SLOW))
        self.assertIn("error", second.log())

    def test_what_clients_send_is_escaped(self):
        for log in "text", "json":
            tallyd = self.start(f'{TABLES}\n[log]\nformat = "{log}"')
            ugly = '\x1b[2J\n"forged'
            tallyd.post("s", {**EVENT, ugly: [1]}).problem(400)
            tallyd.get("/v1/streams", {"\x1b": 1}).problem(400)
            tallyd.request("DELETE", "/v1/tables/ROWS/rows?prefix=%1B%0A").expect(200)
            with tallyd.raw(b"DELETE /v1/tables/ROWS/rows?prefix=\xff\xc2\x9b HTTP/1.1\r\n"
                            b"Host: localhost\r\n\r\n") as connection:
                connection.answer().expect(200, 400)
            said = tallyd.log_file.read_bytes()
            self.assertEqual(b"", bytes(c for c in said if c < 32 and c != 10 or c >= 127))
            self.assertNotIn(b'\n"forged', said)
            if log == "json":
                for line in said.decode().splitlines():
                    json.loads(line)

    def test_lines_for_the_journal_begin_with_their_priority(self):
        daemon = Tallyd(TABLES)
        self.addCleanup(self._finish, daemon)
        daemon.log_file.touch()
        status = os.stat(daemon.log_file)
        daemon.environment["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
        daemon.start()
        daemon.post("s", [{"v": 1}]).problem(400)
        self.assertRegex(daemon.log(), r"(?m)^<6>\S+ info tallyd .* listens on")
        self.assertRegex(daemon.log(), r"(?m)^<4>\S+ warning stream s: 1 refused")
        daemon.stop()
        daemon.write_config(TABLES + "x = 1")
        daemon.spawn()
        self.assertEqual(2, daemon.process.wait(60))
        self.assertRegex(daemon.log(), r"(?m)^<3>.*tables\.OTHER\.x")

    def test_other_streams_have_no_priorities(self):
        daemon = Tallyd(TABLES)
        self.addCleanup(self._finish, daemon)
        daemon.environment["JOURNAL_STREAM"] = "1:1"  # Standard error was redirected since.
        daemon.start()
        self.assertRegex(daemon.log(), r"(?m)^\d{4}-\S+ info tallyd .* listens on")


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

    def test_the_last_reload_is_told(self):
        tallyd = self.start(TABLES)
        good, when = "tallyd_config_last_reload_successful", (
            "tallyd_config_last_reload_success_timestamp_seconds")
        self.assertEqual({"": 1}, series(tallyd, good))
        first = series(tallyd, when)[""]
        tallyd.reload(TABLES + "x = 1").problem(409)
        self.assertEqual({"": 0}, series(tallyd, good))
        self.assertEqual(first, series(tallyd, when)[""])
        tallyd.reload(TABLES).expect(200)
        self.assertEqual({"": 1}, series(tallyd, good))
        self.assertLess(first, series(tallyd, when)[""])

    def test_the_process_is_told_under_the_usual_names(self):
        tallyd = self.start(TABLES)
        value = {name: series(tallyd, f"process_{name}")[""]
                 for name in ("cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes",
                              "open_fds", "max_fds", "start_time_seconds", "threads")}
        self.assertLess(0, value["cpu_seconds_total"])
        self.assertLess(1 << 20, value["resident_memory_bytes"])
        self.assertLess(value["open_fds"], value["max_fds"])
        files = len(os.listdir(f"/proc/{tallyd.process.pid}/fd"))
        self.assertLess(abs(files - value["open_fds"]), 10)

    def test_bytes_are_those_of_the_wire(self):
        tallyd = self.start(TABLES)
        received = "tallyd_http_received_bytes_total"
        sent = "tallyd_http_sent_bytes_total"
        before = series(tallyd, received)[""], series(tallyd, sent)[""]
        body = json.dumps(EVENT).encode()
        answer = tallyd.post_bytes("s", body)
        self.assertEqual(before[0] + len(body), series(tallyd, received)[""])
        self.assertLess(before[1] + len(answer.body), series(tallyd, sent)[""])
