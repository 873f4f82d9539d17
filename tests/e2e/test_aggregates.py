"""S37 to S41 and S43 of the seeds: cells that merge what events write to them."""

import itertools
import random

from tests.e2e.tallyd import E2eTest, ms, run, unbase64

KINDS = """
[tables.COUNTS]
stream = "counts"
pattern = "aggregate"
row_key = "{key}"
families.total = { aggregate = "sum" }
families.least = { aggregate = "min" }
families.most = { aggregate = "max" }
columns = [
  { family = "total", fields = ["amount"] },
  { family = "least", fields = ["amount"] },
  { family = "most", fields = ["amount"] },
]
"""

VISITORS = """
[tables.VISITORS]
stream = "visits"
pattern = "aggregate"
row_key = "{page}"
families.who = { aggregate = "hll", bucket = "1d" }
"""

DONATIONS = """
[tables.CHARITY]
stream = "donation"
pattern = "aggregate"
row_key = "{charity}"
families.donations = { aggregate = "sum", bucket = "1d" }
columns = [{ family = "donations", name = "{campaign}", value = "{amount}" }]
"""

METERS = """
[tables.METERS]
stream = "meter"
pattern = "new-cell"
row_key = "{meter}"
families.METER = {}
columns = [{ family = "METER" }]
"""

# The donations of the worked example, with the hours at which they may have come.
GIVEN = [("2021-03-05T09:30", 25), ("2021-03-05T23:59", 40), ("2021-03-06T00:00", 10)]
DAYS = [{"value": 10, "ts": ms("2021-03-06")}, {"value": 65, "ts": ms("2021-03-05")}]


def donation(at, amount):
    return {"ts": ms(at), "charity": "ch1", "campaign": "c7", "amount": amount}


def sums(total):
    return {"total": {"amount": [{"value": total, "ts": 5}]}}


