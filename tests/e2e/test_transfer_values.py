"""tallyd export and tallyd load: what goes out comes in again as what it was, and is counted."""

import shutil

from tests.e2e.test_load_export import SIMPLE, START, TransferTest, events, ndjson, posts

SUMS = """
[tables.SUMS]
stream = "load"
pattern = "aggregate"
row_key = "{machine}"
columns = [{ family = "S", fields = ["count"] }]
families.S = { aggregate = "sum" }
"""


class CsvTest(TransferTest):
    def test_csv_has_the_time_as_the_stream_takes_it(self):
        for unit, factor in (("s", 0.001), ("ms", 1), ("us", 1000), ("ns", 1_000_000)):
            for time in "ts", "at":
                with self.subTest(unit=unit, time=time):
                    config = (f'[streams.load]\nunit = "{unit}"\ntime = "{time}"\n' +
                              SIMPLE.replace("{ts:ms}", f"{{{time}:us}}"))
                    first, second = self.start(config), self.start(config)
                    some = [{time: int(1_500_000_000_000 * factor) + at, "machine": f"m{at}",
                             "text": 'a,"b"\r\nc', "v": at} for at in range(9)]
                    if time != "ts":
                        some[3]["ts"] = 7
                    first.write("load", some)
                    self.run_tool("export", "load", first, "--output", "out.csv")
                    header = (self.folder / "out.csv").read_text().split(",")[0]
                    self.assertEqual(time, header)
                    self.run_tool("load", "load", second, "out.csv")
                    self.assertEqual(first.rows("HISTORY"), second.rows("HISTORY"))


class CountingTest(TransferTest):
    def total(self, daemon):
        return sum(cell["value"] for row in daemon.rows("SUMS")
                   for cell in row["cells"]["S"]["count"])

    def test_files_that_are_sent_are_not_sent_again(self):
        daemon = self.start(SIMPLE + SUMS)
        between = self.between(daemon)
        between.decide = lambda method, _: (
            503 if method == "POST" and len(posts(between)) > 2 else None)
        files = [f"{name}.ndjson" for name in "abc"]
        for at, name in enumerate(files):
            self.write(name, ndjson(events(1000, at * 1000)))
        self.run_tool("load", "load", between.url, *files, "--retry-for", "0", status=1)
        self.assertEqual(3, len(list(self.folder.glob("*.loading"))))
        between.decide = lambda *_: None
        _, said = self.run_tool("load", "load", between.url, *files)
        self.assertIn("b.ndjson: was sent before", said)
        self.assertEqual(sum(range(3000)), self.total(daemon))
        self.assertEqual([], list(self.folder.glob("*.loading")))
        self.run_tool("load", "load", between.url, files[0])
        self.assertEqual(sum(range(3000)) + sum(range(1000)), self.total(daemon))

    def test_an_answer_that_accounts_for_nothing_is_none(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        between.decide = lambda method, _: 200 if method == "POST" else None
        self.write("in.ndjson", ndjson(events(10)))
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", status=1)
        self.assertIn("does not account for them", said)
        between.decide = lambda *_: None
        self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertEqual(events(10), daemon.events("load", scan=1))

    def test_a_page_that_is_none_ends_an_export(self):
        daemon = self.start(SIMPLE)
        daemon.write("load", events(10))
        between = self.between(daemon)
        between.decide = lambda _, path: 200 if "/events?" in path else None
        _, said = self.run_tool("export", "load", between.url, status=1)
        self.assertIn("no page of events", said)
        between.decide, between.passed = lambda *_: None, ["Content-Type"]
        _, said = self.run_tool("export", "load", between.url, status=1)
        self.assertIn("Link", said)
        between.passed = ["Link", "Content-Type"]
        out, _ = self.run_tool("export", "load", between.url)
        self.assertEqual(10, len(out.splitlines()))

    def test_events_that_no_table_keeps_any_more_are_told(self):
        short = SIMPLE.replace("families.F = {}", 'families.F = { max_age = "1d" }')
        self.write("in.ndjson", ndjson(events(10)))
        daemon = self.start(short)
        _, said = self.run_tool("load", "load", daemon, "in.ndjson", "--quiet", status=1)
        self.assertIn("10 events were too old for a table", said)
        daemon = self.start(SIMPLE + short.replace("HISTORY", "SHORT"))
        _, said = self.run_tool("load", "load", daemon, "in.ndjson")
        self.assertIn("10 expired", said)
        self.assertEqual(events(10), daemon.events("load", scan=1))

    def test_fields_of_any_name_are_asked_for(self):
        daemon = self.start(SIMPLE.replace("families.F = {}", "families.F = { max_versions = 10 }")
                            .replace("single-timestamp", "new-cell").replace("{ts:ms}", "{ts:day}"))
        some = [one | {"x\\y": 1, "a,b": 2, "a\\,b": 3} for one in events(5)]
        daemon.write("load", some)
        out, said = self.run_tool("export", "load", daemon, status=1)
        self.assertEqual(5, len(out.splitlines()))
        self.assertIn("newest 10 cells", said)


class GoingOnTest(TransferTest):
    def half(self, daemon, between):
        """Two batches of three are stored, beside what there is."""
        before = len(daemon.events("load", scan=1, limit=100_000))
        between.decide = lambda method, _: (
            503 if method == "POST" and len(posts(between)) > 2 else None)
        self.write("in.ndjson", ndjson(events(30_000)))
        self.run_tool("load", "load", between.url, "in.ndjson", "--retry-for", "0", status=1)
        between.decide = lambda *_: None
        self.assertEqual(before + 20_000, len(daemon.events("load", scan=1, limit=100_000)))

    def test_a_restart_alone_does_not_end_a_load(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        self.half(daemon, between)
        for stop in daemon.stop, daemon.kill:
            stop()
            daemon.start()
        self.run_tool("load", "load", between.url, "in.ndjson")
        self.assertEqual(30_000, len(daemon.events("load", scan=1, limit=100_000)))

    def test_nothing_goes_on_with_a_store_that_was_put_back(self):
        daemon = self.start(SIMPLE)
        between = self.between(daemon)
        daemon.write("load", events(10, 90_000))
        data, older = daemon.directory / "data", self.folder / "older"
        daemon.stop()
        shutil.copytree(data, older)
        daemon.start()
        self.half(daemon, between)
        between.decide = lambda method, path: 503 if "cursor=" in path else None
        arguments = ("--output", "out.ndjson", "--retry-for", "0")
        self.run_tool("export", "load", between.url, *arguments, "--from", START, status=1)
        between.decide = lambda *_: None
        daemon.stop()
        shutil.rmtree(data)
        shutil.copytree(older, data)
        daemon.start()
        _, said = self.run_tool("load", "load", between.url, "in.ndjson", status=1)
        self.assertIn("put back from an older copy", said)
        _, said = self.run_tool("export", "load", between.url, *arguments, "--from", START,
                                "--resume", status=1)
        self.assertIn("put back from an older copy", said)
        self.assertEqual(10, len(daemon.events("load", scan=1)))
