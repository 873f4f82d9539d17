"""Writing: forms of a body, encodings, dry runs, partial batches, counts, times and ages."""

import json
import time

from tests.e2e.bodies import ENCODERS, ndjson
from tests.e2e.tallyd import E2eTest, in_threads, mentions, ms

TABLES = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:us}"
families.METRIC = {}

[tables.CURRENT_METRIC]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
"""
AT = 1426535612045
EVENTS = [{"ts": AT + step, "hostname": "a", "usr": step / 4, "nice": step} for step in range(3)]


def event(step=0, **fields):
    return {"ts": AT + step, **{"hostname": "a", **fields}}


class FormsTest(E2eTest):
    def setUp(self):
        self.tallyd = self.start(TABLES)

    def stored(self, hostname="a", **params):
        return self.tallyd.events("server", hostname=hostname, table="METRIC", **params)

    def assert_takes(self, body, content_type, **options):
        answer = self.tallyd.post_bytes("server", body, content_type, **options).expect(200)
        self.assertTrue(answer.header("Content-Type").startswith("application/json"))
        self.assertEqual(3, answer.json["events"])
        self.assertEqual(EVENTS, self.stored())

    def test_an_object_is_one_event(self):
        counts = self.tallyd.write("server", EVENTS[0])
        self.assertEqual((1, 2, 4), (counts["events"], counts["rows"], counts["cells"]))
        self.assertEqual(EVENTS[:1], self.stored())

    def test_an_array_is_a_batch(self):
        self.assert_takes(json.dumps(EVENTS).encode(), "application/json")

    def test_an_array_may_be_wrapped_as_events(self):
        self.assert_takes(json.dumps({"events": EVENTS}).encode(), "application/json")

    def test_ndjson_is_an_event_per_line(self):
        self.assert_takes(ndjson(EVENTS), "application/x-ndjson")

    def test_ndjson_may_lack_the_last_newline_and_end_lines_as_windows_does(self):
        self.assert_takes(ndjson(EVENTS).strip().replace(b"\n", b"\r\n"), "application/x-ndjson")

    def test_ndjson_may_hold_empty_lines(self):
        self.assert_takes(b"\n" + ndjson(EVENTS).replace(b"\n", b"\n\n"), "application/x-ndjson")

    def test_csv_is_a_header_line_and_an_event_per_line(self):
        names = ("hostname", "ts", "usr", "nice")
        lines = [names, *([str(one[name]) for name in names] for one in EVENTS)]
        lines = [",".join(line) for line in lines]
        for number, end in enumerate(("\n", "\r\n")):
            self.assert_takes((end.join(lines) + end * number).encode(),
                              "text/csv; header=present; charset=utf-8")

    def test_csv_tells_text_from_numbers_by_its_quotes(self):
        self.tallyd.post_bytes("server", f"""ts,hostname,n,text,on,gone,empty\r
{AT},a,7,"7",true,,""\r
{AT + 1},a,-0.5,"a, ""b""
c",false,,\r
""".encode(), "text/csv").expect(200)
        self.assertEqual([event(n=7, text="7", on=True, empty=""),
                          event(1, n=-0.5, text='a, "b"\nc', on=False)],
                         [{name: value for name, value in one.items() if value is not None}
                          for one in self.stored()])

    def test_a_bad_line_of_csv_is_named_and_others_stay_where_asked_for(self):
        body = (f"ts,hostname,usr\n{AT},a,1\n{AT + 1},a,1,2\n"
                f"{AT + 2},,3\n{AT + 3},a,4\n").encode()
        problem = self.tallyd.post_bytes("server", body, "text/csv").problem(400)
        self.assertEqual([1, 2], [error["index"] for error in problem["errors"]])
        self.assertIn("line 3", problem["errors"][0]["detail"])
        self.assertEqual("hostname", problem["errors"][1]["field"])
        self.assertEqual([], self.stored())
        answer = self.tallyd.post_bytes("server", body, "text/csv", partial=1).expect(200)
        self.assertEqual((2, 2), (answer.json["events"], answer.json["error_count"]))
        self.assertEqual([AT, AT + 3], [one["ts"] for one in self.stored()])

    def test_csv_without_a_usable_header_is_no_batch(self):
        for body in "", "ts,hostname,ts\n1,a,2\n", "ts,,v\n1,a,2\n", 'ts,hostname\n1,"a\n':
            with self.subTest(body):
                self.tallyd.post_bytes("server", body.encode(), "text/csv",
                                       partial=1).problem(400)
        counts = self.tallyd.post_bytes("server", b"ts,hostname,v\n", "text/csv").expect(200).json
        self.assertEqual((0, 0, 0), (counts["events"], counts["rows"], counts["cells"]))

    def test_a_missing_content_type_is_json(self):
        self.assert_takes(json.dumps(EVENTS).encode(), None)

    def test_the_content_type_of_plain_curl_is_json(self):
        self.assert_takes(json.dumps(EVENTS).encode(), "application/x-www-form-urlencoded")

    def test_a_content_type_may_carry_parameters_and_any_case(self):
        self.assert_takes(json.dumps(EVENTS).encode(), "Application/JSON; charset=utf-8")

    def test_every_encoding_is_decoded(self):
        for number, (name, encode) in enumerate(ENCODERS.items()):
            events = [{**one, "hostname": name} for one in EVENTS]
            body = encode(json.dumps(events).encode()) if number % 2 else encode(ndjson(events))
            kind = "application/json" if number % 2 else "application/x-ndjson"
            self.tallyd.post_bytes("server", body, kind,
                                   headers={"Content-Encoding": name}).expect(200)
            self.assertEqual(events, self.stored(name), name)

    def test_a_big_encoded_body_is_decoded(self):
        events = [{"ts": AT + step, "hostname": "big", "text": f"{step:x}" * 50}
                  for step in range(5000)]
        for name, encode in ENCODERS.items():
            self.tallyd.post_bytes("server", encode(json.dumps(events).encode()),
                                   headers={"Content-Encoding": name}).expect(200)
        self.assertEqual(events, self.stored("big"))

    def test_the_identity_encoding_is_no_encoding(self):
        self.assert_takes(json.dumps(EVENTS).encode(), "application/json",
                          headers={"Content-Encoding": "identity"})

    def test_an_empty_array_is_taken(self):
        for body in b"[]", b'{"events": []}', b" [ ] ":
            counts = self.tallyd.post_bytes("server", body).expect(200).json
            self.assertEqual((0, 0, 0), (counts["events"], counts["rows"], counts["cells"]))
        self.assertEqual([], self.tallyd.keys("METRIC"))

    def test_nested_objects_flatten_with_a_slash(self):
        self.tallyd.write("server", event(CPU={"CPU1_USR": 1, "deep": {"er": 2.5}}))
        self.assertEqual([event(**{"CPU/CPU1_USR": 1, "CPU/deep/er": 2.5})], self.stored())
        self.assertEqual(["CPU/CPU1_USR", "CPU/deep/er"],
                         list(self.tallyd.rows("METRIC")[0]["cells"]["METRIC"]))

    def test_null_means_absent(self):
        counts = self.tallyd.write("server", event(usr=1, nice=None))
        self.assertEqual((1, 2, 2), (counts["events"], counts["rows"], counts["cells"]))
        self.assertEqual(["usr"], list(self.tallyd.rows("METRIC")[0]["cells"]["METRIC"]))
        self.refused(self.tallyd.post("server", {"ts": AT, "hostname": None, "usr": 1}), 0,
                     "hostname")

    def test_values_keep_their_types(self):
        values = {"int": 7, "big": 2**63 - 1, "low": -2**63, "float": 0.1, "whole": 3.0,
                  "tiny": 5e-324,
                  "huge": 1.7976931348623157e308, "yes": True, "no": False, "text": "é\u0000\"\\ 𝄞",
                  "empty": "",
                  "numeral": "12", "neg": -0.0}
        self.tallyd.write("server", event(**values))
        cells = self.tallyd.rows("METRIC")[0]["cells"]["METRIC"]
        got = {name: cell[0]["value"] for name, cell in cells.items()}
        self.assertEqual(values, got)
        self.assertEqual({name: type(value) for name, value in values.items()},
                         {name: type(value) for name, value in got.items()})
        self.assertEqual([event(**values)], self.stored())

    def test_counts_are_of_distinct_rows_and_the_cells_in_them(self):
        counts = self.tallyd.write("server", [event(usr=1, nice=2), event(1, usr=3),
                                              event(hostname="b", usr=4)])
        self.assertEqual((3, 3 + 2), (counts["events"], counts["rows"]))
        # Four cells of history; of the latest three, one is written twice.
        self.assertIn(counts["cells"], (4 + 3, 4 + 4))

    def test_what_is_sent_twice_is_stored_once(self):
        first = self.tallyd.write("server", EVENTS)
        before = self.tallyd.rows("METRIC", versions=10), self.tallyd.rows("CURRENT_METRIC",
                                                                           versions=10)
        self.assertEqual(first, self.tallyd.write("server", EVENTS))
        self.assertEqual(before, (self.tallyd.rows("METRIC", versions=10),
                                  self.tallyd.rows("CURRENT_METRIC", versions=10)))

    def test_the_later_of_two_writes_to_a_cell_wins_in_a_batch_and_across(self):
        self.tallyd.write("server", [event(usr=1, nice=1), event(usr=2)])
        self.assertEqual([event(usr=2, nice=1)], self.stored())
        self.tallyd.write("server", event(usr=3))
        self.assertEqual([event(usr=3, nice=1)], self.stored())
        self.assertEqual(3, self.tallyd.cells("CURRENT_METRIC", "a")["METRIC"]["usr"][0]["value"])

    def test_a_dry_run_shows_the_rows_and_stores_nothing(self):
        shown = self.tallyd.write("server", EVENTS[1:2], dry_run=1)["tables"]
        self.assertEqual({"METRIC", "CURRENT_METRIC"}, set(shown))
        self.assertEqual([], self.tallyd.keys("METRIC") + self.tallyd.keys("CURRENT_METRIC"))
        self.tallyd.write("server", EVENTS[1:2])
        for table, rows in shown.items():
            stored = self.tallyd.rows(table)
            self.assertEqual([row["key"] for row in stored], [row["key"] for row in rows])
            for row in rows:
                self.assertTrue(mentions(row["cells"], "usr") and mentions(row["cells"], 0.25), row)

    def test_a_dry_run_refuses_what_a_write_would_refuse(self):
        self.refused(self.tallyd.post("server", [event(usr=1), {"ts": AT, "usr": 1}], dry_run=1), 1,
                     "hostname")

    def test_a_batch_with_one_bad_event_is_refused_whole(self):
        said = self.refused(self.tallyd.post("server", [event(usr=1), {"ts": AT, "usr": 1}]), 1,
                            "hostname")
        self.assertEqual(1, len(said["errors"]))
        self.assertEqual([], self.tallyd.keys("METRIC") + self.tallyd.keys("CURRENT_METRIC"))

    def test_partial_stores_the_good_events_and_names_the_rest(self):
        batch = [event(usr=1), {"ts": AT, "usr": 1}, event(1, usr=2), event(2, usr=[1])]
        answer = self.tallyd.write("server", batch, partial=1)
        self.assertEqual(2, answer["events"])
        self.assertEqual([(1, "hostname"), (3, "usr")],
                         [(one["index"], one["field"]) for one in answer["errors"]])
        self.assertEqual([event(usr=1), event(1, usr=2)], self.stored())

    def test_the_first_hundred_errors_are_listed_and_all_are_counted(self):
        answer = self.tallyd.post("server", [{"ts": AT, "usr": 1}] * 150)
        said = self.refused(answer, 0, "hostname")
        self.assertEqual(list(range(100)), [one["index"] for one in said["errors"]])
        self.assertIn("150", answer.text)

    def test_an_event_that_enters_no_table_is_refused(self):
        tallyd = self.start("""
            [tables.QUOTE]
            stream = "market"
            pattern = "single-timestamp"
            when = ["bid"]
            row_key = "{symbol}#{ts:ms}"
            families.MD = {}
            """)
        tallyd.write("market", {"ts": 1, "symbol": "A", "bid": 1})
        self.refused(tallyd.post("market", [{"ts": 2, "symbol": "A", "bid": 1},
                                            {"ts": 2, "symbol": "A", "ask": 1}]), 1)
        self.assertEqual(["A#0000000000001"], tallyd.keys("QUOTE"))


class TimesTest(E2eTest):
    def units(self):
        return self.start("".join(f"""
            [streams.{unit}]
            unit = "{unit}"
            [tables.T{unit}]
            stream = "{unit}"
            pattern = "single-timestamp"
            row_key = "{{k}}#{{ts:us}}"
            families.F = {{}}
            """ for unit in ("s", "ms", "us", "ns")))

    def test_integer_times_have_the_unit_of_their_stream(self):
        tallyd = self.units()
        times = {"s": 1426535612, "ms": 1426535612045, "us": 1426535612045678,
                 "ns": 1426535612045678999}
        stored = {"s": "1426535612000000", "ms": "1426535612045000", "us": "1426535612045678",
                  "ns": "1426535612045678"}
        shown = {"s": 1426535612000, "ms": 1426535612045, "us": 1426535612045.678,
                 "ns": 1426535612045.678}
        for unit, at in times.items():
            tallyd.write(unit, {"ts": at, "k": "a", "v": 1})
            self.assertEqual([f"a#{stored[unit]}"], tallyd.keys(f"T{unit}"))
            self.assertEqual([shown[unit]], [one["ts"] for one in tallyd.events(unit, k="a")])
            self.assertEqual(shown[unit], tallyd.rows(f"T{unit}")[0]["cells"]["F"]["v"][0]["ts"])

    def test_times_as_text_are_rfc_3339_in_every_stream(self):
        tallyd = self.units()
        texts = {
            "2015-03-16T19:53:32.045Z": 1426535612045,
            "2015-03-16T12:53:32.046-07:00": 1426535612046,
            "2015-03-16T20:53:32.047000+01:00": 1426535612047,
            "2015-03-16T19:53:32Z": 1426535612000,
            "2015-03-16T19:53:32.0489999Z": 1426535612048.999,
            "2016-02-29T00:00:00Z": ms("2016-02-29"),
            "1970-01-01T00:00:00Z": 0, "2286-11-20T17:46:39.999Z": 9999999999999,
        }
        for unit in "s", "ms", "us", "ns":
            tallyd.write(unit, [{"ts": text, "k": "a", "v": 1} for text in texts])
            self.assertEqual(sorted(texts.values()),
                             [one["ts"] for one in tallyd.events(unit, k="a")], unit)

    def test_the_first_and_the_last_time_fit(self):
        tallyd = self.units()
        tallyd.write("ms", [{"ts": at, "k": "a", "v": 1} for at in (0, 9999999999999)])
        self.assertEqual([0, 9999999999999], [one["ts"] for one in tallyd.events("ms", k="a")])

    def test_events_without_a_time_get_that_of_their_arrival_a_microsecond_apart(self):
        tallyd = self.start(TABLES)
        before = time.time() * 1000 - 5
        tallyd.write("server", [{"hostname": "a", "usr": step} for step in range(100)])
        after = time.time() * 1000 + 5
        events = tallyd.events("server", hostname="a", table="METRIC")
        self.assertEqual(list(range(100)), [one["usr"] for one in events])
        self.assertTrue(before <= events[0]["ts"] and events[-1]["ts"] <= after,
                        (before, events[0], after))
        keys = [int(key.split("#")[1]) for key in tallyd.keys("METRIC")]
        self.assertEqual(list(range(keys[0], keys[0] + 100)), keys)

    def test_events_without_a_time_from_two_connections_are_all_kept(self):
        tallyd = self.start(TABLES.replace("{ts:us}", "{ts:ms}"))
        events = 20_000

        def send(first):
            body = "".join(f'{{"hostname":"a","n":{first + step}}}\n' for step in range(events))
            tallyd.post_bytes("server", body.encode(), "application/x-ndjson").expect(200)

        def count():
            said = tallyd.query("server", hostname="a", step="36500d", agg="count,sum", fields="n",
                                table="METRIC")
            return said["rows"][0][1:]

        for run in 1, 2:
            in_threads(2, lambda index, run=run: send((2 * run - 2 + index) * events))
            sent = 2 * run * events
            self.assertEqual([sent, sent * (sent - 1) // 2], count())
            tallyd.restart()
        self.assertEqual([4 * events, 4 * events * (4 * events - 1) // 2], count())

    def test_an_object_or_a_bool_is_no_time_and_no_arrival(self):
        tallyd = self.start(TABLES)
        for at in {"$date": "2023-11-14T22:13:20Z"}, {}, {"a": None}, True, [1]:
            said = tallyd.post("server", {"hostname": "a", "ts": at, "usr": 1}).problem(400)
            self.assertEqual("ts", said["errors"][0]["field"], at)
        self.assertEqual([], tallyd.keys("METRIC"))

    def test_a_time_in_another_unit_is_refused_with_the_unit(self):
        tallyd = self.start("[ingest]\n" + TABLES)
        for at, unit in ((1700000000, "seconds"), (1700000000000000, "microseconds"),
                         (1700000000000000000, "nanoseconds")):
            said = tallyd.post("server", {"hostname": "a", "ts": at, "usr": 1}).problem(400)
            self.assertIn(f"if {unit} are meant", said["detail"])
        ahead = round(time.time() * 1000) + 3 * 86_400_000
        tallyd.post("server", {"hostname": "a", "ts": ahead, "usr": 1}).problem(400)
        self.assertEqual([], tallyd.keys("METRIC"))
        tallyd.write("server", {"hostname": "a", "ts": ahead, "usr": 1}, guards="off")
        tallyd.reload('[ingest]\nmax_future = "4d"\n' + TABLES).expect(200)
        tallyd.write("server", {"hostname": "a", "ts": ahead + 1, "usr": 1})
        self.assertEqual(2, len(tallyd.keys("METRIC")))

    def test_quoted_times_of_csv_are_taken_and_quoted_numbers_told(self):
        tallyd = self.start(TABLES)
        said = tallyd.post_bytes("server", f'''"ts","hostname","v"
"{AT}","a","1"
"{AT + 1}","a","2"
'''.encode(), "text/csv").expect(200).json
        self.assertEqual(2, said["events"])
        self.assertEqual(1, len(said["warnings"]))
        self.assertIn('"v"', said["warnings"][0])
        self.assertEqual([{"ts": AT, "hostname": "a", "v": "1"},
                          {"ts": AT + 1, "hostname": "a", "v": "2"}],
                         tallyd.events("server", hostname="a", table="METRIC"))

    def test_a_key_coarser_than_its_events_keeps_them_as_cells(self):
        tallyd = self.start(TABLES.replace("{ts:us}", "{ts:s}"))
        tallyd.write("server", EVENTS)
        self.assertEqual(["a#1426535612"], tallyd.keys("METRIC"))
        self.assertEqual([(2, AT + 2), (1, AT + 1), (0, AT)], [
            (cell["value"], cell["ts"])
            for cell in tallyd.cells("METRIC", "a#1426535612", versions=10)["METRIC"]["nice"]])
        self.assertEqual(EVENTS, tallyd.events("server", hostname="a", table="METRIC"))

    def test_a_table_may_take_its_time_from_another_field(self):
        tallyd = self.start("""
            [streams.jobs]
            time = "queued"
            [tables.QUEUED]
            stream = "jobs"
            pattern = "single-timestamp"
            row_key = "{job}#{queued:ms}"
            families.F = {}
            [tables.DONE]
            stream = "jobs"
            pattern = "single-timestamp"
            time = "done"
            row_key = "{job}#{done:ms}"
            families.F = {}
            """)
        tallyd.write("jobs", {"job": "a", "queued": AT, "done": AT + 7, "code": 0})
        self.assertEqual([f"a#{AT}"], tallyd.keys("QUEUED"))
        self.assertEqual([f"a#{AT + 7}"], tallyd.keys("DONE"))
        self.assertEqual(AT + 7, tallyd.rows("DONE")[0]["cells"]["F"]["code"][0]["ts"])


class ExpiredTest(E2eTest):
    def test_an_event_past_a_tables_age_is_not_stored_there_and_is_counted(self):
        tallyd = self.start(TABLES.replace("families.METRIC = {}",
                                           'families.METRIC = { max_age = "1h" }', 1))
        now = round(time.time() * 1000)
        fresh = tallyd.write("server", {"ts": now - 60_000, "hostname": "a", "usr": 1})
        self.assertEqual((2, 0), (fresh["rows"], fresh.get("expired", 0)))
        old = tallyd.write("server", [{"ts": now - 7_200_000, "hostname": "b", "usr": 1},
                                      {"ts": now - 60_000, "hostname": "b", "usr": 2}])
        self.assertEqual(1, old["expired"])
        self.assertEqual(1, len(tallyd.keys("METRIC", prefix="b#")))
        self.assertEqual(["a", "b"], tallyd.keys("CURRENT_METRIC"))

    def test_an_expired_cell_is_never_returned(self):
        tallyd = self.start("""
            [tables.RAW]
            stream = "raw"
            pattern = "new-cell"
            row_key = "{k}"
            families.TWO = { max_versions = 2 }
            """)
        tallyd.write("raw", [{"ts": at, "k": "a", "v": at} for at in range(1, 6)])
        self.assertEqual([5, 4], [cell["value"]
                                  for cell in tallyd.cells("RAW", "a", versions=10)["TWO"]["v"]])