class AggregatesTest(E2eTest):
    def donations(self, tallyd):
        return tallyd.cells("CHARITY", "ch1")["donations"]["c7"]

    def test_S37_sum_min_max_in_any_order(self):
        tallyd = self.start(KINDS)
        for number, order in enumerate(itertools.permutations([25, 40, 10])):
            for amount in order:
                tallyd.write("counts", {"ts": 5, "key": f"k{number}", "amount": amount})
        for settled in (False, True):
            if settled:
                tallyd.request("POST", "/-/settle").expect(200, 204)
            for row in tallyd.rows("COUNTS"):
                self.assertEqual(
                    {"total": {"amount": [{"value": 75, "ts": 5}]},
                     "least": {"amount": [{"value": 10, "ts": 5}]},
                     "most": {"amount": [{"value": 40, "ts": 5}]}}, row["cells"], settled)

    def test_S37_a_sum_is_an_exact_integer_beyond_64_bits(self):
        tallyd = self.start(KINDS)
        most = 2**63 - 1
        tallyd.write("counts", [{"ts": 5, "key": "a", "amount": most}] * 3)
        answer = tallyd.row("COUNTS", "a", columns="total").expect(200)
        self.assertIn(str(3 * most).encode(), answer.body)
        self.assertEqual(sums(3 * most), answer.json["cells"])
        self.assertEqual(sums(3 * most), tallyd.cells("COUNTS", "a", columns="total", raw=1))
        self.assertEqual(1, len(tallyd.rows("COUNTS", value=str(3 * most))))
        self.assertEqual([], tallyd.rows("COUNTS", value="1"))
        csv = tallyd.get("/v1/tables/COUNTS/rows", format="csv").expect(200).body.decode()
        self.assertIn(f"a,total,amount,5,{3 * most}\r\n", csv)

    def test_a_thousand_inputs_of_one_cell_in_a_batch_are_one_cell(self):
        tallyd = self.start(KINDS)
        events = [{"ts": 5, "key": "a", "amount": n} for n in range(1, 1001)]
        random.Random(7).shuffle(events)
        self.assertEqual({"events": 1000, "rows": 1, "cells": 3}, tallyd.write("counts", events))
        self.assertEqual(sums(500500), tallyd.cells("COUNTS", "a", columns="total"))

    def test_inputs_count_once_across_kills_and_settling(self):
        tallyd = self.start(KINDS)
        total = 0
        for n in range(1, 13):
            tallyd.write("counts", {"ts": 5, "key": "a", "amount": n})
            total += n
            if n % 4 == 0:
                tallyd.request("POST", "/-/settle").expect(200, 204)
            if n % 3 == 0:
                tallyd.kill()
                tallyd.start()
            self.assertEqual(sums(total), tallyd.cells("COUNTS", "a", columns="total"))

    def test_seventy_thousand_columns_of_one_bucket_are_all_kept(self):
        tallyd = self.start(DONATIONS.replace('bucket = "1d"', 'bucket = "1h"'))
        columns = 70_000
        for first in range(0, columns, 10_000):
            tallyd.write("donation", [{"ts": ms("2021-03-05T09:30"), "charity": "ch1",
                                       "campaign": f"c{number}", "amount": number}
                                      for number in range(first, first + 10_000)])
        hour = ms("2021-03-05T09:00")
        expected = {f"c{number}": [{"value": number, "ts": hour}] for number in range(columns)}
        for state in ("as it came", "settled", "started again"):
            if state == "settled":
                tallyd.request("POST", "/-/settle").expect(200, 204)
            elif state == "started again":
                tallyd.restart()
            found = tallyd.cells("CHARITY", "ch1")["donations"]
            self.assertEqual(columns, len(found), state)
            self.assertTrue(expected == found, state)
        tallyd.stop()
        status, text = run("verify", "--config", tallyd.config)
        self.assertEqual(0, status, text)

    def test_S38_hll_estimates_how_many_are_distinct(self):
        tallyd = self.start(VISITORS)
        day = ms("2021-03-05")
        for visitor in ("a", "b", "a"):
            tallyd.write("visits", {"ts": day + 1, "page": "home", "user": visitor})
        self.assertEqual([{"value": 2, "ts": day}], tallyd.cells("VISITORS", "home")["who"]["user"])
        state = tallyd.cells("VISITORS", "home", raw=1)["who"]["user"][0]["value"]
        self.assertEqual(1, unbase64(state)[0])
        self.assertEqual(["home"], tallyd.keys("VISITORS", value="2"))
        many = [{"ts": day, "page": "shop", "user": f"u{n}"} for n in range(20_000)]
        tallyd.write("visits", many + many[:500])
        estimate = tallyd.cells("VISITORS", "shop")["who"]["user"][0]["value"]
        self.assertIsInstance(estimate, int)
        self.assertAlmostEqual(20_000, estimate, delta=4 * 0.01 * 20_000)

    def test_S39_donations_fall_into_the_cells_of_their_days(self):
        tallyd = self.start(DONATIONS)
        tallyd.write("donation", [donation(at, amount) for at, amount in reversed(GIVEN)])
        self.assertEqual(DAYS, self.donations(tallyd))
        tallyd.request("POST", "/-/settle").expect(200, 204)
        self.assertEqual(DAYS, self.donations(tallyd))

    def test_a_table_tells_what_its_families_are(self):
        tallyd = self.start(DONATIONS)
        table = tallyd.get("/v1/tables/CHARITY").expect(200).json
        self.assertEqual("aggregate", table["pattern"])
        self.assertEqual({"donations": {"aggregate": "sum", "bucket": "1d"}}, table["families"])

    def test_a_dry_run_shows_the_folded_cells_and_stores_none(self):
        tallyd = self.start(DONATIONS)
        said = tallyd.post("donation", [donation(at, n) for at, n in GIVEN], dry_run=1).expect(200)
        row, = said.json["tables"]["CHARITY"]
        self.assertEqual({"donations": {"c7": DAYS}}, row["cells"])
        self.assertEqual([], tallyd.rows("CHARITY"))

    def test_S40_a_wrong_type_is_refused_and_the_cell_stays_as_it_was(self):
        tallyd = self.start(DONATIONS + VISITORS)
        tallyd.write("donation", donation(*GIVEN[0]))
        for amount in ("25", 2.5, 25.0, True, "", 1e3):
            events = [donation(*GIVEN[1]), donation("2021-03-05", amount)]
            said = self.refused(tallyd.post("donation", events), 1, "amount")
            for part in ("amount", "donations", "CHARITY", "int64"):
                self.assertIn(part, said["errors"][0]["detail"])
        self.assertEqual([{"value": 25, "ts": ms("2021-03-05")}], self.donations(tallyd))
        said = self.refused(tallyd.post("visits", {"ts": 1, "page": "p", "user": 5}), 0, "user")
        self.assertIn("string", said["errors"][0]["detail"])
        self.assertEqual([], tallyd.rows("VISITORS"))

    def test_families_of_different_buckets_take_an_event_once_each(self):
        tallyd = self.start("""
            [tables.T]
            stream = "s"
            pattern = "aggregate"
            row_key = "{k}"
            families.D = { aggregate = "sum", bucket = "1d" }
            families.E = { aggregate = "sum" }
            families.H = { aggregate = "sum", bucket = "1h" }
            columns = [
              { family = "D", fields = ["n"] }, { family = "E", fields = ["n"] },
              { family = "H", fields = ["n"] },
            ]
            """)
        day = ms("2021-03-05")
        at = [day + 3_600_000 + 1, day + 3_600_000 + 2, day + 7_200_000]
        self.assertEqual({"events": 3, "rows": 1, "cells": 6},
                         tallyd.write("s", [{"ts": t, "k": "a", "n": 1} for t in at]))
        self.assertEqual(
            {"D": {"n": [{"value": 3, "ts": day}]},
             "E": {"n": [{"value": 1, "ts": t} for t in reversed(at)]},
             "H": {"n": [{"value": 1, "ts": day + 7_200_000}, {"value": 2, "ts": day + 3_600_000}]}},
            tallyd.cells("T", "a"))

    def test_events_are_not_read_from_an_aggregate_table(self):
        tallyd = self.start(DONATIONS)
        tallyd.write("donation", donation(*GIVEN[0]))
        said = tallyd.get("/v1/streams/donation/events", charity="ch1", table="CHARITY").problem(400)
        self.assertIn("/v1/tables/CHARITY/rows", said["detail"])
        said = tallyd.get("/v1/streams/donation/events", charity="ch1").problem(422)
        self.assertIn("CHARITY", said["detail"])

    def test_S41_a_plain_family_with_data_does_not_become_a_sum(self):
        tallyd = self.start(METERS)
        tallyd.write("meter", {"ts": 1, "meter": "m1", "kwh": 7})
        changed = METERS.replace('"new-cell"', '"aggregate"').replace(
            "families.METER = {}", 'families.METER = { aggregate = "sum" }')
        said = tallyd.reload(changed).problem(409)["detail"]
        for part in ("METER", "plain", "sum"):
            self.assertIn(part, said)
        tallyd.stop()
        status, printed = run("serve", "--config", tallyd.config, directory=tallyd.directory)
        self.assertEqual(2, status, printed)
        self.assertIn("METER", printed)
        tallyd.write_config(METERS)
        tallyd.start()
        self.assertEqual({"METER": {"kwh": [{"value": 7, "ts": 1}]}}, tallyd.cells("METERS", "m1"))

    def test_S41_what_an_aggregate_family_is_does_not_change_on_data(self):
        tallyd = self.start(DONATIONS)
        tallyd.write("donation", donation(*GIVEN[0]))
        for changed, named in ((DONATIONS.replace('"sum"', '"min"'), "an aggregate family of min"),
                               (DONATIONS.replace('"1d"', '"1h"'), "a bucket of 1h"),
                               (DONATIONS.replace(', bucket = "1d"', ""), "a bucket of 1d")):
            said = tallyd.reload(changed).problem(409)["detail"]
            self.assertIn(named, said)
            self.assertIn("an aggregate family of sum with a bucket of 1d", said)
        tallyd.reload(DONATIONS.replace('"1d"', '"1d", max_age = "3650d"')).expect(200)

    def test_S41_a_live_table_takes_a_new_aggregate_family(self):
        tallyd = self.start(METERS)
        tallyd.write("meter", {"ts": 1, "meter": "m1", "kwh": 7})
        added = METERS.replace("families.METER = {}",
                               'families.METER = {}\nfamilies.total = { aggregate = "sum" }')
        tallyd.reload(added).expect(200)
        tallyd.write("meter", {"ts": 2, "meter": "m1", "kwh": 8})
        kept = {"METER": {"kwh": [{"value": 8, "ts": 2}, {"value": 7, "ts": 1}]}}
        self.assertEqual(kept, tallyd.cells("METERS", "m1"))
        tallyd.restart()
        self.assertEqual(kept, tallyd.cells("METERS", "m1"))
        self.assertEqual([7, 8], [row["kwh"] for row in tallyd.events("meter", meter="m1")])

    def test_S41_rules_and_families_of_different_kinds_are_mistakes_of_the_file(self):
        tallyd = self.start(METERS)
        plain_rule = METERS.replace("families.METER = {}", 'families.METER = { aggregate = "sum" }')
        added_rule = DONATIONS.replace('{ aggregate = "sum", bucket = "1d" }', "{}")
        for wrong, key in ((plain_rule, "tables.METERS.columns[0].family"),
                           (METERS + added_rule, "tables.CHARITY.columns[0].family")):
            self.assertIn(key, tallyd.reload(wrong).problem(409)["detail"])

    def test_S43_a_family_of_one_version_keeps_the_newest_price(self):
        tallyd = self.start("""
            [tables.CLOSING]
            stream = "closing"
            pattern = "new-cell"
            row_key = "{symbol}"
            families.STOCK = { max_versions = 1 }
            """)
        prices = [558.40, 571.34, 573.64, 573.37, 575.33]
        tallyd.write("closing", [{"ts": ms(f"2015-03-0{day}"), "symbol": "ZXZZT", "PRICE": price}
                                 for day, price in enumerate(prices, 1)])
        newest = {"STOCK": {"PRICE": [{"value": 575.33, "ts": ms("2015-03-05")}]}}
        self.assertEqual(newest, tallyd.cells("CLOSING", "ZXZZT"))
        tallyd.request("POST", "/-/settle").expect(200, 204)
        self.assertEqual(newest, tallyd.cells("CLOSING", "ZXZZT"))

    def test_S43_an_input_after_the_cell_was_removed_begins_anew(self):
        kept = DONATIONS.replace('bucket = "1d"', 'bucket = "1d", max_versions = 1')
        tallyd = self.start(kept)
        tallyd.write("donation", [donation(at, amount) for at, amount in GIVEN])
        self.assertEqual(DAYS[:1], self.donations(tallyd))
        tallyd.request("POST", "/-/settle").expect(200, 204)
        tallyd.reload(DONATIONS).expect(200)
        self.assertEqual(DAYS[:1], self.donations(tallyd))
        tallyd.write("donation", donation("2021-03-05T12:00", 10))
        self.assertEqual([DAYS[0], {"value": 10, "ts": ms("2021-03-05")}], self.donations(tallyd))

    def test_S43_a_cell_past_its_age_is_gone_and_so_is_an_event_for_it(self):
        kept = DONATIONS.replace('bucket = "1d"', 'bucket = "1d", max_age = "30d"')
        tallyd = self.start(DONATIONS)
        tallyd.write("donation", [donation(at, amount) for at, amount in GIVEN])
        tallyd.reload(kept).expect(200)
        self.assertEqual([], tallyd.rows("CHARITY"))
        self.assertEqual(1, tallyd.write("donation", donation(*GIVEN[0]))["expired"])
        self.assertEqual([], tallyd.rows("CHARITY"))

    def test_a_removal_that_cuts_a_bucket_is_refused_with_bounds_that_would_do(self):
        tallyd = self.start("""
            [tables.EVENTS]
            stream = "s"
            pattern = "single-timestamp"
            row_key = "{host}#{ts:ms}"
            families.F = {}

            [tables.HOURS]
            stream = "s"
            pattern = "aggregate"
            row_key = "{host}"
            families.F = { aggregate = "sum", bucket = "1h" }
            columns = [{ family = "F", fields = ["v"] }]
            """)
        first = 1699999200000
        tallyd.write("s", [{"host": "x", "ts": first + i * 60000, "v": 1} for i in range(60)])
        path, quarter = "/v1/streams/s/events", {"host": "x", "from": first, "to": first + 900000}

        def held():
            return (len(tallyd.events("s", host="x", table="EVENTS")),
                    [cell["value"] for cell in tallyd.cells("HOURS", "x")["F"]["v"]])

        refused = tallyd.delete(path, quarter).expect(422)
        self.assertIn("HOURS", refused.json["detail"])
        self.assertIn(f"from={first}&to={first + 3600000}", refused.json["detail"])
        self.assertEqual((60, [60]), held())
        kept = tallyd.delete(path, quarter, aggregates="keep").expect(200)
        self.assertEqual(["HOURS"], kept.json["kept"])
        self.assertEqual((45, [60]), held())
        tallyd.delete(path, {"host": "x", "from": first, "to": first + 3600000}).expect(200)
        self.assertEqual([], tallyd.keys("EVENTS") + tallyd.keys("HOURS"))
