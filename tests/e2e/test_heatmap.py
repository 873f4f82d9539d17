"""S48 of the seeds: where the load is, by key range and minute; hot ranges in words."""

import time

from tests.e2e.tallyd import E2eTest
from tests.e2e.test_seeds_keys import battery_events, table

HOT = table("HOT", "BATTERY#{ts:%Y%m%d%H%M%S%L}", stream="battery")
PROMOTED = table("PROMOTED", "BATTERY#{USER}#{ts:%Y%m%d%H%M%S%L}", stream="battery")


class HeatmapTest(E2eTest):
    def heat(self, tallyd, name, **params):
        return tallyd.get("/v1/heatmap", table=name, **params).expect(200).json

    def by_prefix(self, heat):
        return {one["start"]: sum(values)
                for one, values in zip(heat["ranges"], heat["values"], strict=True)}

    def test_S48_one_constant_prefix_is_hot_with_every_write_at_its_end(self):
        tallyd = self.start(HOT)
        tallyd.write("battery", battery_events())
        heat = self.heat(tallyd, "HOT", metric="writes")
        self.assertEqual([{"start": "BATTERY#", "end": "BATTERY$"}], heat["ranges"])
        self.assertEqual({"BATTERY#": 5}, self.by_prefix(heat))
        self.assertEqual(len(heat["times"]), len(heat["values"][0]))
        self.assertEqual([], [at for at in heat["times"] if at % 60_000])
        self.assertLess(abs(heat["times"][-1] - time.time() * 1000), 180_000)
        [hot] = heat["hot"]
        self.assertEqual(("BATTERY#", 1.0), (hot["prefix"], hot["share"]))
        self.assertIn("all 5 writes go to the end of", hot["detail"])

    def test_S48_promoted_keys_are_three_prefixes(self):
        tallyd = self.start(PROMOTED)
        tallyd.write("battery", battery_events())
        heat = self.heat(tallyd, "PROMOTED")
        self.assertEqual({"BATTERY#Corrie#": 2, "BATTERY#Jo#": 1, "BATTERY#Sam#": 2},
                         self.by_prefix(heat))
        self.assertEqual([], heat["hot"])

    def test_counts_outlive_a_restart(self):
        tallyd = self.start(HOT + PROMOTED)
        tallyd.write("battery", battery_events())
        tallyd.keys("PROMOTED", prefix="BATTERY#Jo#")
        for writes in (5, 10, 15):
            tallyd.restart()
            heat = self.heat(tallyd, "HOT")
            self.assertEqual({"BATTERY#": writes}, self.by_prefix(heat))
            reads = self.heat(tallyd, "PROMOTED", metric="reads")
            self.assertEqual({"BATTERY#Jo#": 1}, self.by_prefix(reads))
            tallyd.write("battery", battery_events())

    def test_beyond_a_thousand_prefixes_no_write_is_lost(self):
        tallyd = self.start(PROMOTED)
        for batch in range(3):
            tallyd.write("battery", [{"ts": number, "USER": f"u{number:05}", "PERCENTAGE": 1}
                                     for number in range(batch * 700, batch * 700 + 700)])
        heat = self.heat(tallyd, "PROMOTED")
        self.assertEqual(2100, sum(self.by_prefix(heat).values()))
        self.assertLessEqual(len(heat["ranges"]), 1000)
        self.assertEqual(sorted(one["start"] for one in heat["ranges"]),
                         [one["start"] for one in heat["ranges"]])

    def test_an_unknown_table_is_404(self):
        tallyd = self.start(HOT)
        tallyd.get("/v1/heatmap", table="NONE").expect(404)
        tallyd.get("/v1/heatmap").expect(400)
        tallyd.get("/v1/heatmap", table="HOT", metric="heat").expect(400)
