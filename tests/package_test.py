"""Checks the Debian package, the manual page and the completion, which are made from the binary.

    TALLYD=build/tallyd python3 -m unittest tests.package_test
"""

import os
import pathlib
import re
import shutil
import tempfile
import unittest

from tests.packaging_test import BINARY, ROOT, run, skip_if_sanitized

NEEDED = ("dpkg-deb", "dpkg-shlibdeps", "strip")
MISSING = [name for name in NEEDED if not shutil.which(name)]


def commands():
    """Of each command the words that its help begins an option with."""
    listed = run(BINARY, "--help").stdout.partition("Subcommands:\n")[2]
    return {name: re.findall(r"^  (?:-h,)?(--[\w-]+)", run(BINARY, name, "--help").stdout, re.M)
            for name in re.findall(r"^  (\w+) ", listed, re.M)}


def written(what):
    result = run(ROOT / ".ci" / "manual", what, BINARY)
    assert result.returncode == 0, result.stderr
    return result.stdout


class ManualTest(unittest.TestCase):
    def test_it_has_every_command_and_option_and_no_other(self):
        page = written("man")
        sections = dict(re.findall(r"^\.SS (\w+)\n(.*?)(?=^\.S[SH])", page, re.S | re.M))
        expected = commands()
        self.assertGreaterEqual(len(expected), 12)
        self.assertEqual(list(sections), list(expected))
        for name, options in expected.items():
            told = [word.replace("\\", "") for word in re.findall(r"^\\fB(\\-\\-[^\\]+(?:\\-[^\\]+)*)\\fR", sections[name], re.M)]
            self.assertEqual(sorted([*told, "--help"]), sorted(options), name)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_it_is_set_without_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "tallyd.1"
            page.write_text(written("man"))
            result = run("groff", "-man", "-Tutf8", "-ww", page)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_file_that_it_names_is_installed(self):
        names = set(re.findall(r"\b(\w+\.md)\b", written("man")))
        self.assertGreaterEqual(len(names), 4)
        for name in names:
            self.assertTrue((ROOT / "docs" / name).exists(), name)


@unittest.skipUnless(shutil.which("bash"), "bash is not installed")
class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = written("completion")

    def completed(self, *words):
        quoted = " ".join(f"'{word}'" for word in words)
        shell = (f"{self.script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _tallyd\n"
                 'printf "%s\\n" "${COMPREPLY[@]}"')
        result = run("bash", "-c", shell)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_it_knows_the_commands_their_options_and_their_words(self):
        expected = commands()
        self.assertEqual(set(self.completed("tallyd", "")), {*expected, "--help", "--version"})
        self.assertEqual(self.completed("tallyd", "restor"), ["restore"])
        for name, options in expected.items():
            self.assertEqual(self.completed("tallyd", name, "--"), options)
        self.assertEqual(self.completed("tallyd", "lint", "--format", ""), ["text", "json"])


@unittest.skipIf(MISSING, f"{', '.join(MISSING)}: not installed")
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        skip_if_sanitized(cls)
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        # Packed fast: how well it is packed is not what is asked.
        result = run(ROOT / ".ci" / "deb" / "build", BINARY, cls.folder.name, env={**os.environ, "DEB_LEVEL": "0"})
        assert result.returncode == 0, result.stderr
        cls.deb = pathlib.Path(result.stdout.strip())

    @classmethod
    def skipTest(cls, reason):  # Of the class: setUpClass has no test yet.
        raise unittest.SkipTest(reason)

    def test_it_installs_these_files(self):
        lines = run("dpkg-deb", "--contents", self.deb).stdout.splitlines()
        files = {line.split()[-1][1:]: line.split()[:2] for line in lines if not line.startswith("d")}
        doc = "/usr/share/doc/tallyd/"
        docs = {doc + str(path.relative_to(ROOT / "docs")) for pattern in ("*.md", "*.yaml", "*.json")
                for path in (ROOT / "docs").rglob(pattern)}
        examples = {f"{doc}examples/{path.name}" for path in (ROOT / "systemd").glob("*.conf")}
        self.assertEqual(set(files), docs | examples | {
            "/etc/tallyd/tallyd.toml", "/lib/systemd/system/tallyd.service", "/lib/systemd/system/tallyd.socket",
            "/usr/bin/tallyd", "/usr/share/bash-completion/completions/tallyd", "/usr/share/lintian/overrides/tallyd",
            "/usr/share/man/man1/tallyd.1.gz", f"{doc}changelog.gz", f"{doc}copyright", f"{doc}examples/example.toml"})
        for name, (mode, owner) in files.items():
            self.assertEqual(owner, "root/root", name)
            self.assertEqual(mode, "-rwxr-xr-x" if name == "/usr/bin/tallyd" else "-rw-r--r--", name)

    def test_an_upgrade_asks_before_it_replaces_the_configuration(self):
        control = pathlib.Path(self.folder.name) / "control"
        self.assertEqual(run("dpkg-deb", "--control", self.deb, control).returncode, 0)
        self.assertEqual((control / "conffiles").read_text(), "/etc/tallyd/tallyd.toml\n")
        for script in ("postinst", "prerm", "postrm"):
            self.assertEqual(run("sh", "-n", control / script).returncode, 0, script)

    def test_it_names_the_libraries_that_the_binary_needs(self):
        fields = dict(re.findall(r"^ ?([\w-]+): (.*)$", run("dpkg-deb", "--info", self.deb).stdout, re.M))
        self.assertRegex(run(BINARY, "--version").stdout, rf"^tallyd {re.escape(fields['Version'])}\b")
        for package in ("libc6", "libstdc++6", "libsimdjson14", "libsystemd0", "adduser"):
            self.assertRegex(fields["Depends"], rf"(^|, ){re.escape(package)}\b")

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not installed; make deb-test runs it")
    def test_lintian_finds_no_error(self):
        result = run("lintian", "--no-tag-display-limit", "--fail-on", "error", self.deb)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
