"""The recipes of README.md and docs/operations.md, run as they stand there, on loopback."""

import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import unittest

from tests.e2e.tallyd import (ANSWER_SECONDS, BINARY, E2eTest, ROOT, Tallyd, eventually, free_port,
                              run)

README = (ROOT / "README.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
EVENT = '{"hostname":"a","load":0.4}'


def section(page, title):
    """What stands below a heading."""
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def new_token(role):
    status, said = run("token", "--role", role, "--format", "json")
    assert status == 0, said
    return json.loads(said)


def with_sha256(toml, sha256):
    toml, count = re.subn(r'(?m)^(sha256 *= *)"[^"]*"', rf'\1"{sha256}"', toml)
    assert count == 1, toml
    return toml


def certificate(folder, name="tallyd.example.org"):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", "30", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
         "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"],
        check=True, capture_output=True)


class Recipe(Tallyd):
    """A daemon on a file of a page, but for the port."""

    def __init__(self, directory, text, port):
        super().__init__("", directory=directory)
        self.port = port
        self.config.write_text(text, encoding="utf-8")

    def start(self):
        self.spawn()
        eventually(lambda: "listens on" in self.log() or self.process.poll() is not None, "it serves")
        assert self.process.poll() is None, self.log()
        return self

    def log(self):
        return self._log_as_is()


class RecipeTest(E2eTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.port = free_port()

    def serve(self, text):
        daemon = Recipe(self.folder, text, self.port)
        self.addCleanup(self._finish, daemon)
        return daemon.start()

    def shell(self, command):
        """A line of a page, on a machine that finds tallyd.example.org here."""
        (self.folder / ".curlrc").write_text(
            f'resolve = "tallyd.example.org:{self.port}:127.0.0.1"\n', encoding="utf-8")
        done = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, capture_output=True, text=True,
            timeout=ANSWER_SECONDS, check=False,
            env={**os.environ, "CURL_HOME": str(self.folder),
                 "PATH": f"{BINARY.parent}:{os.environ['PATH']}"})
        self.assertEqual(0, done.returncode, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout


@unittest.skipUnless(shutil.which("openssl") and shutil.which("curl"), "openssl or curl is missing")
class SensorTest(RecipeTest):
    """README: from a sensor on another machine."""

    def test_the_readme_brings_an_event_from_another_machine_in_five_lines(self):
        text = section(README, "From a sensor on another machine")
        (here,), (there,), (file,) = blocks(text, "sh")[:1], blocks(text, "sh")[1:], blocks(text, "toml")
        lines = [line for line in (here + there).splitlines() if line.strip()]
        self.assertEqual(5, len(lines), "five lines are promised")
        make_certificate, make_token, serve, keep_token, post = lines

        self.shell(make_certificate)
        self.assertEqual(0o600, (self.folder / "tls.key").stat().st_mode & 0o777)
        made = json.loads(self.shell(make_token))
        self.assertEqual({"token", "sha256"}, set(made))
        self.assertRegex(serve, r"^tallyd serve --config sensors\.toml\b")
        daemon = self.serve(with_sha256(file, made["sha256"]).replace("8443", str(self.port)))
        self.shell(keep_token.replace("tly_...", made["token"]))
        answer = json.loads(self.shell(post.replace("8443", str(self.port))))
        self.assertEqual(1, answer["events"])
        self.assertNotIn(made["token"], daemon.log())

        without = subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", self.folder / "tls.crt",
             f"https://tallyd.example.org:{self.port}/v1/streams/server/events", "-d", EVENT],
            env={**os.environ, "CURL_HOME": str(self.folder)}, capture_output=True, text=True,
            timeout=ANSWER_SECONDS, check=False)
        self.assertEqual("401", without.stdout, "and not without the token")


