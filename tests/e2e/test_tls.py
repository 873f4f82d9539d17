"""TLS: what is spoken and what is not, certificates that change, clients that show one."""

import concurrent.futures
import http.client
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from tests.e2e.certificates import Pair, openssl
from tests.e2e.tallyd import BINARY, SLOW, START_SECONDS, E2eTest, Tallyd, eventually, free_port, run

SCHEMA = """
[tables.T]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
"""
EVENTS = [{"host": "a", "ts": 1_700_000_000_000 + n, "v": n} for n in range(2000)]
PROBLEM_400 = b"HTTP/1.1 400 "
HELLO = bytes.fromhex("160301") + b"\x02\x00"  # The head of a record of 512 bytes.
NO_TLS = "openssl is not installed"


class TlsDaemon(Tallyd):
    """Listens plainly on one port, and by TLS on another."""

    def __init__(self, pair, schema=SCHEMA, client_ca=None, plain=True, server=""):
        super().__init__(schema, server=server)
        self.pair, self.client_ca, self.plain = pair, client_ca, plain
        self.tls_port = None

    def write_config(self, toml=None):
        super().write_config(toml)
        self.tls_port = self.tls_port or free_port()
        ca = f'client_ca = "{self.client_ca}"\n' if self.client_ca else ""
        own = f'{{ at = "127.0.0.1:{self.port}" }}, ' if self.plain else ""
        text = self.config.read_text(encoding="utf-8").replace(
            f'listen = "127.0.0.1:{self.port}"',
            f'listen = [{own}{{ at = "127.0.0.1:{self.tls_port}", tls = true }}]')
        self.config.write_text(
            f'{text}[server.tls]\ncert = "{self.pair.cert}"\nkey = "{self.pair.key}"\n{ca}',
            encoding="utf-8")

    def url(self):
        return f"https://localhost:{self.tls_port}"


def context_of(pair=None, show=None):
    context = ssl.create_default_context(cafile=str(pair.cert) if pair else None)
    if show is not None:
        context.load_cert_chain(str(show.cert), str(show.key))
    return context


def asked(daemon, context, path="/readyz", method="GET", body=None, headers=None):
    connection = http.client.HTTPSConnection("localhost", daemon.tls_port, timeout=START_SECONDS,
                                             context=context)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@unittest.skipUnless(shutil.which("openssl"), NO_TLS)
