"""lint and estimate on the command line, GET /v1/lint, and findings that keep nothing from starting."""

import json
import pathlib
import re
import subprocess
import tempfile

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, ROOT, E2eTest

TABLE = """
[streams.s]
{stream}
[tables.T]
stream = "s"
pattern = "{pattern}"
row_key = "{row_key}"
families.F = {{}}
"""


def run(*arguments):
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                          timeout=ANSWER_SECONDS, check=False)


class LintTest(E2eTest):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.config = pathlib.Path(directory.name) / "t.toml"

    def lint(self, toml, status):
        self.config.write_text(toml)
        done = run("lint", "--config", self.config, "--format", "json")
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        self.assertEqual("", done.stderr)
        return json.loads(done.stdout)["findings"]

    def rules(self, row_key, status=0, stream="", pattern="single-timestamp"):
        return self.rules_of(TABLE.format(row_key=row_key, stream=stream, pattern=pattern), status)

    def rules_of(self, toml, status):
        return {finding["rule"]: finding for finding in self.lint(toml, status)}

    def test_S45_the_linter_of_the_seeds(self):
        self.assertEqual("error", self.rules("{ts:ms}#{user}", status=1)["L1"]["severity"])
        self.assertEqual("warn", self.rules("BATTERY#{ts:ms}")["L2"]["severity"])
        self.assertIn("L4", self.rules("{device}#memusage", status=1))
        promoted = self.rules("BATTERY#{user}#{ts:ms}")
        self.assertNotIn("L1", promoted)
        self.assertNotIn("L2", promoted)

    def test_S47_personal_data_in_a_key(self):
        found = self.rules("BATTERY#{USER}#{ts:ms}", stream="fields.USER = { personal = true }")["L11"]
        self.assertEqual("warn", found["severity"])
        self.assertEqual("T", found["table"])
        self.assertEqual({"rule", "severity", "table", "detail", "cure"}, set(found))
        self.assertIn("USER", found["detail"])

    def test_what_serve_refuses_and_a_rule_covers_is_a_finding(self):
        self.assertEqual("error", self.rules("{host}{metric}#{ts:ms}", status=1)["L14"]["severity"])
        self.assertEqual(2, run("check", "--config", self.config).returncode)
        self.assertEqual("error", self.rules("{host}#{timestamp:ms}", status=1)["time"]["severity"])
        tables = "".join(TABLE.replace("[streams.s]", "").format(row_key="{k}", stream="", pattern="latest")
                         .replace("tables.T", f"tables.T{at}") for at in range(1001))
        found = [finding for finding in self.lint(tables, 1) if finding["rule"] == "L28"]
        self.assertEqual([("error", "")], [(one["severity"], one["table"]) for one in found])

    def test_another_mistake_is_a_bad_file(self):
        self.config.write_text(TABLE.format(row_key="{k}", stream="", pattern="wide"))
        done = run("lint", "--config", self.config, "--format", "json")
        self.assertEqual(2, done.returncode)
        self.assertEqual("", done.stdout)
        self.assertIn("pattern", done.stderr)
        self.assertEqual(2, run("lint").returncode)

    def test_people_read_a_table_and_the_cures(self):
        self.config.write_text(TABLE.format(row_key="BATTERY#{ts:ms}", stream="", pattern="single-timestamp"))
        said = run("lint", "--config", self.config).stdout
        self.assertIn("1 warning", said)
        self.assertRegex(said, r"L2 +warn +T +row_key")
        self.assertRegex(said, r"L2 +put a field of many values")

    def test_the_example_has_no_errors(self):
        done = run("lint", "--config", ROOT / "config" / "example.toml", "--format", "json")
        self.assertEqual(0, done.returncode, done.stdout)

    def test_findings_keep_nothing_from_starting(self):
        daemon = self.start(TABLE.format(row_key="{ts:ms}", stream="", pattern="single-timestamp"))
        status = daemon.get("/v1/status").expect(200).json["lint"]
        self.assertEqual(1, status["errors"])
        self.assertEqual("L1", status["findings"][0]["rule"])
        self.assertIn("lint L1 of table T", daemon.log())
        live = daemon.get("/v1/lint").expect(200).json["findings"]
        self.assertIn("L1", [finding["rule"] for finding in live])

    def test_a_field_that_a_sum_cannot_take_is_told_before_events_are_refused(self):
        history = TABLE.format(stream="", pattern="single-timestamp", row_key="{k}#{ts:ms}")
        sums = ('[tables.SUM]\nstream = "s"\npattern = "aggregate"\nrow_key = "{k}"\n'
                'families.S = { aggregate = "sum" }\n')
        daemon = self.start(history)
        daemon.write("s", {"k": "a", "ts": 1, "note": "hello", "v": 1})
        answer = daemon.reload(history + sums).expect(200).json
        [warning] = answer["warnings"]
        self.assertRegex(warning, 'L33.*SUM.*"note" has only ever been string')
        [found] = [each for each in daemon.get("/v1/lint").expect(200).json["findings"]
                   if each["rule"] == "L33"]
        self.assertEqual(("SUM", "error"), (found["table"], found["severity"]))
        self.assertIn('"note"', daemon.post("s", {"k": "a", "ts": 2, "note": "x"}).problem(400)["detail"])
        # What the file itself makes text is told without any data.
        declared = (history + sums).replace("[streams.s]", "[streams.s]\nfields.note = { domain = true }")
        self.assertIn("note", self.rules_of(declared, 1)["L33"]["detail"])
        done = run("check", "--config", self.config)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertRegex(done.stderr, 'lint L33 of table SUM: field "note"')


