"""POST /v1/tables/{table}/rows/{key}/mutations: S5, S8, S9, S40 to S43 of the seeds."""

import base64
import json
from urllib.parse import quote

from tests.e2e.tallyd import E2eTest, eventually, ms
from tests.e2e.test_seeds_model import CLOSING, PRICES

COLUMNS = """columns = [
  { family = "METER", name = "ID",        value = "{meter}" },
  { family = "METER", name = "{ts:%H%M}", value = "{value}" },
]"""
SENSOR = f"""
[tables.SENSOR]
stream = "meter"
pattern = "new-column"
row_key = "{{meter:zero(10)}}#{{ts:day}}"
{COLUMNS}
families.METER = {{}}
"""
DONATIONS = 'families.donations = { aggregate = "sum", bucket = "1d" }\n'
NOW = '[tables.NOW]\npattern = "latest"\nrow_key = "{k}"\nfamilies.F = {}\n'
ROW = "0000987654#20170726"
DAY = ms("2017-07-26")


def set_(family, qualifier, ts, value):
    return {"set": {"family": family, "qualifier": qualifier, "ts": ts, "value": value}}


def add(family, qualifier, ts, value):
    return {"add": {"family": family, "qualifier": qualifier, "ts": ts, "value": value}}


def merge(family, qualifier, ts, value):
    return {"merge": {"family": family, "qualifier": qualifier, "ts": ts, "value": value}}


def delete(**what):
    return {"delete": what}


def mutate(daemon, table, key, *mutations, headers=None):
    body = json.dumps({"mutations": list(mutations)})
    key = quote(key, safe="")
    return daemon.request("POST", f"/v1/tables/{table}/rows/{key}/mutations", body, headers)


