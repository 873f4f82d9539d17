"""tallyd copy: the streams of one configuration under the keys and patterns of another."""

import base64
import json
import pathlib
import subprocess
import tempfile
import threading

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, ROOT, E2eTest, Tallyd, eventually, free_port
from tests.e2e.test_demo import tables_of
from tests.e2e.test_load_export import Between

START = 1426535612045
FROM = """
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}
"""
TO = """
[tables.BY_TIME]
stream = "load"
pattern = "single-timestamp"
row_key = "{ts:ms}#{machine}"
families.F = {}
[tables.NEWEST]
stream = "load"
pattern = "latest"
row_key = "{machine}"
families.F = {}
[tables.SUMS]
stream = "load"
pattern = "aggregate"
row_key = "{machine}"
columns = [{ family = "S", fields = ["count"] }]
families.S = { aggregate = "sum" }
"""


def events(count, first=0, step=1):
    return [{"ts": START + at * step, "machine": f"m{at % 7}", "value": at / 4, "count": at}
            for at in range(first, first + count)]


def in_order(some):
    return sorted(some, key=lambda event: (event["ts"], event["machine"]))


def totals(daemon):
    """machine -> what its row of SUMS adds up to."""
    return {row["key"]: sum(cell["value"] for cell in row["cells"]["S"]["count"])
            for row in daemon.rows("SUMS", limit=100_000)}


def sums_of(some):
    sums = {}
    for event in some:
        sums[event["machine"]] = sums.get(event["machine"], 0) + event["count"]
    return sums


