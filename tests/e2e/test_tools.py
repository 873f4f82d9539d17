"""verify, backup, restore, salvage: what they print, what they leave alone, how they exit."""

import base64
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading
import unittest

from tests.e2e.tallyd import ANSWER_SECONDS, BINARY, E2eTest, Tallyd, eventually, free_port

TABLES = """
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}

[tables.LATEST]
stream = "load"
pattern = "latest"
row_key = "{machine}"
families.F = {}
"""
START = 1_500_000_000_000


def events(first, count):
    return [{"ts": START + at * 1000, "machine": f"m{at % 7}", "value": at * 0.25, "count": at}
            for at in range(first, first + count)]


def run(*arguments):
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True,
                          timeout=ANSWER_SECONDS, check=False)


def files_below(directory):
    return {path.relative_to(directory): path.read_bytes()
            for path in sorted(pathlib.Path(directory).rglob("*")) if path.is_file()}


class ToolsTest(E2eTest):
    def stopped(self):
        """A store with sealed and unsealed events, that no daemon has open."""
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 300))
        daemon.request("POST", "/-/settle").expect(200)
        daemon.write("load", events(300, 50))
        daemon.stop()
        return daemon

    def data(self, daemon):
        return daemon.directory / "data"

    def block_file(self, daemon):
        return sorted((self.data(daemon) / "blocks").glob("*.blocks"))[0]


class VerifyTest(ToolsTest):
    def test_a_sound_store_is_sound_and_stays_as_it_is(self):
        daemon = self.stopped()
        before = files_below(self.data(daemon))
        done = run("verify", "--config", daemon.config)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("is sound", done.stdout)
        self.assertIn("HISTORY", done.stdout)
        self.assertIn("MB/s", done.stdout)
        done = run("verify", "--config", daemon.config, "--format", "json")
        said = json.loads(done.stdout)
        self.assertTrue(said["sound"])
        self.assertEqual([], said["findings"])
        tables = {table["name"]: table for table in said["tables"]}
        self.assertEqual(300, tables["HISTORY"]["sealed_entries"])
        self.assertEqual(50, tables["HISTORY"]["unsealed_entries"])
        self.assertEqual(7, tables["LATEST"]["rows"])
        self.assertEqual(before, files_below(self.data(daemon)))

    def test_damage_is_named_and_the_status_is_1(self):
        daemon = self.stopped()
        path = self.block_file(daemon)
        damaged = bytearray(path.read_bytes())
        damaged[len(damaged) // 3] ^= 1
        path.write_bytes(damaged)
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn(path.name, done.stdout)
        self.assertIn("HISTORY", done.stdout)
        self.assertIn("is DAMAGED", done.stdout)
        said = json.loads(run("verify", "--config", daemon.config, "--format", "json").stdout)
        self.assertFalse(said["sound"])
        self.assertEqual(str(path), said["findings"][0]["file"])
        self.assertEqual("HISTORY", said["findings"][0]["table"])

    def test_what_a_kill_leaves_is_sound(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 100))
        daemon.kill()
        done = run("verify", "--config", daemon.config)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        daemon.start()

    def test_a_store_in_use_is_refused(self):
        daemon = self.start(TABLES)
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn("in use", done.stderr)
        self.assertEqual("", done.stdout)
        daemon.write("load", events(0, 10))

    def test_usage_and_configuration_are_status_2(self):
        daemon = self.stopped()
        self.assertEqual(2, run("verify").returncode)
        self.assertEqual(2, run("verify", "--config", daemon.config, "--format", "xml").returncode)
        self.assertEqual(2, run("verify", "--config", daemon.directory / "none.toml").returncode)
        daemon.config.write_text("[storage]\npath = 5\n", encoding="utf-8")
        self.assertEqual(2, run("verify", "--config", daemon.config).returncode)
        daemon.config.write_text('[storage]\npath = "nowhere"\n' + TABLES, encoding="utf-8")
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn("no store", done.stderr)
        self.assertFalse((daemon.directory / "nowhere").exists())