class EstimateTest(E2eTest):
    def estimate(self, *arguments, config=ROOT / "config" / "example.toml"):
        done = run("estimate", "--config", config, *arguments, "--format", "json")
        self.assertEqual(0, done.returncode, done.stderr)
        return {table["table"]: table for table in json.loads(done.stdout)["tables"]}

    def test_S46_sizes_and_rates_of_the_seeds(self):
        servers = self.estimate("--entities", 100000, "--every", "5s", "--fields", 100)
        self.assertEqual(20_000, servers["METRIC"]["rows_per_s"])
        self.assertEqual(2_000_000, servers["METRIC"]["cells_per_s"])
        self.assertEqual(1_728_000_000, servers["METRIC"]["rows_per_day"])
        self.assertEqual(0, servers["CURRENT_METRIC"]["rows_per_day"])
        meters = self.estimate("--entities", 10_000_000, "--every", "15m", "--fields", 1)
        self.assertEqual(96, meters["SENSOR"]["columns_per_row"])
        self.assertEqual(10_000_000, meters["SENSOR"]["rows_per_day"])
        balloon = self.estimate("--entities", 1, "--every", "1m", "--fields", 4)
        self.assertEqual(10_080, balloon["BALLOON_WEEK"]["cells_per_column"])

    def test_people_read_a_table_as_the_page_shows_it(self):
        page = (ROOT / "docs" / "lint.md").read_text()
        [(arguments, shown)] = re.findall(r"```\n\$ tallyd estimate (.*)\n((?:.+\n)+)```", page)
        done = run("estimate", *arguments.replace("systemd/", f"{ROOT}/systemd/").split())
        self.assertRegex(shown, r"METRIC +single-timestamp +20000 +2000000 +1728000000")
        self.assertEqual(shown, done.stdout)

    def test_what_is_missing_or_wrong_is_usage(self):
        config = ROOT / "config" / "example.toml"
        self.assertEqual(2, run("estimate", "--config", config, "--entities", 1).returncode)
        for every in ("soon", "0s"):
            done = run("estimate", "--config", config, "--entities", 1, "--fields", 1, "--every", every)
            self.assertEqual(2, done.returncode, every)
        done = run("estimate", "--config", config, "--entities", 1, "--fields", 1)
        self.assertEqual(2, done.returncode)
        self.assertIn("market", done.stderr, "its stream declares no interval")
