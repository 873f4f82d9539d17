"""Metrics of several machines through the four patterns, out of order, and every value back."""

import csv
import random

from tests.e2e.tallyd import E2eTest, SEED, data_folder, in_threads, ms

BATCH = 500
HOUR = 3_600_000
PATTERNS = {
    "ROW": ("single-timestamp", "{machine}#{ts:ms}"),
    "BLOB": ("single-timestamp-serialized", "{machine}#{ts:ms}"),
    "CELL": ("new-cell", "{machine}#{ts:day}"),
    "COLUMN": ("new-column", "{machine}#{field}#{ts:day}"),
}
TABLES = "".join(f"""
[tables.{name}]
stream = "nab"
pattern = "{pattern}"
row_key = "{row_key}"
families.M = {{}}
""" for name, (pattern, row_key) in PATTERNS.items())


def load_series():
    """(metric, machine) -> time -> value; of two values at one time the later in the file."""
    series = {}
    for file in sorted(data_folder("nab").glob("*.csv")):
        with open(file, newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            series[tuple(file.stem.rsplit("_", 1))] = {
                ms(row["timestamp"]): float(row["value"]) for row in rows}
    return series


class NabTest(E2eTest):
    def test_every_value_comes_back_through_every_pattern(self):
        series = load_series()
        self.assertGreaterEqual(len(series), 5)
        self.assertEqual(len(series), len({machine for _, machine in series}))
        tallyd = self.start(TABLES)
        self.load(tallyd, series)
        for table in PATTERNS:
            for (metric, machine), values in series.items():
                with self.subTest(table=table, machine=machine, seed=SEED):
                    self.assert_values(tallyd, table, metric, machine, values)
                    self.assert_hourly_maxima(tallyd, table, metric, machine, values)
            self.assert_count(tallyd, table, series)

    def load(self, tallyd, series):
        events = [{"ts": at, "machine": machine, metric: value}
                  for (metric, machine), values in series.items() for at, value in values.items()]
        random.Random(SEED).shuffle(events)
        batches = [events[at:at + BATCH] for at in range(0, len(events), BATCH)]

        def work(number):
            for batch in batches[number::4]:
                self.assertEqual(len(batch), tallyd.write("nab", batch)["events"])

        in_threads(4, work)

    def assert_values(self, tallyd, table, metric, machine, values):
        answer = tallyd.query("nab", machine=machine, fields=metric, table=table, limit=1_000_000)
        self.assertEqual((table, "range"), (answer["plan"]["table"], answer["plan"]["kind"]))
        column = answer["columns"].index(metric)
        got = [(row[0], row[column]) for row in answer["rows"]]
        if got != sorted(values.items()):  # A diff of thousands of values helps nobody.
            wrong = set(got) ^ set(values.items())
            self.fail(f"{len(got)} of {len(values)} values; differ: {sorted(wrong)[:5]}")

    def assert_hourly_maxima(self, tallyd, table, metric, machine, values):
        expected = {}
        for at, value in values.items():
            start = at - at % HOUR
            expected[start] = max(value, expected.get(start, value))
        got = tallyd.events("nab", machine=machine, fields=metric, table=table, step="1h",
                            agg="max")
        self.assertEqual(expected, {row["ts"]: row[metric] for row in got})
        self.assertEqual(len(expected), len(got))

    def assert_count(self, tallyd, table, series):
        total = sum(len(values) for values in series.values())
        fields = sorted({metric for metric, _ in series})
        rows = tallyd.events("nab", scan=1, table=table, fields=fields, step="1d", agg="count")
        self.assertEqual(total, sum(row.get(name) or row.get(f"{name}:count") or 0
                                    for row in rows for name in fields))