class BackupTest(ToolsTest):
    def restored(self, daemon, source, **options):
        """A daemon on what was restored from a backup."""
        other = Tallyd(TABLES, **options)
        self.addCleanup(self._finish, other)
        other.port = free_port()
        other.write_config()
        done = run("restore", "--from", source, "--config", other.config)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("is restored", done.stdout)
        return other.start()

    def answers(self, daemon):
        return (daemon.events("load", table="HISTORY", scan=1, limit=5000), daemon.latest("load"))

    def test_by_the_daemon_while_it_serves(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 300))
        daemon.request("POST", "/-/settle").expect(200)
        daemon.write("load", events(300, 50))
        before = self.answers(daemon)
        to = daemon.directory / "backup"
        done = run("backup", "--config", daemon.config, "--to", to)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("linked", done.stdout)
        links = {path.stat().st_ino for path in (to / "blocks").iterdir()}
        self.assertEqual(links, {path.stat().st_ino
                                 for path in (self.data(daemon) / "blocks").glob("*.blocks")})
        daemon.write("load", events(350, 10))
        self.assertEqual(before, self.answers(self.restored(daemon, to)))
        said = json.loads(run("backup", "--config", daemon.config, "--to", to,
                              "--format", "json").stdout)
        self.assertEqual(said["files"], said["kept"])
        self.assertEqual(self.answers(daemon), self.answers(self.restored(daemon, to)))
        self.assertNotIn("backup", daemon.get("/v1/status").json["store"])

    def test_under_load_it_has_all_that_was_acknowledged_and_no_batch_in_part(self):
        daemon = self.start(TABLES, storage='write_buffer = "256KiB"\nseal_window = "1m"\n')
        size = 20
        acknowledged, done = [0], threading.Event()

        def write():
            while not done.wait(0.01):
                daemon.write("load", events(acknowledged[0] * size, size))
                acknowledged[0] += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                eventually(lambda least=acknowledged[0] + 30: acknowledged[0] >= least, "writes")
                before = acknowledged[0]
                to = daemon.directory / "backup"
                made = run("backup", "--config", daemon.config, "--to", to)
                self.assertEqual(0, made.returncode, made.stdout + made.stderr)
                restored = self.restored(daemon, to)
                stored = restored.events("load", table="HISTORY", scan=1, limit=100_000)
                self.assertEqual(0, len(stored) % size, "each batch as a whole")
                self.assertGreaterEqual(len(stored), before * size)
                self.assertEqual(list(range(len(stored))), sorted(e["count"] for e in stored))
                newest = {e["machine"]: e["count"] for e in sorted(stored, key=lambda e: e["ts"])}
                self.assertEqual(newest, {e["machine"]: e["count"] for e in restored.latest("load")})
                restored.stop()
                verified = run("verify", "--config", restored.config)
                self.assertEqual(0, verified.returncode, verified.stdout + verified.stderr)
        finally:
            done.set()
            writer.join()
        metrics = daemon.get("/metrics").text
        self.assertIn("tallyd_backup_running 0", metrics)
        self.assertNotIn("tallyd_backup_last_success_timestamp_seconds 0\n", metrics)

    def test_of_a_directory_that_no_daemon_has_open(self):
        daemon = self.stopped()
        before = files_below(self.data(daemon))
        to = daemon.directory / "backup"
        done = run("backup", "--config", daemon.config, "--to", to)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(before, files_below(self.data(daemon)), "nothing there changes")
        restored = self.restored(daemon, to)
        daemon.start()
        self.assertEqual(self.answers(daemon), self.answers(restored))

    def test_the_route_refuses_what_is_no_place_for_a_backup(self):
        daemon = self.start(TABLES)

        def post(body):
            return daemon.request("POST", "/v1/backup", body,
                                  {"Content-Type": "application/json"})

        for body in ("", "[]", "{}", '{"to": 5}', '{"to": "/tmp/x", "more": 1}', '{"to": "here"}',
                     json.dumps({"to": str(self.data(daemon) / "backup")}),
                     json.dumps({"to": str(daemon.directory / "none" / "backup")}),
                     json.dumps({"to": str(daemon.directory / "cut") + "\0short"})):
            post(body).problem(400)
        self.assertFalse((daemon.directory / "cut").exists())
        (daemon.directory / "other").mkdir()
        (daemon.directory / "other" / "precious").write_text("mine", encoding="utf-8")
        post(json.dumps({"to": str(daemon.directory / "other")})).problem(409)
        daemon.request("GET", "/v1/backup").problem(405)
        made = post(json.dumps({"to": str(daemon.directory / "backup")})).expect(200).json
        self.assertEqual(str(daemon.directory / "backup"), made["to"])

    def test_a_name_that_is_no_text_is_taken_by_the_tool_and_refused_for_the_daemon(self):
        daemon = self.start(TABLES)
        to = os.fsdecode(os.fsencode(daemon.directory) + b"/back\xffup")
        options = ("backup", "--config", daemon.config, "--to", to, "--format", "json")
        done = run(*options)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("UTF-8", done.stderr)
        daemon.stop()
        done = run(*options)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(os.fsencode(to), base64.b64decode(json.loads(done.stdout)["to"]["base64"]))

    def test_another_server_in_the_place_of_the_daemon_is_refused(self):
        asked = threading.Event()

        class Stranger(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.answer(200, b"[1, no JSON")
                asked.set()

            def do_POST(self):
                asked.wait()
                self.answer(404, b"no such page")

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as stranger:
            thread = threading.Thread(target=stranger.serve_forever)
            thread.start()
            daemon = self.start(TABLES)
            config = daemon.directory / "stranger.toml"
            port = stranger.server_address[1]
            config.write_text(f'[server]\nlisten = "127.0.0.1:{port}"\n[storage]\n'
                              f'path = "{self.data(daemon)}"\n' + TABLES, encoding="utf-8")
            done = run("backup", "--config", config, "--to", daemon.directory / "backup")
            stranger.shutdown()
            thread.join()
        self.assertEqual(1, done.returncode)
        self.assertIn("404: no such page", done.stderr)

    def test_a_restore_leaves_what_is_there_alone(self):
        daemon = self.stopped()
        to = daemon.directory / "backup"
        self.assertEqual(0, run("backup", "--config", daemon.config, "--to", to).returncode)
        before = files_below(self.data(daemon))
        done = run("restore", "--from", to, "--config", daemon.config)
        self.assertEqual(1, done.returncode)
        self.assertIn("not empty", done.stderr)
        self.assertEqual(before, files_below(self.data(daemon)))

    def test_a_damaged_backup_is_not_restored(self):
        daemon = self.stopped()
        to = daemon.directory / "backup"
        self.assertEqual(0, run("backup", "--config", daemon.config, "--to", to).returncode)
        path = sorted((to / "blocks").iterdir())[0]
        damaged = bytearray(path.read_bytes())
        damaged[10] ^= 4
        path.unlink()
        path.write_bytes(damaged)
        target = daemon.directory / "target.toml"
        target.write_text('[storage]\npath = "target"\n' + TABLES, encoding="utf-8")
        done = run("restore", "--from", to, "--config", target)
        self.assertEqual(1, done.returncode)
        self.assertIn(path.name, done.stdout)
        self.assertIn("nothing was restored", done.stdout)
        self.assertFalse((daemon.directory / "target").exists())
        said = json.loads(run("restore", "--from", to, "--config", target,
                              "--format", "json").stdout)
        self.assertFalse(said["restored"])
        self.assertEqual(str(path), said["findings"][0]["file"])

    def post_backup(self, daemon, to):
        return daemon.request("POST", "/v1/backup", json.dumps({"to": str(to)}),
                              {"Content-Type": "application/json"})

    def test_a_backup_that_lacks_a_file_never_takes_the_place_of_one_that_does_not(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 300))
        daemon.request("POST", "/-/settle").expect(200)
        to = daemon.directory / "backup"
        self.post_backup(daemon, to).expect(200)
        before = files_below(to)
        answers = self.answers(daemon)
        daemon.write("load", events(300, 50))
        daemon.request("POST", "/-/settle").expect(200)
        known = {path.name[:6] for path in (to / "blocks").iterdir()}
        new = [path for path in (self.data(daemon) / "blocks").glob("*.blocks")
               if path.name[:6] not in known]
        self.assertTrue(new)
        aside = daemon.directory / "aside"
        new[0].rename(aside)
        problem = self.post_backup(daemon, to).problem(500)
        self.assertIn(new[0].name, problem["detail"])
        self.assertIn("backup.incomplete", problem["detail"])
        done = run("backup", "--config", daemon.config, "--to", to)
        self.assertEqual(1, done.returncode)
        self.assertIn("backup.incomplete", done.stderr)
        self.assertEqual(before, files_below(to), "the one in place stays")
        incomplete = daemon.directory / "backup.incomplete"
        refused = daemon.directory / "refused.toml"
        refused.write_text('[storage]\npath = "refused"\n' + TABLES, encoding="utf-8")
        self.assertEqual(1, run("restore", "--from", incomplete, "--config", refused).returncode)
        self.assertEqual(answers, self.answers(self.restored(daemon, to)))
        aside.rename(new[0])
        self.post_backup(daemon, to).expect(200)
        self.assertEqual(self.answers(daemon), self.answers(self.restored(daemon, to)))

    def test_an_older_backup_is_kept_beside_the_one_in_place(self):
        daemon = self.stopped()
        shutil.copytree(self.data(daemon), daemon.directory / "night")
        daemon.start()
        daemon.write("load", events(350, 10))
        to = daemon.directory / "backup"
        self.post_backup(daemon, to).expect(200)
        before = files_below(to)
        daemon.stop()
        shutil.rmtree(self.data(daemon))
        (daemon.directory / "night").rename(self.data(daemon))
        done = run("backup", "--config", daemon.config, "--to", to, "--format", "json")
        self.assertEqual(1, done.returncode)
        self.assertEqual(str(to) + ".older", json.loads(done.stdout)["to"])
        daemon.start()
        self.assertIn("backup.older", self.post_backup(daemon, to).problem(500)["detail"])
        self.assertEqual(before, files_below(to))
        older = self.restored(daemon, daemon.directory / "backup.older")
        self.assertEqual(self.answers(daemon), self.answers(older))

    def test_with_a_directory_for_backups_none_is_made_elsewhere(self):
        daemon = self.start(TABLES, storage='backup_dir = "backups"\n')
        daemon.write("load", events(0, 10))
        (daemon.directory / "backups").mkdir()
        problem = self.post_backup(daemon, daemon.directory / "b").problem(400)
        self.assertIn("backup_dir", problem["detail"])
        self.assertFalse((daemon.directory / "b").exists())
        self.post_backup(daemon, daemon.directory / "backups").problem(400)
        self.post_backup(daemon, daemon.directory / "backups" / "b").expect(200)

    def test_the_root_of_a_volume_is_an_empty_directory(self):
        daemon = self.start(TABLES)
        daemon.write("load", events(0, 10))
        to, target = daemon.directory / "volume", daemon.directory / "other-volume"
        for root in (to, target):
            (root / "lost+found").mkdir(parents=True)
        self.post_backup(daemon, to).expect(200)
        config = daemon.directory / "target.toml"
        config.write_text(f'[storage]\npath = "{target}"\n' + TABLES, encoding="utf-8")
        done = run("restore", "--from", to, "--config", config)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        for root in (to, target):
            self.assertTrue((root / "lost+found").is_dir())

    @unittest.skipUnless(os.geteuid() == 0, "only root restores for another user")
    def test_what_root_restores_is_the_owners_of_the_directory(self):
        daemon = self.stopped()
        to, target = daemon.directory / "backup", daemon.directory / "target"
        self.assertEqual(0, run("backup", "--config", daemon.config, "--to", to).returncode)
        before = {path: path.stat().st_uid for path in to.rglob("*")}
        target.mkdir()
        os.chown(target, 65534, 65534)
        config = daemon.directory / "target.toml"
        config.write_text('[storage]\npath = "target"\n' + TABLES, encoding="utf-8")
        done = run("restore", "--from", to, "--config", config)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual({65534}, {path.stat().st_uid for path in target.rglob("*")})
        self.assertEqual(before, {path: path.stat().st_uid for path in to.rglob("*")})

    def test_usage_is_status_2_and_refusal_status_1(self):
        daemon = self.stopped()
        self.assertEqual(2, run("backup", "--config", daemon.config).returncode)
        self.assertEqual(2, run("restore", "--config", daemon.config).returncode)
        self.assertEqual(2, run("restore", "--from", "/nowhere").returncode)
        self.assertEqual(1, run("backup", "--config", daemon.config,
                                "--to", self.data(daemon)).returncode)
        empty = daemon.directory / "empty.toml"
        empty.write_text('[storage]\npath = "empty"\n' + TABLES, encoding="utf-8")
        self.assertEqual(1, run("backup", "--config", empty, "--to",
                                daemon.directory / "b").returncode)
        self.assertEqual(1, run("restore", "--config", empty, "--from",
                                daemon.directory / "none").returncode)
        self.assertFalse((daemon.directory / "empty").exists())
        self.assertFalse((daemon.directory / "b").exists())


