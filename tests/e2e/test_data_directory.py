"""What becomes of the daemon when its directory goes, or cannot be read, under its hands."""

import shutil
import subprocess
import time
import unittest

from tests.e2e.tallyd import BINARY, E2eTest, eventually

TABLES = """
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
"""
EVENT = {"ts": 1, "k": "a", "v": 1}


def store(tallyd):
    return tallyd.get("/v1/status").expect(200).json["store"]


class DirectoryGoneTest(E2eTest):
    def test_writes_are_refused_while_it_is_elsewhere_and_go_on_when_it_is_back(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", [EVENT])
        data, elsewhere = tallyd.directory / "data", tallyd.directory / "elsewhere"
        data.rename(elsewhere)
        eventually(lambda: not store(tallyd)["writable"], "store.writable is false")
        self.assertIn(str(data), store(tallyd)["reason"])
        self.assertLess(store(tallyd)["free_bytes"], 1 << 63)
        self.assertEqual(503, tallyd.post("s", [{**EVENT, "ts": 2}]).status)
        self.assertEqual(503, tallyd.delete("/v1/streams/s/events", {"k": "a"}).status)
        elsewhere.rename(data)
        eventually(lambda: tallyd.post("s", [{**EVENT, "ts": 3}]).status == 200, "it writes again")
        tallyd.restart()
        self.assertEqual([1, 3], [event["ts"] for event in tallyd.events("s", {"k": "a"})])

    def test_nothing_is_made_in_the_place_of_what_was_removed(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", [EVENT])
        data = tallyd.directory / "data"
        shutil.rmtree(data)
        eventually(lambda: tallyd.post("s", [{**EVENT, "ts": 2}]).status in (503, 507), "refused")
        data.mkdir()
        time.sleep(0.3)
        self.assertIn(tallyd.post("s", [{**EVENT, "ts": 2}]).status, (503, 507))
        self.assertFalse((data / "CURRENT").exists())
        self.assertFalse(store(tallyd)["writable"])


@unittest.skipUnless(shutil.which("strace"), "strace is not installed")
class UnreadableDirectoryTest(E2eTest):
    def start_with_fault(self, tallyd, fault):
        """Starts the daemon with one call that fails, waits until it is ready or ends, and kills it."""
        tallyd.kill()
        with open(tallyd.log_file, "ab") as log:
            tallyd.process = subprocess.Popen(
                ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=getdents64", "-e", fault,
                 str(BINARY), "serve", "--config", str(tallyd.config)],
                cwd=tallyd.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        tallyd._wait_ready()  # pylint: disable=protected-access
        tallyd.kill()

    def test_one_failed_getdents_at_a_start_loses_nothing(self):
        tallyd = self.start(TABLES)
        for at in range(20):
            tallyd.write("s", [{**EVENT, "ts": at}])
        tallyd.kill()
        for nth in range(1, 25, 2):
            with self.subTest(nth):
                self.start_with_fault(tallyd, f"inject=getdents64:error=EIO:when={nth}")
        tallyd.start()
        self.assertEqual(20, len(tallyd.events("s", {"k": "a"})))
