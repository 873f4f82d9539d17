"""Checks what a newcomer relies on: the first steps, the schema page, the unit's hardening, the image's libraries.

    TALLYD=build/tallyd python3 -m unittest tests.packaging_test
"""

import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("TALLYD", ROOT / "build" / "tallyd")).resolve()
SLOW = int(os.environ.get("TALLYD_SLOW", "1"))
# systemd's exposure level times ten; chrony's unit, for comparison, stands at 37.
EXPOSURE = 2
EXPOSURE_OUTBOUND = 11


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def keys(unit):
    found = {}
    for line in unit.read_text().splitlines():
        if match := re.match(r"(\w+)=(.*)", line):
            found.setdefault(match[1], []).append(match[2])
    return found


HAS_ANALYZE = unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")


class UnitTest(unittest.TestCase):
    folder = ROOT / "systemd"
    unit = folder / "tallyd.service"
    socket = folder / "tallyd.socket"

    def analyze(self, threshold, *drop_ins):
        """What systemd makes of the unit with these on top, as if they lay in tallyd.service.d."""
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "tallyd.service"
            copy.write_text("".join(part.read_text() for part in (self.unit, *drop_ins)))
            result = run("systemd-analyze", "security", "--offline=true", f"--threshold={threshold}", copy)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @HAS_ANALYZE
    def test_the_exposure_stays_low(self):
        self.analyze(EXPOSURE)

    @HAS_ANALYZE
    def test_it_stays_low_where_the_engine_lies_behind_a_network(self):
        self.analyze(EXPOSURE_OUTBOUND, self.folder / "outbound.conf")

    @HAS_ANALYZE
    def test_systemd_understands_every_line(self):
        drop_ins = {name: self.folder / name for name in ("outbound.conf", "credentials.conf")}
        with tempfile.TemporaryDirectory() as folder:
            copies = [pathlib.Path(folder) / unit.name for unit in (self.unit, self.socket)]
            for unit, copy in zip((self.unit, self.socket), copies):
                copy.write_text(unit.read_text().replace("/usr/bin/tallyd", "/bin/true"))
            for name, file in drop_ins.items():
                copy = pathlib.Path(folder) / "tallyd.service.d" / name
                copy.parent.mkdir(exist_ok=True)
                copy.write_text(file.read_text())
            result = run("systemd-analyze", "verify", "--recursive-errors=no", "--man=no", *copies)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_it_starts_and_reloads_as_documented(self):
        unit = keys(self.unit)
        self.assertEqual(unit["Type"], ["notify"])
        self.assertEqual(unit["ExecStart"], ["/usr/bin/tallyd serve --config /etc/tallyd/tallyd.toml"])
        self.assertEqual(unit["ExecReload"], ["/bin/kill -HUP $MAINPID"])
        self.assertEqual(unit["StateDirectory"], ["tallyd"])
        self.assertEqual(unit["CapabilityBoundingSet"], [""])

    def test_it_listens_where_the_shipped_file_says(self):
        """The tools find the daemon by the file, and whoever calls it by the socket."""
        unit = keys(self.socket)
        self.assertEqual(unit["FileDescriptorName"], ["http"])
        listen, = unit["ListenStream"]
        self.assertIn(f'listen = "{listen}"\n', (self.folder / "tallyd.toml").read_text())
        self.assertEqual(keys(self.unit)["Requires"], ["tallyd.socket"])

    def test_what_the_exposure_does_not_count_is_there_too(self):
        unit = keys(self.unit)
        for key, value in {"UMask": "0077", "StateDirectoryMode": "0700", "DynamicUser": "yes", "LimitCORE": "0",
                           "PrivateNetwork": "yes", "IPAddressDeny": "any", "MemoryDenyWriteExecute": "yes"}.items():
            self.assertEqual(unit[key], [value], key)
        for key in ("MemoryMax", "TasksMax", "WatchdogSec", "LimitNOFILE"):
            self.assertEqual(len(unit[key]), 1, key)


def cells(line):
    """Of a table's row, without what it adds in parentheses: (12.7x)."""
    return [re.sub(r" \([\d.]+x\)$", "", cell.strip()) for cell in line.strip().strip("|").split("|")]