class MutationsTest(E2eTest):
    def test_a_row_is_set_and_read_back_with_every_type(self):
        daemon = self.start(SENSOR)
        answer = mutate(daemon, "SENSOR", ROW, set_("METER", "0000", DAY, 12.34),
                        set_("METER", "b", DAY + 0.5, True), set_("METER", "i", DAY, 2**63 - 1),
                        set_("METER", "t", DAY, "text"),
                        set_("METER", "x", DAY, {"base64": "AP8="}))
        self.assertEqual({"mutations": 5, "rows": 1, "cells": 5}, answer.expect(200).json)
        cells = daemon.cells("SENSOR", ROW)["METER"]
        self.assertEqual([{"value": 12.34, "ts": DAY}], cells["0000"])
        self.assertEqual([{"value": True, "ts": DAY + 0.5}], cells["b"])
        self.assertEqual(2**63 - 1, cells["i"][0]["value"])
        self.assertEqual("text", cells["t"][0]["value"])
        self.assertEqual({"base64": "AP8="}, cells["x"][0]["value"])
        self.assertEqual([12.34], [event["value"] for event in
                                   daemon.events("meter", meter="987654", fields="value")
                                   if event.get("value") == 12.34])

    def test_S05_a_correction_with_a_later_time_is_the_latest_and_both_are_kept(self):
        daemon = self.start(CLOSING)
        day = ms("2015-03-01")
        mutate(daemon, "CLOSING", "ZXZZT", set_("STOCK", "PRICE", day, 559.40)).expect(200)
        mutate(daemon, "CLOSING", "ZXZZT", set_("STOCK", "PRICE", day + 60_000, 558.40)).expect(200)
        latest = daemon.cells("CLOSING", "ZXZZT", versions=1)["STOCK"]["PRICE"]
        self.assertEqual([558.40], [cell["value"] for cell in latest])
        every = daemon.cells("CLOSING", "ZXZZT")["STOCK"]["PRICE"]
        self.assertEqual([558.40, 559.40], [cell["value"] for cell in every])

    def test_S08_a_family_must_be_declared_and_can_be_added_later(self):
        daemon = self.start(SENSOR)
        mutate(daemon, "SENSOR", "0000000001#20170726", set_("METER", "0000", DAY, 1)).expect(200)
        before = daemon.rows("SENSOR")
        refused = mutate(daemon, "SENSOR", ROW, set_("STATUS", "ok", DAY, True)).problem(400)
        self.assertIn("METER", refused["errors"][0]["detail"])
        self.refused(mutate(daemon, "SENSOR", ROW, set_("STATUS", "ok", DAY, True)), 0, "family")
        daemon.reload(SENSOR + 'families.STATUS = { max_versions = 1 }\n').expect(200)
        mutate(daemon, "SENSOR", ROW, set_("STATUS", "ok", DAY, True)).expect(200)
        self.assertEqual(before, daemon.rows("SENSOR", prefix="0000000001"))
        mutate(daemon, "SENSOR", ROW, set_("STATUS", "ok", DAY + 1, False)).expect(200)
        self.assertEqual([{"value": False, "ts": DAY + 1}],
                         daemon.cells("SENSOR", ROW)["STATUS"]["ok"])

    def test_S09_one_invalid_cell_refuses_the_whole_row(self):
        daemon = self.start(SENSOR)
        refused = mutate(daemon, "SENSOR", ROW, set_("METER", "0000", DAY, 12.34),
                         set_("METER", "0015", DAY, None)).problem(400)
        self.assertEqual([1], [error["index"] for error in refused["errors"]])
        self.assertEqual(1, refused["error_count"])
        daemon.row("SENSOR", ROW).expect(404)

    def test_S40_an_add_needs_a_time_and_an_integer(self):
        daemon = self.start(SENSOR + DONATIONS)
        noon = ms("2021-03-05T12:00")
        mutate(daemon, "SENSOR", "k", add("donations", "c7", noon, 25)).expect(200)
        before = daemon.cells("SENSOR", "k")
        self.assertEqual({"donations": {"c7": [{"value": 25, "ts": ms("2021-03-05")}]}}, before)
        without = {"add": {"family": "donations", "qualifier": "c7", "value": 10}}
        self.refused(mutate(daemon, "SENSOR", "k", without), 0, "ts")
        for value in ("ten", "10", 1.5, True, None, {"base64": "AAAA"}, 2**63):
            self.refused(mutate(daemon, "SENSOR", "k", add("donations", "c7", noon, 1),
                                add("donations", "c7", noon, value)), 1, "value")
        self.assertEqual(before, daemon.cells("SENSOR", "k"))

    def test_S41_kinds_of_families_never_mix(self):
        daemon = self.start(SENSOR)
        mutate(daemon, "SENSOR", ROW, set_("METER", "0000", DAY, 1)).expect(200)
        daemon.reload(SENSOR + DONATIONS).expect(200)
        mutate(daemon, "SENSOR", ROW, add("donations", "c7", DAY, 1)).expect(200)
        for wrong in (set_("donations", "c7", DAY, 1), add("METER", "0000", DAY, 1),
                      merge("METER", "0000", DAY, 1)):
            self.refused(mutate(daemon, "SENSOR", ROW, wrong), 0, "family")
        summed = SENSOR.replace("families.METER = {}", 'families.METER = { aggregate = "sum" }')
        daemon.reload(summed + DONATIONS).problem(409)
        self.assertEqual({"METER": {"0000": [{"value": 1, "ts": DAY}]},
                          "donations": {"c7": [{"value": 1, "ts": DAY}]}},
                         daemon.cells("SENSOR", ROW))

    def test_S42_a_delete_before_a_merge_or_an_add_hides_what_was_there(self):
        daemon = self.start(SENSOR + DONATIONS)
        mutate(daemon, "SENSOR", "k", add("donations", "A", DAY, 40), add("donations", "A", DAY, 25),
               add("donations", "B", DAY, 7)).expect(200)
        state = daemon.cells("SENSOR", "k")["donations"]["A"][0]["value"]
        self.assertEqual(65, state)
        mutate(daemon, "SENSOR", "k", delete(family="donations", qualifier="B"),
               merge("donations", "B", DAY, 65)).expect(200)
        self.assertEqual(65, daemon.cells("SENSOR", "k")["donations"]["B"][0]["value"])
        mutate(daemon, "SENSOR", "k", delete(family="donations", qualifier="A")).expect(200)
        mutate(daemon, "SENSOR", "k", add("donations", "A", DAY, 10)).expect(200)
        daemon.request("POST", "/-/settle").expect(200)
        self.assertEqual({"A": 10, "B": 65},
                         {name: cells[0]["value"] for name, cells in
                          daemon.cells("SENSOR", "k")["donations"].items()})

    def test_S43_one_version_of_five_cells_is_the_newest(self):
        daemon = self.start(CLOSING.replace("max_versions = 100", "max_versions = 1"))
        for day, price in PRICES:
            mutate(daemon, "CLOSING", "ZXZZT", set_("STOCK", "PRICE", ms(day), price)).expect(200)
        for _ in range(2):
            self.assertEqual([{"value": 575.33, "ts": ms("2015-03-05")}],
                             daemon.cells("CLOSING", "ZXZZT")["STOCK"]["PRICE"])
            daemon.request("POST", "/-/settle").expect(200)

    def test_the_order_of_the_list_counts(self):
        daemon = self.start(SENSOR + DONATIONS)
        mutate(daemon, "SENSOR", "k", set_("METER", "old", DAY, 1)).expect(200)
        answer = mutate(daemon, "SENSOR", "k", set_("METER", "a", DAY, 1),
                        set_("METER", "b", DAY, 1), add("donations", "n", DAY, 5),
                        delete(family="METER"), set_("METER", "b", DAY, 2),
                        set_("METER", "b", DAY, 3), add("donations", "n", DAY, 6),
                        delete(family="METER", qualifier="c"))
        self.assertEqual(8, answer.expect(200).json["mutations"])
        expected = {"METER": {"b": [{"value": 3, "ts": DAY}]},
                    "donations": {"n": [{"value": 11, "ts": DAY}]}}
        self.assertEqual(expected, daemon.cells("SENSOR", "k"))
        daemon.request("POST", "/-/settle").expect(200)
        self.assertEqual(expected, daemon.cells("SENSOR", "k"))
        mutate(daemon, "SENSOR", "k", set_("METER", "z", DAY, 1), delete()).expect(200)
        daemon.row("SENSOR", "k").expect(404)

    def test_a_delete_narrows_to_a_range_of_cell_times(self):
        daemon = self.start(CLOSING)
        mutate(daemon, "CLOSING", "Z", *[set_("STOCK", "PRICE", ms(day), price)
                                         for day, price in PRICES]).expect(200)
        mutate(daemon, "CLOSING", "Z", delete(family="STOCK", qualifier="PRICE",
                                              **{"from": ms("2015-03-02"), "to": ms("2015-03-04")})
               ).expect(200)
        self.assertEqual([575.33, 573.37, 558.40],
                         [cell["value"] for cell in daemon.cells("CLOSING", "Z")["STOCK"]["PRICE"]])
        mutate(daemon, "CLOSING", "Z", delete(**{"from": ms("2015-03-05")})).expect(200)
        self.assertEqual([573.37, 558.40],
                         [cell["value"] for cell in daemon.cells("CLOSING", "Z")["STOCK"]["PRICE"]])

    def test_a_sum_is_exact_to_128_bits_and_takes_digits(self):
        daemon = self.start(SENSOR + DONATIONS)
        big = 2**126
        mutate(daemon, "SENSOR", "k", merge("donations", "n", DAY, big),
               merge("donations", "n", DAY, str(big - 1)),
               add("donations", "n", DAY, -1)).expect(200)
        body = daemon.row("SENSOR", "k").expect(200).text
        self.assertIn(f'"value":{2 * big - 2}', body.replace(" ", ""))

    def test_a_state_of_hll_travels_as_base64(self):
        daemon = self.start(SENSOR + 'families.users = { aggregate = "hll" }\n')
        mutate(daemon, "SENSOR", "a", *[add("users", "u", DAY, f"user{n}") for n in range(50)],
               add("users", "u", DAY, {"base64": base64.b64encode(b"\xff").decode()})).expect(200)
        state = daemon.cells("SENSOR", "a", raw=1)["users"]["u"][0]["value"]
        self.assertEqual(["base64"], list(state))
        mutate(daemon, "SENSOR", "b", add("users", "u", DAY, "another"),
               merge("users", "u", DAY, state)).expect(200)
        self.assertAlmostEqual(52, daemon.cells("SENSOR", "b")["users"]["u"][0]["value"], delta=2)
        mutate(daemon, "SENSOR", "b", merge("users", "u", DAY, {"base64": "AAAA"})).problem(400)

    def test_a_key_has_up_to_4096_bytes_of_any_kind(self):
        daemon = self.start(SENSOR)
        for key in ("k" * 4096, "a/b%23#\x7f", "ü"):
            mutate(daemon, "SENSOR", key, set_("METER", "q", DAY, 1)).expect(200)
            self.assertEqual(1, daemon.cells("SENSOR", key)["METER"]["q"][0]["value"])
        path = "/v1/tables/SENSOR/rows/%FF%00/mutations"
        body = json.dumps({"mutations": [set_("METER", "q", DAY, 2)]})
        daemon.request("POST", path, body).expect(200)
        self.assertIn({"base64": "/wA="}, daemon.keys("SENSOR"))
        mutate(daemon, "SENSOR", "k" * 4097, set_("METER", "q", DAY, 1)).problem(400)

    def test_a_row_that_the_template_cannot_read_is_left_out_of_events_and_counted(self):
        daemon = self.start(SENSOR)
        daemon.write("meter", {"ts": DAY, "meter": 987654, "value": 1.5})
        mutate(daemon, "SENSOR", "no such key", set_("METER", "0000", DAY, 1)).expect(200)
        answer = daemon.query("meter", scan=1)
        self.assertEqual(1, len(answer["rows"]))
        self.assertIn("\ntallyd_query_unreadable_rows_total 1\n", daemon.get("/metrics").text)
        self.assertEqual(2, len(daemon.keys("SENSOR")))

    def test_what_is_no_list_of_mutations_is_refused(self):
        daemon = self.start(SENSOR)
        path = "/v1/tables/SENSOR/rows/k/mutations"
        for body in (b"", b"[]", b"{}", b"{\"mutations\":[}", b"{\"mutations\":[]} more", b"\xff"):
            daemon.request("POST", path, body).problem(400)
        self.assertEqual({"mutations": 0, "rows": 0, "cells": 0},
                         daemon.request("POST", path, '{"mutations":[]}').expect(200).json)
        daemon.request("POST", path, '{"mutations":[]}', {"Content-Type": "text/csv"}).problem(415)
        daemon.request("POST", path + "?x=1", '{"mutations":[]}').problem(400)
        mutate(daemon, "NONE", "k", delete()).problem(404)
        daemon.reload(NOW).expect(200)
        mutate(daemon, "SENSOR", "k", set_("METER", "q", DAY, 1)).problem(409)

    def test_a_latest_table_takes_the_newest(self):
        daemon = self.start(NOW)
        mutate(daemon, "NOW", "a", set_("F", "x", 2000, 2), set_("F", "y", 2000, 2)).expect(200)
        mutate(daemon, "NOW", "a", set_("F", "x", 1000, 1), set_("F", "y", 3000, 3)).expect(200)
        self.assertEqual({"x": 2, "y": 3}, {name: cells[0]["value"] for name, cells in
                                            daemon.cells("NOW", "a")["F"].items()})
        mutate(daemon, "NOW", "a", delete(family="F", qualifier="x"),
               set_("F", "x", 500, 0)).expect(200)
        self.assertEqual({"x": 0, "y": 3}, {name: cells[0]["value"] for name, cells in
                                            daemon.cells("NOW", "a")["F"].items()})
        daemon.restart()
        eventually(lambda: daemon.cells("NOW", "a")["F"]["x"][0]["value"] == 0, "after a restart")

    def test_latest_rows_come_back_behind_a_removal_of_events(self):
        history = '[tables.ALL]\nstream = "NOW"\npattern = "single-timestamp"\n' \
                  'row_key = "{k}#{ts:ms}"\nfamilies.F = {}\n'
        daemon = self.start(NOW + history)
        start = ms("2021-03-05")
        daemon.write("NOW", [{"k": "a", "ts": start + i, "x": i} for i in range(10)])
        daemon.delete("/v1/streams/NOW/events", {"k": "a", "from": start + 7}).expect(200)
        daemon.kill()
        daemon.start()
        eventually(lambda: [row.get("x") for row in daemon.latest("NOW")] == [6],
                   "what history implies")
