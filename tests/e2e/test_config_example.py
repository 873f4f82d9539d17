"""The configuration: the shipped example, mistakes, and what a start or a reload may change."""

import re
import signal
import tempfile
import tomllib
import pathlib
import unittest

from tests.e2e.tallyd import E2eTest, ROOT, Tallyd, eventually, mentions, ms, plain, run
from tests.e2e.test_seeds_patterns import BALLOON_KEYS, MINUTE, NOON, READINGS
from tests.e2e.test_seeds_worlds import MESSAGE, METRICS

EXAMPLE = ROOT / "config" / "example.toml"
GOOD = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = { max_versions = 5 }
"""
OTHER = """
[tables.OTHER]
stream = "other"
pattern = "latest"
row_key = "{id}"
families.F = {}
"""
EVENT = {"ts": 1426535612045, "hostname": "server1.bbb.com", **METRICS}

# What is wrong, the file with a mark at the line at fault, and the key that the message must name.
MISTAKES = [
    ("an unknown server key", '[server]\nlisen = "127.0.0.1:0" # HERE\n' + GOOD, "lisen"),
    ("an unknown storage key", '[storage]\npaths = "data" # HERE\n' + GOOD, "paths"),
    ("an unknown section", GOOD + "[sever] # HERE\nthreads = 1\n", "sever"),
    ("an unknown table key", GOOD + 'patern = "latest" # HERE\n', "patern"),
    ("an unknown family key", GOOD.replace("max_versions = 5 }", "max_ages = 5 } # HERE"),
     "max_ages"),
    ("an unknown column key", GOOD + 'columns = [{ family = "METRIC", nane = "x" }] # HERE\n',
     "nane"),
    ("an unknown stream key", GOOD + '[streams.server]\nunits = "ms" # HERE\n', "units"),
    ("a wrong type", '[server]\nthreads = "many" # HERE\n' + GOOD, "threads"),
    ("a size that is none", '[server]\nmax_body = "lots" # HERE\n' + GOOD, "max_body"),
    ("a negative number", '[server]\nthreads = -1 # HERE\n' + GOOD, "threads"),
    ("an engine that is none", '[storage]\nengine = "rocks" # HERE\n' + GOOD, "engine"),
    ("a sync mode that is none", '[storage]\nsync = "never" # HERE\n' + GOOD, "sync"),
    ("a pattern that is none",
     GOOD.replace('pattern = "single-timestamp"', 'pattern = "wide" # HERE'), "pattern"),
    ("a unit that is none", GOOD + '[streams.server]\nunit = "minutes" # HERE\n', "unit"),
    ("an age that is none", GOOD.replace("max_versions = 5 }", 'max_age = "long" } # HERE'),
     "max_age"),
    ("a gc rule that is none", GOOD.replace("max_versions = 5 }", 'gc = "some" } # HERE'), "gc"),
    ("a family that is not declared", GOOD + 'columns = [{ family = "NONE" }] # HERE\n', "NONE"),
    ("a template that does not end", GOOD.replace('{ts:ms}"', '{ts" # HERE'), "row_key"),
    ("a key spec that is none", GOOD.replace('{ts:ms}"', '{ts:fortnight}" # HERE'), "row_key"),
    ("a bucket that divides no day", GOOD.replace('{ts:ms}"', '{ts:bucket(7h)}" # HERE'),
     "row_key"),
    ("two fields of no fixed width",
     GOOD.replace('{hostname}#{ts:ms}"', '{hostname}{rack}" # HERE'), "row_key"),
    ("bad TOML", GOOD + "when = = # HERE\n", ""),
]


PATTERNS = ("single-timestamp", "single-timestamp-serialized", "new-cell",
            "new-cell-serialized", "new-column", "latest")


def write_file(folder, text):
    file = pathlib.Path(folder) / "wrong.toml"
    file.write_text(text, encoding="utf-8")
    return file


class MistakesTest(E2eTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tallyd-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_check_names_file_line_and_key_of_each_mistake(self):
        for what, text, key in MISTAKES:
            with self.subTest(what):
                line = next(number for number, one in enumerate(text.splitlines(), 1)
                            if "# HERE" in one)
                status, said = run("check", "--config",
                                   write_file(self.folder, text.replace(" # HERE", "")))
                self.assertEqual(2, status, said)
                self.assertIn("wrong.toml", said)
                self.assertRegex(said, rf"(:|[Ll]ine ){line}\b")
                self.assertIn(key, said)

    def test_a_missing_required_key_is_named(self):
        text = GOOD.replace('row_key = "{hostname}#{ts:ms}"\n', "")
        status, said = run("check", "--config", write_file(self.folder, text))
        self.assertEqual(2, status, said)
        self.assertIn("wrong.toml", said)
        self.assertIn("row_key", said)

    def test_the_message_says_what_is_accepted(self):
        text = GOOD.replace('"single-timestamp"', '"wide"')
        _, said = run("check", "--config", write_file(self.folder, text))
        for pattern in PATTERNS:
            self.assertIn(pattern, said)

    def test_every_mistake_is_told_at_once_or_at_least_the_first(self):
        text = '[server]\nlisen = "x"\nthreds = 1\n' + GOOD
        status, said = run("check", "--config", write_file(self.folder, text))
        self.assertEqual(2, status, said)
        self.assertTrue("lisen" in said or "threds" in said, said)

    def test_the_check_fails_on_what_will_refuse_every_event_and_the_daemon_warns(self):
        text = '[streams.server]\ntime = "ts"\n' + GOOD.replace("{ts:ms}", "{tss:ms}")
        self.refuses_tss(text)
        self.assertIn('tss', self.start(text).log())

    def test_a_time_that_nobody_declared_is_refused_by_the_check_and_by_the_daemon(self):
        text = GOOD.replace("{ts:ms}", "{tss:ms}")
        self.refuses_tss(text)
        status, said = run("serve", "--config", write_file(self.folder, text))
        self.assertEqual(status, 2, said)
        self.assertIn('time = "tss"', said)

    def refuses_tss(self, text):
        status, said = run("check", "--config", write_file(self.folder, text))
        self.assertEqual(status, 2, said)
        for word in ("tables.METRIC.row_key", '"tss"', '"ts"'):
            self.assertIn(word, said)

    def test_a_good_file_passes_the_check_and_is_not_opened_as_data(self):
        file = write_file(self.folder, '[storage]\npath = "data"\n' + GOOD)
        status, said = run("check", "--config", file)
        self.assertEqual(0, status, said)
        self.assertFalse((file.parent / "data").exists())

    def test_serve_does_not_start_on_a_mistake(self):
        text = '[server]\nlisen = "127.0.0.1:0"\n' + GOOD
        status, said = run("serve", "--config", write_file(self.folder, text))
        self.assertEqual(2, status, said)
        self.assertIn("lisen", said)

    def test_a_missing_file_is_refused_by_name(self):
        for command in "check", "serve":
            status, said = run(command, "--config", "absent.toml", directory=self.folder)
            self.assertEqual(2, status, said)
            self.assertIn("absent.toml", said)

    def test_listening_beyond_loopback_is_refused_without_tokens_and_tls(self):
        for address in "0.0.0.0:0", "[::]:0", "192.0.2.1:8780":
            text = f'[server]\nlisten = "{address}"\n' + GOOD
            status, said = run("serve", "--config", write_file(self.folder, text))
            self.assertEqual(2, status, said)
            self.assertIn("listen", said)


class ExampleTest(E2eTest):
    def setUp(self):
        self.text = EXAMPLE.read_text(encoding="utf-8")
        self.tables = tomllib.loads(self.text)["tables"]

    def start_example(self):
        """The example as it is shipped, but for the port and the folder of its data."""
        text = re.sub(r"(?ms)^\[(server|storage)\].*?(?=^\[|\Z)", "", self.text)
        return self.start(text)

    def of_stream(self, stream):
        """pattern -> name of the tables that one stream feeds."""
        return {table["pattern"]: name for name, table in self.tables.items()
                if table.get("stream", name) == stream}

    def test_the_example_passes_the_check(self):
        status, said = run("check", "--config", EXAMPLE)
        self.assertEqual(0, status, said)

    def test_the_balloon_flies_in_four_patterns_with_equal_answers(self):
        tables = self.of_stream("balloon")
        self.assertLessEqual({"new-column", "new-cell", "single-timestamp-serialized",
                              "single-timestamp"}, set(tables))
        tallyd = self.start_example()
        sent = [{"ts": NOON + minute * MINUTE, "location": "us-west2", "balloon": 3698, **reading}
                for minute, reading in enumerate(READINGS)]
        tallyd.write("balloon", sent)
        for pattern, table in tables.items():
            if pattern != "latest":
                got = tallyd.events("balloon", location="us-west2", balloon=3698, table=table)
                self.assertEqual(sent, [{name: event.get(name) for name in sent[0]}
                                        for event in got], table)
        self.assertEqual(BALLOON_KEYS, tallyd.keys(tables["single-timestamp"]))

    def test_the_market_has_quotes_and_trades(self):
        self.assertLessEqual({"QUOTE", "TRADE"}, set(self.tables))
        tallyd = self.start_example()
        tallyd.write("market", MESSAGE)
        self.assertEqual(["NASDAQ#ZXZZT#1426535612156"], tallyd.keys("QUOTE"))
        self.assertEqual(["NASDAQ#ZXZZT#1426535612045"], tallyd.keys("TRADE"))

    def test_the_servers_have_a_history_and_their_latest(self):
        tallyd = self.start_example()
        tallyd.write("server", EVENT)
        self.assertEqual(["server1.bbb.com#1426535612045"], tallyd.keys("METRIC"))
        self.assertEqual({"METRIC": METRICS},
                         plain(tallyd.cells("CURRENT_METRIC", "server1.bbb.com")))
        self.assertEqual(0.02,
                         tallyd.latest("server", hostname="server1.bbb.com")[0]["CPU/CPU1_USR"])

    def test_the_meters_have_a_row_per_day(self):
        tallyd = self.start_example()
        tallyd.write("meter", {"ts": ms("2017-07-26T00:15"), "meter": 987654, "value": 13.45})
        self.assertEqual({"METER": {"ID": 987654, "0015": 13.45}},
                         plain(tallyd.cells("SENSOR", "0000987654#20170726")))


class ChangesTest(E2eTest):
    def refused_start(self, daemon, toml):
        """Starts the stopped daemon on a file that must be refused; answers what it said."""
        daemon.log_file.unlink()
        daemon.write_config(toml)
        daemon.spawn()
        self.assertNotEqual(0, daemon.process.wait(60))
        return daemon.log()

    def test_what_is_fixed_on_data_is_refused_at_the_start_naming_both(self):
        daemon = self.start(GOOD + '[streams.server]\nunit = "ms"\n')
        daemon.write("server", EVENT)
        daemon.stop()
        good = daemon.toml
        for old, new in (("{hostname}#{ts:ms}", "{hostname}#{ts:s}"),
                         ("single-timestamp", "new-cell"),
                         ('stream = "server"', 'stream = "serverx"'),
                         ('unit = "ms"', 'unit = "us"')):
            with self.subTest(new):
                said = self.refused_start(daemon, good.replace(old, new))
                for side in old, new:
                    self.assertIn(side.split('"')[1] if '"' in side else side, said)
        daemon.write_config(good)
        daemon.start()
        self.assertEqual(1, len(daemon.keys("METRIC")))

    def test_what_holds_no_row_may_change_by_reload_and_by_restart(self):
        empty = '[streams.server]\nunit = "ms"\n' + GOOD
        changed = (empty.replace("{hostname}#{ts:ms}", "{hostname}#{ts:day}")
                   .replace("single-timestamp", "new-cell").replace('unit = "ms"', 'unit = "us"'))
        daemon = self.start(empty)
        daemon.reload(changed).expect(200)
        daemon.reload(empty).expect(200)
        daemon.stop()
        daemon.write_config(changed)
        daemon.start()
        daemon.write("server", {**EVENT, "ts": EVENT["ts"] * 1000})
        self.assertEqual(["server1.bbb.com#20150316"], daemon.keys("METRIC"))
        daemon.reload(empty).problem(409)

    def test_the_row_key_may_not_change_by_reload_either(self):
        daemon = self.start(GOOD)
        daemon.write("server", EVENT)
        said = daemon.reload(GOOD.replace("{ts:ms}", "{ts:s}")).problem(400, 409, 422)["detail"]
        self.assertIn("{hostname}#{ts:ms}", said)
        self.assertIn("{hostname}#{ts:s}", said)
        daemon.write("server", {**EVENT, "ts": EVENT["ts"] + 1})
        self.assertEqual([f"server1.bbb.com#{EVENT['ts'] + step}" for step in (0, 1)],
                         daemon.keys("METRIC"))

    def test_versions_columns_families_and_tables_may_change_on_data(self):
        daemon = self.start(GOOD)
        daemon.write("server", EVENT)
        changed = GOOD.replace("max_versions = 5", "max_versions = 7") + """
            columns = [
              { family = "METRIC", fields = ["CPU/*"] },
              { family = "DISK", fields = ["IO/*"] },
            ]
            families.DISK = {}
            """ + OTHER
        daemon.reload(changed).expect(200, 204)
        daemon.write("server", {**EVENT, "ts": EVENT["ts"] + 1})
        rows = daemon.rows("METRIC")
        self.assertEqual({"METRIC": METRICS}, plain(rows[0]["cells"]))
        self.assertEqual({"DISK": ["IO/BLK_READ"], "METRIC": ["CPU/CPU1_NICE", "CPU/CPU1_USR"]},
                         {family: list(columns) for family, columns in rows[1]["cells"].items()})
        daemon.restart()
        self.assertEqual(rows, daemon.rows("METRIC"))

    def test_a_good_reload_adds_a_table_at_once(self):
        daemon = self.start(GOOD)
        daemon.post("other", {"id": 1, "v": 1}).problem(404)
        daemon.reload(GOOD + OTHER).expect(200, 204)
        daemon.write("other", {"id": 1, "v": 1})
        self.assertEqual(["1"], daemon.keys("OTHER"))

    def test_a_reload_that_changes_sealing_is_refused_and_not_ignored(self):
        daemon = self.start(GOOD)
        for key, value in (("seal_window", '"2d"'), ("seal_delay", '"7m"'), ("seal_cpu", "0.7")):
            daemon.storage = f"{key} = {value}"
            said = daemon.reload(GOOD).problem(409)["detail"]
            self.assertIn(f"storage.{key}", said)

    def test_a_bad_reload_changes_nothing_and_says_why(self):
        daemon = self.start(GOOD)
        daemon.write("server", EVENT)
        said = daemon.reload(GOOD + OTHER + 'patern = "latest"\n').problem(409)
        self.assertIn("patern", str(said))
        daemon.post("other", {"id": 1, "v": 1}).problem(404)
        daemon.write("server", {**EVENT, "ts": EVENT["ts"] + 1})
        self.assertEqual(2, len(daemon.keys("METRIC")))

    def test_a_reload_of_a_file_without_tables_is_refused(self):
        daemon = self.start(GOOD)
        said = daemon.reload("").problem(409)["detail"]
        self.assertIn("makes no table", said)
        daemon.write("server", EVENT)

    def test_a_reload_names_what_it_takes_away(self):
        daemon = self.start(GOOD + OTHER)
        daemon.write("other", {"id": 1, "v": 1})
        said = daemon.reload(GOOD).expect(200).json
        self.assertEqual({"streams": ["other"], "tables": ["OTHER"]}, said["removed"])
        self.assertIn("took away table OTHER", daemon.log())
        self.assertNotIn("removed", daemon.reload(GOOD).expect(200).json)

    def test_a_reload_without_a_file_is_refused_as_any_other(self):
        daemon = self.start(GOOD)
        daemon.config.unlink()
        said = daemon.request("POST", "/-/reload").problem(409)["detail"]
        self.assertIn("tallyd.toml", said)
        daemon.write("server", EVENT)

    def test_sighup_reloads_whole_or_not_at_all(self):
        daemon = self.start(GOOD)
        daemon.write_config(GOOD + OTHER + 'patern = "latest"\n')
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "patern" in daemon.log(), "the log names the mistake")
        daemon.get("/readyz").expect(200)
        daemon.post("other", {"id": 1, "v": 1}).problem(404)
        daemon.write_config(GOOD + OTHER)
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: daemon.post("other", {"id": 1, "v": 1}).status == 200,
                   "the new table is there")

    def test_a_table_taken_out_is_orphaned_and_goes_by_delete(self):
        daemon = self.start(GOOD + OTHER)
        daemon.write("other", {"id": "a", "v": 1})
        daemon.write("server", EVENT)
        daemon.reload(GOOD).expect(200, 204)
        daemon.post("other", {"id": "b", "v": 1}).problem(404)
        daemon.restart()
        listed = daemon.get("/v1/tables").expect(200)
        self.assertTrue(mentions(listed.json, "OTHER"), listed.text)
        self.assertIn("orphan", listed.text)

        daemon.reload(GOOD + OTHER).expect(200, 204)
        self.assertEqual(["a"], daemon.keys("OTHER"))
        self.assertNotIn('"orphaned":true', daemon.get("/v1/tables").text.replace(" ", ""))

        daemon.reload(GOOD).expect(200, 204)
        daemon.delete("/v1/tables/OTHER").expect(200, 204)
        self.assertFalse(mentions(daemon.get("/v1/tables").expect(200).json, "OTHER"))
        daemon.delete("/v1/tables/OTHER").problem(404)
        daemon.reload(GOOD + OTHER.replace('"{id}"', '"{id}/{part}"')).expect(200, 204)
        self.assertEqual([], daemon.keys("OTHER"))
        self.assertEqual(1, len(daemon.keys("METRIC")))


class CommandLineTest(unittest.TestCase):
    def test_help_and_version_answer(self):
        status, said = run("--help")
        self.assertEqual(0, status)
        for word in "serve", "check":
            self.assertIn(word, said)
        status, said = run("--version")
        self.assertEqual((0, True), (status, bool(re.search(r"\d+\.\d+", said))))

    def test_an_unknown_command_or_option_fails(self):
        for arguments in (("serv",), ("serve", "--confg", "x"), ()):
            self.assertNotEqual(0, run(*arguments)[0], arguments)

    def test_an_unknown_command_is_named(self):
        for arguments in (("frob",), ("frob", "--config", "x"), ("frob", "serve")):
            status, said = run(*arguments)
            self.assertEqual((2, True), (status, "frob" in said), said)


class DirectoryTest(E2eTest):
    def test_a_second_daemon_on_the_same_data_is_refused(self):
        first = self.start(GOOD)
        first.write("server", EVENT)
        second = Tallyd(GOOD, directory=first.directory)
        second.config = first.directory / "second.toml"
        second.log_file = first.directory / "second.log"
        second.port = 0
        second.write_config()
        second.spawn()
        self.addCleanup(second.kill)
        # Not 2, on which the unit stops for good: the first may be gone a second later.
        self.assertEqual(1, second.process.wait(60))
        self.assertIn("data", second.log())
        self.assertEqual(1, len(first.keys("METRIC")))
        first.write("server", {**EVENT, "ts": 1})

    def test_damaged_data_is_no_mistake_of_the_configuration(self):
        daemon = self.start(GOOD)
        daemon.write("server", EVENT)
        daemon.stop()
        (daemon.directory / "data" / "CURRENT").write_bytes(b"damage\n")
        daemon.spawn()
        self.addCleanup(daemon.kill)
        self.assertEqual(1, daemon.process.wait(60))
        self.assertIn("CURRENT", daemon.log())
