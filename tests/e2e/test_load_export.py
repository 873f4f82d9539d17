"""tallyd export and tallyd load: a stream goes out through HTTP and in again, whole and interrupted."""

import http.server
import json
import pathlib
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, ROOT, E2eTest, eventually, free_port
from tests.e2e.test_demo import tables_of

EXAMPLE = tables_of("config/example.toml")
TABLE_NAMES = ("METRIC", "CURRENT_METRIC", "BALLOON_EVENT", "BALLOON_BLOB", "BALLOON_WEEK",
               "BALLOON_METRIC", "QUOTE", "TRADE", "SENSOR")
STREAMS = ("server", "balloon", "market", "meter")
START = 1426535612045
SIMPLE = """
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}
"""


def events(count, first=0):
    return [{"ts": START + at, "machine": f"m{at % 7}", "value": at / 4, "count": at}
            for at in range(first, first + count)]


def ndjson(objects):
    return "".join(json.dumps(one) + "\n" for one in objects)


class Between:
    """Stands before a daemon and answers for it where `decide` says so: with a status, not at all
    ("gone"), not once the daemon has the request ("lost"), or as if all was stored ("dropped")."""

    def __init__(self, daemon):
        between = self
        self.daemon = daemon
        self.decide = lambda method, path: None
        self.seen = []
        self.passed = ("Link", "Content-Type")  # Of the headers of answers.

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, method):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                between.seen.append((method, self.path, dict(self.headers), body))
                status = between.decide(method, self.path)
                headers, answer = {}, b"{}"
                if status == "gone":
                    self.close_connection = True
                    return
                if status == "dropped":
                    status, answer = 200, b'{"events":%d}' % body.count(b"\n")
                if status in (None, "lost"):
                    passed = {name: self.headers[name] for name in
                              ("Content-Type", "Idempotency-Key") if name in self.headers}
                    request = urllib.request.Request(
                        f"http://127.0.0.1:{between.daemon.port}{self.path}", body or None, passed,
                        method=method)
                    try:
                        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as said:
                            code, headers, answer = said.status, said.headers, said.read()
                    except urllib.error.HTTPError as refused:
                        code, headers, answer = refused.code, refused.headers, refused.read()
                    if status == "lost":
                        self.close_connection = True
                        return
                    status = code
                self.send_response(status)
                for name in between.passed:
                    if name in headers:
                        self.send_header(name, headers[name])
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_GET(self):
                self.answer("GET")

            def do_POST(self):
                self.answer("POST")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # Whoever asked is gone.
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def posts(between):
    """The headers of what was sent, in order."""
    return [headers for method, _, headers, _ in between.seen if method == "POST"]


