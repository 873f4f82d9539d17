"""Strings that break programs, and the JSON test suite: taken exactly, or refused."""

import json

from tests.e2e.tallyd import E2eTest, data_folder
from tests.e2e.test_bad_input import TABLES


class Number(str):
    """The digits of a JSON number as they came."""


class NaughtyTest(E2eTest):
    """Strings that break programs, as values, names, key fields and parameters."""

    def setUp(self):
        file = data_folder("naughty-strings") / "blns.json"
        self.strings = [one for one in dict.fromkeys(json.loads(file.read_text(encoding="utf-8")))
                        if one]
        self.tallyd = self.start(TABLES)

    def lexemes(self, path, params):
        body = self.tallyd.get(path, params).expect(200).text
        answer = json.loads(body, parse_int=Number, parse_float=Number)
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def test_values_come_back_exactly(self):
        self.tallyd.write("s",
                          [{"ts": at, "k": "a", "v": text} for at, text in enumerate(self.strings)])
        self.assertEqual(self.strings,
                         [event["v"] for event in self.tallyd.events("s", k="a", table="ROWS")])
        self.assertEqual(self.strings, [row["cells"]["F"]["v"][0]["value"]
                                        for row in self.tallyd.rows("ROWS", limit=10_000)])
        lines = self.tallyd.get("/v1/streams/s/events", k="a", format="ndjson").lines
        self.assertEqual(self.strings, [event["v"] for event in lines])

    def test_field_names_come_back_exactly(self):
        names = [text for text in self.strings if text not in ("ts", "k")]
        self.tallyd.write("s", {"ts": 1, "k": "a", **{name: at for at, name in enumerate(names)}})
        cells = self.tallyd.cells("LATEST", "a")["F"]
        self.assertEqual({name: at for at, name in enumerate(names)},
                         {name: cell[0]["value"] for name, cell in cells.items()})
        self.assertEqual(sorted(names, key=str.encode), list(cells))
        event = self.tallyd.events("s", k="a", table="ROWS")[0]
        self.assertEqual({"ts": 1, "k": "a", **{name: at for at, name in enumerate(names)}}, event)

    def test_key_fields_come_back_exactly_and_are_found(self):
        self.tallyd.write("s",
                          [{"ts": 1, "k": text, "v": at} for at, text in enumerate(self.strings)])
        self.assertEqual(len(self.strings), len(self.tallyd.keys("ROWS", limit=10_000)))
        for at, text in enumerate(self.strings):
            with self.subTest(text):
                found = self.lexemes("/v1/streams/s/events", {"k": text, "table": "ROWS"})
                self.assertEqual([{"ts": "1", "k": text, "v": str(at)}], found)
        for row in self.tallyd.rows("ROWS", limit=10_000):
            self.assertEqual(row, self.tallyd.row("ROWS", row["key"]).expect(200).json)

    def test_parameters_are_taken_as_they_are(self):
        self.tallyd.write("s",
                          [{"ts": at, "k": "a", "v": text} for at, text in enumerate(self.strings)])
        for at, text in enumerate(self.strings):
            with self.subTest(text):
                self.assertEqual([at],
                                 [event["ts"] for event in self.tallyd.events("s", k="a", v=text)])
                self.tallyd.get("/v1/tables/ROWS/rows", {"prefix": text}).expect(200)
                self.tallyd.get("/v1/streams/s/values", {"field": "k", "prefix": text}).expect(200)
                self.assertLess(self.tallyd.get("/v1/streams/s/events",
                                                {"k": "a", "fields": text}).status, 500)
                self.assertLess(self.tallyd.get("/v1/streams/s/events",
                                                {text: "1", "k": "a"}).status, 500)
                for name in "from", "step", "order", "cursor", "table", "limit", "agg":
                    self.assertLess(self.tallyd.get("/v1/streams/s/events",
                                                    {"k": "a", name: text}).status, 500)


class JsonSuiteTest(E2eTest):
    """JSONTestSuite: y_ must parse, n_ must be refused, i_ is free but never a 5xx."""

    def setUp(self):
        folder = data_folder("json-test-suite") / "test_parsing"
        self.files = {file.name: file.read_bytes() for file in sorted(folder.glob("*.json"))}
        self.tallyd = self.start(TABLES)

    def of_kind(self, kind):
        return {name: body for name, body in self.files.items() if name.startswith(kind)}

    def test_what_must_not_parse_is_refused_as_a_body_and_as_a_value(self):
        for name, body in self.of_kind("n_").items():
            with self.subTest(name):
                self.refused(self.tallyd.post_bytes("s", body))
                if not parses(wrap(body)):
                    self.refused(self.tallyd.post_bytes("s", wrap(body)))
        self.assertEqual([], self.tallyd.keys("ROWS"))

    def test_what_must_parse_is_taken_or_refused_for_its_shape(self):
        for name, body in self.of_kind("y_").items():
            with self.subTest(name):
                self.assert_taken_or_explained(name, body)
                if scalar := lone_scalar(body):
                    self.assert_comes_back(name, scalar)

    def assert_taken_or_explained(self, name, body):
        answer = self.tallyd.post_bytes("s", wrap(body, name))
        if answer.status == 200:
            return
        said = self.refused(answer, 0)
        value = json.loads(body)
        self.assertFalse(isinstance(value, (int, float, str)), (name, said))

    def assert_comes_back(self, name, scalar):
        value = json.loads(scalar)
        if value is not None:
            self.tallyd.post_bytes("s", wrap(scalar, name)).expect(200)
            stored = self.tallyd.cells("LATEST", name)["F"]["v"][0]["value"]
            self.assertEqual(value, stored)
            self.assertEqual(type(value), type(stored))

    def test_what_is_free_is_answered_without_a_failure(self):
        for name, body in self.of_kind("i_").items():
            with self.subTest(name):
                for sent in body, wrap(body), wrap(body.strip()[1:-1]):
                    self.tallyd.post_bytes("s", sent).expect(200, 400, 413)
        for row in self.tallyd.rows("ROWS"):
            json.dumps(row).encode("utf-8", "strict")


def wrap(value, key="a"):
    return b'{"ts":1,"k":"%s","v":%s}' % (key.encode(), value)


def parses(body):
    def refuse(word):
        raise ValueError(word)
    try:
        json.loads(body.decode("utf-8"), parse_constant=refuse)
        return True
    except (ValueError, RecursionError):
        return False


def lone_scalar(body):
    """The text of the only element of an array, where that is a scalar."""
    value = json.loads(body)
    if not isinstance(value, list) or len(value) != 1 or isinstance(value[0], (list, dict)):
        return None
    return body.strip()[1:-1].strip()
