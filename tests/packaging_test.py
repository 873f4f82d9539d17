"""Checks what the packages promise: the unit's hardening, the image's libraries, the shipped files.

    TALLYD=build/tallyd python3 -m unittest tests.packaging_test
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("TALLYD", ROOT / "build" / "tallyd")).resolve()
# systemd's exposure level times ten; chrony's unit, for comparison, stands at 37.
EXPOSURE = 10


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def keys(unit):
    found = {}
    for line in unit.read_text().splitlines():
        if match := re.match(r"(\w+)=(.*)", line):
            found.setdefault(match[1], []).append(match[2])
    return found


class UnitTest(unittest.TestCase):
    unit = ROOT / "systemd" / "tallyd.service"

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_the_exposure_stays_low(self):
        result = run("systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", self.unit)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_understands_every_line(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "tallyd.service"
            copy.write_text(self.unit.read_text().replace("/usr/bin/tallyd", "/bin/true"))
            result = run("systemd-analyze", "verify", "--recursive-errors=no", "--man=no", copy)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_it_starts_and_reloads_as_documented(self):
        unit = keys(self.unit)
        self.assertEqual(unit["Type"], ["notify"])
        self.assertEqual(unit["ExecStart"], ["/usr/bin/tallyd serve --config /etc/tallyd/tallyd.toml"])
        self.assertEqual(unit["ExecReload"], ["/bin/kill -HUP $MAINPID"])
        self.assertEqual(unit["StateDirectory"], ["tallyd"])
        self.assertEqual(unit["CapabilityBoundingSet"], [""])


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


class ImageTest(unittest.TestCase):
    dockerfile = (ROOT / "Dockerfile").read_text()

    @unittest.skipUnless(shutil.which("readelf") and shutil.which("dpkg-query"), "needs binutils and dpkg")
    def test_it_installs_every_library_that_the_binary_needs(self):
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-d", BINARY).stdout)
        self.assertTrue(needed)
        # Part of every Debian, or of the compiler's own sanitizers.
        needed = [n for n in needed if not re.match(r"(libc|libm|libgcc_s|libstdc\+\+|ld-linux|lib[at]san|libubsan)", n)]
        installed = set(self.dockerfile.split("FROM")[2].split())
        for name in needed:
            owner = run("dpkg-query", "-S", f"*/{name}").stdout.split(":")[0]
            self.assertIn(owner, installed, f"{name} comes with {owner}")

    def test_it_runs_without_root_and_shell(self):
        self.assertRegex(self.dockerfile, r"\nUSER 65532:65532\n")
        self.assertRegex(self.dockerfile, r'\nENTRYPOINT \["/usr/bin/tallyd"\]\n')
        self.assertRegex(self.dockerfile, r'HEALTHCHECK[^\n]*\\\n *CMD \["curl".*/healthz"\]\n')


if __name__ == "__main__":
    unittest.main()
