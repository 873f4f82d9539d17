"""Bad input is refused with its reason, stores nothing and never harms the daemon."""

import gzip
import json
import zlib

from tests.e2e.bodies import ENCODERS, ndjson, snappy_length, zstd, zstd_rle
from tests.e2e.tallyd import E2eTest

TABLES = """
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}

[tables.LATEST]
stream = "s"
pattern = "latest"
row_key = "{k}"
families.F = {}

[tables.PADDED]
stream = "p"
pattern = "single-timestamp"
row_key = "{n:zero(4)}#{t:pad(4)}#{d:reverse_digits}#{ts:ms}"
families.F = {}
"""
GOOD = '{"ts":1,"k":"a","v":1}'

# Bodies that are no events at all.
UNREADABLE = {
    "nothing": b"", "a space": b" ", "a number": b"1", "a string": b'"x"', "null": b"null",
    "true": b"true",
    "a truncated object": b'{"ts":1,"k":"a","v":', "a truncated array": b'[{"ts":1,"k":"a","v":1}',
    "a truncated string": b'{"ts":1,"k":"a","v":"x', "trailing text": b'{"ts":1,"k":"a","v":1} x',
    "a trailing comma": b'[{"ts":1,"k":"a","v":1},]', "two arrays": b"[" + GOOD.encode() + b"][]",
    "single quotes": b"{'ts':1}", "no quotes": b"{ts:1}",
    "invalid UTF-8": b'{"ts":1,"k":"a","v":"\xff"}',
    "invalid UTF-8 in a name": b'{"ts":1,"k":"a","\xc3\x28":1}',
    "an overlong UTF-8": b'{"ts":1,"k":"\xc0\xaf","v":1}',
    "a UTF-8 surrogate": b'{"ts":1,"k":"a","v":"\xed\xa0\x80"}',
    "a control byte": b'{"ts":1,"k":"a\x01","v":1}',
    "NaN": b'{"ts":1,"k":"a","v":NaN}', "Infinity": b'{"ts":1,"k":"a","v":Infinity}',
    "a leading zero": b'{"ts":1,"k":"a","v":01}', "a plus": b'{"ts":1,"k":"a","v":+1}',
    "hex": b'{"ts":1,"k":"a","v":0x1}', "a comment": b'{"ts":1,"k":"a",/**/"v":1}',
    "UTF-16": GOOD.encode("utf-16"), "arrays in an array": b"[[" + GOOD.encode() + b"]]",
    "deep arrays": b"[" * 100_000, "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a deep field": b'{"ts":1,"k":"a","v":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
    "events that are no array": b'{"events": 1}', "binary": bytes(range(256)),
}

