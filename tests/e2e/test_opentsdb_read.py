"""What OpenTSDB's clients ask, Grafana's own source first: any stream, by metric and tags."""

import json
import random

from tests.e2e import opentsdb_model as model
from tests.e2e.tallyd import SEED, E2eTest

TOML = """
[protocols.opentsdb]
stream = "opentsdb"
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{dc}#{host}#{ts:ms}"
families.F = {}
[tables.NEWEST]
stream = "server"
pattern = "latest"
row_key = "{dc}#{host}"
families.F = {}
[tables.BALLOON]
stream = "balloon.eu"
pattern = "single-timestamp"
row_key = "{id}#{ts:ms}"
families.F = {}
"""
START = 1_400_000_000_000  # Of a minute 20 seconds are gone.
MINUTE = 60_000


class OpentsdbReadTest(E2eTest):
    def setUp(self):
        self.daemon = self.start(TOML)

    def ask(self, path="/api/query", **params):
        return self.daemon.get(path, params).expect(200).json

    def post(self, body, path="/api/query"):
        return self.daemon.request("POST", path, json.dumps(body),
                                   {"Content-Type": "application/json"})

    def write_hosts(self):
        self.daemon.write("server", [
            {"dc": dc, "host": host, "ts": START + second * 1000, "cpu": number, "note": "x"}
            for dc, host, base in [("lga", "web01", 10), ("lga", "web02", 20), ("sjc", "web03", 40)]
            for second, number in [(0, base), (10, base + 1), (20, base + 4)]])

    # --- Grafana's own calls ---

    def test_the_source_is_tested_with_suggest(self):
        self.assertEqual([], self.ask("/api/suggest", type="metrics", q="cpu", max=1000))
        self.write_hosts()
        self.assertEqual(["server.cpu"], self.ask("/api/suggest", type="metrics", q="server", max=1000))
        self.assertEqual(["dc", "host"], self.ask("/api/suggest", type="tagk", q="", max=1000))
        self.assertEqual(["web01", "web02"], self.ask("/api/suggest", type="tagv", q="web", max=2))
        self.assertEqual(["lga"], self.ask("/api/suggest", type="tagv", q="l"))

    def test_a_panel_posts_its_query(self):
        self.write_hosts()
        answer = self.post({
            "start": START, "end": START + MINUTE, "msResolution": True, "globalAnnotations": True,
            "queries": [{"metric": "server.cpu", "aggregator": "sum", "downsample": "10s-avg",
                         "filters": [{"type": "literal_or", "tagk": "dc", "filter": "lga",
                                      "groupBy": True}]}]}).expect(200).json
        self.assertEqual([{
            "metric": "server.cpu", "tags": {"dc": "lga"}, "aggregateTags": ["host"],
            "dps": {str(START): 30, str(START + 10_000): 32, str(START + 20_000): 38}}], answer)

    def test_times_may_be_relative_and_the_query_shown(self):
        self.write_hosts()
        answer = self.post({"start": "2y-ago", "showQuery": True, "queries": [
            {"metric": "server.cpu", "aggregator": "none", "tags": {"host": "*"}}]}).expect(200).json
        self.assertEqual([], answer)
        answer = self.post({"start": 1, "showQuery": True, "queries": [
            {"metric": "server.cpu", "aggregator": "max", "tags": {"host": "web0*"}}]}).expect(200).json
        self.assertEqual(["web01", "web02", "web03"], [one["tags"]["host"] for one in answer])
        self.assertEqual(0, answer[0]["query"]["index"])
        self.assertEqual({"1400000000": 10, "1400000010": 11, "1400000020": 14}, answer[0]["dps"])

    def test_variables_come_from_lookup_and_lists(self):
        self.write_hosts()
        answer = self.ask("/api/search/lookup", m="server.cpu{host=*,dc=lga}", limit=1000)
        self.assertEqual("LOOKUP", answer["type"])
        self.assertEqual(2, answer["totalResults"])
        self.assertEqual([{"dc": "lga", "host": "web01"}, {"dc": "lga", "host": "web02"}],
                         [one["tags"] for one in answer["results"]])
        self.assertEqual(3, self.ask("/api/search/lookup", m="server.cpu", limit=1)["totalResults"])
        names = self.ask("/api/aggregators")
        self.assertLessEqual({"sum", "avg", "zimsum", "mimmax", "none", "p999"}, set(names))
        self.assertIn("examples", self.ask("/api/config/filters")["regexp"])

    # --- the rest of the protocol ---

    def test_put_points_come_back_by_their_tags(self):
        points = [{"metric": "sys.load", "timestamp": START // 1000 + at, "value": at + base,
                   "tags": {"host": host}} for host, base in [("a", 0), ("b", 5)] for at in range(3)]
        self.daemon.request("POST", "/api/put", json.dumps(points)).expect(204)
        answer = self.ask(start=START // 1000, end=START // 1000 + 2, m="sum:sys.load{host=*}")
        self.assertEqual([{"host": "a"}, {"host": "b"}], [one["tags"] for one in answer])
        self.assertEqual([5, 6, 7], list(answer[1]["dps"].values()))
        self.assertEqual(["sys.load"], self.ask("/api/suggest", type="metrics"))
        self.assertEqual(["host"], self.ask("/api/suggest", type="tagk"))
        self.assertEqual(["a", "b"], self.ask("/api/suggest", type="tagv"))
        last = self.ask("/api/query/last", timeseries="sys.load{host=b}", resolve="true")
        self.assertEqual(("7", START + 2000), (last[0]["value"], last[0]["timestamp"]))
        self.assertEqual([last[0]], self.ask("/api/query/last", tsuids=last[0]["tsuid"],
                                             resolve="true"))

    def test_the_last_point_of_a_metric_has_its_own_time(self):
        points = [("lst.a", 1_764_000_000, 1), ("lst.b", 1_764_100_000, 2)]
        self.daemon.request("POST", "/api/put", json.dumps(
            [{"metric": metric, "timestamp": second, "value": value, "tags": {"host": "a"}}
             for metric, second, value in points])).expect(204)
        for metric, second, value in points:
            last = self.ask("/api/query/last", timeseries=metric)
            self.assertEqual([(second * 1000, str(value))],
                             [(one["timestamp"], one["value"]) for one in last], metric)

    def test_so_it_has_where_each_field_is_a_row_of_the_latest_table(self):
        daemon = self.start("""
[protocols.opentsdb]
stream = "opentsdb"
[tables.NEWEST]
stream = "s"
pattern = "latest"
row_key = "{host}#{field}"
families.F = {}
""")
        for field, at, number in [("a", 0, 1), ("b", 5000, 2), ("a", 1000, 3)]:
            daemon.write("s", {"host": "h", "ts": START + at, field: number})
        for field, at, number in [("a", 1000, "3"), ("b", 5000, "2")]:
            last = daemon.get("/api/query/last", {"timeseries": "s." + field}).expect(200).json
            self.assertEqual([(START + at, number)],
                             [(one["timestamp"], one["value"]) for one in last], field)

    def test_the_last_point_needs_no_tag_that_no_event_ever_had(self):
        event = {"dc": "lga", "host": "web01", "ts": START}
        self.daemon.write("server", {**event, "cpu": 7})
        self.daemon.reload(TOML + """
[tables.BY_RACK]
stream = "server"
pattern = "single-timestamp"
row_key = "{rack}#{dc}#{host}#{ts:ms}"
families.F = {}
""").expect(200)
        last = self.ask("/api/query/last", timeseries="server.cpu", resolve="")
        self.assertEqual([({"dc": "lga", "host": "web01"}, "7")],
                         [(one["tags"], one["value"]) for one in last])
        self.daemon.write("server", {**event, "cpu": 8, "rack": "r1"})
        self.assertEqual([], self.ask("/api/query/last", timeseries="server.cpu"),
                         "no latest table tells the rack")

    def test_names_that_are_no_metrics_are_written_with_underscores(self):
        self.daemon.write("balloon.eu", {"id": "b 1", "ts": START, "air temp": 3.5, "name": "x"})
        self.assertEqual(["balloon.eu.air_temp"], self.ask("/api/suggest", type="metrics"))
        answer = self.ask(start=1, m="sum:balloon.eu.air_temp{id=b 1}")
        self.assertEqual({"1400000000": 3.5}, answer[0]["dps"])

    def test_what_was_never_seen_is_empty(self):
        self.write_hosts()
        for m in ["sum:nothing", "sum:server.note", "sum:server.cpu{host=web09}",
                  "sum:server.cpu{rack=*}", "sum:server.cpu{rack=not_literal_or(r1)}"]:
            self.assertEqual([], self.ask(start=1, m=m), m)

    def test_filters_choose_series(self):
        self.write_hosts()
        for filters, hosts in [
                ("{host=literal_or(web01|web03)}", ["web01", "web03"]),
                ("{host=iliteral_or(WEB01)}", ["web01"]),
                ("{host=not_literal_or(web01)}", ["web02", "web03"]),
                ("{host=regexp(0[13]$)}", ["web01", "web03"]),
                ("{host=iwildcard(WEB*2)}", ["web02"]),
                ("{host=*}{dc=sjc}", ["web03"]),
                ("{host=*}{rack=not_key()}", ["web01", "web02", "web03"]),
                ("{host=*}{dc=not_key()}", [])]:
            answer = self.ask(start=1, m="sum:server.cpu" + filters)
            self.assertEqual(hosts, [one["tags"]["host"] for one in answer], filters)
        self.assertEqual([], self.ask(start=1, m="sum:explicit_tags:server.cpu{host=*}"))
        self.assertEqual(3, len(self.ask(start=1, m="sum:explicit_tags:server.cpu{host=*,dc=*}")))

    def test_arrays_tsuids_and_the_same_query_once(self):
        self.write_hosts()
        answer = self.ask(start=1, m=["none:server.cpu{host=web01}"] * 2, arrays="", show_tsuids="")
        self.assertEqual(1, len(answer))
        self.assertEqual([[1400000000, 10], [1400000010, 11], [1400000020, 14]], answer[0]["dps"])
        again = self.ask(start=1, tsuid="sum:" + answer[0]["tsuids"][0], arrays="")
        self.assertEqual(answer[0]["dps"], again[0]["dps"])

    def test_both_ends_belong_to_the_range(self):
        self.write_hosts()
        answer = self.ask(start=START // 1000, end=START // 1000 + 10, m="sum:server.cpu{host=web01}")
        self.assertEqual(["1400000000", "1400000010"], list(answer[0]["dps"]))

    def test_blank_steps_are_filled_as_asked(self):
        self.write_hosts()
        for fill, blank in [("nan", "NaN"), ("null", None), ("zero", 0), ("scalar#-1", -1)]:
            answer = self.ask(start=START // 1000, end=START // 1000 + 20,
                              m=f"sum:5s-avg-{fill}:server.cpu{{host=web01}}")
            self.assertEqual([10, blank, 11, blank, 14], list(answer[0]["dps"].values()), fill)

    def test_errors_have_the_protocols_form(self):
        for params in [{"m": "sum:x"}, {"start": 1}, {"start": 1, "m": "nonsense:x"},
                       {"start": 1, "m": "sum:x{a=regexp(()}"}, {"start": 5, "end": 1, "m": "sum:x"},
                       {"start": "yesterday", "m": "sum:x"}, {"start": 1, "m": "sum:1x-avg:x"}]:
            error = self.daemon.get("/api/query", params).expect(400).json["error"]
            self.assertEqual(400, error["code"], params)
            self.assertTrue(error["message"], params)
        for body in ["{", "[" * 100_000, "[]", '{"start":1,"queries":[7]}']:
            answer = self.daemon.request("POST", "/api/query", body)
            self.assertEqual(400, answer.expect(400).json["error"]["code"])

    def test_what_is_too_much_names_a_tag_that_bounds_it(self):
        daemon = self.start(TOML, server='query_memory = "1MiB"')
        daemon.write("server", [{"dc": f"d{i % 7}", "host": f"h{i % 300}", "ts": START + i * 50,
                                 "cpu": i} for i in range(60_000)])
        error = daemon.get("/api/query", {"start": 1, "m": "sum:server.cpu{host=*}", "ms": ""})
        message = error.expect(413).json["error"]["message"]
        self.assertIn("'dc'", message)

    # --- against a reference ---

    def test_one_series_is_what_step_makes_of_it(self):
        self.write_random()
        for name, agg in [("avg", "avg"), ("sum", "sum"), ("min", "min"), ("max", "max"),
                          ("count", "count"), ("first", "first"), ("last", "last"), ("dev", "stddev"),
                          ("p50", "p50"), ("p99", "p99")]:
            first, last = START - 20_000, START + 9 * MINUTE + 40_000 - 1
            steps = self.daemon.query("server", dc="d0", host="h0", from_=first, to=last + 1,
                                      step="1m", agg=agg, fields="cpu")["rows"]
            answer = self.ask(start=first, end=last, m=f"max:1m-{name}:server.cpu{{host=h0,dc=d0}}",
                              ms="")
            self.assertEqual([list(row) for row in steps],
                             [[int(time), number] for time, number in answer[0]["dps"].items()], name)

    def write_random(self):
        chance = random.Random(SEED)
        self.points = {}
        events = []
        for index, host in enumerate(["h0", "h1", "h2"]):
            times = sorted(chance.sample(range(0, 10 * MINUTE, 250), 60))
            whole = host != "h2"
            points = [(START + time, chance.randint(0, 1000) if whole
                       else round(chance.uniform(0, 100), 2)) for time in times]
            dc = f"d{index % 2}"
            self.points[dc, host] = points
            events += [{"dc": dc, "host": host, "ts": time, "cpu": number} for time, number in points]
        chance.shuffle(events)
        self.daemon.write("server", events)

    def same(self, expected, answer, what):
        found = {int(time): number for time, number in answer.items()}
        self.assertEqual(list(expected), list(found), what)
        for time, number in expected.items():
            if number is None:
                self.assertEqual("NaN", found[time], what)
            else:
                self.assertAlmostEqual(float(number), found[time], delta=1e-9 * max(1, abs(number)),
                                       msg=f"{what} at {time}")

    def test_joins_rates_and_steps_are_those_of_the_reference(self):
        self.write_random()
        first, last = START + 7_000, START + 8 * MINUTE
        for name in model.FOLDS:
            for step, fill in [(None, None), ("15s-avg", None), ("1m-p95", None), ("20s-max-nan", None),
                               ("15s-sum-zero", None)]:
                for rate in ["", "rate:", "rate{counter,1000,50}:", "rate{dropcounter}:"]:
                    m = f"{name}:{step + ':' if step else ''}{rate}server.cpu{{dc=*}}"
                    answer = self.ask(start=first, end=last, m=m, ms="")
                    expected = [self.expected(dc, name, step, rate, first, last)
                                for dc in ["d0", "d1"]]
                    self.assertEqual(2, len(answer), m)
                    for one, dps in zip(expected, answer):
                        self.same(one, dps["dps"], f"{m} (seed {SEED})")

    def expected(self, dc, name, step, rate, first, last):
        series = []
        for (of, _), points in sorted(self.points.items()):
            if of != dc:
                continue
            points = [point for point in points if step or first <= point[0] <= last]
            if step:
                width, fold, *fill = step.split("-")
                width = int(width[:-1]) * (MINUTE if width.endswith("m") else 1000)
                fill = {"nan": {"value": None}, "zero": {"value": 0}}[fill[0]] if fill else None
                points = model.downsampled(points, width, fold, first, last, fill)
            if rate == "rate:":
                points = model.rates(points)
            elif rate:
                drop = "drop" in rate
                points = model.rates(points, 1000, 0 if drop else 50, drop)
            series.append(points)
        return model.joined(series, name)