class ContainerTest(RecipeTest):
    """docs/operations.md: as a container; that the image can be built is `make container-test`'s."""

    def test_the_file_that_is_mounted_serves_others_and_asks_for_a_token(self):
        (file,) = blocks(section(OPERATIONS, "As a container"), "toml")
        made = new_token("write")
        text = with_sha256(file, made["sha256"]).replace("8780", str(self.port))
        daemon = self.serve(text.replace('"/var/lib/tallyd"', '"data"'))
        path = "/v1/streams/server/events"
        daemon.request("POST", path, EVENT).expect(401)
        good = {"Authorization": f"Bearer {made['token']}"}
        self.assertEqual(2, daemon.request("POST", path, EVENT, good).expect(200).json["rows"])
        status, said = run("health", "--config", daemon.config)
        self.assertEqual(0, status, said)
        daemon.stop()
        status, said = run("health", "--config", daemon.config)
        self.assertEqual(1, status, said)

    def test_without_its_token_it_does_not_start(self):
        (file,) = blocks(section(OPERATIONS, "As a container"), "toml")
        text = re.sub(r"(?ms)^\[\[auth\.tokens\]\]\n.*?\n\n", "", file)
        config = self.folder / "open.toml"
        config.write_text(text.replace('"/var/lib/tallyd"', '"data"'), encoding="utf-8")
        status, said = run("check", "--config", config)
        self.assertEqual(2, status, said)
        self.assertIn("[[auth.tokens]]", said)


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class RenewalTest(RecipeTest):
    """docs/operations.md: certificates renewed by a reload."""

    def test_the_hook_puts_a_renewed_certificate_in_force(self):
        text = section(OPERATIONS, "TLS")
        hook = re.search(r"<<'EOF'\n(.*?)^EOF$", text, re.M | re.S)[1]
        tls = self.folder / "tls"
        tls.mkdir(mode=0o750)
        hook = hook.replace("/etc/tallyd/tls", str(tls)).replace(" -g tallyd", "")
        lineage, fakes = self.folder / "lineage", self.folder / "bin"
        lineage.mkdir()
        fakes.mkdir()
        certificate(lineage)
        for name in "fullchain", "privkey":
            shutil.copy(lineage / f"{name}.pem", tls / f"{name}.pem")
        (tls / "privkey.pem").chmod(0o640)
        daemon = self.serve(
            f'[server]\nlisten = [{{ at = "127.0.0.1:{self.port}", tls = true }}]\n'
            f'[server.tls]\ncert = "{tls}/fullchain.pem"\nkey = "{tls}/privkey.pem"\n'
            '[tables.T]\npattern = "latest"\nrow_key = "{host}"\nfamilies.F = {}\n')
        systemctl = fakes / "systemctl"
        systemctl.write_text(f'#!/bin/sh\n[ "$1 $2" = "reload tallyd" ] && kill -HUP {daemon.process.pid}\n')
        systemctl.chmod(0o755)

        any_certificate = ssl.create_default_context()
        any_certificate.check_hostname, any_certificate.verify_mode = False, ssl.CERT_NONE
        early = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS,
                                            context=any_certificate)
        self.addCleanup(early.close)
        early.request("GET", "/healthz")
        self.assertTrue(early.getresponse().read())
        connection = early.sock

        before = self.served()
        certificate(lineage)
        subprocess.run(["sh", "-c", hook], check=True, timeout=ANSWER_SECONDS,
                       env={"PATH": f"{fakes}:{os.environ['PATH']}", "RENEWED_LINEAGE": str(lineage)})
        eventually(lambda: self.served() != before, "new connections get the renewed certificate")
        body = (lineage / "fullchain.pem").read_text().split("-----")[2]
        self.assertEqual(base64.b64decode(body), self.served())
        early.request("GET", "/healthz")
        self.assertEqual(200, early.getresponse().status)
        self.assertIs(connection, early.sock, "who was connected stays so")

    def test_a_key_that_others_may_read_leaves_the_old_one_in_force(self):
        certificate(self.folder)
        daemon = self.serve(
            f'[server]\nlisten = [{{ at = "127.0.0.1:{self.port}", tls = true }}]\n'
            '[server.tls]\ncert = "fullchain.pem"\nkey = "privkey.pem"\n'
            '[tables.T]\npattern = "latest"\nrow_key = "{host}"\nfamilies.F = {}\n')
        before = self.served()
        certificate(self.folder)
        (self.folder / "privkey.pem").chmod(0o644)
        daemon.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the configuration in force stays" in daemon.log(), "it is refused")
        self.assertIn("privkey.pem", daemon.log())
        self.assertEqual(before, self.served())

    def served(self):
        pem = ssl.get_server_certificate(("127.0.0.1", self.port), timeout=ANSWER_SECONDS)
        return ssl.PEM_cert_to_DER_cert(pem)


if __name__ == "__main__":
    unittest.main()
