"""Series: listed, found by a label, bounded."""

from tests.e2e.tallyd import E2eTest, as_dicts, in_threads

START = 1_700_000_000_000

TABLES = """
[streams.s]
labels = ["host", "rack", "dc"]
{bounds}
[tables.S]
stream = "s"
pattern = "single-timestamp"
row_key = "{{measurement}}#{{labels}}#{{ts:ms}}"
families.m = {{}}
[tables.S_latest]
stream = "s"
pattern = "latest"
row_key = "{{measurement}}#{{labels}}"
families.m = {{}}
"""


def event(measurement, host, second=0, **more):
    return {"ts": START + second * 1000, "measurement": measurement, "host": host, "v": second,
            **more}


class SeriesTest(E2eTest):
    def begin(self, bounds=""):
        return self.start(TABLES.format(bounds=bounds))

    def series(self, daemon, **params):
        answer = daemon.get("/v1/streams/s/series", params).expect(200).json
        self.assertIsNone(answer["next"])
        return answer["series"]

    def settle(self, daemon):
        daemon.request("POST", "/-/settle").expect(200)

    def test_a_label_is_a_range_for_each_series(self):
        daemon = self.begin()
        daemon.write("s", [event(m, f"h{h}", second, rack=f"r{h % 10}")
                           for m in ("cpu", "mem") for h in range(50) for second in range(3)])
        for restarted in False, True:
            with self.subTest(restarted=restarted):
                if restarted:
                    daemon.restart()
                answer = daemon.query("s", {"host": "h7"})
                self.assertEqual("range", answer["plan"]["kind"])
                self.assertEqual(2, answer["plan"]["ranges"])
                self.assertEqual(6, answer["plan"]["rows_read"])
                self.assertEqual({"h7"}, {one["host"] for one in as_dicts(answer)})
                both = daemon.query("s", {"host": "h7", "measurement": "cpu",
                                          "from": START + 1000, "to": START + 2000})
                self.assertEqual(1, both["plan"]["rows_read"])
                many = daemon.query("s", {"rack": "r3", "measurement": "mem"})
                self.assertEqual(5, many["plan"]["ranges"])
                self.assertEqual(15, len(many["rows"]))
                self.assertEqual(0, len(daemon.query("s", {"rack": "r3", "host": "h7"})["rows"]))
                latest = daemon.latest("s", {"host": "h7"})
                self.assertEqual([["cpu", 2], ["mem", 2]],
                                 [[one["measurement"], one["v"]] for one in latest])

    def test_a_label_that_some_event_had_as_another_field_is_found_both_ways(self):
        daemon = self.begin()
        daemon.write("s", [event("cpu", f"h{h}", h, rack="r1") for h in range(50)])
        # A number is no label.
        daemon.write("s", [event("mem", 7, 60, rack="r1"), event("mem", 8, 61, rack="r2")])
        for asked, ranges, wanted in (("h7", 3, [["cpu", "h7"]]), ("7", 2, [["mem", 7]])):
            answer = daemon.query("s", {"host": asked})
            self.assertEqual("range", answer["plan"]["kind"])
            self.assertLessEqual(answer["plan"]["ranges"], ranges)
            self.assertEqual(wanted, [[one["measurement"], one["host"]]
                                      for one in as_dicts(answer)], asked)

    def test_series_are_listed_by_pages(self):
        daemon = self.begin()
        daemon.write("s", [event("cpu", f"h{h}", rack="r") for h in range(5)])
        self.assertEqual([{"measurement": "cpu", "host": f"h{h}", "rack": "r"} for h in range(5)],
                         self.series(daemon))
        self.assertEqual(1, len(self.series(daemon, host="h3")))
        self.assertEqual([], self.series(daemon, measurement="mem"))
        seen, cursor = [], None
        while True:
            page = daemon.get("/v1/streams/s/series",
                              {"limit": 2, **({"cursor": cursor} if cursor else {})}).expect(200)
            seen += [one["host"] for one in page.json["series"]]
            cursor = page.json["next"]
            if cursor is None:
                break
        self.assertEqual([f"h{h}" for h in range(5)], seen)
        refused = daemon.get("/v1/streams/s/series", {"hots": "h1"}).expect(400)
        self.assertIn("host", refused.json["detail"])

    def test_a_series_without_rows_is_gone_after_a_settle(self):
        daemon = self.begin()
        daemon.write("s", [event("cpu", "a"), event("cpu", "b"), event("cpu", "b", 1)])
        daemon.delete("/v1/tables/S/rows", {"prefix": "cpu#host=a#"}).expect(200)
        daemon.delete(f"/v1/tables/S/rows/cpu%23host=b%23{START}").expect(200)
        self.settle(daemon)
        self.assertEqual([{"measurement": "cpu", "host": "b"}], self.series(daemon))
        daemon.write("s", [event("cpu", "a", 5)])
        self.assertEqual(2, len(self.series(daemon)))
        self.assertEqual(1, len(daemon.query("s", {"host": "a"})["rows"]))

    def test_what_would_be_one_too_many_is_refused_by_name(self):
        daemon = self.begin("max_series = 3\n")
        daemon.write("s", [event("cpu", "a"), event("cpu", "b")])
        refused = daemon.post("s", [event("cpu", "c"), event("cpu", "d")]).expect(400)
        self.assertIn("max_series", refused.json["errors"][0]["detail"])
        self.assertEqual(1, refused.json["errors"][0]["index"])
        self.assertEqual(2, len(self.series(daemon)))
        partly = daemon.post("s", [event("cpu", "c"), event("cpu", "d"), event("cpu", "a", 1)],
                             partial=1).expect(200).json
        self.assertEqual(2, partly["events"])
        daemon.restart()
        daemon.post("s", [event("cpu", "d")]).expect(400)
        daemon.write("s", [event("cpu", "a", 2)])
        for table in "S", "S_latest":
            daemon.delete(f"/v1/tables/{table}/rows", {"prefix": "cpu#host=b"}).expect(200)
        self.settle(daemon)
        daemon.write("s", [event("cpu", "d")])
        daemon.post("s", [event("cpu", "e")]).expect(400)

    def test_a_bound_holds_however_many_write_at_once(self):
        daemon = self.begin("max_series = 20\n")
        in_threads(8, lambda w: [daemon.post("s", [event("cpu", f"{w}-{i}")]) for i in range(8)])
        self.assertEqual(20, len(self.series(daemon)))

    def test_fields_are_bounded(self):
        daemon = self.begin("max_fields = 4\n")
        daemon.write("s", [event("cpu", "a")])  # measurement, host, v, and the time.
        fields = len(daemon.get("/v1/streams/s/fields").expect(200).json["fields"])
        more = {f"new{i}": i for i in range(4 - fields)}
        daemon.write("s", [event("cpu", "a", 1, **more)])
        refused = daemon.post("s", [event("cpu", "a", 2, other=1)]).expect(400)
        self.assertIn("max_fields", refused.json["errors"][0]["detail"])
        self.assertIn("other", refused.json["errors"][0]["detail"])