class SalvageTest(ToolsTest):
    def salvage(self, daemon, *options):
        to = daemon.directory / "salvaged"
        return to, run("salvage", "--config", daemon.config, "--to", to, *options)

    def daemon_on(self, to):
        other = Tallyd(TABLES)
        self.addCleanup(self._finish, other)
        to.rename(other.directory / "data")
        return other.start()

    def history(self, daemon):
        return daemon.events("load", table="HISTORY", scan=1, limit=5000)

    def test_of_a_sound_store_all_is_there(self):
        daemon = self.stopped()
        before = files_below(self.data(daemon))
        to, done = self.salvage(daemon)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("has all of", done.stdout)
        self.assertEqual(before, files_below(self.data(daemon)), "the store is only read")
        salvaged = self.daemon_on(to)
        daemon.start()
        self.assertEqual(self.history(daemon), self.history(salvaged))
        self.assertEqual(daemon.latest("load"), salvaged.latest("load"))

    def test_without_base_the_history_is_whole(self):
        daemon = self.stopped()
        for path in self.data(daemon).iterdir():
            if path.is_file():
                path.unlink()
        self.assertEqual(1, run("verify", "--config", daemon.config).returncode)
        to, done = self.salvage(daemon, "--format", "json")
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual("gone", said["base"])
        self.assertTrue(said["latest_may_be_old"])
        tables = {table["name"]: table for table in said["tables"]}
        self.assertEqual(350, tables["HISTORY"]["entries"])
        self.assertEqual(0, tables["HISTORY"]["lost_entries"])
        salvaged = self.daemon_on(to)
        self.assertEqual(sorted(e["count"] for e in self.history(salvaged)), list(range(350)))
        salvaged.write("load", events(350, 10))
        salvaged.request("POST", "/-/settle").expect(200)
        self.assertEqual(360, len(self.history(salvaged)))

    def test_what_base_does_not_name_is_read_from_the_files(self):
        daemon = self.stopped()
        fresh = self.start(TABLES)
        fresh.stop()
        for path in self.data(daemon).iterdir():
            if path.is_file():
                path.unlink()
        shutil.rmtree(self.data(daemon) / "heads")
        for path in self.data(fresh).iterdir():
            if path.is_file():
                shutil.copy(path, self.data(daemon))
        shutil.copytree(self.data(fresh) / "heads", self.data(daemon) / "heads")
        to, done = self.salvage(daemon, "--format", "json")
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        tables = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
        self.assertEqual(300, tables["HISTORY"]["entries"])
        self.assertEqual(300, len(self.history(self.daemon_on(to))))

    def test_newer_files_beside_an_older_base_are_neither_lost_nor_sound(self):
        daemon = self.stopped()
        night = daemon.directory / "night"
        shutil.copytree(self.data(daemon), night)
        daemon.start()
        daemon.write("load", events(350, 50))
        daemon.request("POST", "/-/settle").expect(200)
        daemon.stop()
        shutil.rmtree(night / "blocks")
        shutil.copytree(self.data(daemon) / "blocks", night / "blocks")
        shutil.rmtree(self.data(daemon))
        night.rename(self.data(daemon))
        there = {path.name for path in (self.data(daemon) / "blocks").iterdir()}
        done = run("verify", "--config", daemon.config)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("only copy", done.stdout)
        to, done = self.salvage(daemon)
        self.assertEqual(1, done.returncode)
        self.assertEqual(list(range(400)),
                         sorted(e["count"] for e in self.history(self.daemon_on(to))))
        daemon.start()
        kept = {path.name for place in ("blocks", "lost")
                for path in (self.data(daemon) / place).glob("*")}
        self.assertEqual(set(), there - kept, "none is unlinked")

    def test_a_damaged_block_is_counted_and_the_rest_taken(self):
        daemon = self.stopped()
        path = self.block_file(daemon)
        damaged = bytearray(path.read_bytes())
        damaged[10] ^= 4
        path.write_bytes(damaged)
        to, done = self.salvage(daemon)
        self.assertEqual(1, done.returncode)
        self.assertIn(path.name, done.stdout)
        self.assertIn("has what is left", done.stdout)
        self.assertLess(len(self.history(self.daemon_on(to))), 350)

    def test_it_refuses_a_store_in_use_and_a_place_that_is_not_empty(self):
        daemon = self.start(TABLES)
        _, done = self.salvage(daemon)
        self.assertEqual(1, done.returncode)
        self.assertIn("in use", done.stderr)
        daemon.stop()
        (daemon.directory / "salvaged").mkdir()
        (daemon.directory / "salvaged" / "precious").write_text("mine", encoding="utf-8")
        to, done = self.salvage(daemon)
        self.assertEqual(1, done.returncode)
        self.assertEqual({pathlib.Path("precious"): b"mine"}, files_below(to))
        self.assertEqual(2, run("salvage", "--config", daemon.config).returncode)
