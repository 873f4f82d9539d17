"""No token, no part of one and no digest of one is in anything that the daemon says or writes."""

import base64
import contextlib
import hashlib
import pathlib
import secrets
import tempfile
import unittest

from tests.e2e.tallyd import E2eTest, Failure, eventually, run

TABLE = """
[tables.T]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
"""
EVENT = b'{"host": "a", "ts": 1700000000000, "v": 1}'
# So long a part of a token is told by nobody by chance.
PART = 12


def new_token():
    return f"tly_{secrets.token_urlsafe(32)}_1a2b3c4d"


def entry(name, token, role="admin"):
    digest = hashlib.sha256(token.encode()).hexdigest()
    return f'[[auth.tokens]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{digest}"\n'


def forms(token):
    """Every text that gives the token away, or a part of it: it, its digest, in hex and base64."""
    raw, digest = token.encode(), hashlib.sha256(token.encode()).digest()
    whole = [token[4:], raw.hex(), digest.hex(), *(
        encode(part).decode().rstrip("=") for part in (raw, digest)
        for encode in (base64.b64encode, base64.urlsafe_b64encode))]
    return {text[i:i + PART] for text in whole for i in range(len(text) - PART + 1)}


class SecretsTest(E2eTest):
    def setUp(self):
        self.good, self.weak, self.unknown = new_token(), new_token(), new_token()
        self.said = []

    def finds_nothing(self):
        said = "\n".join(self.said)
        for token in self.good, self.weak, self.unknown:
            for part in forms(token):
                if part in said:
                    at = said.index(part)
                    self.fail(f"{part!r} is told: ...{said[max(0, at - 200):at + 100]!r}")

    def ask(self, tallyd, *arguments, **options):
        with contextlib.suppress(OSError):
            answer = tallyd.request(*arguments, **options)
            self.said += [str(answer.headers), answer.body.decode("utf-8", "replace")]

    def raw(self, tallyd, request):
        with contextlib.suppress(OSError, Failure):
            with tallyd.raw(request) as connection:
                answer = connection.answer()
                self.said += [str(answer.headers), answer.body.decode("utf-8", "replace")]

    def test_whatever_is_asked_nothing_tells_a_token(self):
        schema = TABLE + entry("good", self.good) + entry("weak", self.weak, "metrics")
        tallyd = self.start(schema + '[log]\nlevel = "debug"\n')
        routes = [("GET", "/v1/streams", None), ("GET", "/metrics", None), ("GET", "/v1/status", None),
                  ("POST", "/v1/streams/t/events", EVENT), ("POST", "/v1/streams/t/events", b'{"host": 1'),
                  ("POST", "/v1/streams/none/events", EVENT), ("GET", "/v1/tables/T/rows?cursor=x", None),
                  ("DELETE", "/v1/tables/T/rows?prefix=a", None), ("POST", "/-/reload", None),
                  ("POST", "/-/settle", None), ("GET", "/nowhere", None)]
        for token in self.good, self.weak, self.unknown:
            basic = base64.b64encode(f"user:{token}".encode()).decode()
            for method, path, body in routes:
                joint = "&" if "?" in path else "?"
                for scheme in f"Bearer {token}", f"Token {token}", f"Basic {basic}":
                    self.ask(tallyd, method, path, body, headers={"Authorization": scheme})
                for misplaced in f"Bearer  {token}", f"Bearer {token} x", token, f"Digest {token}":
                    self.ask(tallyd, method, path, body, headers={"Authorization": misplaced})
                for name in "p", "token", "access_token":
                    self.ask(tallyd, method, f"{path}{joint}{name}={token}", body,
                             headers={"Authorization": f"Bearer {self.good}"})
            line = token.encode()
            self.raw(tallyd, b"GET /" + line + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.raw(tallyd, b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization Bearer " + line + b"\r\n\r\n")
            self.raw(tallyd, b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + line
                     + b"\r\nTransfer-Encoding: gzip\r\n\r\n")
        other = new_token()
        changed = TABLE + entry("good", other)
        tallyd.write_config(changed + '[log]\nlevel = "debug"\n')
        self.ask(tallyd, "POST", "/-/reload", headers={"Authorization": f"Bearer {self.good}"})
        eventually(lambda: tallyd.get("/v1/streams", headers={"Authorization": f"Bearer {other}"}).status == 200,
                   "the other token is in force")
        self.ask(tallyd, "GET", "/v1/streams", headers={"Authorization": f"Bearer {self.good}"})
        self.assertGreater(len(self.said), 100)
        tallyd.stop()
        self.said.append(tallyd.log_file.read_text(encoding="utf-8", errors="replace"))
        self.finds_nothing()
        self.unknown = other
        self.finds_nothing()

    def test_a_file_that_has_a_token_where_its_digest_belongs_is_refused_without_it(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tallyd-e2e-")))
        for number, text in enumerate((
                TABLE + f'[[auth.tokens]]\nname = "a"\nrole = "read"\nsha256 = "{self.good}"\n',
                TABLE + f'[[auth.tokens]]\nname = "{self.good}"\nrole = "read"\n',
                TABLE + f'[[auth.tokens]]\nname = "a"\nrole = "read"\ntoken = "{self.good}"\n',
                TABLE + f'[auth]\ntokens = "{self.good}"\n')):
            file = folder / f"{number}.toml"
            file.write_text(text, encoding="utf-8")
            status, said = run("check", "--config", file)
            self.assertEqual(2, status, text)
            self.said.append(said)
        self.finds_nothing()

    def test_what_comes_from_outside_forges_no_line_of_the_log(self):
        tallyd = self.start(TABLE + '[log]\nlevel = "debug"\n')
        forged = "2026-01-01T00:00:00.000Z info forged\x1b[31m"
        self.ask(tallyd, "DELETE", "/v1/tables/T/rows?prefix=a%0A" + forged.replace(" ", "%20").replace("\x1b", "%1b"))
        tallyd.post_bytes("t", ('{"host": "a\\r\\n' + forged.replace("\x1b", "\\u001b") + '", "ts": "no time"}').encode())
        self.raw(tallyd, b"GET /a\x1b[31m HTTP/1.1\r\nHost: localhost\r\n\r\n")
        tallyd.stop()
        lines = tallyd.log_file.read_text(encoding="utf-8").splitlines()
        self.assertGreater(len(lines), 1)
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT[\d:.]+Z \w+ ")
            self.assertNotRegex(line, r"[\x00-\x1f\x7f]")
            self.assertFalse(line.endswith("info forged"), line)

    def test_what_is_in_memory_goes_to_no_core(self):
        tallyd = self.start(TABLE + entry("good", self.good))
        limits = pathlib.Path(f"/proc/{tallyd.process.pid}/limits").read_text(encoding="ascii")
        self.assertRegex(limits, r"(?m)^Max core file size +0 +0 ")


if __name__ == "__main__":
    unittest.main()
