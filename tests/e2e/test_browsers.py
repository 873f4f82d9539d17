"""Pages of browsers: who may call, what they are told, what they may ask beforehand."""

import unittest

from tests.e2e.tallyd import E2eTest, eventually, run
from tests.e2e.test_secrets import entry, new_token
from tests.e2e.test_seeds_keys import table

TABLES = table("LOG", "{h}#{ts:ms}")
PAGE = "https://grafana.example.org"
EVENT = b'{"ts": 1, "h": "a", "v": 1}'


def cors_of(answer):
    return {name.lower(): value for name, value in answer.headers.items()
            if name.lower().startswith("access-control-")}


class BrowserTest(E2eTest):
    def asked(self, tallyd, method="GET", path="/v1/streams", origin=PAGE, body=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return tallyd.request(method, path, body, {"Origin": origin, **headers})

    def test_a_page_of_cors_reads_writes_and_asks_beforehand_and_no_other_does(self):
        tallyd = self.start(TABLES, server=f'cors = ["{PAGE}", "http://panel.example.org:3000"]')
        answer = self.asked(tallyd).expect(200)
        self.assertEqual((PAGE, "Origin"),
                         (answer.header("Access-Control-Allow-Origin"), answer.header("Vary")))
        self.assertIn("Link", answer.header("Access-Control-Expose-Headers"))
        self.assertEqual(PAGE, cors_of(self.asked(tallyd, path="/v1/none").expect(404))
                         ["access-control-allow-origin"], "it may read why, too")
        path = "/v1/streams/log/events"
        asks = {"Access_Control_Request_Method": "POST",
                "Access_Control_Request_Headers": "authorization,content-type"}
        said = self.asked(tallyd, "OPTIONS", path, **asks).expect(204)
        self.assertEqual(b"", said.body)
        self.assertEqual("", said.header("Content-Length") + said.header("Content-Type"))
        told = cors_of(said)
        self.assertEqual(PAGE, told["access-control-allow-origin"])
        self.assertEqual({"GET", "HEAD", "POST", "DELETE", "OPTIONS"},
                         set(told["access-control-allow-methods"].split(", ")))
        self.assertEqual({"Authorization", "Content-Type", "Content-Encoding", "Idempotency-Key",
                          "Accept"}, set(told["access-control-allow-headers"].split(", ")))
        self.assertGreater(int(told["access-control-max-age"]), 0)
        self.assertNotIn("access-control-allow-credentials", told)
        self.asked(tallyd, "POST", path, body=EVENT, Content_Type="application/json").expect(200)
        for foreign in ("https://evil.example", "http://grafana.example.org", PAGE + ":8443",
                        "null", PAGE.upper()):
            with self.subTest(foreign):
                self.assertEqual({}, cors_of(self.asked(tallyd, origin=foreign).expect(200)))
                self.assertEqual({}, cors_of(self.asked(tallyd, "OPTIONS", path, foreign, **asks)
                                             .expect(204)))
                self.asked(tallyd, "POST", path, foreign, EVENT).problem(403)
        self.assertEqual({}, cors_of(tallyd.get("/v1/streams")))

    def test_without_cors_no_page_is_told_anything_and_options_tells_the_methods(self):
        tallyd = self.start(TABLES)
        answer = self.asked(tallyd).expect(200)
        self.assertEqual(({}, ""), (cors_of(answer), answer.header("Vary")))
        for path, allow in (("/v1/streams", "GET, HEAD, OPTIONS"), ("/-/reload", "POST, OPTIONS"),
                            ("/nowhere", "OPTIONS")):
            said = tallyd.request("OPTIONS", path).expect(204)
            self.assertEqual((allow, b""), (said.header("Allow"), said.body))
        with tallyd.raw(b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as raw:
            self.assertEqual([204, 200], [raw.answer().status, raw.answer().status])
        tallyd.request("OPTIONS", "/v1/streams", None, {"Host": "evil.example"}).problem(403)

    def test_with_tokens_a_page_of_cors_asks_beforehand_by_any_name_of_the_daemon(self):
        token = new_token()
        tallyd = self.start(TABLES + entry("all", token), server=f'cors = ["{PAGE}"]')
        name = {"Host": "tallyd.example.org:8443"}
        asks = {"Access_Control_Request_Method": "GET",
                "Access_Control_Request_Headers": "authorization"}
        told = cors_of(self.asked(tallyd, "OPTIONS", **name, **asks).expect(204))
        self.assertIn("Authorization", told["access-control-allow-headers"])
        answer = self.asked(tallyd, Authorization=f"Bearer {token}", **name).expect(200)
        self.assertEqual(PAGE, answer.header("Access-Control-Allow-Origin"))
        refused = self.asked(tallyd).expect(401)
        self.assertEqual(PAGE, refused.header("Access-Control-Allow-Origin"), "it may read why")
        self.assertIn("WWW-Authenticate", refused.header("Access-Control-Expose-Headers"))
        self.asked(tallyd, "OPTIONS", **name).problem(403)

    def test_a_reload_applies_cors_and_nothing_else_of_the_server(self):
        tallyd = self.start(TABLES)
        tallyd.server = f'cors = ["{PAGE}"]'
        tallyd.reload(TABLES).expect(200)
        self.assertEqual(PAGE, self.asked(tallyd).header("Access-Control-Allow-Origin"))
        tallyd.server = 'hosts = ["tallyd.example.org"]'
        self.assertIn("server.hosts", tallyd.reload(TABLES).problem(409)["detail"])
        self.assertEqual(PAGE, self.asked(tallyd).header("Access-Control-Allow-Origin"))
        tallyd.server = 'cors = ["*"]'
        self.assertIn("name each origin", tallyd.reload(TABLES).problem(409)["detail"])
        status, text = run("check", "--config", tallyd.config)
        self.assertEqual(2, status)
        self.assertIn("server.cors", text)
        tallyd.server = ""
        tallyd.reload(TABLES).expect(200)
        self.assertEqual({}, cors_of(self.asked(tallyd)))

    def test_every_answer_is_neither_guessed_at_nor_kept(self):
        tallyd = self.start(TABLES, server="max_connections = 3")
        for request, status in ((b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 403),
                                (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
                                (b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
                                (b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n", 204),
                                (b"nonsense\r\n\r\n", 400)):
            with tallyd.raw(request) as raw:
                self.is_guarded(raw.answer().expect(status))
        held = []
        self.addCleanup(lambda: [one.socket.close() for one in held])

        def is_full():
            # What is held may itself have been refused, beside those of before that were there.
            held.append(tallyd.raw())
            with tallyd.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as raw:
                answer = raw.answer()
            self.is_guarded(answer)
            return answer.status == 503

        eventually(is_full, "three connections are open")

    def is_guarded(self, answer):
        self.assertEqual(("nosniff", "no-store"), (answer.header("X-Content-Type-Options"),
                                                   answer.header("Cache-Control")))


if __name__ == "__main__":
    unittest.main()