class TransferTest(E2eTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tallyd-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def between(self, daemon):
        between = Between(daemon)
        self.addCleanup(between.close)
        return between

    def run_tool(self, command, stream, to, *more, status=0):
        url = to if isinstance(to, str) else f"http://127.0.0.1:{to.port}"
        done = subprocess.run([str(BINARY), command, "--stream", stream, "--url", url,
                               *map(str, more)], capture_output=True, timeout=ANSWER_SECONDS,
                              cwd=self.folder, check=False)
        self.assertEqual(status, done.returncode, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        return file

    def everything(self, daemon):
        """All rows of all tables, and what every stream answers."""
        rows = {name: daemon.rows(name, limit=100_000) for name in TABLE_NAMES}
        answers = {name: daemon.events(name, scan=1, limit=100_000) for name in STREAMS}
        return rows, answers, daemon.latest("server")


class RoundTripTest(TransferTest):
    def filled(self):
        daemon = self.start(EXAMPLE)
        for stream in STREAMS:
            body = (ROOT / "examples" / f"{stream}.ndjson").read_bytes()
            daemon.post_bytes(stream, body, "application/x-ndjson").expect(200)
        daemon.write("server", [
            {"ts": START + 5000, "hostname": "server1.bbb.com", "CPU": {"CPU1_USR": 0.25},
             "text": "7", "spelled": "007", "on": True, "whole": 7, "real": 7.0, "empty": "",
             "low": -2**63, "high": 2**63 - 1, "words": 'naïve, "quoted"\nand broken'},
            {"ts": START + 0.25, "hostname": "server2.bbb.com", "off": False, "tiny": 5e-324},
            {"ts": START + 1, "hostname": "a#b%c", "deep": {"er": {"still": 1}}}])
        daemon.write("market", [
            {"EXCHANGE": "NYSE", "SYMBOL": "IBM", "Bid": 1.5, "Ask": 2, "QUOTETIME": START},
            {"EXCHANGE": "NYSE", "SYMBOL": "IBM", "Last sale": 1.75, "Volume": 10,
             "TRADETIME": START + 9}])
        return daemon

    def test_an_export_loads_back_to_an_equal_store(self):
        first = self.filled()
        second = self.start(EXAMPLE)
        for stream in STREAMS:
            out, _ = self.run_tool("export", stream, first)
            file = self.write(f"{stream}.ndjson", out)
            self.run_tool("load", stream, second, file)
            self.assertEqual([], list(self.folder.glob("*.loading")))
        self.assertEqual(self.everything(first), self.everything(second))
        # Of the spellings of a compact name the last one is what travels.
        for stream in ("server", "balloon", "meter"):
            fields = f"/v1/streams/{stream}/fields"
            self.assertEqual(first.get(fields).json, second.get(fields).json)

    def test_csv_loads_back_to_an_equal_table(self):
        first = self.filled()
        second = self.start(EXAMPLE)
        self.run_tool("export", "server", first, "--format", "csv", "--output", "server.csv")
        self.run_tool("load", "server", second, "server.csv")
        self.assertEqual(first.rows("METRIC"), second.rows("METRIC"))
        self.assertEqual(first.rows("CURRENT_METRIC"), second.rows("CURRENT_METRIC"))

    def test_a_range_of_time_is_exported_alone(self):
        daemon = self.start(SIMPLE)
        daemon.write("load", events(100))
        out, _ = self.run_tool("export", "load", daemon, "--from", START + 10, "--to", START + 20)
        said = sorted((json.loads(line) for line in out.splitlines()), key=lambda one: one["ts"])
        self.assertEqual(events(10, 10), said)

    def test_standard_input_is_a_file_too(self):
        daemon = self.start(SIMPLE)
        done = subprocess.run(
            [str(BINARY), "load", "--stream", "load", "--url", f"http://127.0.0.1:{daemon.port}",
             "-"], input=ndjson(events(50)).encode(), capture_output=True, check=False,
            timeout=ANSWER_SECONDS)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(b"loaded 50 events, 0 refused", done.stderr)
        self.assertEqual(50, len(daemon.events("load", scan=1)))


class ExportTest(TransferTest):
    def test_a_market_comes_out_of_both_of_its_tables(self):
        daemon = self.start(EXAMPLE)
        body = (ROOT / "examples" / "market.ndjson").read_bytes()
        daemon.post_bytes("market", body, "application/x-ndjson").expect(200)
        out, _ = self.run_tool("export", "market", daemon)
        quote, trade = [json.loads(line) for line in out.splitlines()]
        self.assertEqual((1426535612156, 600.55), (quote["QUOTETIME"], quote["BID"]))
        self.assertEqual((1426535612045, 89000), (trade["TRADETIME"], trade["VOLUME"]))
        _, said = self.run_tool("export", "market", daemon, "--format", "csv", status=1)
        self.assertIn("--table", said)
        out, said = self.run_tool("export", "market", daemon, "--format", "csv", "--table", "TRADE",
                                  status=1)
        self.assertIn("TRADE does not hold", said)
        self.assertIn("89000", out)

    def test_what_may_be_missing_is_said_and_the_status_is_1(self):
        daemon = self.start(SIMPLE.replace("families.F = {}", "families.F = { max_versions = 10 }")
                            .replace("single-timestamp", "new-cell").replace("{ts:ms}", "{ts:day}"))
        daemon.write("load", events(5))
        out, said = self.run_tool("export", "load", daemon, status=1)
        self.assertEqual(5, len(out.splitlines()))
        self.assertIn("something may be missing", said)
        self.assertIn("newest 10 cells", said)

    def test_events_that_are_found_to_have_fallen_together_are_told(self):
        daemon = self.start("""
[streams.load]
[[streams.load.queries]]
fields = ["machine", "disk"]
time = true
""" + SIMPLE)
        for disk in range(3):
            daemon.write("load", [{"ts": START + at * 1000, "machine": "m", "disk": f"d{disk}"}
                                  for at in range(50)])
        out, said = self.run_tool("export", "load", daemon, status=1)
        self.assertEqual(50, len(out.splitlines()))
        self.assertIn("something may be missing", said)

    def test_what_goes_while_it_is_exported_is_told(self):
        for more in (), ("--from=-20000d",):
            with self.subTest(more=more):
                daemon = self.start(SIMPLE)
                for first in range(0, 40_000, 10_000):
                    daemon.write("load", events(10_000, first))
                between = self.between(daemon)
                forgetful = SIMPLE.replace("families.F = {}", 'families.F = { max_age = "1d" }')

                def forget(_, path, daemon=daemon, forgetful=forgetful):
                    if "cursor=" in path and daemon.toml != forgetful:
                        daemon.reload(forgetful).expect(200)

                between.decide = forget
                _, said = self.run_tool("export", "load", between.url, *more, status=1)
                self.assertIn("something may be missing", said)

    def test_an_interrupted_export_goes_on_where_it_was(self):
        daemon = self.start(SIMPLE)
        for first in range(0, 50_000, 10_000):
            daemon.write("load", events(10_000, first))
        between = self.between(daemon)
        between.decide = lambda method, path: 503 if "cursor=" in path else None
        arguments = ("--output", "out.ndjson", "--retry-for", "0")
        _, said = self.run_tool("export", "load", between.url, *arguments, status=1)
        self.assertIn("503", said)
        self.assertTrue((self.folder / "out.ndjson.state").exists())
        with open(self.folder / "out.ndjson", "a", encoding="utf-8") as torn:
            torn.write('{"ts":17,"mach')
        between.decide = lambda method, path: None
        self.run_tool("export", "load", between.url, *arguments, "--resume")
        lines = (self.folder / "out.ndjson").read_text().splitlines()
        said = sorted((json.loads(line) for line in lines), key=lambda event: event["ts"])
        self.assertEqual(events(50_000), said)
        machines = [json.loads(line)["machine"] for line in lines]
        self.assertEqual(sorted(machines), machines, "in the order of keys")
        self.assertFalse((self.folder / "out.ndjson.state").exists())
        self.run_tool("export", "load", between.url, *arguments, "--resume", status=1)

    def test_an_export_does_not_go_on_with_another_store(self):
        daemon = self.start(SIMPLE)
        for first in range(0, 50_000, 10_000):
            daemon.write("load", events(10_000, first))
        between = self.between(daemon)
        between.decide = lambda method, path: 503 if "cursor=" in path else None
        arguments = ("--output", "out.ndjson", "--retry-for", "0")
        self.run_tool("export", "load", between.url, *arguments, status=1)
        daemon.stop()
        (daemon.directory / "data").rename(daemon.directory / "kept")
        daemon.start()
        between.decide = lambda *_: None
        _, said = self.run_tool("export", "load", between.url, *arguments, "--resume", status=1)
        self.assertIn("another store", said)

    def test_an_export_ends_where_the_daemon_comes_back_with_another_store(self):
        for fate in "gone", None:
            with self.subTest(fate=fate):
                daemon, other = self.start(SIMPLE), self.start(SIMPLE)
                for first in range(0, 50_000, 10_000):
                    daemon.write("load", events(10_000, first))
                other.write("load", events(100, 49_000))
                between = self.between(daemon)

                def swap(_, path, between=between, other=other, fate=fate):
                    if "cursor=" in path and between.daemon is not other:
                        between.daemon = other
                        return fate
                    return None

                between.decide = swap
                _, said = self.run_tool("export", "load", between.url, "--output", "out.ndjson",
                                        status=1)
                self.assertIn("another store by now", said)
                between.daemon, between.decide = daemon, lambda *_: None
                self.run_tool("export", "load", between.url, "--output", "out.ndjson", "--resume")
                lines = (self.folder / "out.ndjson").read_text().splitlines()
                self.assertEqual(50_000, len(set(lines)))

    def test_the_ending_of_a_file_says_its_format(self):
        daemon = self.start(SIMPLE)
        daemon.write("load", events(3))
        self.run_tool("export", "load", daemon, "--output", "a.csv")
        self.assertEqual("ts,machine,count,value",
                         (self.folder / "a.csv").read_text().splitlines()[0])
        self.run_tool("export", "load", daemon, "--output", "b.txt", "--format", "csv")
        self.assertEqual((self.folder / "a.csv").read_text(), (self.folder / "b.txt").read_text())
        _, said = self.run_tool("export", "load", daemon, "--output", "c.csv", "--format", "ndjson",
                                status=2)
        self.assertIn("c.csv says csv", said)
        self.assertFalse((self.folder / "c.csv").exists())

    def test_a_page_that_fails_is_asked_for_again(self):
        daemon = self.start(SIMPLE)
        daemon.write("load", events(10))
        between = self.between(daemon)
        refusals = [503, 429, 507]
        between.decide = lambda *_: refusals.pop() if refusals else None
        out, said = self.run_tool("export", "load", between.url)
        self.assertEqual(10, len(out.splitlines()))
        self.assertIn("trying again", said)

    def test_usage_is_status_2_and_refusal_status_1(self):
        daemon = self.start(SIMPLE)
        self.run_tool("export", "load", "no-url", status=2)
        self.run_tool("export", "load", daemon, "--format", "xml", status=2)
        self.run_tool("export", "load", daemon, "--resume", status=2)
        _, said = self.run_tool("export", "lode", daemon, status=1)
        self.assertIn("load", said)
        self.run_tool("load", "load", daemon, status=2)
        _, said = self.run_tool("load", "load", daemon, "missing.ndjson", status=1)
        self.assertIn("missing.ndjson", said)
        _, said = self.run_tool("export", "load", f"http://127.0.0.1:{free_port()}",
                                "--retry-for", "0", status=1)
        self.assertIn("does not answer", said)


class LoadTest(TransferTest):
    def test_a_refused_event_is_named_by_file_line_and_reason(self):
        daemon = self.start(SIMPLE)
        lines = [*events(3), {"ts": START + 3, "value": 1}, *events(2, 4)]
        self.write("in.ndjson", "\n" + ndjson(lines))
        _, said = self.run_tool("load", "load", daemon, "in.ndjson", status=1)
        self.assertIn("in.ndjson:5: machine: ", said)
        self.assertEqual([], daemon.events("load", scan=1))

    def test_partial_goes_on_without_what_is_refused(self):
        daemon = self.start(SIMPLE)
        text = ndjson(events(3)) + '{"ts": 1\n' + '{"ts":5}\n' + ndjson(events(2, 4)) + "no json\n"
        self.write("in.ndjson", text)
        _, said = self.run_tool("load", "load", daemon, "in.ndjson", "--partial", status=1)
        self.assertEqual(events(3) + events(2, 4), daemon.events("load", scan=1), said)
        for line in 4, 5, 8:
            self.assertIn(f"in.ndjson:{line}: ", said)
        self.assertIn("loaded 5 events, 3 refused", said)
        self.assertEqual([], list(self.folder.glob("*.loading")))

    def test_a_refused_line_of_csv_is_named(self):
        daemon = self.start(SIMPLE)
        self.write("in.csv", f'ts,machine,v\n{START},a,"x\ny"\n{START},,2\n')
        _, said = self.run_tool("load", "load", daemon, "in.csv", status=1)
        self.assertIn("in.csv:4: machine: ", said)

    def test_a_lost_answer_is_asked_for_again_with_the_same_key(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        fates = [503, "lost"]
        between.decide = lambda method, _: fates.pop() if method == "POST" and fates else None
        self.write("in.ndjson", ndjson(events(10)))
        self.run_tool("load", "load", between.url, "in.ndjson")
        sent = posts(between)
        keys = {headers["Idempotency-Key"] for headers in sent}
        self.assertEqual((3, 1), (len(sent), len(keys)))
        self.assertEqual(events(10), daemon.events("load", scan=1))
        self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertNotIn(posts(between)[-1]["Idempotency-Key"], keys)

    def test_an_interrupted_load_goes_on_where_it_was(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        fates = [503, None, None]
        between.decide = lambda method, _: (
            None if method == "GET" else fates.pop() if fates else 503)
        self.write("in.ndjson", ndjson(events(35_000)))
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", "--retry-for", "0",
                                status=1)
        self.assertIn("503", said)
        state = json.loads((self.folder / "in.ndjson.loading").read_text())
        self.assertEqual(20_000, state["line"])
        between.decide = lambda *_: None
        other = self.start(SIMPLE)
        _, said = self.run_tool("load", "load", other, "in.ndjson", status=1)
        self.assertIn("another load", said)
        between.seen.clear()
        _, said = self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertIn("goes on at line 20001", said)
        sent = posts(between)
        self.assertEqual(2, len(sent))
        self.assertIn(state["id"], sent[0]["Idempotency-Key"])
        self.assertEqual(35_000, len(daemon.events("load", scan=1, limit=100_000)))
        self.assertFalse((self.folder / "in.ndjson.loading").exists())

    def test_a_load_that_stored_nothing_does_not_block_the_right_one(self):
        daemon = self.start(SIMPLE)
        self.write("in.ndjson", ndjson(events(10)))
        nobody = f"http://127.0.0.1:{free_port()}"
        self.run_tool("load", "load", nobody, "in.ndjson", "--retry-for", "0", status=1)
        self.assertEqual([], list(self.folder.glob("*.loading")), "nobody was reached")
        self.run_tool("load", "lode", daemon, "in.ndjson", status=1)
        self.assertEqual([], list(self.folder.glob("*.loading")), "nothing was taken")
        with subprocess.Popen([str(BINARY), "load", "--stream", "load", "--url", nobody,
                               str(self.folder / "in.ndjson")], stderr=subprocess.DEVNULL) as load:
            eventually((self.folder / "in.ndjson.loading").exists, "it has begun")
            load.kill()
        self.run_tool("load", "load", daemon, "in.ndjson")
        self.assertEqual(10, len(daemon.events("load", scan=1)))

    def half(self, text, *more, stop_at=1):
        """A load that was interrupted, `stop_at` batches being stored: its state, and both ends."""
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        between.decide = lambda method, _: (
            503 if method == "POST" and len(posts(between)) > stop_at else None)
        self.write("in.ndjson", text)
        self.run_tool("load", "load", between.url, "in.ndjson", "--retry-for", "0", *more, status=1)
        between.decide = lambda *_: None
        return self.folder / "in.ndjson.loading", between, daemon

    def test_a_load_does_not_go_on_with_another_store(self):
        state, between, daemon = self.half(ndjson(events(25_000)))
        daemon.stop()
        (daemon.directory / "data").rename(daemon.directory / "kept")
        daemon.start()
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", status=1)
        self.assertIn("another store", said)
        self.assertEqual([], daemon.events("load", scan=1))
        state.unlink()
        self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertEqual(25_000, len(daemon.events("load", scan=1, limit=100_000)))

    def test_a_load_ends_where_the_daemon_comes_back_with_another_store(self):
        for fate in "gone", None:
            with self.subTest(fate=fate):
                daemon, other = self.start(SIMPLE), self.start(SIMPLE)
                between = self.between(daemon)

                def swap(method, _, between=between, other=other, fate=fate):
                    if method == "POST" and len(posts(between)) == 2:
                        between.daemon = other
                        return fate
                    return None

                between.decide = swap
                self.write("in.ndjson", ndjson(events(35_000)))
                _, said = self.run_tool("load", "load", between.url, "in.ndjson", status=1)
                self.assertIn("another store by now", said)
                self.assertEqual(2, len(posts(between)), "nothing more is sent there")
                between.daemon, between.decide = daemon, lambda *_: None
                self.run_tool("load", "load", between.url, "in.ndjson")
                self.assertEqual(35_000, len(daemon.events("load", scan=1, limit=100_000)))

    def test_a_load_that_goes_on_counts_what_was_refused_before(self):
        lines = events(25_000)
        lines[5]["ts"] = "nonsense"
        _, between, daemon = self.half(ndjson(lines), "--partial")
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", "--partial", status=1)
        self.assertIn("goes on at line 10001", said)
        self.assertIn("1 refused", said)
        self.assertEqual(24_999, len(daemon.events("load", scan=1, limit=100_000)))

    def test_a_load_does_not_go_on_when_the_keys_are_forgotten(self):
        state, between, _ = self.half(ndjson(events(25_000)))
        told = json.loads(state.read_text())
        between.decide = lambda method, _: 503 if method == "POST" else None
        self.run_tool("load", "load", between.url, "in.ndjson", "--retry-for", "0", status=1)
        self.assertEqual(told, json.loads(state.read_text()), "as old as its first sending")
        state.write_text(json.dumps(told | {"written": told["written"] - 86_400_000_000}))
        between.seen.clear()
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", status=1)
        self.assertIn("is a day old", said)
        self.assertEqual([], posts(between))

    def test_a_load_does_not_go_on_in_a_batch_that_has_changed(self):
        state, between, daemon = self.half(ndjson(events(25_000)), stop_at=2)
        with open(self.folder / "in.ndjson", "a", encoding="utf-8") as file:
            file.write(ndjson(events(10, 25_000)))
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", status=1)
        self.assertIn("has changed", said)
        self.write("in.ndjson", ndjson(events(25_000)))
        self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertEqual(25_000, len(daemon.events("load", scan=1, limit=100_000)))
        self.assertFalse(state.exists())

    def test_what_was_refused_may_be_mended_and_gone_on_with(self):
        daemon = self.start(SIMPLE)
        lines = events(25_000)
        wrong = '{"ts": "none"}\n'
        self.write("in.ndjson", ndjson(lines[:12_000]) + wrong + ndjson(lines[12_000:]))
        _, said = self.run_tool("load", "load", daemon, "in.ndjson", status=1)
        self.assertIn("mend the file", said)
        self.write("in.ndjson", ndjson(lines))
        self.run_tool("load", "load", daemon, "in.ndjson")
        self.assertEqual(25_000, len(daemon.events("load", scan=1, limit=100_000)))

    def test_a_state_that_cannot_be_read_is_not_taken_for_none(self):
        daemon = self.start(SIMPLE)
        file = self.write("in.ndjson", ndjson(events(10)))
        state = pathlib.Path(f"{file}.loading")
        state.symlink_to(state)  # A loop, which not even root can open.
        _, said = self.run_tool("load", "load", daemon, "in.ndjson", status=1)
        self.assertIn("in.ndjson.loading cannot be read", said)
        self.assertEqual([], daemon.events("load", scan=1))
        self.assertTrue(state.is_symlink())

    def test_a_port_that_is_none_is_refused(self):
        daemon = self.start(SIMPLE)
        self.write("in.ndjson", ndjson(events(10)))
        for port in (daemon.port + 65_536, 0, "+80"):
            for command, more in (("load", ["in.ndjson"]), ("export", [])):
                url = f"http://127.0.0.1:{port}"
                _, said = self.run_tool(command, "load", url, *more, status=2)
                self.assertIn("65535", said)
        self.assertEqual([], daemon.events("load", scan=1))

    def test_a_batch_that_is_too_large_is_sent_in_smaller_ones(self):
        daemon = self.start(SIMPLE, server='max_body = "256KiB"')
        self.write("in.ndjson", ndjson(events(10_000)))
        self.run_tool("load", "load", daemon, "in.ndjson")
        self.assertEqual(10_000, len(daemon.events("load", scan=1)))

    def test_progress_is_told_unless_it_is_quiet(self):
        daemon = self.start(SIMPLE)
        self.write("in.ndjson", ndjson(events(10)))
        self.assertIn("loaded 10 events", self.run_tool("load", "load", daemon, "in.ndjson")[1])
        self.assertEqual(("", ""), self.run_tool("load", "load", daemon, "in.ndjson", "--quiet"))
        self.assertEqual("", self.run_tool("export", "load", daemon, "--quiet")[1])

    def test_a_load_waits_for_a_daemon_that_is_not_there_yet(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        asked = threading.Event()

        def down(*_):
            asked.set()
            return None if up.is_set() else 503

        up = threading.Event()
        between.decide = down
        self.write("in.ndjson", ndjson(events(10)))
        with subprocess.Popen([str(BINARY), "load", "--stream", "load", "--url", between.url,
                               str(self.folder / "in.ndjson")],
                              stderr=subprocess.DEVNULL) as load:
            eventually(asked.is_set, "the load asks")
            up.set()
            self.assertEqual(0, load.wait(ANSWER_SECONDS))
        self.assertEqual(10, len(daemon.events("load", scan=1)))

    def test_an_interrupt_leaves_what_it_takes_to_go_on(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        asked = threading.Event()

        def busy(*_):
            asked.set()
            return 503

        between.decide = busy
        self.write("in.ndjson", ndjson(events(10)))
        with subprocess.Popen([str(BINARY), "load", "--stream", "load", "--url", between.url,
                               str(self.folder / "in.ndjson")],
                              stderr=subprocess.DEVNULL) as load:
            eventually(asked.is_set, "the load asks")
            load.send_signal(signal.SIGINT)
            self.assertNotEqual(0, load.wait(ANSWER_SECONDS))
        between.decide = lambda *_: None
        self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertEqual(10, len(daemon.events("load", scan=1)))
