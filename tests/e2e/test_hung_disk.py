"""A disk that hangs under a running daemon: what /readyz and systemd are told."""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from tests.e2e.tallyd import E2eTest, SLOW, Tallyd, eventually
from tests.e2e.test_seeds_keys import table

TABLES = table("LOG", "{h}#{ts:ms}")
HANGS = 60  # Seconds, each fsync, unless it is let go before.
WATCHDOG = 4  # Seconds.


@unittest.skipUnless(shutil.which("strace"), "strace, which makes a disk hang, is not installed")
@unittest.skipIf(SLOW > 1, "a sanitizer and a tracer do not go together")
class HungDiskTest(E2eTest):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tallyd-e2e-")))
        self.systemd = self.enterContext(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.systemd.bind(str(folder / "notify"))
        self.systemd.settimeout(0.01)
        self.tallyd = Tallyd(TABLES)
        self.tallyd.environment = {"NOTIFY_SOCKET": str(folder / "notify"),
                                   "WATCHDOG_USEC": str(WATCHDOG * 1_000_000)}
        self.addCleanup(self._finish, self.tallyd)
        self.tallyd.start()

    def told(self):
        texts = []
        try:
            while True:
                texts.append(self.systemd.recv(500))
        except TimeoutError:
            return texts

    def hang(self):
        calls = "fsync,fdatasync"
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(self.tallyd.process.pid),
             "-e", f"trace={calls}", "-e", f"inject={calls}:delay_exit={HANGS}s"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            tracer.terminate()
            tracer.wait()
        self.addCleanup(end)
        tasks = pathlib.Path(f"/proc/{self.tallyd.process.pid}/task")
        eventually(lambda: all("TracerPid:\t0\n" not in (task / "status").read_text()
                               for task in tasks.iterdir()), "it is traced")
        return end

    def test_it_is_not_ready_and_not_to_be_killed_and_goes_on_by_itself(self):
        tallyd = self.tallyd
        self.assertTrue(any(b"READY=1" in text for text in self.told()))
        end = self.hang()
        answers = []
        writer = threading.Thread(target=lambda: answers.append(tallyd.post("log", {"h": "a", "ts": 1, "v": 1})))
        begin = time.monotonic()
        writer.start()
        eventually(lambda: tallyd.get("/readyz").status == 503, "/readyz turns red")
        self.assertLess(time.monotonic() - begin, 7, "3 s, a look each second, and a busy machine")
        tallyd.get("/healthz").expect(200)
        eventually(lambda: "the disk does not answer another write" in tallyd.log(), "it knows why")
        self.told()
        time.sleep(WATCHDOG)
        self.assertTrue(any(b"WATCHDOG=1" in text for text in self.told()), "and says that it is alive")
        self.assertTrue(writer.is_alive(), "nothing is acknowledged meanwhile")
        end()
        writer.join()
        self.assertEqual(200, answers[0].status, "what was written is acknowledged once it is there")
        eventually(lambda: tallyd.get("/readyz").status == 200, "it is ready again by itself")


if __name__ == "__main__":
    unittest.main()
