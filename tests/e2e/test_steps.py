"""Comparing, counters, percentiles, gaps and the greatest, as they come through HTTP."""

import re

from tests.e2e.tallyd import E2eTest, as_dicts

TABLES = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}

[tables.NOW]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
"""
START = 1_426_464_000_000
EVENTS_PATH = "/v1/streams/server/events"
# Readings of a counter every ten seconds; it begins again behind 130, and a minute is missing.
COUNTER = [100, 110, 120, 130, 5, 15, None, None, None, None, None, None, 40, 40, 70]


def counter_events(host="a"):
    return [{"ts": START + 10_000 * at, "hostname": host, "bytes": value, "load": value / 8}
            for at, value in enumerate(COUNTER) if value is not None]


class StepsTest(E2eTest):
    def setUp(self):
        self.tallyd = self.start(TABLES)
        self.tallyd.write("server", counter_events())

    def steps(self, agg, step="30s", **more):
        rows = self.tallyd.events("server", {"hostname": "a", "fields": "bytes", "step": step,
                                             "agg": agg, **more})
        return [((row["ts"] - START) // 1000, row["bytes"]) for row in rows]

    def test_a_counter_increases_from_the_value_before_the_step_and_from_0_after_a_fall(self):
        self.assertEqual([(0, 20), (30, 10 + 5 + 10), (120, 25 + 0 + 30)], self.steps("increase"))

    def test_a_rate_is_the_increase_per_second_of_the_step(self):
        self.assertEqual([(0, 20 / 30), (30, 25 / 30), (120, 55 / 30)], self.steps("rate"))

    def test_a_delta_is_the_last_less_the_first(self):
        self.assertEqual([(0, 20), (30, 15 - 130), (120, 30)], self.steps("delta"))

    def test_percentiles_lie_between_the_closest_ranks(self):
        self.assertEqual([(0, 110), (30, 15), (120, 40)], self.steps("p50"))
        [(_, p99)] = self.steps("p99", "1h")
        self.assertAlmostEqual(120 + 10 * 0.92, p99)

    def test_a_range_begins_without_a_value_before(self):
        self.assertEqual([(30, 15), (120, 55)], self.steps("increase", **{"from": START + 30_000}))
        self.assertEqual([(30, 15)], self.steps("increase", limit=1, **{"from": START + 30_000}))

    def test_gaps_are_filled_in_every_form(self):
        for fill, filled in (("null", [None, None]), ("previous", [25, 25]), ("0", [0, 0]),
                             ("linear", [35, 45])):
            rows = self.steps("increase", fill=fill)
            self.assertEqual([(0, 20), (30, 25), (60, filled[0]), (90, filled[1]), (120, 55)], rows)
            self.assertEqual(rows[::-1], self.steps("increase", fill=fill, order="desc"))
            lines = self.form("ndjson", fill).lines
            self.assertEqual(filled, [line.get("bytes") for line in lines[2:4]])
            for form, absent, end in (("csv", "", "\r\n"), ("tsv", "\\N", "\n")):
                cells = [re.split(r"[,\t]", line)[1]
                         for line in self.form(form, fill).text.split(end)[3:5]]
                self.assertEqual([absent if value is None else str(value) for value in filled], cells)

    def form(self, form, fill):
        return self.tallyd.get(EVENTS_PATH, hostname="a", fields="bytes", step="30s",
                               agg="increase", fill=fill, format=form).expect(200)

    def test_a_range_is_filled_from_end_to_end(self):
        bounds = {"from": START - 60_000, "to": START + 60_000}
        self.assertEqual([(-60, None), (-30, None), (0, 3), (30, 3)],
                         self.steps("count", fill="null", **bounds))
        self.assertEqual([(-60, 0), (-30, 0), (0, 3), (30, 3)],
                         self.steps("count", fill="0", **bounds))

    def test_what_would_not_fit_is_refused_with_what_to_do(self):
        for said in (self.tallyd.get(EVENTS_PATH, {"hostname": "a", "step": "1s", "agg": "max",
                                                   "fill": "0", "from": 0, "to": START}),):
            self.assertIn("longer step", said.problem(422)["detail"])

    def test_an_absent_label_and_an_empty_one_are_two_groups(self):
        self.tallyd.write("server", [{"ts": START, "hostname": "b", "n": 1},
                                     {"ts": START + 1, "hostname": "b", "rack": "", "n": 2}])
        for settled in False, True:
            if settled:
                self.tallyd.request("POST", "/-/settle").expect(200)
            said = self.tallyd.query("server", hostname="b", fields="n", step="1h", agg="sum",
                                     by="rack")
            self.assertEqual([[START, None, 1], [START, "", 2]], said["rows"])

    def test_mistakes_are_400(self):
        for params in ({"fill": "0"}, {"step": "1m", "agg": "max", "fill": "none"}, {"top": 3},
                       {"top": 3, "fields": "bytes,load"}, {"top": 0, "fields": "bytes"},
                       {"step": "1m", "agg": "max", "top": 3, "fields": "bytes"},
                       {"step": "1m", "agg": "median"}, {"where": "bytes"}, {"where": "byte>1"},
                       {"where": "bytes>much"}, {"where": "ts>1"}, {"top": [1, 2]}):
            self.tallyd.get(EVENTS_PATH, {"hostname": "a", **params}).problem(400)
        self.assertIn("bytes", self.tallyd.get(EVENTS_PATH, hostname="a",
                                               where="byte>1").problem(400)["detail"])


class ComparingTest(E2eTest):
    def setUp(self):
        self.tallyd = self.start(TABLES)
        for at, host in enumerate("abcd"):
            self.tallyd.write("server", counter_events(host))
            self.tallyd.write("server", {"ts": START + 999_000, "hostname": host,
                                         "bytes": 2**53 + at, "up": at % 2 == 0, "name": f"n{at}"})

    def hosts(self, **params):
        return [row["hostname"] for row in self.tallyd.latest("server", params)]

    def test_integers_compare_exactly(self):
        self.assertEqual(["c", "d"], self.hosts(where=f"bytes>{2**53 + 1}"))
        self.assertEqual(["b"], self.hosts(where=f"bytes={2**53 + 1}"))
        self.assertEqual(["a"], self.hosts(where=f"bytes<{2**53}.5"))
        self.assertEqual(["a", "c", "d"], self.hosts(where=f"bytes!={2**53 + 1}"))

    def test_text_and_bools_compare_too_and_all_must_hold(self):
        self.assertEqual(["b", "c"], self.hosts(where=["name>=n1", "name<n3"]))
        self.assertEqual(["c"], self.hosts(where=["name>=n1", "up=true"]))
        self.assertEqual(["b", "d"], self.hosts(where="up!=true"))

    def test_what_is_compared_need_not_be_asked_for(self):
        answer = self.tallyd.query("server", hostname="a", fields="load", where="bytes>120")
        self.assertEqual(["ts", "hostname", "load"], answer["columns"])
        self.assertEqual([130 / 8], [row["load"] for row in as_dicts(answer)])
        plan = self.tallyd.get("/v1/streams/server/plan", hostname="a", where="bytes>120")
        self.assertEqual("range", plan.expect(200).json["kind"])

    def test_the_greatest_come_in_order_of_time_and_in_pages(self):
        self.tallyd.write("server", {"ts": START + 1, "hostname": "c", "bytes": 2**60})
        best = [(START + 1, "c"), (START + 999_000, "c"), (START + 999_000, "d")]
        params = {"scan": 1, "fields": "bytes", "top": 3}
        self.assertEqual(best, [(row["ts"], row["hostname"])
                                for row in self.tallyd.events("server", params)])
        page = self.tallyd.get(EVENTS_PATH, params, format="csv", limit=2).expect(200)
        self.assertEqual(["c", "c"], [line.split(",")[1] for line in page.text.split()[1:]])
        link = re.fullmatch(r'<([^>]*)>; *rel="next"', page.header("Link"))[1]
        rest = self.tallyd.get(re.sub(r"^https?://[^/]*", "", link)).expect(200)
        self.assertEqual(["d"], [line.split(",")[1] for line in rest.text.split()[1:]])

    def test_the_greatest_groups_are_kept_with_all_their_steps(self):
        rows = self.tallyd.events("server", scan=1, fields="bytes", step="1h", agg="max",
                                  by="hostname", top=2)
        self.assertEqual(["c", "d"], [row["hostname"] for row in rows])
        rows = self.tallyd.events("server", scan=1, fields="bytes", step="5m", agg="max",
                                  by="hostname", top=1)
        self.assertEqual([("d", 130), ("d", 2**53 + 3)],
                         [(row["hostname"], row["bytes"]) for row in rows])
        self.assertEqual(["c", "d"], self.hosts(top=2, fields="bytes"))
