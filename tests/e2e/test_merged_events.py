"""Events that fall on one cell of a table: told, counted, and answered from another table."""

import json
import pathlib
import subprocess

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, E2eTest, Tallyd, eventually, free_port, run

START = 1_700_000_000_000


def table(name, row_key, more="", pattern="single-timestamp"):
    return (f'[tables.{name}]\nstream = "s"\npattern = "{pattern}"\nrow_key = "{row_key}"\n'
            f'families.f = {{}}\n{more}\n')


BY_HOST = table("BY_HOST", "{host}#{ts:ms}")
BY_SENSOR = table("BY_SENSOR", "{host}#{sensor}#{ts:ms}")
BOTH = BY_HOST + BY_SENSOR
EVENTS = [{"ts": START + moment * 1000, "host": "h", "sensor": sensor, "v": moment}
          for moment in range(3) for sensor in "abc"]


class MergedEventsTest(E2eTest):
    def merged(self, daemon, name="BY_HOST"):
        return daemon.get(f"/v1/tables/{name}").expect(200).json["merged_events"]

    def findings(self, daemon):
        return [one for one in daemon.get("/v1/lint").expect(200).json["findings"]
                if one["rule"] == "S6"]

    def check_nine(self, daemon, **params):
        answer = daemon.query("s", {"host": "h", **params})
        self.assertEqual(9, len(answer["rows"]))
        self.assertEqual("BY_SENSOR", answer["plan"]["table"])
        self.assertNotIn("complete", answer["plan"])
        self.assertNotIn("note", answer["plan"])

    def check_settled(self, daemon):
        self.check_nine(daemon)
        daemon.request("POST", "/-/settle").expect(200)
        self.check_nine(daemon)
        self.assertEqual(6, self.merged(daemon))
        self.assertEqual(0, self.merged(daemon, "BY_SENSOR"))

    def test_what_merged_in_one_table_comes_from_another(self):
        for how in "in one batch", "one by one", "a moment each":
            with self.subTest(how):
                daemon = self.start(BOTH)
                size = {"in one batch": 9, "one by one": 1, "a moment each": 3}[how]
                for first in range(0, 9, size):
                    daemon.write("s", EVENTS[first:first + size])
                self.check_nine(daemon)
                self.assertEqual(6, self.merged(daemon))
                self.check_settled(daemon)

    def test_files_that_are_merged_later_count_once(self):
        daemon = self.start(BOTH)
        for sensor in "abc":
            daemon.write("s", [event for event in EVENTS if event["sensor"] == sensor])
            daemon.request("POST", "/-/settle").expect(200)
        self.assertEqual(6, self.merged(daemon))
        self.check_settled(daemon)

    def test_a_restart_and_a_kill_forget_nothing(self):
        daemon = self.start(BOTH)
        daemon.write("s", EVENTS)
        daemon.kill()
        daemon.start()
        self.check_settled(daemon)
        daemon.restart()
        self.check_nine(daemon)
        self.assertEqual(6, self.merged(daemon))

    def test_steps_and_streams_are_planned_anew_too(self):
        daemon = self.start(BOTH)
        daemon.write("s", EVENTS)
        asked = {"host": "h", "step": "1h", "agg": "count", "fields": "v"}
        answer = daemon.query("s", asked)
        self.assertEqual([[9]], [row[1:] for row in answer["rows"]])
        self.assertEqual("BY_SENSOR", answer["plan"]["table"])
        for name in "ndjson", "csv":
            other = self.start(BOTH)
            other.write("s", EVENTS)
            body = other.get("/v1/streams/s/events", host="h", format=name).expect(200).text
            self.assertEqual(9 + (name == "csv"), len(body.splitlines()))

    def test_a_correction_is_none(self):
        daemon = self.start(BOTH)
        for value in 1, 2:
            daemon.write("s", [{"ts": START, "host": "h", "sensor": "a", "v": value}])
            answer = daemon.query("s", host="h", table="BY_HOST")
            self.assertEqual(1, len(answer["rows"]))
            self.assertNotIn("complete", answer["plan"])
        daemon.request("POST", "/-/settle").expect(200)
        self.assertEqual(0, self.merged(daemon))
        answer = daemon.query("s", host="h", table="BY_HOST")
        self.assertNotIn("complete", answer["plan"])

    def test_a_table_alone_answers_and_says_what_it_lacks(self):
        daemon = self.start('[[streams.s.queries]]\nfields = ["host", "sensor"]\n' + BY_HOST)
        daemon.write("s", EVENTS)
        answer = daemon.query("s", host="h")
        self.assertEqual(3, len(answer["rows"]))
        self.assertIs(False, answer["plan"]["complete"])
        self.assertIn("sensor", answer["plan"]["note"])

    def test_candidates_that_were_not_chosen_say_why(self):
        daemon = self.start(BOTH)
        daemon.write("s", EVENTS)
        self.check_settled(daemon)
        plan = daemon.get("/v1/streams/s/plan", host="h").expect(200).json
        whys = {one["table"]: one.get("why_not", "") for one in plan["candidates"]}
        self.assertIn("fall on cells", whys["BY_HOST"])
        self.assertEqual("", whys["BY_SENSOR"])
        pinned = daemon.query("s", host="h", table="BY_HOST")["plan"]
        self.assertIs(False, pinned["complete"])

    def test_lint_tells_of_what_is_at_risk_and_of_what_has_merged(self):
        daemon = self.start(BOTH)
        self.assertEqual([], self.findings(daemon))
        daemon.write("s", EVENTS)
        self.check_settled(daemon)
        found = self.findings(daemon)
        self.assertEqual(["BY_HOST"], [one["table"] for one in found])
        self.assertIn("6", found[0]["detail"])
        status, said = run("lint", "--config", daemon.config)
        self.assertEqual(0, status, said)
        self.assertNotIn("S6", said)
        daemon.write_config('[[streams.s.queries]]\nfields = ["host", "rack"]\n' + BOTH)
        _, said = run("lint", "--config", daemon.config, "--format", "json")
        found = [one for one in json.loads(said)["findings"] if one["rule"] == "S6"]
        self.assertEqual({("BY_HOST", "warn"), ("BY_SENSOR", "warn")},
                         {(one["table"], one["severity"]) for one in found})

    def test_a_table_that_keeps_no_such_field_cannot_tell(self):
        daemon = self.start(
            table("BY_HOST", "{host}#{ts:ms}", 'columns = [{ family = "f", fields = ["v"] }]') +
            BY_SENSOR)
        daemon.write("s", EVENTS)
        plan = daemon.query("s", host="h", fields="v", table="BY_HOST")["plan"]
        self.assertIn("sensor", plan["note"])
        self.assertEqual(9, len(daemon.query("s", host="h", fields="v")["rows"]))
        _, said = run("lint", "--config", daemon.config, "--format", "json")
        found = [one for one in json.loads(said)["findings"] if one["rule"] == "S6"]
        self.assertEqual(["BY_HOST"], [one["table"] for one in found])

    def test_fields_that_a_serialized_cell_lost_come_from_another_table(self):
        for settles in False, True:
            with self.subTest(settles=settles):
                daemon = self.start(BY_HOST + table("BLOB", "{ts:ms}#{host}",
                                                    pattern="single-timestamp-serialized"))
                for fields in {"cpu": 1.5}, {"mem": 7}:
                    daemon.write("s", [{"host": "h", "ts": START} | fields])
                if settles:
                    daemon.request("POST", "/-/settle").expect(200)
                asked = {"from_": START, "to": START + 1, "scan": 1}
                answer = daemon.query("s", asked | {"fields": "cpu"})
                self.assertEqual("BY_HOST", answer["plan"]["table"])
                self.assertEqual(1, len(answer["rows"]))
                pinned = daemon.query("s", asked | {"table": "BLOB"})["plan"]
                self.assertIs(False, pinned["complete"])
                self.assertEqual(1, self.merged(daemon, "BLOB"))
                self.assertIn("one cell", self.findings(daemon)[0]["detail"])

    def test_a_correction_of_what_names_a_column_comes_from_another_table(self):
        for settles in False, True:
            with self.subTest(settles=settles):
                daemon = self.start(BY_HOST + table("READINGS", "{field}#{ts:day}#{host}",
                                                    pattern="new-column"))
                for value in 1, 1, 2:
                    daemon.write("s", [{"host": "h", "ts": START, "v": value}])
                if settles:
                    daemon.request("POST", "/-/settle").expect(200)
                asked = {"from_": START, "to": START + 1, "fields": "v", "scan": 1}
                answer = daemon.query("s", asked | {"step": "1m", "agg": "sum"})
                self.assertEqual([[2]], [row[1:] for row in answer["rows"]])
                self.assertEqual("BY_HOST", answer["plan"]["table"])
                pinned = daemon.query("s", asked | {"table": "READINGS"})["plan"]
                self.assertIs(False, pinned["complete"])
                self.assertEqual(1, self.merged(daemon, "READINGS"))

    def fills(self, daemon):
        return {one["table"]: one for one in daemon.get("/v1/status").json.get("fills", [])}

    def test_a_table_with_merged_events_fills_no_other(self):
        for settles in True, False:
            with self.subTest(settles=settles):
                daemon = self.start(BY_HOST)
                daemon.write("s", EVENTS)
                if settles:
                    daemon.request("POST", "/-/settle").expect(200)
                daemon.reload(BOTH).expect(200)
                eventually(lambda d=daemon: self.fills(d).get("BY_SENSOR", {}).get("state")
                           not in (None, "filling", "checking"), "it is told")
                self.assertNotEqual("filled", self.fills(daemon)["BY_SENSOR"]["state"])
                answer = daemon.query("s", host="h")
                self.assertIs(False, answer["plan"]["complete"])
                self.assertEqual(3, len(answer["rows"]))

    def test_a_table_with_corrections_alone_still_fills_another(self):
        daemon = self.start(BY_HOST)
        for value in 1, 2:
            daemon.write("s", [event | {"sensor": "a", "v": value} for event in EVENTS[::3]])
        daemon.request("POST", "/-/settle").expect(200)
        daemon.reload(BOTH).expect(200)
        eventually(lambda: self.fills(daemon).get("BY_SENSOR", {}).get("state") == "filled",
                   "it is filled")
        self.assertEqual(3, len(daemon.query("s", host="h", table="BY_SENSOR")["rows"]))


