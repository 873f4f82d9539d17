"""OpenTSDB's /api/put: what its agents send, what they are told, and what is stored of it."""

import hashlib
import json

from tests.e2e.bodies import ENCODERS
from tests.e2e.tallyd import E2eTest, run

PROTOCOL = """
[protocols.opentsdb]
stream = "opentsdb"
"""
AT = 1356998400
MANY_FAILED = {"error": {"code": 400, "message": "One or more data points had errors",
                         "details": "Please see the TSD logs or append \"details\" to the put "
                                    "request"}}


def point(metric="sys.cpu", value=1, at=AT, **tags):
    return {"metric": metric, "timestamp": at, "value": value, "tags": tags or {"host": "a"}}


class PutCase(E2eTest):
    def setUp(self):
        self.tallyd = self.start(PROTOCOL)

    def put(self, points, query="", headers=None, path="/api/put"):
        body = points if isinstance(points, bytes) else json.dumps(points).encode()
        headers = {"Content-Type": "application/json", **(headers or {})}
        return self.tallyd.request("POST", path + query, body, headers)

    def stored(self, **filters):
        return self.tallyd.events("opentsdb", scan=1, **filters)

    def fails(self, answer, status, message=None):
        error = answer.expect(status).json["error"]
        self.assertEqual("application/json", answer.header("Content-Type"))
        self.assertEqual(status, error["code"])
        if message:
            self.assertEqual(message, error["message"])
        return error


class GoodPointsTest(PutCase):
    def test_a_point_is_stored_and_answered_with_204(self):
        answer = self.put(point(value=42.5, host="web01", dc="l")).expect(204)
        self.assertEqual(b"", answer.body)
        self.assertEqual([{"ts": AT * 1000, "host": "web01", "dc": "l", "sys.cpu": 42.5}],
                         self.stored())

    def test_points_of_equal_tags_and_time_are_one_event(self):
        self.put([point("a", 1), point("b", 2.5), point("c", "3", host="b"), point("a", 4, AT + 1),
                  point("d", "0.5")], path="/api/v1/put").expect(204)
        self.assertEqual([{"ts": AT * 1000, "host": "a", "a": 1, "b": 2.5, "c": None, "d": 0.5},
                          {"ts": AT * 1000, "host": "b", "a": None, "b": None, "c": 3, "d": None},
                          {"ts": AT * 1000 + 1000, "host": "a", "a": 4, "b": None, "c": None,
                           "d": None}], self.stored())
        self.assertEqual(["host=a#1356998400000", "host=a#1356998401000", "host=b#1356998400000"],
                         self.tallyd.keys("opentsdb"))

    def test_a_time_is_in_seconds_or_milliseconds(self):
        self.put([point(at=AT), point(at=AT * 1000 + 1)]).expect(204)
        self.assertEqual([AT * 1000, AT * 1000 + 1], [one["ts"] for one in self.stored()])

    def test_tags_are_text_whatever_they_look_like(self):
        self.put(b'{"metric":"m","timestamp":1356998400,"value":1,'
                 b'"tags":{"port":80,"load":"1.50"}}').expect(204)
        self.assertEqual([{"ts": AT * 1000, "port": "80", "load": "1.50", "m": 1}], self.stored())

    def test_what_telegraf_sends_is_taken(self):
        body = json.dumps([point("cpu_usage", "97.5"), point("cpu_idle", "2.5")]).encode()
        self.put(ENCODERS["gzip"](body), "", {"Content-Type": "applicaton/json",
                                              "Content-Encoding": "gzip"}).expect(204)
        self.assertEqual([{"ts": AT * 1000, "host": "a", "cpu_usage": 97.5, "cpu_idle": 2.5}],
                         self.stored())

    def test_a_flag_counts_by_being_there(self):
        for query in ("?summary", "?summary=false", "?summary=true&sync&sync_timeout=5"):
            self.assertEqual({"success": 1, "failed": 0}, self.put(point(), query).expect(200).json)
        for query in ("?details", "?details=false", "?summary&details"):
            self.assertEqual({"success": 1, "failed": 0, "errors": []},
                             self.put([point()], query).expect(200).json)
        self.put(point(), "?sync&sync_timeout=60000&unknown=1").expect(204)

    def test_what_was_answered_survives_a_kill(self):
        self.put([point(value=step, at=AT + step) for step in range(50)]).expect(204)
        self.tallyd.kill()
        self.tallyd.start()
        self.assertEqual(list(range(50)), [one["sys.cpu"] for one in self.stored()])

    def test_what_is_sent_again_is_stored_once(self):
        for _ in range(2):
            self.put([point("a"), point("b")]).expect(204)
        self.assertEqual(1, len(self.stored()))


