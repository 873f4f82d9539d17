"""Agents that write to InfluxDB write to tallyd: v1, v2 and v3, to the letter."""

import gzip

from tests.e2e.tallyd import E2eTest
from tests.e2e.test_tokens import entry

INFLUX = '[protocols.influx]\nstream = "telegraf"\n'
V1, V2, V3 = "/write?db=any", "/api/v2/write?bucket=any&org=any", "/api/v3/write_lp?db=any"
GOOD = "cpu,host=a usage=1.5,cores=4i 1700000000000000000\n"
UNREAD = "cpu,host=a usage=\n"
UNREAD_WHY = "unable to parse 'cpu,host=a usage=': \"usage\": missing field value"
UNSTORED = "cpu,host=a usage=1,big=9223372036854775808u 1700000001000000000\n"
UNSTORED_WHY = ("unable to parse 'cpu,host=a usage=1,big=9223372036854775808u 1700000001000000000': "
                "\"big\": unsigned integer 9223372036854775808u is beyond 9223372036854775807, the "
                "greatest that is stored")


class InfluxTest(E2eTest):
    def write(self, tallyd, path, body, status=204, **headers):
        answer = tallyd.request("POST", path, body, headers).expect(status)
        self.assertEqual("1.8.10", answer.header("X-Influxdb-Version"))
        self.assertTrue(answer.header("Request-Id"))
        return answer

    def stored(self, tallyd, columns=("measurement", "host", "usage", "cores")):
        answer = tallyd.get("/v1/streams/telegraf/events?scan=1").expect(200).json
        places = [answer["columns"].index(name) for name in ("ts", *columns)]
        return [[row[place] for place in places] for row in answer["rows"]]

    def test_a_line_is_an_event_in_both_default_tables(self):
        tallyd = self.start(INFLUX)
        for path in (V1, V2, V3):
            self.assertEqual("", self.write(tallyd, path, GOOD).text)
        self.assertEqual([[1700000000000, "cpu", "a", 1.5, 4]], self.stored(tallyd))
        row = tallyd.get("/v1/tables/telegraf/rows").expect(200).json["rows"][0]
        self.assertEqual("cpu#host=a#1700000000000", row["key"])
        self.assertEqual({"usage", "cores"}, set(row["cells"]["m"]))
        latest = tallyd.get("/v1/tables/telegraf_latest/rows").expect(200).json["rows"]
        self.assertEqual(["cpu#host=a"], [row["key"] for row in latest])

    def test_two_lines_of_one_series_and_time_are_both_kept(self):
        tallyd = self.start(INFLUX)
        self.write(tallyd, V1, "cpu,host=a usage=1 1700000000000000000\n"
                               "cpu,host=a cores=2i 1700000000000000000\n")
        self.assertEqual([[1700000000000, "cpu", "a", 1.0, 2]], self.stored(tallyd))

    def test_v1_stores_what_is_good_and_tells_what_was_dropped(self):
        tallyd = self.start(INFLUX)
        answer = self.write(tallyd, V1, GOOD + UNREAD, 400)
        self.assertEqual({"error": f"partial write: {UNREAD_WHY} dropped=1"}, answer.json)
        answer = self.write(tallyd, V1, GOOD + UNSTORED, 400)
        self.assertEqual({"error": f"partial write: {UNSTORED_WHY} dropped=1"}, answer.json)
        answer = self.write(tallyd, V1, UNREAD, 400)
        self.assertEqual({"error": UNREAD_WHY}, answer.json)
        self.assertEqual(1, len(self.stored(tallyd)))
        self.assertEqual(b"", self.write(tallyd, V1, "", 200).body)
        self.write(tallyd, V1, "# nothing\n")

    def test_v2_stores_nothing_beside_a_line_that_cannot_be_read(self):
        tallyd = self.start(INFLUX)
        answer = self.write(tallyd, V2, GOOD + UNREAD, 400)
        self.assertEqual({"code": "invalid", "message": UNREAD_WHY}, answer.json)
        self.assertEqual("invalid", answer.header("X-Platform-Error-Code"))
        self.assertEqual([], tallyd.get("/v1/tables/telegraf/rows").json["rows"])
        answer = self.write(tallyd, V2, GOOD + UNSTORED, 422)
        self.assertEqual(
            {"code": "unprocessable entity", "message":
             f"failure writing points to database: partial write: {UNSTORED_WHY} dropped=1"},
            answer.json)
        self.assertEqual(1, len(self.stored(tallyd)))

    def test_v3_lists_the_bad_lines(self):
        tallyd = self.start(INFLUX)
        bad = {"original_line": UNREAD.strip(), "line_number": 3,
               "error_message": "\"usage\": missing field value"}
        body = "# a comment\n" + GOOD + UNREAD
        answer = self.write(tallyd, V3 + "&accept_partial=false", body, 400)
        self.assertEqual({"error": "parsing failed for write_lp endpoint", "data": bad},
                         answer.json)
        self.assertEqual([], tallyd.get("/v1/tables/telegraf/rows").json["rows"])
        answer = self.write(tallyd, V3 + "&no_sync=true", body, 400)
        self.assertEqual({"error": "partial write of line protocol occurred", "data": [bad]},
                         answer.json)
        self.assertEqual(1, len(self.stored(tallyd)))

    def test_each_dialect_has_its_precisions(self):
        tallyd = self.start(INFLUX)
        asked = [(V1, "h", 3_600_000_000_000), (V1, "m", 60_000_000_000), (V1, "s", 10**9),
                 (V1, "ms", 10**6), (V1, "u", 1000), (V1, "n", 1), (V2, "s", 10**9),
                 (V2, "us", 1000), (V3, "second", 10**9), (V3, "millisecond", 10**6),
                 (V3, "auto", 10**9), (V3, "auto", 1)]
        for path, precision, nanoseconds in asked:
            time = 1_699_999_200 * 10**9 // nanoseconds
            self.write(tallyd, f"{path}&precision={precision}", f"cpu,host=a usage=1 {time}\n")
            self.assertEqual(1699999200000, self.stored(tallyd, ("usage",))[0][0],
                             (path, precision))
            tallyd.request("DELETE", "/v1/tables/telegraf/rows?prefix=cpu").expect(200)
        self.assertEqual({"error": "invalid precision \"x\" (use n, u, ms, s, m or h)"},
                         self.write(tallyd, V1 + "&precision=x", GOOD, 400).json)
        self.assertEqual("invalid precision; valid precision units are ns, us, ms, and s",
                         self.write(tallyd, V2 + "&precision=m", GOOD, 400).json["message"])
        self.assertIn("error", self.write(tallyd, V3 + "&precision=m", GOOD, 400).json)

    def test_what_names_no_database_is_refused(self):
        tallyd = self.start(INFLUX)
        self.assertEqual({"error": "database is required"},
                         self.write(tallyd, "/write", GOOD, 400).json)
        self.assertEqual({"code": "not found", "message": "bucket not found"},
                         self.write(tallyd, "/api/v2/write?org=a", GOOD, 404).json)
        self.assertEqual({"error": "missing query parameter 'db'"},
                         self.write(tallyd, "/api/v3/write_lp", GOOD, 400).json)

    def test_bodies_may_be_packed(self):
        tallyd = self.start(INFLUX)
        packed = gzip.compress(GOOD.encode())
        for path in (V1, V2, V3):
            self.write(tallyd, path, packed, **{"Content-Encoding": "gzip"})
        self.assertEqual(1, len(self.stored(tallyd)))
        answer = self.write(tallyd, V2, b"none", 400, **{"Content-Encoding": "gzip"})
        self.assertEqual({"code": "invalid",
                          "message": "gzipped HTTP body contains an invalid header"}, answer.json)
        answer = self.write(tallyd, V1, GOOD, 415, **{"Content-Encoding": "br"})
        self.assertEqual(["error"], list(answer.json))

    def test_a_line_without_a_time_has_that_of_its_arrival(self):
        tallyd = self.start(INFLUX)
        self.write(tallyd, V1, "cpu,host=a usage=1\ncpu,host=a usage=2\n")
        self.assertEqual(2, len(self.stored(tallyd, ("usage",))))

    def test_each_measurement_may_be_a_stream(self):
        tables = "".join(
            f'[tables.{name}]\npattern = "single-timestamp"\nrow_key = "{{host}}#{{ts:ms}}"\n'
            "families.f = {}\n" for name in ("cpu", "mem"))
        tallyd = self.start('[protocols.influx]\nstream = "{measurement}"\n' + tables)
        body = ("cpu,host=a usage=1 1700000000000000000\nmem,host=a used=2i 1700000000000000000\n"
                "disk,host=a free=3i 1700000000000000000\n")
        answer = self.write(tallyd, V1, body, 400)
        self.assertEqual(
            {"error": "partial write: unable to parse 'disk,host=a free=3i 1700000000000000000': "
                      "\"disk\": it is a measurement for which there is no stream dropped=1"},
            answer.json)
        for name, column, value in (("cpu", "usage", 1.0), ("mem", "used", 2)):
            rows = tallyd.get(f"/v1/tables/{name}/rows").expect(200).json["rows"]
            self.assertEqual(["a#1700000000000"], [row["key"] for row in rows])
            self.assertEqual(value, rows[0]["cells"]["f"][column][0]["value"])

    def test_agents_find_the_database_that_they_ask_for(self):
        tallyd = self.start(INFLUX)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        made = tallyd.request("POST", "/query", "q=CREATE+DATABASE+%22telegraf%22", form)
        self.assertEqual({"results": [{"statement_id": 0}]}, made.expect(200).json)
        shown = tallyd.get("/query?db=hass&q=SHOW%20DATABASES%3B").expect(200).json
        self.assertEqual([["hass"], ["telegraf"]], shown["results"][0]["series"][0]["values"])
        refused = tallyd.get("/query?q=SELECT%20*%20FROM%20cpu").expect(400).json
        self.assertIn("error parsing query", refused["error"])
        tallyd.get("/query").expect(400)

    def test_ping_and_health_say_that_it_is_there(self):
        tallyd = self.start(INFLUX)
        for method in ("GET", "HEAD"):
            answer = tallyd.request(method, "/ping").expect(204)
            self.assertEqual("1.8.10", answer.header("X-Influxdb-Version"))
        self.assertEqual({"version": "1.8.10"},
                         tallyd.get("/ping?verbose=true").expect(200).json)
        health = tallyd.get("/health").expect(200).json
        self.assertEqual(("influxdb", "pass", []),
                         (health["name"], health["status"], health["checks"]))

    def test_without_its_section_nothing_is_there(self):
        tallyd = self.start('[tables.T]\npattern = "latest"\nrow_key = "{k}"\nfamilies.f = {}\n')
        for path in (V1, V2, V3):
            tallyd.request("POST", path, GOOD).expect(404)
        for path in ("/ping", "/health", "/query?q=SHOW+DATABASES"):
            tallyd.get(path).expect(404)

    def test_tokens_come_as_influx_has_them(self):
        tallyd = self.start(INFLUX + entry("write") + entry("read") + entry("admin"))
        with_token = {"Authorization": "Token secret of write"}
        basic = {"Authorization": "Basic YW55OnNlY3JldCBvZiB3cml0ZQ=="}
        for path in (V1, V2, V3):
            tallyd.request("POST", path, GOOD, with_token).expect(204)
            tallyd.request("POST", path, GOOD, basic).expect(204)
        by_query = "&u=any&p=secret%20of%20write"
        tallyd.request("POST", V1 + by_query, GOOD).expect(204)
        tallyd.request("POST", V2 + by_query, GOOD).expect(401)
        tallyd.request("POST", V3 + by_query, GOOD).expect(401)
        nobody = {path: tallyd.request("POST", path, GOOD).expect(401) for path in (V1, V2, V3)}
        self.assertEqual(["error"], list(nobody[V1].json))
        self.assertEqual("unauthorized", nobody[V2].json["code"])
        for answer in nobody.values():
            self.assertEqual("Bearer", answer.header("WWW-Authenticate"))
        reader = {"Authorization": "Token secret of read"}
        self.assertEqual("forbidden",
                         tallyd.request("POST", V2, GOOD, reader).expect(403).json["code"])
        for who in (reader, with_token):
            tallyd.request("GET", "/query?q=SHOW+DATABASES", None, who).expect(200)
        tallyd.get("/ping").expect(204)
        tallyd.get("/health").expect(200)
        self.assertNotIn("secret of", tallyd.log())

    def test_who_tries_many_tokens_is_told_503(self):
        tallyd = self.start(INFLUX + entry("write") + entry("admin"))
        wrong = {"Authorization": "Token wrong"}
        statuses = {tallyd.request("POST", V1, GOOD, wrong).status for _ in range(30)}
        self.assertEqual({401, 503}, statuses)

    def test_a_body_that_is_too_large_is_413_in_the_dialects_form(self):
        tallyd = self.start(INFLUX, server='max_body = "1KiB"')
        body = GOOD * 100
        self.assertEqual({"error": "Request Entity Too Large"},
                         tallyd.request("POST", V1, body).expect(413).json)
        self.assertEqual("request too large",
                         tallyd.request("POST", V2, body).expect(413).json["code"])

    def test_a_reload_brings_and_takes_the_protocol(self):
        table = '[tables.T]\npattern = "latest"\nrow_key = "{k}"\nfamilies.f = {}\n'
        tallyd = self.start(table)
        tallyd.request("POST", V1, GOOD).expect(404)
        tallyd.write_config(table + INFLUX)
        tallyd.request("POST", "/-/reload").expect(200)
        tallyd.request("POST", V1, GOOD).expect(204)
        tallyd.write_config(table)
        told = tallyd.request("POST", "/-/reload").expect(200)
        self.assertIn("telegraf_latest", told.text)
        tallyd.request("POST", V1, GOOD).expect(404)
