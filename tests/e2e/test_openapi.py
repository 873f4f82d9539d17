"""docs/openapi.yaml lists exactly the routes that the daemon answers."""

import json
import re

from tests.e2e.tallyd import E2eTest, ROOT

DOCUMENT = ROOT / "docs" / "openapi.yaml"
METHODS = ("get", "post", "put", "delete", "patch")
TABLES = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}

[tables.CURRENT]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}

[protocols.opentsdb]
stream = "opentsdb"

[protocols.influx]
stream = "influx"
"""
# Under which errors have a protocol's own form.
PROTOCOL_PATHS = ("/api/", "/write", "/ping", "/health", "/query")
# What some of these cannot do without.
PROTOCOL_PARAMS = {"/write": {"db": "d"}, "/api/v2/write": {"bucket": "b"},
                   "/api/v3/write_lp": {"db": "d"}, "/ping": {"verbose": "true"},
                   "/query": {"q": "SHOW DATABASES"}}
for root in "/api", "/api/v1":
    PROTOCOL_PARAMS |= {f"{root}/query": {"start": "1h-ago", "m": "sum:server.v"},
                        f"{root}/query/last": {"timeseries": "server.v"},
                        f"{root}/suggest": {"type": "metrics"},
                        f"{root}/search/lookup": {"m": "server.v"}}
EVENT = {"ts": 1, "hostname": "a", "v": 1}
ROW = "a%230000000000001"
VALUES = {"stream": "server", "table": "METRIC", "key": ROW, "family": "METRIC", "qualifier": "v",
          "file": "main.mjs", "column": "METRIC:v", "family}:{qualifier": "METRIC:v"}
# What the daemon must answer at least, as the contract names it.
CONTRACT = {
    ("POST", "/v1/streams/server/events"), ("GET", "/v1/streams/server/events"),
    ("DELETE", "/v1/streams/server/events"),
    ("GET", "/v1/streams/server/plan"), ("GET", "/v1/streams/server/latest"),
    ("GET", "/v1/streams"), ("GET", "/v1/streams/server"),
    ("GET", "/v1/streams/server/fields"), ("GET", "/v1/streams/server/values"),
    ("GET", "/v1/streams/server/series"),
    ("GET", "/v1/tables"), ("GET", "/v1/tables/METRIC"), ("DELETE", "/v1/tables/METRIC"),
    ("GET", "/v1/tables/METRIC/rows"), ("DELETE", "/v1/tables/METRIC/rows"),
    ("GET", f"/v1/tables/METRIC/rows/{ROW}"), ("DELETE", f"/v1/tables/METRIC/rows/{ROW}"),
    ("DELETE", f"/v1/tables/METRIC/rows/{ROW}/cells/METRIC:v"),
    ("POST", f"/v1/tables/METRIC/rows/{ROW}/mutations"),
    ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/v1/status"),
    ("GET", "/v1/heatmap"), ("GET", "/ui/"),
    ("POST", "/-/reload"),
    ("POST", "/-/settle"), ("POST", "/-/trust-clock"), ("POST", "/v1/backup"),
}


# Types that a client may send or ask for.
TYPES = {"application/json", "text/json", "application/x-www-form-urlencoded",
         "application/x-ndjson", "application/ndjson", "application/jsonlines",
         "application/json-lines", "text/csv", "text/tab-separated-values", "text/plain",
         "application/xml",
         "multipart/form-data", "application/octet-stream", "application/x-protobuf"}
MEDIA_TYPE = re.compile(r"([a-z]+/[a-z0-9.+-]+): \{ schema")


class Operation:
    """The media types of one method of a path."""

    def __init__(self):
        self.takes, self.gives, self.refuses = set(), set(), set()


def documented():
    """(METHOD, path) -> Operation. Reads the subset of YAML that the document keeps to: under
    `paths:` a path at two spaces, a method at four, requestBody and responses at six, each status
    in one line."""
    found, path, operation, section = {}, None, None, None
    inside = False
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if re.match(r"\S", line):
            inside = line.rstrip() == "paths:"
        elif not inside:
            continue
        elif match := re.match(r"  (/\S*):$", line):
            path = match[1]
        elif (match := re.match(r"    (\w+):$", line)) and match[1] in METHODS:
            operation = found[match[1].upper(), path] = Operation()
        elif match := re.match(r"      (\w+):", line):
            section = match[1]
        elif section == "requestBody":
            operation.takes.update(MEDIA_TYPE.findall(line))
        elif section == "responses":
            kind = operation.gives if '"200"' in line else operation.refuses
            kind.update(MEDIA_TYPE.findall(line))
            if "components/responses/Problem" in line:
                operation.refuses.add("application/problem+json")
    return found


def concrete(path):
    """The path with names of things that exist."""
    return re.sub(r"\{([^/]+?)\}(?=[/:]|$)", lambda match: VALUES[match[1]], path)


class OpenApiTest(E2eTest):
    def ask(self, method, path, accept=None, body=b"[]", content_type="application/json"):
        """One request; whatever it removes is there again for the next."""
        self.tallyd.write("server", EVENT)
        headers = {"Accept": accept} if accept else {}
        if method not in ("POST", "PUT", "PATCH"):
            body = None
        else:
            headers["Content-Type"] = content_type
        params = {"field": "hostname"} if path.endswith("/values") else {}
        params = PROTOCOL_PARAMS.get(path, params)
        if path == "/v1/heatmap":
            params = {"table": "METRIC"}
        if path.endswith("/events") and method == "GET":
            params = {"hostname": "a"}
        return self.tallyd.request(method, path, body, headers, params)

    def setUp(self):
        self.operations = documented()
        self.tallyd = self.start(TABLES)

    def test_each_media_type_of_an_answer_is_documented_and_given(self):
        for (method, path), operation in sorted(self.operations.items()):
            if method != "GET" or not operation.gives:  # A redirect gives nothing.
                continue
            for accept in sorted(TYPES):
                with self.subTest(f"{method} {path} {accept}"):
                    answer = self.ask(method, concrete(path), accept).expect(200)
                    given = answer.header("Content-Type").split(";")[0]
                    self.assertIn(given, operation.gives)
                    if accept in operation.gives:
                        self.assertEqual(accept, given)

    def test_an_answer_to_a_change_comes_as_documented(self):
        for (method, path), operation in sorted(self.operations.items()):
            if method != "GET":
                with self.subTest(f"{method} {path}"):
                    answer = self.ask(method, concrete(path))
                    kinds = operation.gives if answer.status == 200 else operation.refuses
                    self.assertIn(answer.header("Content-Type").split(";")[0], kinds)

    def test_each_media_type_of_a_body_is_documented_and_taken(self):
        good = {"text/csv": b"ts,hostname,v\n1,a,1\n"}
        for (method, path), operation in sorted(self.operations.items()):
            if not (operation.takes and path.endswith("/events")):
                continue
            for sent in sorted(TYPES):
                with self.subTest(f"{method} {path} {sent}"):
                    taken = sent in operation.takes
                    event = good.get(sent, json.dumps(EVENT).encode() + b"\n")
                    answer = self.ask(method, concrete(path), None,
                                      event if taken else b"<event/>", sent)
                    answer.expect(200 if taken else 415)

    def test_a_refusal_comes_as_documented(self):
        for (method, path), operation in sorted(self.operations.items()):
            with self.subTest(f"{method} {path}"):
                if "application/problem+json" in operation.refuses:
                    self.tallyd.request(method, concrete(path) + "?%zz").problem(400)

    def test_each_answer_in_json_ends_its_line(self):
        for method, path in sorted(self.operations):
            for target in (path, path + "?none=1", path + "?%zz"):
                with self.subTest(f"{method} {target}"):
                    answer = self.ask(method, concrete(target))
                    if "json" in answer.header("Content-Type"):
                        self.assertEqual(b"\n", answer.body[-1:], answer.body[-100:])
        dry = self.tallyd.post("server", EVENT, dry_run=1).expect(200)
        self.assertEqual(b"}\n", dry.body[-2:])

    def test_the_document_has_every_route_of_the_contract(self):
        self.assertEqual(set(),
                         CONTRACT - {(method, concrete(path)) for method, path in self.operations})

    def test_every_documented_operation_is_answered(self):
        removal = ("DELETE", "/v1/tables/{table}")
        for method, path in sorted(self.operations.keys() - {removal}):
            with self.subTest(f"{method} {path}"):
                answer = self.ask(method, concrete(path))
                self.assertNotIn(answer.status, (404, 405, 501), answer.body[:500])
                self.assertLess(answer.status, 500, answer.body[:500])
        if removal in self.operations:
            self.assertNotEqual(405, self.ask("DELETE", "/v1/tables/METRIC").status)

    def test_methods_that_are_not_documented_are_405_and_allow_those_that_are(self):
        for path in sorted({path for _, path in self.operations}):
            right = {method for method, one in self.operations if one == path}
            for method in {name.upper() for name in METHODS} - right:
                with self.subTest(f"{method} {path}"):
                    answer = self.ask(method, concrete(path)).expect(405)
                    if not path.startswith(PROTOCOL_PATHS):
                        answer.problem(405)
                    allowed = {name.strip() for name in answer.header("Allow").split(",")}
                    self.assertEqual(right, allowed - {"HEAD", "OPTIONS"})

    def test_a_path_that_is_not_documented_is_404(self):
        for path in "/v1", "/v2/streams", "/v1/stream", "/v1/streams/server/event", "/-/none":
            if not any(concrete(one) == path for _, one in self.operations):
                self.tallyd.get(path).problem(404)