class BadPointsTest(PutCase):
    BAD = [
        ({"timestamp": AT, "value": 1, "tags": {"host": "a"}}, "Metric name was empty"),
        (point(at=0), "Invalid timestamp"),
        (point(value=""), "Empty value"),
        ({"metric": "m", "timestamp": AT, "value": 1}, "Missing tags"),
        (point(value="x"), "Unable to parse value to a number"),
        (point(value=2 ** 63), "Unable to parse value to a number"),
        (point("host"), 'tag "host" has the name of the point\'s own metric'),
        (point("ts"), '"ts" is the field of the time, and neither a metric nor a tag'),
    ]

    def test_good_points_are_kept_beside_bad_ones(self):
        points = [point("a", 1), *(bad for bad, _ in self.BAD), point("b", 2)]
        self.assertEqual(MANY_FAILED, self.put(points).expect(400).json)
        self.assertEqual([{"ts": AT * 1000, "host": "a", "a": 1, "b": 2}], self.stored())

    def test_a_summary_counts_and_details_tell_which_and_why(self):
        points = [point("a", 1), *(bad for bad, _ in self.BAD)]
        self.assertEqual({"success": 1, "failed": len(self.BAD)},
                         self.put(points, "?summary").expect(400).json)
        said = self.put(points, "?summary&details").expect(400).json
        self.assertEqual((1, len(self.BAD)), (said["success"], said["failed"]))
        self.assertEqual([{"datapoint": bad, "error": error} for bad, error in self.BAD],
                         said["errors"])

    def test_what_the_stream_refuses_fails_alone(self):
        tallyd = self.start('[ingest]\nmin_time = "2001-01-01"\nmax_future = "off"\n' + PROTOCOL)
        self.tallyd = tallyd
        points = [point("a", 1), point("a", 1, 5), point("b", 1, 5), point("b", 2)]
        said = self.put(points, "?details").expect(400).json
        self.assertEqual((2, 2), (said["success"], said["failed"]))
        self.assertEqual([points[1], points[2]], [one["datapoint"] for one in said["errors"]])
        self.assertIn("min_time", said["errors"][0]["error"])
        self.assertEqual([{"ts": AT * 1000, "host": "a", "a": 1, "b": 2}], self.stored())

    def test_of_what_is_no_json_nothing_is_stored(self):
        for body in (b"", b"{", b"[" + json.dumps(point()).encode(), b"nonsense", b"[1]",
                     json.dumps([point()]).encode() + b"x"):
            error = self.fails(self.put(body), 400, "Unable to parse the given JSON")
            self.assertTrue(error["details"].startswith("at byte "), error)
        self.fails(self.put([]), 400, "No datapoints found in content")
        self.assertEqual([], self.stored())

    def test_only_post_is_answered(self):
        for method in ("GET", "PUT", "DELETE"):
            for path in ("/api/put", "/api/v1/put"):
                answer = self.tallyd.request(method, path)
                self.fails(answer, 405, "Method not allowed")
                self.assertEqual("POST, OPTIONS", answer.header("Allow"))

    def test_errors_of_the_daemon_have_the_form_of_the_protocol(self):
        self.fails(self.put(point(), headers={"Content-Encoding": "br"}), 415)
        self.fails(self.put(b"not gzip", headers={"Content-Encoding": "gzip"}), 400,
                   "Unable to decode the body")
        tallyd = self.start(PROTOCOL, server='max_body = "64KiB"')
        self.tallyd = tallyd
        big = json.dumps([point(value=step) for step in range(2000)]).encode()
        self.fails(self.put(big), 413)
        self.fails(self.put(ENCODERS["gzip"](big), headers={"Content-Encoding": "gzip"}), 413)


class WhoMayTest(E2eTest):
    def token(self, name, role, more=""):
        secret = json.loads(run("token", "--role", role, "--format", "json")[1])
        self.assertEqual(hashlib.sha256(secret["token"].encode()).hexdigest(), secret["sha256"])
        self.tokens[name] = secret["token"]
        return (f'[[auth.tokens]]\nname = "{name}"\nsha256 = "{secret["sha256"]}"\n'
                f'role = "{role}"\n{more}\n')

    def setUp(self):
        self.tokens = {}
        self.tallyd = self.start(
            PROTOCOL + self.token("writer", "write") + self.token("reader", "read") +
            self.token("acme", "write", 'scope = { tenant = "acme" }'))

    def put(self, name, points, query=""):
        headers = {"Authorization": f"Bearer {self.tokens[name]}"} if name else {}
        return self.tallyd.request("POST", "/api/put" + query, json.dumps(points), headers)

    def test_whoever_has_no_token_or_not_the_role_is_told_in_the_form_of_the_protocol(self):
        self.put("writer", point()).expect(204)
        answer = self.put(None, point()).expect(401)
        self.assertEqual("Bearer", answer.header("WWW-Authenticate"))
        self.assertEqual(401, answer.json["error"]["code"])
        self.assertEqual(403, self.put("reader", point()).expect(403).json["error"]["code"])

    def test_a_scope_takes_its_own_points_alone(self):
        own, other = point("a", 1, tenant="acme"), point("a", 2, tenant="globex")
        said = self.put("acme", [own, other, point("b", 3)], "?details").expect(400).json
        self.assertEqual((1, 2), (said["success"], said["failed"]))
        self.assertEqual([other, point("b", 3)], [one["datapoint"] for one in said["errors"]])


class WithoutTheProtocolTest(E2eTest):
    def test_its_paths_are_not_there(self):
        tallyd = self.start('[tables.T]\nstream = "s"\npattern = "single-timestamp"\n'
                            'row_key = "{k}#{ts:ms}"\nfamilies.F = {}\n')
        tallyd.request("POST", "/api/put", "[]").problem(404)
        tallyd.get("/api/version").problem(404)

    def test_a_reload_brings_them_and_takes_them_away(self):
        tables = ('[tables.T]\nstream = "s"\npattern = "single-timestamp"\n'
                  'row_key = "{k}#{ts:ms}"\nfamilies.F = {}\n')
        tallyd = self.start(tables)
        tallyd.reload(tables + PROTOCOL).expect(200)
        tallyd.request("POST", "/api/put", json.dumps(point())).expect(204)
        self.assertEqual("2.4.0", tallyd.get("/api/version").expect(200).json["version"])
        tallyd.reload(tables).expect(200)
        tallyd.request("POST", "/api/put", json.dumps(point())).problem(404)
