"""Who may do what: roles, revocation, expiry, limits on attempts, and the tools' tokens."""

import hashlib
import json
import pathlib
import socket
import time
from datetime import datetime, timedelta, timezone

from tests.e2e.tallyd import ANSWER_SECONDS, E2eTest, eventually, run

TABLE = """
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
"""
EVENT = {"host": "a", "ts": 1700000000000, "v": 1}
MUTATIONS = "/v1/tables/T/rows/a%231700000000000/mutations"
ROLES = "read", "write", "delete", "metrics", "admin"


def entry(name, role=None, more=""):
    """A token is `secret of NAME`; without a role, the name is one."""
    digest = hashlib.sha256(f"secret of {name}".encode()).hexdigest()
    return (f'[[auth.tokens]]\nname = "{name}"\nsha256 = "{digest}"\n'
            f"role = {json.dumps(role or name)}\n{more}\n")


def of(name, **more):
    return {"Authorization": f"Bearer secret of {name}", **more}


ALL = "".join(entry(role) for role in ROLES)


class TokensTest(E2eTest):
    def reload(self, tallyd, toml):
        """The file is in place and in force; answers when."""
        tallyd.write_config(toml)
        tallyd.request("POST", "/-/reload", headers=of("admin")).expect(200)
        return time.monotonic()

    def test_each_role_opens_its_own_and_nobody_anything(self):
        tallyd = self.start(TABLE + ALL)
        event = json.dumps(EVENT)
        asked = [("read", "GET", "/v1/streams", None), ("read", "GET", "/v1/status", None),
                 ("metrics", "GET", "/metrics", None), ("write", "POST", "/v1/streams/s/events", event),
                 ("write", "POST", "/v1/streams/s/events?dry_run=1", event),
                 ("delete", "DELETE", "/v1/tables/T/rows?prefix=none", None),
                 ("admin", "POST", "/-/reload", None), ("admin", "GET", "/v1/nothing", None)]
        bodies = set()
        for role, method, path, body in asked:
            nobody = tallyd.request(method, path, body)
            self.assertEqual("Bearer", nobody.header("WWW-Authenticate"))
            bodies.add((nobody.status, nobody.body))
            for other in ROLES:
                answer = tallyd.request(method, path, body, of(other))
                if path == "/v1/nothing":
                    answer.expect(404)
                elif other in (role, "admin"):
                    answer.expect(200)
                else:
                    self.assertIn(f"role {role}", answer.problem(403)["detail"])
        self.assertEqual([401], [status for status, _ in bodies])
        tallyd.get("/healthz").expect(200)
        basic = "Basic " + "dXNlcjpzZWNyZXQgb2YgcmVhZA=="  # user:secret of read
        tallyd.get("/v1/streams", headers={"Authorization": basic}).expect(200)

    def test_what_the_head_refuses_is_told_before_the_body(self):
        tallyd = self.start(TABLE + ALL)
        head = (b"POST /v1/streams/s/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
                b"Expect: 100-continue\r\n")
        with tallyd.raw(head + b"\r\n") as nobody:
            self.assertEqual(401, nobody.answer().status)
        with tallyd.raw(head + b"Authorization: Bearer secret of read\r\n\r\n") as reader:
            self.assertEqual(403, reader.answer().status)

    def test_a_delete_mutation_and_times_without_guards_need_more_than_write(self):
        tallyd = self.start(TABLE + ALL + entry("both", ["write", "delete"]))
        tallyd.post("s", EVENT, headers=of("write")).expect(200)
        body = json.dumps({"mutations": [
            {"set": {"family": "F", "qualifier": "v", "ts": 1700000000001, "value": 2}}, {"delete": {}}]})
        refused = tallyd.request("POST", MUTATIONS, body, of("write", **{"Content-Type": "application/json"}))
        self.assertIn("role delete", refused.problem(403)["detail"])
        row = tallyd.get("/v1/tables/T/rows/a%231700000000000", headers=of("read")).expect(200).json
        self.assertEqual(1, row["cells"]["F"]["v"][0]["value"], "nothing is done")
        tallyd.request("POST", MUTATIONS, body, of("both", **{"Content-Type": "application/json"})).expect(200)
        early = {**EVENT, "ts": 0}
        tallyd.post("s", early, headers=of("write"), guards="off").problem(403)
        tallyd.post("s", early, headers=of("admin"), guards="off").expect(200)

    def test_a_key_belongs_to_its_token(self):
        tallyd = self.start(TABLE + ALL + entry("other", "write"))
        headers = {"Idempotency-Key": "k"}
        tallyd.post("s", EVENT, headers=of("write", **headers)).expect(200)
        tallyd.post("s", {**EVENT, "v": 2}, headers=of("write", **headers)).problem(422)
        tallyd.post("s", {**EVENT, "v": 3}, headers=of("other", **headers)).expect(200)

    def test_a_reload_revokes_and_tells_the_change_by_name(self):
        tallyd = self.start(TABLE + ALL + entry("gone", "write"))
        head = b"POST /v1/streams/s/events HTTP/1.1\r\nHost: localhost\r\n"
        token = b"Authorization: Bearer secret of gone\r\n"
        body = json.dumps(EVENT).encode()
        with tallyd.raw(head + token + b"Content-Length: 5000\r\n\r\n{") as under_way, \
                tallyd.raw(head + token + b"Content-Length: %d\r\n\r\n" % len(body) + body) as kept:
            self.assertEqual(200, kept.answer().status)
            begin = self.reload(tallyd, TABLE + ALL + entry("new", "write"))
            self.assertEqual(401, under_way.answer().status)
            self.assertLess(time.monotonic() - begin, ANSWER_SECONDS / 2)
            kept.send(head + token + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.assertEqual(401, kept.answer().status)
        tallyd.post("s", EVENT, headers=of("new")).expect(200)
        log = tallyd.log()
        self.assertIn("token gone: removed", log)
        self.assertIn("token new: added", log)

    def test_a_reload_never_takes_the_last_token_away(self):
        tallyd = self.start(TABLE + ALL)
        tallyd.write_config(TABLE)
        refused = tallyd.request("POST", "/-/reload", headers=of("admin"))
        self.assertIn("has no [[auth.tokens]] any more", refused.problem(409)["detail"])
        tallyd.get("/v1/streams").problem(401)
        tallyd.stop()
        self.assertEqual(200, tallyd.start().get("/v1/streams").status)

    def test_a_table_that_tenants_share_is_told_wherever_lint_is_asked(self):
        shared = TABLE + TABLE.replace("tables.T", "tables.U").replace("{host}", "{tenant}#{host}")
        tallyd = self.start(shared + ALL)
        self.assertNotIn("lint S35", tallyd.log())
        self.reload(tallyd, shared + ALL + entry("acme", "write", 'scope = { tenant = "acme" }'))
        self.assertIn("lint S35 of table T", tallyd.log())
        for path, of_lint in (("/v1/status", lambda json: json["lint"]), ("/v1/lint", lambda json: json)):
            findings = of_lint(tallyd.get(path, headers=of("read")).expect(200).json)["findings"]
            self.assertEqual(["T"], [one["table"] for one in findings if one["rule"] == "S35"], path)
        for command in "lint", "check":
            status, said = run(command, "--config", tallyd.config)
            self.assertEqual(0, status, said)
            self.assertRegex(said, "S35 .*T.*tenant")

    def test_a_revoked_reader_gets_no_more_of_its_answer(self):
        tallyd = self.start(TABLE + ALL + entry("gone", "read"))
        text = "x" * 30_000
        for batch in range(10):
            events = [{**EVENT, "ts": EVENT["ts"] + 60 * batch + n, "text": f"{batch} {n} {text}"}
                      for n in range(60)]
            tallyd.post("s", events, headers=of("write")).expect(200)
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.settimeout(ANSWER_SECONDS)
            slow.connect(("127.0.0.1", tallyd.port))
            slow.sendall(b"GET /v1/tables/T/rows?format=ndjson HTTP/1.1\r\nHost: localhost\r\n"
                         b"Authorization: Bearer secret of gone\r\n\r\n")
            self.assertTrue(slow.recv(100).startswith(b"HTTP/1.1 200"))
            self.reload(tallyd, TABLE + ALL)
            eventually(lambda: "gone asks for" in tallyd.log(), "the answer was ended")
            got = b""
            try:
                while piece := slow.recv(1 << 20):
                    got = got[-10:] + piece
            except ConnectionResetError:
                pass
            self.assertFalse(got.endswith(b"0\r\n\r\n"), "the answer came whole")

    def test_a_token_that_expires_is_unknown_from_then_on(self):
        ends = datetime.now(timezone.utc) + timedelta(seconds=1.5)
        expires = f'expires = "{ends.isoformat(timespec="milliseconds").replace("+00:00", "Z")}"'
        tallyd = self.start(TABLE + ALL + entry("short", "read", expires))
        if datetime.now(timezone.utc) < ends - timedelta(seconds=0.5):
            tallyd.get("/v1/streams", headers=of("short")).expect(200)
        eventually(lambda: tallyd.get("/v1/streams", headers=of("short")).status == 401, "it has expired")
        self.assertGreaterEqual(datetime.now(timezone.utc), ends)
        self.assertEqual(tallyd.get("/v1/streams").body,
                         tallyd.get("/v1/streams", headers=of("short")).body)

    def test_whoever_tries_many_tokens_waits_and_whoever_has_one_does_not(self):
        tallyd = self.start(TABLE + ALL)
        statuses = [tallyd.get("/v1/streams", headers=of("nobody")).status for _ in range(40)]
        self.assertEqual({401, 429}, set(statuses))
        self.assertEqual([401] * 10, statuses[:10])
        tallyd.get("/v1/streams", headers=of("read")).expect(200)
        eventually(lambda: tallyd.get("/v1/streams").status == 401, "the second is over")


class ToolTokensTest(E2eTest):
    def file_of(self, directory, token, mode=0o600):
        file = pathlib.Path(directory) / "token"
        file.write_text(token + "\n", encoding="utf-8")
        file.chmod(mode)
        return file

    def test_a_token_is_told_once_with_the_lines_that_make_it_good(self):
        status, said = run("token", "--role", "read,write", "--name", "acme", "--scope", "tenant=acme",
                           "--expires", "2100-01-01T00:00:00Z")
        self.assertEqual(0, status, said)
        token = said.split()[1]
        self.assertRegex(token, r"^tly_[A-Za-z0-9_-]{43}_[0-9a-f]{8}$")
        section = said[said.index("[[auth.tokens]]"):]
        self.assertIn(hashlib.sha256(token.encode()).hexdigest(), section)
        tallyd = self.start(TABLE + ALL + section)
        tallyd.get("/v1/nothing", headers={"Authorization": f"Token {token}"}).expect(404)
        status, said = run("token", "--role", "admin", "--format", "json")
        self.assertEqual(0, status, said)
        said = json.loads(said)
        self.assertEqual(["token", "sha256"], list(said))
        self.assertEqual(hashlib.sha256(said["token"].encode()).hexdigest(), said["sha256"])
        for wrong in ["--role", "root"], ["--role", "read", "--scope", "acme"], ["--role", "read", "--name", "a b"]:
            self.assertEqual(2, run("token", *wrong)[0], wrong)

    def test_tools_bring_the_token_of_a_file_that_others_may_not_read(self):
        tallyd = self.start(TABLE + ALL)
        events = tallyd.directory / "events.ndjson"
        events.write_text(json.dumps(EVENT) + "\n", encoding="utf-8")
        url = f"http://127.0.0.1:{tallyd.port}"
        load = ["load", "--stream", "s", "--url", url, "--quiet", "--retry-for", "0"]
        self.assertEqual(1, run(*load, events)[0], "it needs a token")
        token = self.file_of(tallyd.directory, "secret of write", 0o644)
        status, said = run(*load, "--token-file", token, events)
        self.assertEqual(2, status, said)
        self.assertIn("others may read", said)
        self.assertNotIn("secret", said)
        token = self.file_of(tallyd.directory, "secret-of-no-token")
        self.assertEqual(1, run(*load, "--token-file", token, events)[0])
        tokens = self.real_token(tallyd)
        status, said = run(*load, "--token-file", tokens, events)
        self.assertEqual(0, status, said)
        status, said = run("export", "--stream", "s", "--url", url, "--quiet", "--token-file", tokens)
        self.assertEqual((0, EVENT), (status, json.loads(said)), said)
        backup = tallyd.directory / "backup"
        self.assertEqual(1, run("backup", "--config", tallyd.config, "--to", backup)[0])
        status, said = run("backup", "--config", tallyd.config, "--to", backup, "--token-file", tokens)
        self.assertEqual(0, status, said)

    def real_token(self, tallyd):
        """Tokens of files have no spaces: one more, by which the daemon is reached from now on."""
        made = json.loads(run("token", "--role", "admin", "--format", "json")[1])
        more = f'[[auth.tokens]]\nname = "tools"\nrole = "admin"\nsha256 = "{made["sha256"]}"\n'
        tallyd.write_config(TABLE + ALL + more)
        tallyd.request("POST", "/-/reload", headers=of("admin")).expect(200)
        return self.file_of(tallyd.directory, made["token"])

    def test_a_copy_of_a_store_that_asks_for_tokens_needs_one_where_a_daemon_serves_it(self):
        source = self.start(TABLE + ALL)
        source.post("s", EVENT, headers=of("write")).expect(200)
        target = pathlib.Path(source.directory) / "target.toml"
        target.write_text(f'[storage]\npath = "copied"\n{TABLE}{ALL}', encoding="utf-8")
        copy = ["copy", "--from", source.config, "--to", target, "--quiet", "--retry-for", "0"]
        status, said = run(*copy)
        self.assertEqual(1, status, said)
        self.assertIn("it asks for a token", said)
        status, said = run(*copy, "--token-file", self.real_token(source))
        self.assertEqual(0, status, said)

