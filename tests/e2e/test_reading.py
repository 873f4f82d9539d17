"""Reading events back: by time, field and filter, in pages, in steps, and in which forms."""

import csv
import gzip
import io
import json
import math
import re
import time

from tests.e2e.tallyd import E2eTest, as_dicts, mentions

METRIC = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}
"""
CURRENT = """
[tables.CURRENT_METRIC]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
"""
FIRST = 1426535612045
HOSTS = ("server1.bbb.com", "server2.bbb.com", "server3.bbb.com")
EVENTS_PATH = "/v1/streams/server/events"


def make_events():
    """Sixty events of three hosts, a second apart, all hosts at the same times."""
    return [{"ts": FIRST + step * 1000, "hostname": host,
             "CPU/CPU1_USR": round(math.sin(step) + number, 3),
             "CPU/CPU1_NICE": step % 4, "IO/BLK_READ": step * 1000 + number,
             "rack": f"r{number % 2}"}
            for step in range(20) for number, host in enumerate(HOSTS)]


EVENTS = make_events()


def without_nulls(events):
    """A page has the columns of its own events: those that the others have are null elsewhere."""
    return [{name: value for name, value in event.items() if value is not None} for event in events]


def of_host(number=0, events=None):
    return [event for event in events or EVENTS if event["hostname"] == HOSTS[number]]


class StoredTest(E2eTest):
    def setUp(self):
        self.tallyd = self.start(METRIC + CURRENT)
        self.tallyd.write("server", EVENTS)

    def events(self, params=None, host=0, **more):
        return self.tallyd.events("server", {"hostname": HOSTS[host], **(params or {})}, **more)


class EventsTest(StoredTest):
    def test_an_escaped_comma_is_part_of_a_name(self):
        self.tallyd.write("server", {"ts": FIRST, "hostname": "h", "a,b": 1, "a": 2, "b": 3})
        for fields, names in ((r"a\,b", {"a,b"}), ("a,b", {"a", "b"}), (r"a\,b,b", {"a,b", "b"}),
                              ([r"a\,b", "a"], {"a,b", "a"})):
            [event] = self.tallyd.events("server", hostname="h", fields=fields)
            self.assertEqual(names, set(event) - {"ts", "hostname"})
        [row] = self.tallyd.rows("METRIC", prefix="h#", columns=r"METRIC:a\,b")
        self.assertEqual(["a,b"], list(row["cells"]["METRIC"]))

    def test_all_events_of_a_host_come_in_time_order(self):
        answer = self.tallyd.query("server", hostname=HOSTS[0])
        self.assertEqual({"columns", "rows", "plan", "next"}, set(answer))
        self.assertEqual("ts", answer["columns"][0])
        self.assertIsNone(answer["next"])
        self.assertEqual(of_host(), self.events())
        self.assertEqual({"table": "METRIC", "kind": "range", "ranges": 1, "rows_read": 20},
                         {name: answer["plan"][name]
                          for name in ("table", "kind", "ranges", "rows_read")})

    def test_all_hosts_come_in_time_order_with_ties_in_key_order(self):
        self.assertEqual(EVENTS, self.tallyd.events("server", scan=1))
        self.assertEqual(EVENTS, self.tallyd.events("server", hostname=list(HOSTS)))

    def test_a_full_scan_must_be_asked_for(self):
        said = self.tallyd.get(EVENTS_PATH).problem(422)
        self.assertIn("hostname", said["detail"])
        self.tallyd.get(EVENTS_PATH, rack="r1").problem(422)
        self.assertEqual("scan", self.tallyd.query("server", scan=1)["plan"]["kind"])

    def test_fields_are_names_globs_and_lists(self):
        for fields, names in (("CPU/*", ("CPU/CPU1_USR", "CPU/CPU1_NICE")),
                              ("IO/BLK_READ", ("IO/BLK_READ",)),
                              ("CPU/CPU1_NICE,rack", ("CPU/CPU1_NICE", "rack")),
                              ("*NICE", ("CPU/CPU1_NICE",)),
                              (["IO/*", "rack"], ("IO/BLK_READ", "rack"))):
            got = self.events(fields=fields)
            self.assertEqual([event["ts"] for event in of_host()], [event["ts"] for event in got])
            measured = set(EVENTS[0]) - {"ts", "hostname"}
            self.assertEqual(set(names), set(got[0]) & measured, fields)
            self.assertEqual([[event[name] for name in names] for event in of_host()],
                             [[event[name] for name in names] for event in got])

    def test_what_an_event_lacks_is_null(self):
        self.tallyd.write("server", {"ts": FIRST, "hostname": "bare", "rack": "r0"})
        self.tallyd.write("server", {"ts": FIRST + 1, "hostname": "bare", "IO/BLK_READ": 1})
        got = self.tallyd.events("server", hostname="bare", fields="rack,IO/BLK_READ")
        self.assertEqual([("r0", None), (None, 1)],
                         [(event["rack"], event["IO/BLK_READ"]) for event in got])

    def test_limit_and_order(self):
        self.assertEqual(of_host()[:7], self.events(limit=7))
        self.assertEqual(of_host()[::-1], self.events(order="desc"))
        self.assertEqual(of_host()[:-8:-1], self.events(order="desc", limit=7))
        self.assertEqual(of_host(), self.events(order="asc", limit=1_000_000))

    def test_from_and_to_are_half_open(self):
        whole = of_host()
        at = [event["ts"] for event in whole]
        self.assertEqual(whole[3:8], self.events(from_=at[3], to=at[8]))
        self.assertEqual(whole[3:8], self.events(from_=at[3] - 1, to=at[7] + 1))
        self.assertEqual(whole[15:], self.events(from_=at[15]))
        self.assertEqual(whole[:5], self.events(to=at[5]))
        self.assertEqual([], self.events(from_=at[5], to=at[5]))
        self.assertEqual([], self.events(from_=at[-1] + 1))

    def test_from_and_to_may_be_rfc_3339(self):
        self.assertEqual(of_host()[1:3], self.events(from_="2015-03-16T19:53:33.045Z",
                                                     to="2015-03-16T20:53:35.045+01:00"))

    def test_from_and_to_may_be_relative_to_now(self):
        now = round(time.time() * 1000)
        self.tallyd.write("server", [{"ts": now - ago * 1000, "hostname": "now", "ago": ago}
                                     for ago in (10, 1200, 7200, 200_000)])
        for spec, seen in (("-15m", [10]), ("-1h", [1200, 10]), ("-1d", [7200, 1200, 10]),
                           ("-600s", [10])):
            self.assertEqual(seen,
                             [event["ago"] for event in self.tallyd.events("server", hostname="now",
                                                                           from_=spec)])
        self.assertEqual([7200], [event["ago"] for event in
                                  self.tallyd.events("server", hostname="now", from_="-1d",
                                                     to="-1h")])

    def test_filters_compare_text_on_key_fields_and_others(self):
        whole = of_host()
        self.assertEqual([event for event in whole if event["CPU/CPU1_NICE"] == 3],
                         self.events({"CPU/CPU1_NICE": 3}))
        self.assertEqual([event for event in whole if event["CPU/CPU1_NICE"] in (1, 3)],
                         self.events({"CPU/CPU1_NICE": [1, 3]}))
        self.assertEqual([], self.events(rack="r1"))
        self.assertEqual([event for event in EVENTS if event["rack"] == "r1"],
                         self.tallyd.events("server", rack="r1", scan=1))
        self.assertEqual([event for event in EVENTS if event["hostname"] != HOSTS[1]],
                         self.tallyd.events("server", hostname=[HOSTS[2], HOSTS[0], HOSTS[0]]))
        self.assertEqual([], self.tallyd.events("server", hostname="server1"))
        self.assertEqual([event["ts"] for event in whole if event["rack"] == "r0"],
                         [event["ts"] for event in self.events(rack="r0", fields="IO/BLK_READ")])

    def test_a_field_named_like_a_parameter_is_filtered_by_its_prefix(self):
        self.tallyd.write("server", [{"ts": FIRST + at, "hostname": "clash", "limit": at,
                                      "order": "x"} for at in (4, 5)])
        self.assertEqual([5], [event["limit"] for event in
                               self.tallyd.events("server",
                                                  {"hostname": "clash", "field.limit": 5})])
        self.assertEqual(2, len(self.tallyd.events("server", {"field.hostname": "clash",
                                                              "field.order": "x"})))

    def test_an_unknown_field_is_400_with_the_nearest_names(self):
        for params, nearest in (({"hostnam": "a"}, "hostname"),
                                ({"hostname": "a", "CPU/CPU1_USE": 1}, "CPU/CPU1_USR"),
                                ({"hostname": "a", "rak": "r0"}, "rack")):
            self.assertIn(nearest, self.tallyd.get(EVENTS_PATH, params).problem(400)["detail"])

    def test_pages_joined_are_the_whole(self):
        for params in ({"hostname": HOSTS[0]}, {"scan": 1}, {"hostname": list(HOSTS)},
                       {"scan": 1, "rack": "r0"},
                       {"hostname": HOSTS[1], "fields": "CPU/*"}):
            for order in "asc", "desc":
                whole = self.tallyd.events("server", params, order=order)
                for limit in 1, 7, 20, 60:
                    with self.subTest(params=params, order=order, limit=limit):
                        self.assertEqual(whole, self.pages(params, order, limit))

    def pages(self, params, order, limit):
        rows, cursor = [], None
        for _ in range(100):
            page = self.tallyd.query("server", params, order=order, limit=limit, cursor=cursor)
            self.assertLessEqual(len(page["rows"]), limit)
            rows, cursor = rows + as_dicts(page), page["next"]
            if cursor is None:
                return rows
        self.fail("the pages do not end")

    def test_pages_of_equal_times_lose_and_double_nothing(self):
        self.tallyd.write("server", [{"ts": FIRST, "hostname": f"h{number:03}", "v": number}
                                     for number in range(100)])
        for order in "asc", "desc":
            whole = self.tallyd.events("server", scan=1, order=order)
            self.assertEqual(160, len(whole))
            self.assertEqual(*map(without_nulls, (whole, self.pages({"scan": 1}, order, 9))))

    def test_the_plan_is_told_without_the_rows(self):
        def plan(**params):
            answer = self.tallyd.get("/v1/streams/server/plan", **params).expect(200).json
            self.assertNotIn("rows", answer)
            self.assertTrue(mentions(answer, "METRIC"))
            return answer.get("plan", answer)
        self.assertEqual(("METRIC", "range"),
                         (plan(hostname="a")["table"], plan(hostname="a")["kind"]))
        self.assertEqual(2, plan(hostname=["a", "b"])["ranges"])
        self.assertEqual("scan", plan(scan=1)["kind"])


class AggregationTest(StoredTest):
    FUNCTIONS = {"avg": lambda values: sum(values) / len(values), "min": min, "max": max,
                 "sum": sum, "count": len,
                 "first": lambda values: values[0], "last": lambda values: values[-1]}

    def grouped(self, events, step, field, by=()):
        """(start of the step, group) -> values in time order."""
        groups = {}
        for event in sorted(events, key=lambda event: event["ts"]):
            key = (event["ts"] - event["ts"] % step, *(event[name] for name in by))
            groups.setdefault(key, []).append(event[field])
        return groups

    def assert_groups(self, expected, rows, keys, column):
        got = {tuple(row[name] for name in keys): row[column] for row in rows}
        self.assertEqual(len(rows), len(got), "a group comes twice")
        self.assertEqual(set(expected), set(got))
        for key, value in expected.items():
            self.assertAlmostEqual(value, got[key], delta=1e-9 * max(1, abs(value)), msg=key)

    def test_every_function_equals_its_direct_computation(self):
        for field in "CPU/CPU1_USR", "IO/BLK_READ":
            groups = self.grouped(of_host(), 7000, field)
            for name, function in self.FUNCTIONS.items():
                with self.subTest(f"{name} of {field}"):
                    rows = self.events(step="7s", agg=name, fields=field)
                    self.assertEqual(sorted(row["ts"] for row in rows), [row["ts"] for row in rows])
                    self.assert_groups({key: function(values) for key, values in groups.items()},
                                       rows, ["ts"], field)

    def test_integers_stay_integers(self):
        for name in "min", "max", "sum", "count", "first", "last":
            for row in self.events(step="10s", agg=name, fields="IO/BLK_READ"):
                self.assertIs(int, type(row["IO/BLK_READ"]), name)

    def test_several_functions_make_a_column_each(self):
        groups = self.grouped(of_host(), 5000, "CPU/CPU1_USR")
        for agg in "min,max,avg", ["min", "max", "avg"]:
            rows = self.events(step="5s", agg=agg, fields="CPU/CPU1_USR")
            for name in "min", "max", "avg":
                self.assert_groups({key: self.FUNCTIONS[name](values)
                                    for key, values in groups.items()},
                                   rows, ["ts"], f"CPU/CPU1_USR:{name}")

    def test_by_groups(self):
        for by in (["hostname"], ["rack"], ["hostname", "rack"]):
            groups = self.grouped(EVENTS, 4000, "IO/BLK_READ", by)
            for asked in by, ",".join(by):
                rows = self.tallyd.events("server", scan=1, step="4s", agg="sum", by=asked,
                                          fields="IO/BLK_READ")
                self.assert_groups({key: sum(values) for key, values in groups.items()}, rows,
                                   ["ts", *by], "IO/BLK_READ")

    def test_without_by_all_entities_are_one_group(self):
        groups = self.grouped(EVENTS, 4000, "IO/BLK_READ")
        rows = self.tallyd.events("server", hostname=list(HOSTS), step="4s", agg="max",
                                  fields="IO/BLK_READ")
        self.assert_groups({key: max(values) for key, values in groups.items()}, rows, ["ts"],
                           "IO/BLK_READ")

    def test_steps_are_aligned_to_the_epoch_and_cut_by_the_range(self):
        part = of_host()[2:9]
        groups = self.grouped(part, 60_000, "IO/BLK_READ")
        rows = self.events(step="1m", agg="count", fields="IO/BLK_READ", from_=part[0]["ts"],
                           to=part[-1]["ts"] + 1)
        self.assert_groups({key: len(values) for key, values in groups.items()}, rows, ["ts"],
                           "IO/BLK_READ")

    def test_empty_steps_are_left_out(self):
        self.tallyd.write("server", [{"ts": at, "hostname": "gap", "v": 1.5}
                                     for at in (0, 3_600_000, 36_000_000)])
        rows = self.tallyd.events("server", hostname="gap", step="1h", agg="sum", fields="v")
        self.assertEqual([(0, 1.5), (3_600_000, 1.5), (36_000_000, 1.5)],
                         [(row["ts"], row["v"]) for row in rows])

    def test_steps_come_newest_first_and_in_pages_too(self):
        whole = self.events(step="3s", agg="max", fields="IO/BLK_READ")
        self.assertEqual(whole[::-1],
                         self.events(step="3s", agg="max", fields="IO/BLK_READ", order="desc"))
        self.assertEqual(whole[:3],
                         self.events(step="3s", agg="max", fields="IO/BLK_READ", limit=3))


class FormsTest(StoredTest):
    def test_ndjson_is_an_object_a_line_by_accept_or_format(self):
        for answer in (self.tallyd.get(EVENTS_PATH, hostname=HOSTS[0], format="ndjson"),
                       self.tallyd.get(EVENTS_PATH, hostname=HOSTS[0],
                                       headers={"Accept": "application/x-ndjson"})):
            self.assertTrue(
                answer.expect(200).header("Content-Type").startswith("application/x-ndjson"))
            self.assertEqual(of_host(), answer.lines)

    def test_ndjson_can_be_posted_again(self):
        self.tallyd.write("server", {"ts": FIRST, "hostname": "bare", "rack": "only"})
        answer = self.tallyd.get(EVENTS_PATH, scan=1, format="ndjson")
        copy = self.start(METRIC + CURRENT)
        copy.post_bytes("server", answer.body, "application/x-ndjson").expect(200)
        for table in "METRIC", "CURRENT_METRIC":
            self.assertEqual(self.tallyd.rows(table, limit=1000), copy.rows(table, limit=1000))

    def test_csv_has_a_header_line_and_quotes(self):
        self.tallyd.write("server", {"ts": FIRST, "hostname": "csv", "a": 'comma, "quote"\nline',
                                     "b": 1.0, "c": True})
        for answer in (self.tallyd.get(EVENTS_PATH, hostname="csv", fields="a,b,c", format="csv"),
                       self.tallyd.get(EVENTS_PATH, hostname="csv", fields="a,b,c",
                                       headers={"Accept": "text/csv"})):
            self.assertTrue(answer.expect(200).header("Content-Type").startswith("text/csv"))
            rows = list(csv.reader(io.StringIO(answer.text, newline="")))
            self.assertEqual("ts", rows[0][0])
            self.assertEqual({"ts": str(FIRST), "hostname": "csv", "a": 'comma, "quote"\nline',
                              "b": "1.0", "c": "true"},
                             {"hostname": "csv", **dict(zip(rows[0], rows[1]))})
            self.assertEqual(2, len(rows))

    def test_csv_can_be_posted_again(self):
        values = {"int": 7, "low": -2**63, "float": 0.1, "whole": 3.0, "tiny": 5e-324,
                  "huge": 1.7976931348623157e308, "neg": -0.0, "yes": True, "no": False,
                  "text": 'é, "x"\r\ny', "numeral": "12", "word": "true", "empty": "",
                  "null": "null", "a,b": "=1+1", 'say "c"': " 1 "}
        self.tallyd.write("server", [{"ts": FIRST, "hostname": "csv", **values},
                                     {"ts": FIRST + 0.25, "hostname": "csv", "int": "7"},
                                     {"ts": FIRST + 1, "hostname": "csv", "text": 7}])
        answer = self.tallyd.get(EVENTS_PATH, hostname="csv", format="csv").expect(200)
        copy = self.start(METRIC + CURRENT)
        copy.post_bytes("server", answer.body, "text/csv").expect(200)
        for table in "METRIC", "CURRENT_METRIC":
            self.assertEqual(self.tallyd.rows(table, prefix="csv", limit=1000),
                             copy.rows(table, limit=1000))

    def test_csv_of_all_events_equals_the_json(self):
        answer = self.tallyd.query("server", hostname=HOSTS[0])
        rows = list(csv.reader(io.StringIO(self.tallyd.get(
            EVENTS_PATH, hostname=HOSTS[0], format="csv").text, newline="")))
        self.assertEqual([answer["columns"]]
                         + [[str(value) for value in row] for row in answer["rows"]], rows)

    def test_streams_carry_a_link_to_the_next_page_only_with_a_limit(self):
        for form in "ndjson", "csv", "tsv":
            whole = self.tallyd.get(EVENTS_PATH, hostname=HOSTS[0], format=form).expect(200)
            self.assertEqual("", whole.header("Link"))
            pages, target = [], None
            for _ in range(20):
                page = self.follow(target) if target else self.tallyd.get(
                    EVENTS_PATH, hostname=HOSTS[0], format=form, limit=6)
                pages.append(page.expect(200).text)
                link = re.fullmatch(r'<([^>]*)>; *rel="next"', page.header("Link"))
                if not link:
                    break
                target = link[1]
            joined = "".join(text if not number or form == "ndjson" else text.partition("\n")[2]
                             for number, text in enumerate(pages))
            self.assertEqual(whole.text, joined, form)
            self.assertGreaterEqual(len(pages), 4)

    def follow(self, target):
        return self.tallyd.get(re.sub(r"^https?://[^/]*", "", target))

    def test_a_long_answer_without_a_limit_streams_to_its_end(self):
        self.tallyd.write("server",
                          [{"ts": at, "hostname": "long", "v": at} for at in range(12_000)])
        self.assertEqual(12_000,
                         len(self.tallyd.get(EVENTS_PATH, hostname="long", format="ndjson").lines))
        page = self.tallyd.query("server", hostname="long")
        self.assertEqual(10_000, len(page["rows"]))
        rest = self.tallyd.query("server", hostname="long", cursor=page["next"])
        self.assertEqual((2000, None), (len(rest["rows"]), rest["next"]))

    def test_answers_compress_when_asked(self):
        self.tallyd.write("server", [{"ts": at, "hostname": "long", "v": at} for at in range(5000)])
        plain = self.tallyd.get(EVENTS_PATH, hostname="long")
        self.assertEqual("", plain.header("Content-Encoding"))
        for form in "json", "ndjson", "csv", "tsv":
            plain = self.tallyd.get(EVENTS_PATH, hostname="long", format=form)
            packed = self.tallyd.get(EVENTS_PATH, {"hostname": "long", "format": form},
                                     {"Accept-Encoding": "gzip"})
            self.assertEqual("gzip", packed.expect(200).header("Content-Encoding"))
            unpacked = Unpacked(gzip.decompress(packed.body), form)
            self.assertEqual(Unpacked(plain.body, form).value, unpacked.value)
            self.assertLess(len(packed.body), len(plain.body) / 2)
        zstd = self.tallyd.get(EVENTS_PATH, {"hostname": "long"}, {"Accept-Encoding": "zstd"})
        self.assertEqual("zstd", zstd.expect(200).header("Content-Encoding"))
        self.assertEqual(b"\x28\xb5\x2f\xfd", zstd.body[:4])


class MistakenValuesTest(E2eTest):
    def test_an_answer_without_rows_says_what_there_never_was(self):
        tallyd = self.start(METRIC + CURRENT)
        tallyd.write("server", EVENTS)
        for asked in ("server9.bbb.com", "server*", "server1.bbb.com,server2.bbb.com"):
            for path in (EVENTS_PATH, "/v1/streams/server/latest"):
                with self.subTest(f"{path} {asked}"):
                    answer = tallyd.get(path, hostname=asked).expect(200).json
                    self.assertEqual([], answer["rows"])
                    self.assertIn(f"hostname: there is no '{asked}'", answer["hint"])
                    self.assertIn(HOSTS[0], answer["hint"])
        for asked in ({"hostname": HOSTS[0]}, {"hostname": HOSTS[0], "from_": FIRST + 10**9}):
            self.assertNotIn("hint", tallyd.query("server", asked))


class MistakenNamesTest(E2eTest):
    def test_mistaken_names_that_were_removed_widen_no_header(self):
        tallyd = self.start(METRIC)
        events = make_events()
        tallyd.write("server", events)
        for batch in range(200):
            names = {f"mistaken/{batch:03}/{number:03}": number for number in range(1000)}
            tallyd.write("server", {"ts": FIRST + batch, "hostname": "mistaken", **names})
        wide = tallyd.get(EVENTS_PATH, hostname="mistaken", to=FIRST + 2, format="csv").expect(200)
        header = wide.text.splitlines()[0].split(",")
        self.assertEqual(2002, len(header))
        self.assertEqual(header[2:], sorted(header[2:]))
        names = sorted(set().union(*events) - {"ts", "hostname"})
        self.expect_narrow(tallyd, names, hostname=HOSTS)
        tallyd.delete(EVENTS_PATH, hostname="mistaken").expect(200)
        for settled in (False, True):
            if settled:
                tallyd.request("POST", "/-/settle").expect(200)
            self.expect_narrow(tallyd, names, scan=1)

    def expect_narrow(self, tallyd, names, **asked):
        for form in ("csv", "tsv"):
            separator = "," if form == "csv" else "\t"
            for limit in (None, 60):
                text = tallyd.get(EVENTS_PATH, format=form, limit=limit, **asked).expect(200).text
                lines = text.splitlines()
                self.assertEqual(["ts", "hostname", *names], lines[0].split(separator))
                self.assertEqual(61, len(lines))
        steps = tallyd.query("server", step="1m", agg="max", by="hostname", **asked)
        self.assertEqual(["ts", "hostname", *(name for name in names if name != "rack")],
                         steps["columns"])


class Unpacked:
    """A body to compare; the plan of JSON may hold times and is left out."""

    def __init__(self, body, form):
        self.value = json.loads(body)["rows"] if form == "json" else body
