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
"""
EVENT = {"ts": 1, "hostname": "a", "v": 1}
ROW = "a%230000000000001"
VALUES = {"stream": "server", "table": "METRIC", "key": ROW, "family": "METRIC", "qualifier": "v",
          "column": "METRIC:v", "family}:{qualifier": "METRIC:v"}
# What the daemon must answer at least, as the contract names it.
CONTRACT = {
    ("POST", "/v1/streams/server/events"), ("GET", "/v1/streams/server/events"),
    ("DELETE", "/v1/streams/server/events"),
    ("GET", "/v1/streams/server/plan"), ("GET", "/v1/streams/server/latest"),
    ("GET", "/v1/streams"),
    ("GET", "/v1/streams/server/fields"), ("GET", "/v1/streams/server/values"),
    ("GET", "/v1/tables"), ("GET", "/v1/tables/METRIC"), ("DELETE", "/v1/tables/METRIC"),
    ("GET", "/v1/tables/METRIC/rows"), ("DELETE", "/v1/tables/METRIC/rows"),
    ("GET", f"/v1/tables/METRIC/rows/{ROW}"), ("DELETE", f"/v1/tables/METRIC/rows/{ROW}"),
    ("DELETE", f"/v1/tables/METRIC/rows/{ROW}/cells/METRIC:v"),
    ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics"), ("GET", "/v1/status"),
    ("POST", "/-/reload"),
    ("POST", "/-/settle"), ("POST", "/-/trust-clock"), ("POST", "/v1/backup"),
}


def documented():
    """(METHOD, path) of each operation. Reads the subset of YAML that the document keeps to: under
    `paths:`, a path at two spaces and a method at four (or it is JSON)."""
    text = DOCUMENT.read_text(encoding="utf-8")
    try:
        return {(method.upper(), path) for path, item in json.loads(text)["paths"].items()
                for method in item if method in METHODS}
    except ValueError:
        pass
    found, path, inside = set(), None, False
    for line in text.splitlines():
        if re.match(r"\S", line):
            inside = line.rstrip() == "paths:"
        elif inside and (match := re.match(r"""  ['"]?(/[^'"]*?)['"]?:\s*$""", line)):
            path = match[1]
        elif inside and (match := re.match(r"    (\w+):", line)) and match[1] in METHODS:
            found.add((match[1].upper(), path))
    return found


def concrete(path):
    """The path with names of things that exist."""
    return re.sub(r"\{([^/]+?)\}(?=[/:]|$)", lambda match: VALUES[match[1]], path)


class OpenApiTest(E2eTest):
    def ask(self, method, path):
        """One request; whatever it removes is there again for the next."""
        self.tallyd.write("server", EVENT)
        body, headers = (b"[]", {"Content-Type": "application/json"}) if method in ("POST", "PUT",
                                                                                    "PATCH") else (
                                                                                        None, {})
        params = {"field": "hostname"} if path.endswith("/values") else {}
        return self.tallyd.request(method, path, body, headers, params)

    def setUp(self):
        self.operations = documented()
        self.tallyd = self.start(TABLES)

    def test_the_document_has_every_route_of_the_contract(self):
        self.assertEqual(set(),
                         CONTRACT - {(method, concrete(path)) for method, path in self.operations})

    def test_every_documented_operation_is_answered(self):
        removal = ("DELETE", "/v1/tables/{table}")
        for method, path in sorted(self.operations - {removal}):
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
                    answer = self.ask(method, concrete(path))
                    answer.problem(405)
                    allowed = {name.strip() for name in answer.header("Allow").split(",")}
                    self.assertEqual(right, allowed - {"HEAD", "OPTIONS"})

    def test_a_path_that_is_not_documented_is_404(self):
        for path in "/v1", "/v2/streams", "/v1/stream", "/v1/streams/server/event", "/-/none":
            if not any(concrete(one) == path for _, one in self.operations):
                self.tallyd.get(path).problem(404)