class CopyTest(E2eTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tallyd-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kill_copying(self, source, target):
        """Begins a copy, and kills it when it is under way; its state's file. Wherever it is killed,
        also behind its end, the outcome is the same."""
        state = pathlib.Path(f"{target.config}.copying")
        copying = subprocess.Popen(self.command(source, target), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: copying.poll() is not None
                       or state.exists() and b'"sequence":' in state.read_bytes(), "it copies")
        finally:
            copying.kill()
            copying.wait()
        return state

    def unserved(self, toml, **options):
        """A configuration and a directory that no daemon has yet."""
        daemon = Tallyd(toml, **options)
        self.addCleanup(daemon.discard)
        self.addCleanup(daemon.stop)
        daemon.port = free_port()
        daemon.write_config()
        return daemon

    def source(self, toml=FROM, stream="load", some=None):
        daemon = self.start(toml)
        some = events(3000) if some is None else some
        for first in range(0, len(some), 10_000):
            daemon.write(stream, some[first:first + 10_000])
        return daemon

    def command(self, source, target, *more):
        return [str(BINARY), "copy", "--from", str(getattr(source, "config", source)), "--to",
                str(getattr(target, "config", target)), "--format", "json", *map(str, more)]

    def copy(self, source, target, *more, status=0):
        """The report, and what was said on standard error."""
        done = subprocess.run(self.command(source, target, *more), capture_output=True,
                              timeout=ANSWER_SECONDS, cwd=self.folder, check=False)
        self.assertEqual(status, done.returncode, (done.stdout, done.stderr))
        report = json.loads(done.stdout) if done.stdout else None
        return report, done.stderr.decode()

    def through(self, daemon):
        """A configuration of the served daemon whose address is that of somebody in between."""
        between = Between(daemon)
        self.addCleanup(between.close)
        config = self.folder / "between.toml"
        text = daemon.config.read_text(encoding="utf-8")
        text = text.replace(f"127.0.0.1:{daemon.port}", between.url.removeprefix("http://"))
        config.write_text(text.replace('"data"', f'"{daemon.directory}/data"'), encoding="utf-8")
        return between, config

    def check_load(self, target, some):
        answered = target.events("load", scan=1, limit=100_000, table="BY_TIME")
        self.assertEqual(in_order(some), in_order(answered))
        self.assertEqual(sums_of(some), totals(target))
        newest = {row["machine"]: row for row in target.latest("load")}
        for event in in_order(some):
            machine = newest[event["machine"]]
            self.assertLessEqual(event["ts"], machine["ts"])


class EndsTest(CopyTest):
    def test_tables_are_rewritten_under_other_keys_wherever_the_ends_are(self):
        for source_is_served in True, False:
            for target_is_served in True, False:
                with self.subTest(source=source_is_served, target=target_is_served):
                    source = self.source()
                    if not source_is_served:
                        source.stop()
                    target = self.start(TO) if target_is_served else self.unserved(TO)
                    report, _ = self.copy(source, target)
                    self.assertEqual(["opened", "served"][source_is_served], report["source"])
                    self.assertEqual(["opened", "served"][target_is_served], report["target"])
                    stream = report["streams"][0]
                    self.assertEqual((3000, 3000, True), (stream["events"],
                                                          stream["target_events"],
                                                          stream["verified"]))
                    self.assertEqual(stream["checksum"], stream["target_checksum"])
                    self.assertFalse(pathlib.Path(f"{target.config}.copying").exists())
                    if not target_is_served:
                        target.start()
                    self.check_load(target, events(3000))
                    if not source_is_served:
                        source.start()
                    self.assertEqual(3000, len(source.events("load", scan=1, limit=9000)))

    def test_a_pattern_becomes_another(self):
        some = [event | {"ts": START + at * 3_600_000, "machine": f"m{at % 3}"}
                for at, event in enumerate(events(500))]
        source = self.source(some=some)
        target = self.start("""
[tables.BUCKETS]
stream = "load"
pattern = "new-cell"
row_key = "{machine}#{ts:week}"
families.F = {}
[tables.COLUMNS]
stream = "load"
pattern = "new-column"
row_key = "{machine}#{ts:month}"
columns = [{ family = "F", name = "{ts:%d%H}", value = "{value}" }]
families.F = {}
""")
        report, _ = self.copy(source, target)
        self.assertEqual(500, report["streams"][0]["target_events"])
        self.assertEqual(in_order(some), in_order(target.events("load", scan=1)))
        self.assertEqual(500, sum(len(row["cells"]["F"]) for row in target.rows("COLUMNS")))

    def test_a_directory_that_another_daemon_serves_is_not_guessed_at(self):
        source = self.source()
        other = self.start(TO)
        # The file names the address of another daemon than the one that has the directory.
        source.config.write_text(source.config.read_text().replace(str(source.port),
                                                                   str(other.port)))
        _, said = self.copy(source, self.unserved(TO), status=1)
        self.assertIn("is in use by another process", said)
        self.assertIn(f"{other.directory}/data", said)

    def test_one_directory_under_two_mounts_is_one_directory(self):
        source = self.source()
        source.stop()
        target = self.unserved(TO)
        (target.directory / "data").mkdir(exist_ok=True)
        mounted = subprocess.run(["mount", "--bind", source.directory / "data",
                                  target.directory / "data"], capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("nothing may be mounted here")
        try:
            _, said = self.copy(source, target, status=2)
            self.assertIn("are the same directory", said)
        finally:
            subprocess.run(["umount", target.directory / "data"], check=True)
        source.start()
        self.assertEqual(3000, len(source.events("load", scan=1, limit=9000)))

    def test_a_source_that_is_not_there_is_not_made(self):
        source = self.unserved(FROM)
        _, said = self.copy(source, self.unserved(TO), status=1)
        self.assertIn("there is no store in", said)
        self.assertFalse((source.directory / "data").exists())

    def test_a_served_target_must_have_taken_its_configuration(self):
        source = self.source()
        target = self.start(FROM)
        target.write_config(TO)
        _, said = self.copy(source, target, status=1)
        self.assertIn("BY_TIME", said)
        self.assertIn("reload it", said)

    def test_a_served_target_must_not_add_up_what_its_configuration_leaves_out(self):
        source = self.source()
        kept = TO[:TO.index("[tables.SUMS]")]
        two = TO + TO[TO.index("[tables.SUMS]"):].replace("SUMS", "MORE")
        for there, here in (TO, kept), (two, TO), (
                TO, TO.replace('"sum"', '"max"')):
            with self.subTest(here=here):
                target = self.start(there)
                self.copy(source, target, "--to-time", START + 100)
                target.write_config(here)
                _, said = self.copy(source, target, status=1)
                self.assertRegex(said, "SUMS|MORE")
                self.assertIn("reload it", said)
                self.assertEqual(sums_of(events(100)), totals(target))


class TypesTest(CopyTest):
    def test_values_and_times_arrive_as_they_were(self):
        toml = tables_of("config/example.toml")
        source = self.start(toml)
        for stream in "server", "balloon", "meter", "market":
            body = (ROOT / "examples" / f"{stream}.ndjson").read_bytes()
            source.post_bytes(stream, body, "application/x-ndjson").expect(200)
        source.write("server", [
            {"ts": START + 5000, "hostname": "server1.bbb.com", "CPU": {"CPU1_USR": 0.25},
             "text": "7", "spelled": "007", "on": True, "whole": 7, "real": 7.0, "empty": "",
             "low": -2**63, "high": 2**63 - 1, "words": 'naïve, "quoted"\nand {broken',
             "minus": -0.0, "brackets": "}]", "escape": "\\", "nul": "\0", "face": "😀"},
            {"ts": START + 0.25, "hostname": "server2.bbb.com", "off": False, "tiny": 5e-324},
            {"ts": START + 0.251, "hostname": "server2.bbb.com", "huge": 1.7976931348623157e308},
            {"ts": START + 1, "hostname": "a#b%c", "deep": {"er": {"still": 1}},
             'a "quoted", name': 1, "base64": "AAAA"}])
        target = self.start(toml)
        report, _ = self.copy(source, target)
        self.assertEqual([], report["not_in_source"])
        for stream in report["streams"]:
            self.assertTrue(stream["verified"], stream)
        for table in ("METRIC", "CURRENT_METRIC", "BALLOON_EVENT", "BALLOON_BLOB", "BALLOON_WEEK",
                      "BALLOON_METRIC", "QUOTE", "TRADE", "SENSOR"):
            self.assertEqual(source.rows(table, limit=100_000), target.rows(table, limit=100_000))
        for stream in "server", "balloon", "meter":
            fields = f"/v1/streams/{stream}/fields"
            self.assertEqual(source.get(fields).json, target.get(fields).json)

    def test_times_change_their_name_and_unit(self):
        some = [{"ts": START + at / 8, "machine": "a", "value": at} for at in range(100)]
        source = self.source(some=some)
        target = self.start('[streams.load]\ntime = "when"\nunit = "s"\n'
                            + FROM.replace("{ts:ms}", "{when:ms}"))
        self.copy(source, target)
        self.assertEqual(source.rows("HISTORY"), target.rows("HISTORY"))
        line = target.get("/v1/streams/load/events", machine="a", format="ndjson", limit=1).body
        self.assertEqual({"when": START / 1000, "machine": "a", "value": 0}, json.loads(line))

    def test_bytes_which_no_event_can_bring_are_refused_or_left_out(self):
        source = self.source(some=events(10))
        value = {"base64": base64.b64encode(b"\xff\0").decode()}
        source.request("POST", f"/v1/tables/HISTORY/rows/m9%23{START + 99}/mutations", json.dumps(
            {"mutations": [{"set": {"family": "F", "qualifier": "blob", "ts": START + 99,
                                    "value": value}}]})).expect(200)
        target = self.start(TO)
        _, said = self.copy(source, target, status=1)
        self.assertIn('bytes in "blob"', said)
        self.assertIn("--partial", said)
        report, said = self.copy(source, target, "--partial", status=1)
        self.assertTrue(report, said)
        stream = report["streams"][0]
        self.assertEqual((10, 1, True), (stream["events"], stream["refused"], stream["verified"]))
        self.check_load(target, events(10))

    def test_labels_that_a_protocol_told_are_labels_in_the_target_too_or_it_is_refused(self):
        influx = '[protocols.influx]\nstream = "telegraf"\n'
        source = self.start(influx)
        lines = "".join(f"cpu,host=h{at % 3},rack=7 v={at}i,note=\"n{at}\" {START + at // 3}\n" for at in range(30))
        source.request("POST", "/write?db=any&precision=ms", lines).expect(204)
        said = {field["name"]: field.get("label") for field in source.get("/v1/streams/telegraf/fields").json["fields"]}
        self.assertEqual({"host": True, "rack": True}, {name: label for name, label in said.items() if label})
        _, said = self.copy(source, self.start(influx), status=1)
        self.assertIn('under [streams.telegraf] of the target write labels = ["host","rack"]', said)
        target = self.start(influx + '[streams.telegraf]\nlabels = ["host", "rack"]\n')
        report, said = self.copy(source, target)
        self.assertEqual((30, True), (report["streams"][0]["target_events"], report["streams"][0]["verified"]), said)
        for table in "telegraf", "telegraf_latest":
            self.assertEqual(source.rows(table), target.rows(table))

    def test_many_events_of_one_time_and_large_ones_come_whole(self):
        some = [{"ts": START, "machine": f"m{at:05}", "count": at} for at in range(6000)]
        some += [{"ts": START + 1 + at, "machine": "m", "count": at, "text": str(at) * 300_000}
                 for at in range(6)]
        source = self.source(some=some)
        target = self.start(TO, server='max_body = "2MiB"')
        report, _ = self.copy(source, target)
        self.assertEqual(6006, report["streams"][0]["target_events"])
        self.assertEqual(sums_of(some), totals(target))


class InterruptedTest(CopyTest):
    def test_a_copy_that_was_killed_goes_on_and_counts_everything_once(self):
        some = events(30_000)
        source = self.source(some=some)
        target = self.start(TO)
        between, config = self.through(target)
        lock = threading.Lock()
        posts = []

        def decide(method, _):
            with lock:
                if method != "POST":
                    return None
                posts.append(method)
                return {1: None, 2: None, 3: "lost"}.get(len(posts), 503)

        between.decide = decide
        copying = subprocess.Popen(self.command(source, config), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: len(posts) > 3, "the third chunk is sent again")
        finally:
            copying.kill()
            copying.wait()
        # What the source gets meanwhile, before and behind where the copy was, does not confuse it.
        late = [{"ts": START + 0.5, "machine": "late", "value": 1, "count": 1},
                {"ts": START + 40_000, "machine": "late", "value": 1, "count": 2}]
        source.write("load", late)
        between.decide = lambda *_: None
        between.seen.clear()
        report, said = self.copy(source, config)
        self.assertIn("goes on", said)
        stream = report["streams"][0]
        self.assertTrue(stream["verified"], stream)
        self.assertEqual(30_001, stream["events"])
        self.check_load(target, some + late[1:])

    def test_a_copy_between_directories_that_was_killed_goes_on(self):
        some = events(30_000)
        source = self.source(some=some)
        source.stop()
        target = self.unserved(TO)
        state = self.kill_copying(source, target)
        if state.exists():
            report, _ = self.copy(source, target)
            self.assertTrue(report["streams"][0]["verified"], report)
        target.start()
        self.check_load(target, some)

    def test_nightly_tables_are_left_to_the_target(self):
        daily = FROM + 'daily = { name = "HISTORY_{date}", at = "00:30" }\n'
        source = self.source(some=events(5))
        target = self.unserved(daily)
        report, _ = self.copy(source, target)
        self.assertEqual(["HISTORY"], report["nightly_left_to_target"])
        target.start()
        target.request("POST", "/v1/tables/HISTORY/daily?date=2015-03-16").expect(200)
        self.assertEqual(5, len(target.rows("HISTORY_20150316")))

    def test_another_copy_does_not_take_the_state_of_the_first(self):
        source = self.source()
        target = self.start(TO)
        between, config = self.through(target)
        between.decide = lambda method, _: 503 if method == "POST" else None
        _, said = self.copy(source, config, "--retry-for", "0", status=1)
        self.assertIn("503", said)
        _, said = self.copy(source, config, "--from-time", START + 5, status=1)
        self.assertIn("is of another copy", said)
        between.decide = lambda *_: None
        self.copy(source, config)
        self.check_load(target, events(3000))

    def test_a_chunk_that_fails_is_sent_again(self):
        source = self.source()
        target = self.start(TO)
        between, config = self.through(target)
        fates = [503, "lost", 429]
        between.decide = lambda method, _: fates.pop() if method == "POST" and fates else None
        _, said = self.copy(source, config)
        self.assertIn("trying again", said)
        self.check_load(target, events(3000))

    def test_a_source_that_is_written_to_gives_all_that_was_there_before(self):
        before = events(20_000, step=10)
        source = self.source(some=before)
        target = self.start(TO)
        done = threading.Event()
        written = []

        def write():
            at = 0
            while not done.is_set():
                more = [{"ts": START + 10 * (at * 37 % 20_000) + 5, "machine": "new", "value": 1,
                         "count": at},
                        {"ts": START + 1_000_000 + at, "machine": "new", "value": 1, "count": at}]
                source.write("load", more)
                written.extend(more)
                at += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            report, _ = self.copy(source, target)
        finally:
            done.set()
            writer.join()
        self.assertTrue(report["streams"][0]["verified"], report)
        there = target.events("load", scan=1, limit=1_000_000, table="BY_TIME")
        self.assertEqual(in_order(before),
                         in_order([event for event in there if event["machine"] != "new"]))
        known = {json.dumps(event, sort_keys=True) for event in written}
        for event in there:
            if event["machine"] == "new":
                self.assertIn(json.dumps(event, sort_keys=True), known)
        self.assertEqual(sums_of(there), totals(target))


class FinishedTest(CopyTest):
    """What a state says of streams that were finished before, and of the stores."""

    PLAIN = TO[:TO.index("[tables.NEWEST]")]
    MORE = """
[tables.MORE]
stream = "more"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}
"""

    def half(self, toml):
        """A copy that ended between its two streams: what it takes to go on."""
        source = self.source(FROM + self.MORE)
        source.write("more", events(10))
        target = self.start(toml + self.MORE)
        between, config = self.through(target)
        between.decide = lambda method, path: (
            503 if method == "POST" and "/more/" in path else None)
        _, said = self.copy(source, config, "--retry-for", "0", status=1)
        self.assertIn("503", said)
        state = pathlib.Path(f"{config}.copying")
        self.assertIn(b'"copied_as":"events"', state.read_bytes(), "load is finished")
        between.decide = lambda *_: None
        return source, target, config, state

    def finish(self, state):
        """As it is when it could not be removed."""
        told = json.loads(state.read_bytes().split(b"\n")[0])
        told |= {"streams": [], "current": None, "chunk_bytes": 0}
        state.write_text(json.dumps(told) + "\n", encoding="utf-8")

    def test_a_finished_stream_is_compared_with_both_ends_again(self):
        for is_finished in False, True:
            with self.subTest(is_finished=is_finished):
                source, target, config, state = self.half(self.PLAIN)
                if is_finished:
                    self.finish(state)
                # The target loses some, and the source gets some before and behind.
                target.request("DELETE", "/v1/streams/load/events?machine=m1").expect(200)
                late = [{"ts": START - 5, "machine": "late", "value": 1, "count": 1}]
                source.write("load", late + events(10, 3000))
                report, _ = self.copy(source, config)
                stream = report["streams"][-1]
                self.assertEqual(("load", 3011, 3011, True),
                                 (stream["stream"], stream["events"], stream["target_events"],
                                  stream["verified"]))
                self.assertEqual(in_order(late + events(3010)),
                                 in_order(target.events("load", scan=1, limit=9000)))
                self.assertFalse(state.exists())

    def test_what_adds_up_is_told_where_the_source_has_got_more_since(self):
        source, target, config, state = self.half(TO)
        kept = state.read_bytes()
        report, _ = self.copy(source, config)
        self.assertTrue(all(stream["verified"] for stream in report["streams"]))
        self.check_load(target, events(3000))
        state.write_bytes(kept)
        self.finish(state)
        source.write("load", events(10, 3000))
        report, _ = self.copy(source, config, status=1)
        self.assertIn("since it was copied", report["streams"][0]["lack"])
        self.check_load(target, events(3000))

    def test_a_state_is_not_gone_on_by_with_another_store(self):
        source, target, config, state = self.half(self.PLAIN)
        self.finish(state)
        for daemon in target, source:
            with self.subTest(daemon=daemon.port):
                kept = daemon.directory / "kept"
                daemon.stop()
                (daemon.directory / "data").rename(kept)
                daemon.start()
                _, said = self.copy(source, config, status=1)
                self.assertIn("is of another copy", said)
                self.assertIn("remove it", said)
                self.assertTrue(state.exists())
                daemon.stop()
                (daemon.directory / "data").rename(daemon.directory / "emptied")
                kept.rename(daemon.directory / "data")
                daemon.start()
        report, _ = self.copy(source, config)
        self.assertEqual(3000, report["streams"][0]["target_events"])


class VerificationTest(CopyTest):
    def test_an_event_that_the_target_lacks_is_found(self):
        source = self.source()
        target = self.start(TO)
        between, config = self.through(target)
        fates = [None, "dropped"]
        between.decide = lambda method, _: fates.pop() if method == "POST" and fates else None
        report, _ = self.copy(source, config, status=1)
        stream = report["streams"][0]
        self.assertFalse(stream["verified"])
        lost = next(body for method, _, _, body in between.seen if method == "POST").count(b"\n")
        self.assertEqual((3000, 3000 - lost), (stream["events"], stream["target_events"]))
        self.assertIn(f"3000 events were read, and the target gives back {3000 - lost}",
                      stream["why"])

    def test_the_day_in_which_the_time_begins_is_compared_too(self):
        source = self.source()
        target = self.start(TO)
        between, config = self.through(target)
        fates = [None, "dropped"]
        between.decide = lambda method, _: fates.pop() if method == "POST" and fates else None
        report, _ = self.copy(source, config, "--from-time", START + 10, status=1)
        stream = report["streams"][0]
        lost = next(body for method, _, _, body in between.seen if method == "POST").count(b"\n")
        self.assertEqual((2990, 2990 - lost, False), (stream["events"], stream["target_events"],
                                                      stream["verified"]))
        report, _ = self.copy(source, self.unserved(TO), "--from-time", START + 10)
        self.assertEqual(2990, report["streams"][0]["target_events"])

    def test_an_event_that_is_another_is_found(self):
        source = self.source()
        target = self.start(TO)
        between, config = self.through(target)

        def decide(method, path):
            copied = any(seen == "POST" for seen, *_ in between.seen)
            if copied and method == "GET" and path.startswith("/v1/streams/load/plan"):
                target.write("load", [events(1, 5)[0] | {"value": 7}])
            return None

        between.decide = decide
        report, _ = self.copy(source, config, status=1)
        stream = report["streams"][0]
        self.assertEqual((3000, 3000, False), (stream["events"], stream["target_events"],
                                               stream["verified"]))
        self.assertIn("some are others", stream["why"])

    def test_events_that_fall_together_under_the_new_key_are_found(self):
        source = self.source()
        target = self.start(FROM.replace("{machine}#{ts:ms}", "{ts:day}"))
        source.write("load", [{"ts": START, "machine": "other", "value": 1, "count": 1}])
        report, _ = self.copy(source, target, status=1)
        self.assertFalse(report["streams"][0]["verified"])

    def test_what_the_target_forgets_by_its_rules_is_told_and_no_difference(self):
        now = 1000 * (self.now() // 1000)
        day = 86_400_000
        some = [{"ts": now - at * day // 4, "machine": "m1", "value": 1, "count": at}
                for at in range(400)]
        source = self.source(some=some)
        target = self.start(FROM.replace("families.F = {}", 'families.F = { max_age = "30d" }'))
        report, _ = self.copy(source, target)
        stream = report["streams"][0]
        self.assertTrue(stream["verified"])
        self.assertGreater(stream["expired"], 270)
        self.assertEqual(stream["compared_events"], stream["target_events"])
        self.assertGreater(stream["compared_events"], 100)

    def now(self):
        probe = self.start(FROM)
        return int(probe.get("/v1/status").json["now"])

    def test_without_a_table_that_gives_events_back_it_must_be_waived(self):
        source = self.source()
        target = self.start(TO[TO.index("[tables.NEWEST]"):])
        _, said = self.copy(source, target, status=1)
        self.assertIn("--no-verify", said)
        report, _ = self.copy(source, target, "--no-verify")
        self.assertNotIn("verified", report["streams"][0])
        self.assertEqual(7, len(target.rows("SUMS")))


class RefusalTest(CopyTest):
    def test_a_source_that_may_lack_something_is_refused_with_the_cure(self):
        source = self.source(FROM.replace("families.F = {}", 'families.F = { max_age = "15000d" }'))
        target = self.start(TO)
        _, said = self.copy(source, target, status=1)
        self.assertIn("HISTORY", said)
        self.assertIn("--from-time", said)
        self.assertEqual([], target.rows("BY_TIME"))
        self.copy(source, target, "--from-time", "2015-01-01T00:00:00Z")
        self.check_load(target, events(3000))

    def test_a_copy_ends_where_an_end_comes_back_with_another_store(self):
        source = self.source(some=events(30_000))
        target, other = self.start(TO), self.start(TO)
        between, config = self.through(target)

        def swap(method, _):
            if sum(seen == "POST" for seen, *_ in between.seen) == 2 and method == "POST":
                between.daemon = other

        between.decide = swap
        _, said = self.copy(source, config, status=1)
        self.assertIn("the target: ", said)
        self.assertIn("another store by now", said)
        between.daemon, between.decide = target, lambda *_: None
        self.copy(source, config)
        self.check_load(target, events(30_000))

    def test_what_the_source_forgets_while_it_is_copied_is_told(self):
        some = events(20_000, step=60_000)
        source = self.source(some=some)
        target = self.start(TO)
        between, config = self.through(target)
        forgetful = FROM.replace("families.F = {}", 'families.F = { max_age = "1d" }')

        def decide(method, _):
            if method == "POST" and source.toml != forgetful:
                source.reload(forgetful).expect(200)

        between.decide = decide
        for _ in range(2):
            _, said = self.copy(source, config, status=1)
            self.assertIn("begun to forget", said)
        report, _ = self.copy(source, config, "--partial", status=1)
        self.assertIn("older than", report["streams"][0]["lack"])
        self.check_load(target, target.events("load", scan=1, limit=100_000, table="BY_TIME"))

    def test_partial_copies_what_there_is_and_says_so(self):
        source = self.source(FROM.replace("families.F = {}", "families.F = { max_versions = 1 }")
                             .replace("{ts:ms}", "{ts:day}"))
        target = self.start(TO)
        report, _ = self.copy(source, target, "--partial", status=1)
        stream = report["streams"][0]
        self.assertEqual((7, True), (stream["events"], stream["verified"]))
        self.assertIn("newest 1 cells", stream["lack"])

    def test_what_adds_up_is_not_copied_into_twice(self):
        source = self.source()
        target = self.start(TO)
        self.copy(source, target)
        _, said = self.copy(source, target, status=1)
        self.assertIn("SUMS", said)
        self.assertIn("twice", said)
        self.check_load(target, events(3000))
        source.write("load", events(10, 3000))
        self.copy(source, target, "--from-time", START + 3000)
        self.check_load(target, events(3010))

    def test_what_was_added_up_and_has_no_events_any_more_counts_once(self):
        source = self.source()
        short = TO.replace("families.F = {}", 'families.F = { max_age = "1d" }')
        for toml in short, TO[TO.index("[tables.NEWEST]"):] + """
[tables.A_FIRST]
stream = "load"
pattern = "aggregate"
row_key = "{machine}"
when = ["never"]
columns = [{ family = "S", fields = ["never"] }]
families.S = { aggregate = "sum" }
""":
            target = self.start(toml)
            self.copy(source, target, "--no-verify")
            self.assertEqual(sums_of(events(3000)), totals(target))
            _, said = self.copy(source, target, "--no-verify", status=1)
            self.assertIn("twice", said)
            self.assertEqual(sums_of(events(3000)), totals(target))

    def test_what_stands_in_two_parts_of_an_event_is_not_counted_twice(self):
        parts = "".join(f"""
[tables.{name.upper()}]
stream = "load"
pattern = "single-timestamp"
row_key = "{{machine}}#{{ts:ms}}"
columns = [{{ family = "F", fields = ["{name}", "count"] }}]
families.F = {{}}
""" for name in ("a", "b"))
        some = [event | {"a": 1, "b": 2} for event in events(20)]
        for event in some:
            del event["value"]
        sums = TO[TO.index("[tables.SUMS]"):]
        source = self.source(parts, some=some)
        target = self.start(parts + sums)
        _, said = self.copy(source, target, status=1)
        self.assertIn("SUMS", said)
        self.assertIn("twice", said)
        self.assertEqual({}, totals(target))
        # Sums of the source's own go cell by cell, and those that cannot count twice by events.
        both = self.source(parts + sums, some=some)
        report, _ = self.copy(both, target)
        self.assertEqual("cells", report["streams"][0]["copied_as"])
        self.assertEqual(sums_of(some), totals(target))
        greatest = self.start(parts + sums.replace('"sum"', '"max"'))
        report, _ = self.copy(source, greatest)
        self.assertEqual(("events", True), (report["streams"][0]["copied_as"],
                                            report["streams"][0]["verified"]))

    def test_two_copies_into_one_target_do_not_run_at_once(self):
        source = self.source()
        target = self.start(TO)
        between, config = self.through(target)
        between.decide = lambda method, _: 503 if method == "POST" else None
        first = subprocess.Popen(self.command(source, config), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: any(method == "POST" for method, *_ in between.seen), "it sends")
            for more in (), ("--state", self.folder / "other"):
                _, said = self.copy(source, config, *more, status=1)
                self.assertIn("another copy", said)
        finally:
            first.kill()
            first.wait()
        between.decide = lambda *_: None
        self.copy(source, config)
        self.check_load(target, events(3000))

    def test_a_second_copy_into_what_keeps_events_brings_what_is_new(self):
        source = self.source()
        target = self.start(FROM.replace("{machine}#{ts:ms}", "{ts:ms}#{machine}"))
        self.copy(source, target)
        source.write("load", events(10, 3000))
        report, _ = self.copy(source, target)
        self.assertEqual(3010, report["streams"][0]["target_events"])

    def test_streams_and_times_are_chosen(self):
        both = FROM + "".join(FROM.replace("HISTORY", name.upper()).replace('"load"', f'"{name}"')
                              for name in ("other", "quiet"))
        source = self.source(both)
        source.write("other", events(5))
        target = self.unserved(both + FROM.replace("HISTORY", "NEW").replace('"load"', '"new"'))
        report, _ = self.copy(source, target, "--stream", "load", "--stream", "load",
                              "--from-time", START + 10,
                              "--to-time", START + 20)
        self.assertEqual([("load", 10)], [(one["stream"], one["events"])
                                          for one in report["streams"]])
        report, _ = self.copy(source, target)
        self.assertEqual({"load": 3000, "other": 5, "quiet": 0},
                         {one["stream"]: one["events"] for one in report["streams"]})
        self.assertEqual((["new"], []), (report["not_in_source"], report["not_in_target"]))
        report, _ = self.copy(source, self.unserved(FROM))
        self.assertEqual(["other", "quiet"], report["not_in_target"])

    def test_counters_that_are_held_in_memory_need_a_daemon_that_stays(self):
        source = self.source(some=events(5))
        held = TO + """
[tables.HELD]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
columns = [{ family = "C", fields = ["count"] }]
families.C = {}
flush = "1m"
"""
        _, said = self.copy(source, self.unserved(held), status=1)
        self.assertIn("flush", said)
        self.assertIn("start the target's daemon", said)

    def test_wrong_usage_is_status_2(self):
        source = self.source(some=events(5))
        target = self.unserved(TO)
        for more, word in ((("--stream", "lode"), "load"), (("--from-time", "soon"), "--from-time"),
                           (("--to-time", START, "--from-time", START), "--to-time"),
                           (("--retry-for", "x"), "--retry-for"),
                           (("--to-token-file", "none"), "none"), (("--format", "xml"), "xml")):
            _, said = self.copy(source, target, *more, status=2)
            self.assertIn(word, said)
        _, said = self.copy(source, source, status=2)
        self.assertIn("the same directory", said)
        broken = self.folder / "broken.toml"
        broken.write_text("[tables.X]\nrow = 1\n")
        _, said = self.copy(source, broken, status=2)
        self.assertIn("broken.toml:2", said)
        self.assertFalse((target.directory / "data").exists())

    def test_people_get_a_table(self):
        source = self.source(some=events(5))
        done = subprocess.run(self.command(source, self.unserved(TO))[:-2], capture_output=True,
                              timeout=ANSWER_SECONDS, cwd=self.folder, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(["stream", "copied", "as", "out", "of"], lines[0].split()[:5])
        self.assertEqual(["load", "5", "events", "HISTORY"], lines[1].split()[:4])
        self.assertEqual("yes", lines[1].split()[-1])


class CellsTest(CopyTest):
    TABLES = """
[tables.TOTALS]
stream = "load"
pattern = "aggregate"
row_key = "{machine}#{ts:day}"
columns = [{ family = "S", fields = ["count"] }, { family = "H", fields = ["machine"] },
           { family = "M", fields = ["value"] }]
families.S = { aggregate = "sum", bucket = "1h" }
families.H = { aggregate = "hll" }
families.M = { aggregate = "max" }
[tables.NEWEST]
stream = "load"
pattern = "latest"
row_key = "{machine}"
families.F = {}
"""

    def filled(self):
        source = self.source(self.TABLES, some=[event | {"value": at, "count": at - 40}
                                                for at, event in enumerate(events(100))])
        path = "/v1/tables/TOTALS/rows/odd%2F%FF/mutations"
        source.request("POST", path, json.dumps({"mutations": [
            {"merge": {"family": "S", "qualifier": {"base64": "/w=="}, "ts": START,
                       "value": str(2**126)}},
            {"merge": {"family": "S", "qualifier": "base64:AAAA", "ts": START + 3_600_000,
                       "value": -2**126}}]})).expect(200)
        return source

    def rows(self, daemon):
        return [daemon.rows(table, limit=10_000, raw=1) for table in ("TOTALS", "NEWEST")]

    def test_states_of_aggregates_go_cell_by_cell(self):
        for source_is_served in True, False:
            with self.subTest(served=source_is_served):
                source = self.filled()
                rows = self.rows(source)
                self.assertEqual(8, len(rows[0]))
                if not source_is_served:
                    source.stop()
                target = self.start(self.TABLES)
                report, _ = self.copy(source, target)
                stream = report["streams"][0]
                self.assertEqual(("cells", 15, True), (stream["copied_as"], stream["rows"],
                                                       stream["verified"]))
                self.assertEqual(stream["checksum"], stream["target_checksum"])
                self.assertEqual(rows, self.rows(target))
                # States, and not what they read as: they go on counting.
                target.write("load", {"ts": START, "machine": "m1", "value": 1, "count": 7})
                hours = target.cells("TOTALS", rows[0][0]["key"])["S"]["count"]
                self.assertTrue(hours)
                _, said = self.copy(source, target, status=1)
                self.assertIn("twice", said)

    def test_versions_of_a_table_that_may_lack_some_go_cell_by_cell(self):
        toml = FROM.replace("families.F = {}", "families.F = { max_versions = 2 }").replace(
            "{ts:ms}", "{ts:day}")
        source = self.source(toml, some=events(50))
        target = self.unserved(toml)
        report, _ = self.copy(source, target)
        self.assertEqual("cells", report["streams"][0]["copied_as"])
        target.start()
        self.assertEqual(source.rows("HISTORY"), target.rows("HISTORY"))

    def test_another_key_cannot_take_cells_and_is_refused_with_the_reason(self):
        source = self.filled()
        target = self.start(self.TABLES.replace("{machine}#{ts:day}", "{ts:day}#{machine}"))
        _, said = self.copy(source, target, status=1)
        self.assertIn("TOTALS has another key", said)

    def test_cells_that_were_sent_before_a_kill_count_once(self):
        source = self.filled()
        target = self.start(self.TABLES)
        between, config = self.through(target)
        lock = threading.Lock()
        posts = []

        def decide(method, _):
            with lock:
                if method != "POST":
                    return None
                posts.append(method)
                return 503 if len(posts) > 4 else "lost" if len(posts) > 2 else None

        between.decide = decide
        copying = subprocess.Popen(self.command(source, config), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: len(posts) > 8, "rows are sent again")
        finally:
            copying.kill()
            copying.wait()
        between.decide = lambda *_: None
        report, _ = self.copy(source, config)
        self.assertTrue(report["streams"][0]["verified"], report)
        self.assertEqual(self.rows(source), self.rows(target))

    def test_a_cell_that_the_target_lacks_is_found(self):
        source = self.filled()
        target = self.start(self.TABLES)
        between, config = self.through(target)
        fates = [200]
        between.decide = lambda method, _: fates.pop() if method == "POST" and fates else None
        report, _ = self.copy(source, config, status=1)
        self.assertFalse(report["streams"][0]["verified"])
        self.assertIn("the target gives back", report["streams"][0]["why"])