class TlsTest(E2eTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-tls-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.pair = Pair(cls.folder, "server")

    def daemon(self, pair=None, **options):
        daemon = TlsDaemon(pair or self.pair, **options)
        self.addCleanup(self._finish, daemon)
        return daemon

    def connect(self, daemon, context=None, **more):
        plain = socket.create_connection(("127.0.0.1", daemon.tls_port), START_SECONDS)
        self.addCleanup(plain.close)
        context = context or context_of(self.pair)
        wrapped = context.wrap_socket(plain, server_hostname="localhost", **more)
        self.addCleanup(wrapped.close)
        return wrapped

    def test_events_and_answers_go_by_tls_as_they_do_without(self):
        daemon = self.daemon().start()
        body = "".join(json.dumps(event) + "\n" for event in EVENTS).encode()
        status, said = asked(daemon, context_of(self.pair), "/v1/streams/T/events", "POST", body,
                             {"Content-Type": "application/x-ndjson"})
        self.assertEqual((200, len(EVENTS)), (status, json.loads(said)["events"]))
        path = "/v1/streams/T/events?host=a&format=csv"
        by_tls = asked(daemon, context_of(self.pair), path)
        self.assertEqual(by_tls, (200, daemon.get(path).body))
        self.assertGreater(len(by_tls[1]), 20_000)
        with self.assertRaises(ssl.SSLCertVerificationError):
            asked(daemon, context_of())
        status = daemon.get("/v1/status").json["tls"]
        self.assertEqual(2, status["handshakes"]["full"] + status["handshakes"]["resumed"])
        eventually(lambda: "alert" in daemon.log(), "the failed handshake is logged")

    def test_only_new_versions_and_suites_are_spoken(self):
        daemon = self.daemon().start()
        self.assertEqual("TLSv1.3", self.connect(daemon).version())
        refused = (["-tls1"], ["-tls1_1"], ["-tls1_2", "-cipher", "AES128-SHA"],
                   ["-tls1_2", "-cipher", "AES128-GCM-SHA256"],
                   ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"],
                   ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA"],
                   ["-alpn", "h2"])
        taken = (["-tls1_2"], ["-tls1_3"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"],
                 ["-alpn", "h2,http/1.1"])

        def connects(options):
            weak = ["-cipher", "ALL:@SECLEVEL=0"] if options[0] in ("-tls1", "-tls1_1") else []
            done = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{daemon.tls_port}", *options, *weak],
                stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=START_SECONDS)
            said = done.stdout.decode("utf-8", "replace")
            return "Cipher is (NONE)" not in said and "Cipher is" in said, said

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for options, (connected, said) in zip(refused, pool.map(connects, refused)):
                self.assertFalse(connected, f"{options}: {said}")
            for options, (connected, said) in zip(taken, pool.map(connects, taken)):
                self.assertTrue(connected, f"{options}: {said}")
                if "-alpn" in options:
                    self.assertIn("ALPN protocol: http/1.1", said)
                self.assertNotIn("Compression: zlib", said)
        failed = daemon.get("/v1/status").json["tls"]["handshakes_failed"]
        self.assertGreaterEqual(failed["unsupported"], 6, failed)
        self.assertEqual(200, asked(daemon, context_of(self.pair))[0])

    def test_whoever_takes_a_port_for_the_other_kind_is_told_and_cut(self):
        daemon = self.daemon(server='idle_timeout = "1h"\nheader_timeout = "1h"').start()
        for sent in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"P", b"\x00" * 40):
            with socket.create_connection(("127.0.0.1", daemon.tls_port), START_SECONDS) as plain:
                plain.sendall(sent)
                said = plain.makefile("rb").read()
            self.assertTrue(said.startswith(PROBLEM_400), said)
            self.assertIn(b"https://", said)
        with socket.create_connection(("127.0.0.1", daemon.port), START_SECONDS) as plain:
            plain.sendall(HELLO)
            said = plain.makefile("rb").read()
        self.assertTrue(said.startswith(b"\x15\x03\x01\x00\x02\x02\x46" + PROBLEM_400), said)
        with socket.create_connection(("127.0.0.1", daemon.port), START_SECONDS) as plain:
            with self.assertRaises(ssl.SSLError):
                context_of(self.pair).wrap_socket(plain, server_hostname="localhost")

    def test_a_slow_hello_is_cut_and_costs_others_nothing(self):
        daemon = self.daemon(server='header_timeout = "500ms"\nidle_timeout = "1h"').start()
        begun = time.monotonic()
        slow = [socket.create_connection(("127.0.0.1", daemon.tls_port), START_SECONDS)
                for _ in range(20)]
        for number, one in enumerate(slow):
            one.sendall(HELLO[:number % 6])
        self.assertEqual(200, asked(daemon, context_of(self.pair))[0])
        for one in slow:
            self.assertEqual(b"", one.recv(1))
            one.close()
        self.assertLess(time.monotonic() - begun, 10 * SLOW)
        failed = daemon.get("/v1/status").json["tls"]["handshakes_failed"]
        self.assertEqual(20, failed["timed_out"], failed)
        # One line tells of all of them.
        eventually(lambda: "timed_out" in daemon.log(), "the slow ones are logged")
        self.assertLessEqual(daemon.log().count("timed_out"), 3)

    def test_who_waited_for_long_is_served_like_everybody(self):
        pair = Pair(self.folder, "rests")
        daemon = self.daemon(pair=pair).start()
        waiting = [http.client.HTTPSConnection("localhost", daemon.tls_port, timeout=START_SECONDS,
                                               context=context_of(pair)),
                   http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=START_SECONDS)]
        # Long enough for a connection to let go of what it reads into, twice.
        for pause in 2.5, 2.5, 0:
            for connection in waiting:
                self.addCleanup(connection.close)
                connection.request("GET", "/healthz")
                self.assertEqual(b'{"status":"ok"}', connection.getresponse().read().strip())
            time.sleep(pause)

    def test_a_renewed_certificate_is_shown_to_whoever_comes_next(self):
        pair = Pair(self.folder, "renewed")
        daemon = self.daemon(pair=pair).start()
        stays = http.client.HTTPSConnection("localhost", daemon.tls_port, timeout=START_SECONDS,
                                            context=context_of(pair))
        self.addCleanup(stays.close)
        stays.connect()

        def still_answers():
            stays.request("GET", "/healthz")
            self.assertEqual(b'{"status":"ok"}', stays.getresponse().read().strip())

        still_answers()
        old_key, old_cert = pair.key.read_bytes(), pair.cert.read_bytes()
        other = Pair(self.folder, "other")
        for wrong, mode, why in ((other.key.read_bytes(), 0o600, "not the key of the certificate"),
                                 (old_key, 0o604, "others than its owner"),
                                 (b"nonsense", 0o600, "no key that can be read")):
            pair.key.write_bytes(wrong)
            pair.key.chmod(mode)
            refusal = daemon.request("POST", "/-/reload")
            self.assertIn(why, self.refused(refusal, status=409)["detail"])
            self.assertEqual(200, asked(daemon, context_of(pair))[0])
        pair.key.write_bytes(other.key.read_bytes())
        pair.key.chmod(0o640)
        pair.cert.write_bytes(other.cert.read_bytes())
        daemon.request("POST", "/-/reload").expect(200)
        still_answers()
        self.assertEqual(200, asked(daemon, context_of(other))[0])
        pair.cert.write_bytes(old_cert)
        with self.assertRaises(ssl.SSLCertVerificationError):
            asked(daemon, context_of(pair))
        still_answers()

    def test_a_client_resumes_until_the_files_change(self):
        pair = Pair(self.folder, "resumed")
        daemon = self.daemon(pair=pair).start()
        context = context_of(pair)
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # Its tickets come with the handshake.
        first = self.connect(daemon, context)
        self.assertTrue(self.connect(daemon, context, session=first.session).session_reused)
        daemon.request("POST", "/-/reload").expect(200)
        again = self.connect(daemon, context, session=first.session)
        self.assertTrue(again.session_reused, "nothing has changed")
        pair.cert.write_bytes(pair.cert.read_bytes() + self.pair.cert.read_bytes())
        daemon.request("POST", "/-/reload").expect(200)
        self.assertFalse(self.connect(daemon, context, session=first.session).session_reused)

    def test_a_tool_finds_its_daemon_by_its_file_and_believes_that_certificate_alone(self):
        pair = Pair(self.folder, "nameless", names="DNS:elsewhere.example.org")
        daemon = self.daemon(pair=pair, client_ca=self.pair.cert, plain=False)
        daemon._wait_ready = lambda: self.is_healthy(daemon)
        daemon.start()
        self.assertEqual((0, f"https://127.0.0.1:{daemon.tls_port}: ready\n"),
                         run("health", "--config", daemon.config))
        status, said = run("backup", "--config", daemon.config, "--to", daemon.directory / "copy")
        self.assertEqual(0, status, said)
        pair.cert.write_bytes(self.pair.cert.read_bytes())
        pair.key.write_bytes(self.pair.key.read_bytes())
        status, said = run("health", "--config", daemon.config)
        self.assertEqual(1, status)
        self.assertIn("another certificate than", said)
        daemon.stop()
        self.assertEqual(1, run("health", "--config", daemon.config)[0])

    @staticmethod
    def is_healthy(daemon):
        deadline = time.monotonic() + START_SECONDS
        while daemon.process.poll() is None and time.monotonic() < deadline:
            if run("health", "--config", daemon.config)[0] == 0:
                return True
            time.sleep(0.05)
        return False

    def test_load_and_export_verify_whom_they_speak_to(self):
        daemon = self.daemon().start()
        file = daemon.directory / "events.ndjson"
        file.write_text("".join(json.dumps(event) + "\n" for event in EVENTS), encoding="utf-8")
        end = ("--stream", "T", "--quiet", "--retry-for", "0")
        by_name = ("--url", daemon.url(), "--ca-file", self.pair.cert)
        status, said = run("load", *end, *by_name, file)
        self.assertEqual(0, status, said)
        copy = daemon.directory / "copy.ndjson"
        status, said = run("export", *end, "--url", f"https://127.0.0.1:{daemon.tls_port}",
                           "--ca-file", self.pair.cert, "--output", copy)
        self.assertEqual(0, status, said)
        self.assertEqual(len(EVENTS), len(copy.read_text(encoding="utf-8").splitlines()))
        elsewhere = Pair(self.folder, "elsewhere")
        for ca in ((), ("--ca-file", elsewhere.cert)):
            status, said = run("load", *end, "--url", daemon.url(), *ca, file)
            self.assertEqual(1, status, said)
            self.assertIn("not trusted", said)
        status, said = run("load", *end, "--url", f"http://localhost:{daemon.port}", "--ca-file",
                           self.pair.cert, file)
        self.assertNotEqual(0, status)
        self.assertIn("https://", said)


