"""S25 of the seeds: counters held in memory, and written as new rows at an interval."""

import time

from tests.e2e.tallyd import E2eTest

HITS = """
[tables.HITS]
stream = "page"
pattern = "single-timestamp"
row_key = "{page}#{ts:ms}"
families.F = {}
flush = "%s"
"""


class Counters(E2eTest):
    def total(self, tallyd):
        rows = tallyd.rows("HITS")
        cells = [row["cells"]["F"]["hits"] for row in rows]
        return len(rows), sum(cell["value"] for versions in cells for cell in versions)

    def test_S25_hundreds_of_increments_become_a_row_per_interval(self):
        tallyd = self.start(HITS % "1s")
        for _ in range(30):
            answer = tallyd.write("page", [{"page": "a", "hits": 1} for _ in range(10)])
            self.assertEqual(answer, {"events": 10, "rows": 0, "cells": 0, "held": 10})
        deadline = time.monotonic() + 30
        while self.total(tallyd)[1] < 300 and time.monotonic() < deadline:
            time.sleep(0.05)
        rows, total = self.total(tallyd)
        self.assertEqual(total, 300)
        self.assertLess(rows, 60, "one per second that the requests took")

    def test_what_is_held_is_written_when_the_daemon_stops(self):
        tallyd = self.start(HITS % "1h")
        tallyd.write("page", [{"page": "a", "hits": 5}, {"page": "a", "hits": 6}])
        self.assertEqual(self.total(tallyd), (0, 0))
        tallyd.restart()
        self.assertEqual(self.total(tallyd), (1, 11))

    def test_what_is_held_keeps_the_row_key_of_its_table(self):
        tallyd = self.start(HITS % "1h")
        other = (HITS % "1h").replace("{page}#", "{site}#{page}#")
        tallyd.reload(other).expect(200)
        tallyd.reload(HITS % "1h").expect(200)
        tallyd.write("page", {"page": "a", "hits": 5})
        self.assertIn("HITS", tallyd.reload(other).problem(409)["detail"])
        tallyd.write("page", {"page": "a", "hits": 6})
        tallyd.reload(HITS % "1h").expect(200)
        tallyd.restart()
        self.assertEqual(self.total(tallyd), (1, 11))

    def test_what_is_held_goes_with_a_removal(self):
        tallyd = self.start(HITS % "1h")
        tallyd.write("page", [{"page": "a", "hits": 5}, {"page": "b", "hits": 6}])
        tallyd.delete("/v1/streams/page/events", page="a").expect(200)
        tallyd.write("page", {"page": "a", "hits": 1})
        tallyd.restart()
        self.assertEqual(self.total(tallyd), (2, 7))