class ReadmeTest(unittest.TestCase):
    def test_its_figures_are_those_that_were_measured(self):
        measured = (ROOT / "bench" / "RESULTS.md").read_text()
        hour = measured.partition("## An hour of the fleet\n")[2].partition("\n## ")[0]
        first_table = re.search(r"^\|.*?(?=\n\n)", hour, re.M | re.S)[0]
        expected = {row[0]: row[1:] for row in map(cells, first_table.splitlines())}
        page = (ROOT / "README.md").read_text().partition("| | tallyd | VictoriaMetrics")[2].partition("\n\n")[0]
        rows = [cells(line) for line in page.splitlines()[2:]]
        self.assertGreaterEqual(len(rows), 8)
        for name, *figures in rows:
            self.assertEqual(figures, expected[name], name)


class FilesTest(unittest.TestCase):
    def test_the_shipped_configurations_are_accepted(self):
        for name in ("systemd/tallyd.toml", "config/example.toml"):
            result = run(BINARY, "check", "--config", ROOT / name)
            self.assertEqual(result.returncode, 0, f"{name}: {result.stdout}{result.stderr}")

    def test_the_service_keeps_its_data_in_its_state_directory(self):
        self.assertIn('path = "/var/lib/tallyd"\n', (ROOT / "systemd" / "tallyd.toml").read_text())

    def test_the_binary_tells_its_version(self):
        result = run(BINARY, "--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"\b\d+\.\d+\.\d+\b")


def libraries():
    """The shared libraries that the binary asks for."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", BINARY).stdout)


def skip_if_sanitized(test):
    """Such a binary is not shipped: its libraries are the compiler's, and LevelDB's shared one."""
    if any(re.match(r"lib([atl]|ub)san\b", name) for name in libraries()):
        test.skipTest("linked otherwise for the sanitizers")


class LinkTest(unittest.TestCase):
    # LevelDB's own tables in the binary mean that what should stand in their place does not.
    @unittest.skipUnless(shutil.which("nm") and platform.machine() == "x86_64", "needs binutils on x86-64")
    def test_leveldb_takes_its_checksums_from_the_processor(self):
        skip_if_sanitized(self)
        symbols = run("nm", "-C", BINARY).stdout
        self.assertIn("leveldb::crc32c::Extend", symbols)
        self.assertNotIn("leveldb::crc32c::(anonymous namespace)::kByteExtensionTable", symbols)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Example:
    """A daemon on config/example.toml or on another text, on a port and in a folder of its own."""

    def __init__(self, text=None):
        self.text = text

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"http://127.0.0.1:{free_port()}"
        config = pathlib.Path(self.folder.name) / "example.toml"
        text = self.text or (ROOT / "config" / "example.toml").read_text()
        config.write_text(self.here(text.replace('"127.0.0.1:8780"', '"' + self.url[7:] + '"')))
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen([BINARY, "serve", "--config", config],
                                        stdout=self.log, stderr=self.log)
        ready = run("curl", "-fsS", "-o", "/dev/null", "--retry", 50, "--retry-connrefused",
                    "--retry-delay", 1, "--retry-max-time", 60 * SLOW, f"{self.url}/readyz")
        if ready.returncode != 0:
            self.__exit__()
            raise AssertionError(ready.stderr)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.status = self.process.wait(60 * SLOW)
        self.log.close()
        self.folder.cleanup()

    def here(self, text):
        return text.replace("http://127.0.0.1:8780", self.url)

    def shell(self, script):
        result = run("sh", "-eu", input=self.here(script))
        if result.returncode != 0 or result.stderr:
            raise AssertionError(f"{script}: {result.stdout}{result.stderr}")
        return result.stdout


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class FirstStepsTest(unittest.TestCase):
    """What `make run` starts, and what is printed and written for a newcomer to paste."""

    def test_every_printed_line_answers_what_its_comment_says(self):
        with Example() as example:
            printed = example.shell((ROOT / "examples" / "first-steps.sh").read_text())
        self.assertEqual(example.status, 0)
        dry_run, stored, rows, events, latest = (json.loads(line) for line in printed.split("\n") if line)
        self.assertEqual(len(dry_run["tables"]["METRIC"]), 2)
        self.assertEqual(stored, {"events": 2, "rows": 3, "cells": 9})
        self.assertEqual([row["key"] for row in rows["rows"]],
                         ["server1.bbb.com#1426535612045", "server1.bbb.com#1426535617045"])
        self.assertEqual(events["columns"], ["ts", "hostname", "CPU/CPU1_NICE", "CPU/CPU1_USR"])
        self.assertEqual(events["rows"], [[1426535612045, "server1.bbb.com", 0.0, 0.02]])
        self.assertEqual(len(latest["rows"]), 1)
        self.assertEqual(dict(zip(latest["columns"], latest["rows"][0]))["CPU/CPU1_USR"], 0.03)

    def test_the_readme_shows_the_real_answers(self):
        page = (ROOT / "README.md").read_text()
        pairs = re.findall(r"```\w*\n(curl .*?)```\s*```json\n(.*?)```", page, re.S)
        self.assertGreaterEqual(len(pairs), 5)
        with Example() as example:
            for command, answer in pairs:
                self.assertEqual(example.shell(command).rstrip(), answer.rstrip(), command)

    def test_the_metrics_are_those_of_the_operations_page(self):
        with Example() as example:
            metrics = example.shell("curl -fsS http://127.0.0.1:8780/metrics")
        page = (ROOT / "docs" / "operations.md").read_text()
        rows = [line.split("|")[1] for line in page.splitlines() if re.match(r"\| `(tallyd|process)_", line)]
        documented = {name for row in rows for name in re.findall(r"`((?:tallyd|process)_\w+)`", row)}
        not_here = {name for name in documented if name.startswith("tallyd_bigtable_")}
        not_here.add("tallyd_newest_event_timestamp_seconds")  # There is no event yet.
        self.assertEqual(set(re.findall(r"^# TYPE (\w+)", metrics, re.M)), documented - not_here)


class SecurityPageTest(unittest.TestCase):
    page = (ROOT / "docs" / "security.md").read_text()

    def test_every_claim_names_a_test_that_there_is_or_says_why_not(self):
        rows = re.findall(r"^\|([^|]+)\|([^|]+)\|$", self.page.partition("## What holds it")[2], re.M)
        claims = [row for row in rows if not row[0].startswith("-") and row[1].strip() not in ("held by", "where")]
        self.assertGreaterEqual(len(claims), 25)
        for claim, held in claims:
            tests = re.findall(r"`(tests/[^`]+)`", held)
            self.assertTrue(tests or "*" in held, claim)
            for name in tests:
                self.assertTrue((ROOT / name).exists(), f"{claim}: {name}")


SERVER = '[server]\nlisten = "127.0.0.1:8780"\n'


def shown(row):
    """A row of a dry run as docs/schema.md writes it: key | family:qualifier = value @ time."""
    columns = []
    for family, cells in row["cells"].items():
        for qualifier, versions in cells.items():
            values = [f"{json.dumps(v['value'], ensure_ascii=False)} @{clock(v['ts'])}" for v in versions]
            columns.append(f"{family}:{qualifier} = {', '.join(values)}")
    return f"{row['key']} | {'   '.join(columns)}"


def clock(ms):
    return time.strftime("%H:%M", time.gmtime(ms / 1000))


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class SchemaPageTest(unittest.TestCase):
    """docs/schema.md shows what the daemon does."""

    page = (ROOT / "docs" / "schema.md").read_text()

    def test_every_row_is_what_its_events_become(self):
        blocks = re.findall(r"^```(toml|json|rows)([^\n]*)\n(.*?)^```", self.page, re.S | re.M)
        tables = "".join(text for kind, _, text in blocks if kind == "toml")
        events, compared = {}, 0
        with Example(SERVER + tables) as example:
            for kind, names, text in blocks:
                first, *others = names.split() or [""]
                if kind == "json":
                    events[first] = text
                if kind != "rows":
                    continue
                answer = json.loads(example.shell(
                    "curl -fsS -H 'Content-Type: application/x-ndjson' --data-binary @- "
                    f"'http://127.0.0.1:8780/v1/streams/{first}/events?dry_run=1' "
                    f"<<'END'\n{events[first]}END\n"))
                rows = [shown(row) for table in others for row in answer["tables"][table]]
                self.assertEqual(text, "\n".join(rows) + "\n", f"{first} {others}")
                compared += len(others)
        self.assertEqual(compared, len(re.findall(r"^pattern ", tables, re.M)))

    def test_every_question_is_answered_from_the_table_that_it_says(self):
        questions = re.findall(r"^\| `(\w+)\?([^`]+)` \| `(\w+)` \| (\d+) \|$", self.page, re.M)
        self.assertGreaterEqual(len(questions), 3)
        tables = "".join(re.findall(r"^```toml\n(.*?)^```", self.page, re.S | re.M))
        with Example(SERVER + tables) as example:
            for stream in {question[0] for question in questions}:
                events, = re.findall(rf"^```json {stream}\n(.*?)^```", self.page, re.S | re.M)
                example.shell("curl -fsS -o /dev/null -H 'Content-Type: application/x-ndjson' "
                              f"--data-binary @- 'http://127.0.0.1:8780/v1/streams/{stream}/events' "
                              f"<<'END'\n{events}END\n")
            for stream, query, table, ranges in questions:
                plan = json.loads(example.shell(
                    f"curl -fsS 'http://127.0.0.1:8780/v1/streams/{stream}/plan?{query}'"))
                self.assertEqual((plan["table"], plan["ranges"]), (table, int(ranges)), query)

    def test_every_key_costs_the_ranges_that_it_says(self):
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in self.page.splitlines() if re.match(r"\| `[^`]*\{\w+[^`]*` \| `", line)]
        self.assertGreaterEqual(len(rows), 10)
        tables = "".join(
            f'[tables.T{i}]\nstream = "s"\npattern = "new-cell"\nrow_key = "{row[0].strip("`")}"\n'
            "families.F = {}\n" for i, row in enumerate(rows))
        event = {"ts": "2021-03-05T12:34:56.789Z", "host": "a.example.com", "site": "eu", "cpu": 1, "mem": 2}
        days = "from=2021-03-05T00:00:00Z&to=2021-03-08T00:00:00Z"
        queries = [f"host=a.example.com&fields=cpu,mem&{days}", "host=a.example.com&fields=cpu,mem",
                   f"fields=cpu,mem&{days}"]
        with Example(SERVER + tables) as example:
            def ask(target, body=""):
                data = f" -d '{body}'" if body else ""
                return json.loads(example.shell(f"curl -fsS 'http://127.0.0.1:8780{target}'{data}"))
            seen = ask("/v1/streams/s/events?dry_run=1", json.dumps(event))["tables"]
            ask("/v1/streams/s/events", json.dumps(event))
            for i, row in enumerate(rows):
                key = seen[f"T{i}"][0]["key"]
                costs = [f"`{key}`"]
                for query in queries:
                    plan = ask(f"/v1/streams/s/plan?{query}&table=T{i}&scan=1")
                    ranges = plan["ranges"]
                    costs.append(f"{ranges} range{'s' * (ranges > 1)}" if plan["kind"] == "range" else "*scan*")
                self.assertEqual(row[1:], costs, row[0])


class ImageTest(unittest.TestCase):
    dockerfile = (ROOT / "Dockerfile").read_text()

    @unittest.skipUnless(shutil.which("readelf") and shutil.which("dpkg-query"), "needs binutils and dpkg")
    def test_it_installs_every_library_that_the_binary_needs(self):
        skip_if_sanitized(self)
        needed = libraries()
        self.assertTrue(needed)
        # Part of every Debian.
        needed = [n for n in needed if not re.match(r"(libc|libm|libgcc_s|libstdc\+\+|ld-linux)[.-]", n)]
        installed = set(self.dockerfile.split("FROM")[2].split())
        for name in needed:
            owner = run("dpkg-query", "-S", f"*/{name}").stdout.split(":")[0]
            self.assertIn(owner, installed, f"{name} comes with {owner}")

    def test_it_runs_without_root_and_shell(self):
        self.assertRegex(self.dockerfile, r"\nUSER 65532:65532\n")
        self.assertRegex(self.dockerfile, r'\nENTRYPOINT \["/usr/bin/tallyd"\]\n')
        self.assertRegex(self.dockerfile, r'HEALTHCHECK[^\n]*\\\n *CMD \["/usr/bin/tallyd", "health", ')


if __name__ == "__main__":
    unittest.main()