@unittest.skipUnless(shutil.which("openssl"), NO_TLS)
class ClientCertificateTest(E2eTest):
    def test_a_certificate_that_has_a_tokens_name_counts_as_that_token(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-tls-"))
        self.addCleanup(shutil.rmtree, folder, True)
        authority = Pair(folder, "authority")
        server = Pair(folder, "server")
        reader = Pair(folder, "reader", "DNS:acme-reader,DNS:acme-reader.example.org", authority)
        unknown = Pair(folder, "unknown", "DNS:nobody", authority)
        stranger = Pair(folder, "stranger", "DNS:acme-reader")
        token = json.loads(run("token", "--role", "admin", "--format", "json")[1])
        tokens = "".join(f'[[auth.tokens]]\nname = "{name}"\nsha256 = "{sha256}"\nrole = "{role}"\n'
                         for name, sha256, role in (("acme-reader", "0" * 64, "read"),
                                                    ("boss", token["sha256"], "admin")))
        daemon = TlsDaemon(server, schema=SCHEMA + tokens, client_ca=authority.cert)
        self.addCleanup(self._finish, daemon)
        daemon.start()
        streams = "/v1/streams"
        self.assertEqual(200, asked(daemon, context_of(server, reader), streams)[0])
        self.assertEqual(403, asked(daemon, context_of(server, reader), "/metrics")[0])
        self.assertEqual(401, asked(daemon, context_of(server, unknown), streams)[0])
        bearer = {"Authorization": f"Bearer {token['token']}"}
        self.assertEqual(200, asked(daemon, context_of(server, reader), "/v1/status",
                                    headers=bearer)[0])
        wrong = {"Authorization": "Bearer tly_wrong"}
        self.assertEqual(401, asked(daemon, context_of(server, reader), streams,
                                    headers=wrong)[0])
        for show in (None, stranger):
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                asked(daemon, context_of(server, show), "/readyz")
        said = daemon.get("/v1/status", headers=bearer).json["tls"]["handshakes_failed"]
        self.assertEqual(2, said["certificate"], said)
        self.assertEqual(401, daemon.get(streams).status, "a plain port shows no certificate")


class RefusalTest(E2eTest):
    def refusal(self, listen, more="", command="serve"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-tls-"))
        self.addCleanup(shutil.rmtree, folder, True)
        config = folder / "tallyd.toml"
        config.write_text(f"[server]\nlisten = {listen}\n{more}{SCHEMA}", encoding="utf-8")
        status, said = run(command, "--config", config)
        self.assertEqual(2, status, said)
        self.assertFalse((folder / "data").exists(), "nothing was begun")
        return said

    def test_what_others_reach_is_refused_without_tokens_and_tls(self):
        token = f'[[auth.tokens]]\nname = "a"\nsha256 = "{"0" * 64}"\nrole = "read"\n'
        for command in ("serve", "check"):
            self.assertIn("[[auth.tokens]]", self.refusal('"0.0.0.0:0"', "plaintext = true\n",
                                                          command))
            self.assertIn("[[auth.tokens]]",
                          self.refusal('[{ at = "127.0.0.1:0" }, { at = "[::]:0" }]', "", command))
            self.assertIn("plaintext = true", self.refusal('"0.0.0.0:0"', token, command))

    @unittest.skipUnless(shutil.which("openssl"), NO_TLS)
    def test_files_that_cannot_be_used_are_refused_by_name(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-tls-"))
        self.addCleanup(shutil.rmtree, folder, True)
        one, other = Pair(folder, "one"), Pair(folder, "other")
        weak, weak_key = folder / "weak.pem", folder / "weak.key"
        openssl("req", "-x509", "-newkey", "rsa:1024", "-nodes", "-keyout", weak_key, "-out", weak,
                "-subj", "/CN=weak")
        weak_key.chmod(0o600)
        open_key = folder / "open.key"
        shutil.copy(one.key, open_key)
        open_key.chmod(0o644)
        for cert, key, said in ((one.cert, other.key, "is not the key of the certificate"),
                                (one.cert, open_key, "mode 0644"),
                                (one.cert, folder / "none", "No such file"),
                                (one.cert, folder, "no regular file"),
                                (one.key, one.key, "no certificate that can be read"),
                                (one.cert, one.cert, "others than its owner"),
                                (weak, weak_key, "too small")):
            tls = f'[server.tls]\ncert = "{cert}"\nkey = "{key}"\n'
            self.assertIn(said, self.refusal('[{ at = "127.0.0.1:0", tls = true }]', tls))


if __name__ == "__main__":
    unittest.main()