# Events of stream s that are refused, each with the field at fault (None: the contract names none).
REFUSED = {
    "an array": ('{"ts":1,"k":"a","v":[1]}', "v"),
    "an empty array": ('{"ts":1,"k":"a","v":[]}', "v"),
    "a nested array": ('{"ts":1,"k":"a","v":{"w":[{}]}}', "v/w"),
    "a duplicate key": ('{"ts":1,"k":"a","v":1,"v":2}', "v"),
    "a duplicate key field": ('{"ts":1,"k":"a","k":"b","v":1}', "k"),
    "a duplicate time": ('{"ts":1,"ts":2,"k":"a","v":1}', "ts"),
    "an integer beyond 64 bits": ('{"ts":1,"k":"a","v":9223372036854775808}', "v"),
    "an integer beyond unsigned 64 bits": ('{"ts":1,"k":"a","v":18446744073709551616}', "v"),
    "an integer below 64 bits": ('{"ts":1,"k":"a","v":-9223372036854775809}', "v"),
    "a float beyond doubles": ('{"ts":1,"k":"a","v":1e999}', "v"),
    "a missing key field": ('{"ts":1,"v":1}', "k"),
    "an empty key field": ('{"ts":1,"k":"","v":1}', "k"),
    "a null key field": ('{"ts":1,"k":null,"v":1}', "k"),
    "a key field that is an object": ('{"ts":1,"k":{"a":1},"v":1}', "k"),
    "a time in words": ('{"ts":"yesterday","k":"a","v":1}', "ts"),
    "an empty time": ('{"ts":"","k":"a","v":1}', "ts"),
    "a time that is true": ('{"ts":true,"k":"a","v":1}', "ts"),
    "a day that is none": ('{"ts":"2021-02-29T00:00:00Z","k":"a","v":1}', "ts"),
    "an hour that is none": ('{"ts":"2021-02-28T24:01:00Z","k":"a","v":1}', "ts"),
    "a time before 1970": ('{"ts":-1,"k":"a","v":1}', "ts"),
    "a text time before 1970": ('{"ts":"1969-12-31T23:59:59.999Z","k":"a","v":1}', "ts"),
    "a time too late": ('{"ts":10000000000000,"k":"a","v":1}', "ts"),
    "a time far too late": ('{"ts":9223372036854775807,"k":"a","v":1}', "ts"),
    "a text time too late": ('{"ts":"2286-11-20T17:46:40Z","k":"a","v":1}', "ts"),
    "a key over 4 KiB": ('{"ts":1,"k":"%s","v":1}' % ("x" * 4096), None),
    "a qualifier over 16 KiB": ('{"ts":1,"k":"a","%s":1}' % ("q" * 16385), None),
    "no object": ("17", None), "null": ("null", None),
}
REFUSED_PADDED = {
    "a number wider than its padding": ('{"ts":1,"n":12345,"t":"a","d":1,"v":1}', "n"),
    "a negative number": ('{"ts":1,"n":-1,"t":"a","d":1,"v":1}', "n"),
    "a number that is a word": ('{"ts":1,"n":"x","t":"a","d":1,"v":1}', "n"),
    "a text wider than its padding": ('{"ts":1,"n":1,"t":"abcde","d":1,"v":1}', "t"),
    "a text that ends in a space": ('{"ts":1,"n":1,"t":"a ","d":1,"v":1}', "t"),
    "digits that are a word": ('{"ts":1,"n":1,"t":"a","d":"x1","v":1}', "d"),
}