class CopyMergedEventsTest(E2eTest):
    def target(self, toml):
        daemon = Tallyd(toml)
        self.addCleanup(daemon.discard)
        daemon.port = free_port()
        daemon.write_config()
        return daemon

    def copy(self, source, target, *more):
        done = subprocess.run(
            [str(BINARY), "copy", "--from", str(source.config), "--to", str(target.config), *more],
            capture_output=True, timeout=ANSWER_SECONDS, cwd=pathlib.Path(target.directory),
            check=False)
        return done.returncode, done.stdout.decode() + done.stderr.decode()

    def test_events_are_read_from_the_table_that_has_all(self):
        for settles in False, True:
            with self.subTest(settles=settles):
                source = self.start(BOTH)
                source.write("s", EVENTS)
                if settles:
                    source.request("POST", "/-/settle").expect(200)
                target = self.target(BY_SENSOR)
                status, said = self.copy(source, target)
                self.assertEqual(0, status, said)
                target.start()
                self.assertEqual(9, len(target.events("s", host="h")))
                target.stop()

    def test_a_copy_into_the_merging_table_alone_says_no(self):
        source = self.start(BOTH)
        source.write("s", EVENTS)
        status, said = self.copy(source, self.target(BY_HOST))
        self.assertEqual(1, status, said)
        self.assertIn("NO", said)

    def test_a_copy_out_of_the_merging_table_alone_says_no(self):
        source = self.start(BOTH)
        source.write("s", EVENTS)
        source.request("POST", "/-/settle").expect(200)
        source.reload(BY_HOST).expect(200)
        for toml in BY_HOST, table("BY_TIME", "{ts:ms}#{host}"):
            status, said = self.copy(source, self.target(toml))
            self.assertEqual(1, status, said)
            self.assertNotIn("yes", said)
        status, said = self.copy(source, self.target(BY_HOST))
        self.assertIn("NO", said)
