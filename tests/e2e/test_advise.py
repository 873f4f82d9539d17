"""tallyd advise: every pattern tried with a sample, one recommended, its tables ready to paste."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, ROOT, eventually, run

PATTERNS = ["single-timestamp", "single-timestamp-serialized", "new-cell", "new-column", "latest"]
START = 1426535612045


def sample(count, **more):
    return "".join(json.dumps({"ts": START + at // 10 * 5000, "hostname": f"server{at % 10}.bbb.com",
                               "CPU": {"USR": at % 97 / 100, "NICE": 0.0}, "IO/READ": 10**6 + at,
                               "note": f"n{at % 3}", **more}) + "\n" for at in range(count))


class AdviseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tallyd-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def write(self, text):
        file = self.folder / "sample.ndjson"
        file.write_text(text, encoding="utf-8")
        return file

    def command(self, *more, entity="hostname", stream="server"):
        return [str(BINARY), "advise", "--stream", stream, "--sample",
                str(self.folder / "sample.ndjson"), "--entity", entity, *map(str, more)]

    def advise(self, *more, status=0, **options):
        done = subprocess.run(self.command(*more, **options), capture_output=True, text=True,
                              env={**os.environ, "TMPDIR": str(self.scratch)},
                              timeout=4 * ANSWER_SECONDS, check=False)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        self.assertEqual([], list(self.scratch.iterdir()))
        return done

    def assert_checked(self, config, before=""):
        file = self.folder / "pasted.toml"
        file.write_text(before + config, encoding="utf-8")
        status, said = run("check", "--config", file)
        self.assertEqual(0, status, said + config)

    def test_json_has_every_pattern_measured_and_one_recommended(self):
        self.write(sample(3000))
        done = self.advise("--format", "json")
        said = json.loads(done.stdout)
        self.assertEqual(PATTERNS, [one["pattern"] for one in said["patterns"]])
        for one in said["patterns"]:
            for figure in "bytes_per_event", "events_per_s", "entity_range_ms", "latest_ms":
                self.assertGreater(one[figure], 0, one)
        self.assertIn(said["recommended"], PATTERNS[:-1])
        self.assertIn(said["recommended"], said["reason"])
        self.assertIn(f'"{said["recommended"]}"', said["config"])
        self.assertIn('pattern  = "latest"', said["config"])
        self.assert_checked(said["config"])

    def test_text_is_a_table_the_reason_and_what_to_paste(self):
        self.write(sample(200))
        done = self.advise()
        for pattern in PATTERNS:
            self.assertIn(f"\n{pattern} ", "\n" + done.stdout)
        table, config = done.stdout[:done.stdout.index("[")], done.stdout[done.stdout.index("["):]
        self.assertIn("recommended: ", table)
        self.assert_checked(config)

    def test_the_configuration_tells_time_and_unit_and_which_names_are_taken(self):
        config = self.folder / "tallyd.toml"
        config.write_text('[streams.server]\ntime = "at"\nunit = "s"\n'
                          '[tables.SERVER]\nstream = "server"\npattern = "latest"\n'
                          'row_key = "{hostname}"\nfamilies.F = {}\n', encoding="utf-8")
        self.write(sample(100, at=1426535612))
        said = json.loads(self.advise("--format", "json", "--config", config).stdout)
        self.assertIn("{at:", said["config"])
        self.assertIn("[tables.SERVER_2]", said["config"])
        self.assertNotIn("[streams", said["config"])
        self.assert_checked(said["config"], config.read_text(encoding="utf-8"))
        self.assert_checked(said["config"])

    def test_a_stream_of_its_own_time_and_unit_brings_its_section(self):
        self.write(sample(100, at=1426535612))
        said = json.loads(self.advise("--format", "json", "--time", "at", "--unit", "s").stdout)
        self.assertIn('[streams."server"]', said["config"].replace("[streams.server]",
                                                                   '[streams."server"]'))
        self.assert_checked(said["config"])

    def test_events_without_a_number_are_a_sample_too(self):
        self.write("".join(json.dumps({"ts": START + at, "hostname": "a", "state": f"s{at}",
                                       "empty": ""}) + "\n" for at in range(20)))
        said = json.loads(self.advise("--format", "json").stdout)
        self.assertEqual(PATTERNS, [one["pattern"] for one in said["patterns"]])
        self.assertIn(said["recommended"], PATTERNS[:-1])

    def test_an_entity_may_have_several_fields(self):
        self.write((ROOT / "examples" / "balloon.ndjson").read_text(encoding="utf-8"))
        said = json.loads(self.advise("--format", "json", entity="location,balloon",
                                      stream="balloon").stdout)
        self.assertIn("{location}#{balloon}#", said["config"])
        self.assert_checked(said["config"])

    def test_what_is_wrong_with_a_sample_is_named_by_file_and_line(self):
        for text, where in (("", "sample.ndjson"), (sample(2) + "{\n", "sample.ndjson:3: "),
                            (sample(2) + '{"ts":1}\n', "sample.ndjson:3: "),
                            (sample(1) + '{"ts":"noon","hostname":"a"}\n', "sample.ndjson:2: ")):
            with self.subTest(text):
                self.write(text)
                done = self.advise(status=1)
                self.assertEqual("", done.stdout)
                self.assertIn(where, done.stderr)
        (self.folder / "sample.ndjson").unlink()
        self.assertIn("sample.ndjson", self.advise(status=1).stderr)

    def test_a_wrong_command_line_is_status_2(self):
        self.write(sample(1))
        self.advise("--unit", "minutes", status=2)
        self.advise("--config", self.folder / "none.toml", status=2)
        self.assertEqual(2, run("advise", "--stream", "x")[0])

    def test_an_interrupt_leaves_no_scratch_behind(self):
        self.write(sample(200_000))
        with subprocess.Popen(self.command(), env={**os.environ, "TMPDIR": str(self.scratch)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            eventually(lambda: list(self.scratch.iterdir()), "it has a scratch directory")
            process.send_signal(signal.SIGINT)
            self.assertEqual(1, process.wait(2 * ANSWER_SECONDS))
        self.assertEqual([], list(self.scratch.iterdir()))