class RefusalTest(E2eTest):
    def setUp(self):
        self.tallyd = self.start(TABLES)

    def tearDown(self):
        self.assert_empty()

    def assert_empty(self):
        for table in "ROWS", "LATEST", "PADDED":
            self.assertEqual([], self.tallyd.keys(table))

    def test_a_body_that_is_no_batch_is_refused(self):
        for what, body in UNREADABLE.items():
            with self.subTest(what):
                self.refused(self.tallyd.post_bytes("s", body))
        self.assert_empty()

    def test_a_bad_line_of_ndjson_is_refused(self):
        for line in b'{"ts":1', b'{"ts":1} x', b"x", b"[", GOOD.encode() * 2:
            with self.subTest(line):
                body = GOOD.encode() + b"\n" + line + b"\n" + GOOD.encode() + b"\n"
                self.refused(self.tallyd.post_bytes("s", body, "application/x-ndjson"), 1)

    def test_a_syntax_error_has_the_index_of_its_event(self):
        for before in range(3):
            for event in '{"ts":1,"k":"a","v":x}', '{"ts":1 "k":"a"}', '{"ts":1,"k":"a\x01"}':
                with self.subTest(before=before, event=event):
                    array = f"[{(GOOD + ',') * before}{event},{GOOD}]"
                    for body in array, '{"events": %s}' % array:
                        self.refused(self.tallyd.post_bytes("s", body.encode()), before)
                    lines = f"{(GOOD + chr(10)) * before}{event}\n{GOOD}\n"
                    self.refused(self.tallyd.post_bytes("s", lines.encode(),
                                                        "application/x-ndjson"), before)

    def test_a_bad_event_is_refused_with_its_index_field_and_reason(self):
        for stream, cases in ("s", REFUSED), ("p", REFUSED_PADDED):
            good = GOOD if stream == "s" else '{"ts":1,"n":1,"t":"a","d":1,"v":1}'
            for what, (event, field) in cases.items():
                with self.subTest(what):
                    body = f"[{good},{good},{event},{good}]".encode()
                    self.refused(self.tallyd.post_bytes(stream, body), 2, field)
                with self.subTest(what + " alone"):
                    self.refused(self.tallyd.post_bytes(stream, event.encode()))

    def test_a_bad_event_is_named_in_ndjson_too(self):
        for what, (event, field) in REFUSED.items():
            with self.subTest(what):
                body = f"{GOOD}\n{event}\n{GOOD}\n".encode()
                self.refused(self.tallyd.post_bytes("s", body, "application/x-ndjson"), 1, field)

    def test_a_cell_over_100_mib_is_refused(self):
        tallyd = self.start(TABLES, server='max_body = "256MiB"')
        body = b'{"ts":1,"k":"a","v":"' + b"x" * (100 * 1024 * 1024 + 1) + b'"}'
        answer = tallyd.post_bytes("s", body)
        answer.problem(400, 413)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_unknown_things_are_404(self):
        for path in ("/v1/streams/none", "/v1/streams/none/events", "/v1/streams/none/latest",
                     "/v1/streams/none/fields",
                     "/v1/streams/none/plan", "/v1/tables/NONE", "/v1/tables/NONE/rows",
                     "/v1/tables/NONE/rows/a",
                     "/v1/tables/ROWS/rows/none", "/v1/none", "/none", "/v1", "/v1/streams/s/none"):
            with self.subTest(path):
                self.tallyd.get(path).problem(404)
        self.tallyd.post("none", json.loads(GOOD)).problem(404)
        self.tallyd.delete("/v1/tables/NONE/rows", prefix="a").problem(404)

    def test_wrong_methods_are_405_with_the_right_ones(self):
        for method, path, right in (("PUT", "/v1/streams/s/events", "POST"),
                                    ("POST", "/v1/tables/ROWS/rows", "GET"),
                                    ("POST", "/v1/streams/s/latest", "GET"),
                                    ("DELETE", "/healthz", "GET"),
                                    ("GET", "/-/reload", "POST"), ("PATCH", "/v1/tables", "GET")):
            with self.subTest(f"{method} {path}"):
                answer = self.tallyd.request(method, path, b"{}")
                answer.problem(405)
                self.assertIn(right, answer.header("Allow"))

    def test_an_unknown_type_or_encoding_is_415(self):
        for kind in "application/xml", "text/plain; charset=utf-8", "image/png", "nonsense":
            with self.subTest(kind):
                self.tallyd.post_bytes("s", GOOD.encode(), kind).problem(415)
        for encoding in "br", "compress", "nonsense":
            with self.subTest(encoding):
                self.tallyd.post_bytes("s", GOOD.encode(),
                                       headers={"Content-Encoding": encoding}).problem(415)

    def test_a_target_that_is_no_url_is_400(self):
        for target in "streams/s/events?k=%zz", "tables/ROWS/rows/%", "tables/ROWS/rows/%f":
            with self.subTest(target):
                self.tallyd.get(f"/v1/{target}").problem(400)
        self.tallyd.get("/v1/tables/ROWS/rows/%FF").problem(400, 404)


class LimitsTest(E2eTest):
    def test_bad_parameters_are_400(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(GOOD))
        tallyd.get("/v1/streams/s/events", k="a").expect(200)
        for query in ({"limit": "x"}, {"limit": "-1"}, {"order": "up"}, {"from": "soon"},
                      {"to": "-x"},
                      {"cursor": "%%%"}, {"cursor": "AAAA"}, {"step": "0s", "agg": "max"},
                      {"step": "x", "agg": "max"},
                      {"step": "-1m", "agg": "max"}, {"step": "1m", "agg": "median"},
                      {"format": "xml"},
                      {"table": "NONE"}, {"limit": "99999999999999999999"}):
            with self.subTest(query):
                tallyd.get("/v1/streams/s/events", {"k": "a", **query}).problem(400, 404, 406)
        for query in ({"limit": "x"}, {"versions": "-1"}, {"versions": "x"}, {"from": "soon"},
                      {"cursor": "%%%"}):
            with self.subTest(query):
                tallyd.get("/v1/tables/ROWS/rows", query).problem(400)

    def test_a_scalar_parameter_given_twice_is_400(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(GOOD))
        scalars = {
            "/v1/streams/s/events": ("from", "to", "limit", "order", "cursor", "table", "step",
                                     "scan", "format"),
            "/v1/streams/s/latest": ("limit", "cursor", "table", "format"),
            "/v1/streams/s/values": ("field", "prefix", "limit", "cursor"),
            "/v1/tables/ROWS/rows": ("prefix", "start", "end", "from", "to", "versions", "value",
                                     "reverse", "limit", "cursor", "raw", "format"),
        }
        value = {"from": "0", "to": "now", "limit": "1", "order": "asc", "table": "ROWS",
                 "format": "json", "step": "1m", "field": "k", "versions": "1"}
        for path, names in scalars.items():
            for name in names:
                with self.subTest(f"{path} {name}"):
                    said = tallyd.get(path, {name: [value.get(name, "1")] * 2}).problem(400)
                    self.assertIn(f"{name}: given more than once", said["detail"])
        self.assertEqual(1, len(tallyd.events("s", k=["a", "a"])))
        tallyd.post("s", {"ts": 1, "k": "a", "v": 1}, dry_run=[1, 1]).problem(400)
        tallyd.delete("/v1/tables/ROWS/rows", prefix=["a", "b"]).problem(400)
        tallyd.delete("/v1/streams/s/events", {"k": "a", "from": ["0", "now"]}).problem(400)
        self.assertEqual(1, len(tallyd.keys("ROWS")))

    def test_a_bound_that_may_be_in_seconds_is_400_with_a_hint(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(GOOD))
        for at in "1", "1426535612", "99999999999":
            for name in "from", "to":
                for path in "/v1/streams/s/events", "/v1/tables/ROWS/rows":
                    with self.subTest(f"{path} {name}={at}"):
                        said = tallyd.get(path, {"k": "a"} if "events" in path else {},
                                          **{name: at}).problem(400)
                        self.assertIn("seconds", said["detail"])
                tallyd.delete("/v1/streams/s/events", {"k": "a", name: at}).problem(400)
        self.assertEqual(1, len(tallyd.events("s", k="a", from_="0", to="100000000000")))

    def test_a_bound_in_a_finer_unit_or_without_one_is_400_with_a_hint(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(GOOD))
        for at, hint in (("1700000300000000", "microseconds"),
                         ("1700000300000000000", "nanoseconds"), ("-15", "-15m")):
            for name in "from", "to":
                with self.subTest(f"{name}={at}"):
                    said = tallyd.get("/v1/streams/s/events", k="a", **{name: at}).problem(400)
                    self.assertIn(hint, said["detail"])
                    said = tallyd.get("/v1/tables/ROWS/rows", **{name: at}).problem(400)
                    self.assertIn(hint, said["detail"])
                    said = tallyd.delete("/v1/streams/s/events",
                                         {"k": "a", name: at}).problem(400)
                    self.assertIn(hint, said["detail"])
        self.assertEqual(1, len(tallyd.keys("ROWS")))

    def test_the_time_is_bounded_and_neither_filtered_nor_grouped(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(GOOD))
        for params in {"ts": "1"}, {"where": "ts>1"}, {"step": "1h", "agg": "count", "by": "ts"}:
            said = tallyd.get("/v1/streams/s/events", {"k": "a", **params}).problem(400)
            self.assertIn("the time", said["detail"])
        tallyd.delete("/v1/streams/s/events", {"k": "a", "ts": "1"}).problem(400)
        self.assertEqual([{"ts": 1, "k": "a", "v": 1}], tallyd.events("s", k="a", fields="ts,v"))

    def test_an_empty_filter_of_a_delete_is_400(self):
        tallyd = self.start(TABLES)
        tallyd.write("s", json.loads(GOOD))
        for k in "", ["a", ""]:
            tallyd.delete("/v1/streams/s/events", k=k).problem(400)
        tallyd.delete("/v1/tables/ROWS/rows", prefix="").problem(400)
        self.assertEqual(1, len(tallyd.keys("ROWS")))

    def test_the_longest_key_and_qualifier_are_taken(self):
        tallyd = self.start(TABLES)
        key = "x" * (4096 - len("#0000000000001"))
        tallyd.write("s", {"ts": 1, "k": key, "q" * 16384: 1})
        self.assertEqual([key + "#0000000000001"], tallyd.keys("ROWS"))
        self.assertEqual(["q" * 16384], list(tallyd.cells("LATEST", key)["F"]))
        self.refused(tallyd.post("s", {"ts": 1, "k": key + "x", "v": 1}), 0)

    def test_a_key_is_measured_after_its_encoding(self):
        tallyd = self.start(TABLES)
        self.refused(tallyd.post("s", {"ts": 1, "k": "#" * 2000, "v": 1}), 0)
        tallyd.write("s", {"ts": 1, "k": "/" * 4000, "v": 1})

    def test_a_body_may_be_max_body_long_and_no_byte_longer(self):
        tallyd = self.start(TABLES, server='max_body = "64KiB"')
        for extra, status in (-1000, 200), (0, 200), (1, 413), (100_000, 413):
            for encoding in None, *ENCODERS:
                if extra == 0 and encoding in ("snappy", "zstd"):
                    continue  # Longer on the wire than decoded, and that bound is the daemon's own.
                with self.subTest(extra=extra, encoding=encoding):
                    body = GOOD.encode().replace(b"1", b"1" + b" " * (65536 + extra - len(GOOD)), 1)
                    if encoding:
                        body = ENCODERS[encoding](body)
                    headers = {"Content-Encoding": encoding} if encoding else {}
                    answer = tallyd.post_bytes("s", body, headers=headers)
                    answer.expect(status) if status == 200 else answer.problem(status)

    def test_corrupt_compressed_bodies_are_400(self):
        tallyd = self.start(TABLES)
        for name, encode in ENCODERS.items():
            whole = encode(ndjson([json.loads(GOOD)] * 50))
            cuts = {"cut": whole[:-1], "half": whole[:len(whole) // 2], "one byte": whole[:1],
                    "nothing": b"",
                    "plain": GOOD.encode(), "zeros": bytes(100)}
            if name == "gzip":
                cuts["bad sum"] = whole[:-8] + bytes(4) + whole[-4:]
            if name == "deflate":
                cuts["bad sum"] = whole[:-4] + bytes(4)
            for what, body in cuts.items():
                with self.subTest(f"{name}: {what}"):
                    answer = tallyd.post_bytes("s", body, "application/x-ndjson",
                                               headers={"Content-Encoding": name})
                    answer.problem(400, 413)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_trailing_bytes_after_a_compressed_body_are_refused(self):
        tallyd = self.start(TABLES)
        for name, encode in ENCODERS.items():
            with self.subTest(name):
                tallyd.post_bytes("s", encode(GOOD.encode()) + b"junk",
                                  headers={"Content-Encoding": name}).problem(400)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_decompression_bombs_are_413(self):
        tallyd = self.start(TABLES)
        beyond = b" " * (64 * 1024 * 1024)
        ratio = b" " * (4 * 1024 * 1024) + GOOD.encode()
        bombs = {
            "gzip": [gzip.compress(beyond), gzip.compress(ratio)],
            "deflate": [zlib.compress(beyond), zlib.compress(ratio)],
            "zstd": [zstd_rle(64 * 1024 * 1024), zstd_rle(4 * 1024 * 1024), zstd_rle(2**33)],
        }
        for name, bodies in bombs.items():
            for number, body in enumerate(bodies):
                with self.subTest(f"{name} {number}"):
                    tallyd.post_bytes("s", body, headers={"Content-Encoding": name}).problem(413)

    def test_a_declared_size_is_not_believed(self):
        tallyd = self.start(TABLES)
        lies = {"snappy": [snappy_length(2**32 - 1) + b"\x00a", snappy_length(2**40) + b"\x00a",
                           b"\xff" * 20],
                "zstd": [zstd(GOOD.encode(), 2**40), zstd(GOOD.encode(), len(GOOD) - 1),
                         zstd(GOOD.encode(), 2**63)]}
        for name, bodies in lies.items():
            for number, body in enumerate(bodies):
                with self.subTest(f"{name} {number}"):
                    tallyd.post_bytes("s", body, headers={"Content-Encoding": name}).problem(400,
                                                                                             413)
        self.assertEqual([], tallyd.keys("ROWS"))

    def test_a_high_ratio_is_fine_below_a_mebibyte(self):
        tallyd = self.start(TABLES)
        body = gzip.compress(b" " * 900_000 + GOOD.encode())
        tallyd.post_bytes("s", body, headers={"Content-Encoding": "gzip"}).expect(200)
