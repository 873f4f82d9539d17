"""S12 to S17 of the seeds: the patterns, by which events become rows and cells."""

import json

from tests.e2e.tallyd import E2eTest, ms, plain, unbase64

NOON = ms("2021-03-05T12:00")
MINUTE = 60_000
READINGS = [  # Section 2.4: five minutes of balloon 3698.
    {"pressure": 94558, "temperature": 9.6, "humidity": 61, "altitude": 612},
    {"pressure": 94122, "temperature": 9.7, "humidity": 62, "altitude": 611},
    {"pressure": 95992, "temperature": 9.5, "humidity": 58, "altitude": 602},
    {"pressure": 96025, "temperature": 9.5, "humidity": 66, "altitude": 598},
    {"pressure": 96021, "temperature": 9.6, "humidity": 63, "altitude": 624},
]
BALLOON_KEYS = [f"us-west2#3698#2021-03-05-120{minute}" for minute in range(5)]

FOUR_PATTERNS = """
[tables.COLUMN]
stream = "balloon"
pattern = "new-column"
row_key = "{location}#{balloon}#{field}#{week}"
families.measurements = {}

[tables.CELL]
stream = "balloon"
pattern = "new-cell"
row_key = "{location}#{balloon}#{week}"
families.measurements = {}

[tables.BLOB]
stream = "balloon"
pattern = "single-timestamp-serialized"
row_key = "{location}#{balloon}#{ts:%Y-%m-%d-%H%M}"
columns = [
  { family = "measurements", serialize = "protobuf", fields = [
      "pressure", "temperature", "humidity", "altitude"] },
]
families.measurements = {}

[tables.ROW]
stream = "balloon"
pattern = "single-timestamp"
row_key = "{location}#{balloon}#{ts:%Y-%m-%d-%H%M}"
columns = [
  { family = "measurements", fields = ["pressure", "temperature", "humidity", "altitude"] },
]
families.measurements = {}
"""

GARDEN = [(1, 60.4), (2, 61.2), (3, 61.0), (4, 65.1), (5, 62.2), (31, 60.4)]


def balloon(minute, location="us-west2", **fields):
    return {"ts": NOON + minute * MINUTE, "location": location, "balloon": 3698, **fields}


class SeedsPatternsTest(E2eTest):
    def test_S12_a_bucket_row_takes_a_new_column_per_event(self):
        tallyd = self.start(FOUR_PATTERNS)
        tallyd.write("balloon", [balloon(minute, week="week1", pressure=pressure)
                                 for minute, pressure in enumerate((94558, 94122, 95992))])
        self.assertEqual(["us-west2#3698#pressure#week1"], tallyd.keys("COLUMN"))
        cells = tallyd.cells("COLUMN", "us-west2#3698#pressure#week1", versions=10)["measurements"]
        self.assertEqual(["94122", "94558", "95992"], list(cells))
        self.assertEqual({"94558": [{"value": "", "ts": NOON}],
                          "94122": [{"value": "", "ts": NOON + MINUTE}],
                          "95992": [{"value": "", "ts": NOON + 2 * MINUTE}]}, cells)

    def test_S13_a_bucket_row_takes_a_new_cell_per_event(self):
        tallyd = self.start(FOUR_PATTERNS)
        tallyd.write("balloon",
                     [balloon(minute, "asia-south2", week="week1", pressure=pressure, temp=temp)
                                 for minute, (pressure, temp) in
                                 enumerate([(94558, 9.5), (94122, 9.4), (95992, 9.2)])])
        self.assertEqual(["asia-south2#3698#week1"], tallyd.keys("CELL"))
        cells = tallyd.cells("CELL", "asia-south2#3698#week1", versions=10)["measurements"]
        times = [NOON + 2 * MINUTE, NOON + MINUTE, NOON]
        for name, values in ("pressure", (95992, 94122, 94558)), ("temp", (9.2, 9.4, 9.5)):
            self.assertEqual([{"value": value, "ts": at} for value, at in zip(values, times)],
                             cells[name])

    def test_S13_a_week_of_minutes_is_one_row_of_10080_cells_per_column(self):
        tallyd = self.start("""
            [tables.CELL]
            stream = "balloon"
            pattern = "new-cell"
            row_key = "{location}#{balloon}#{ts:week}"
            families.measurements = { max_versions = 20000 }
            """)
        monday = ms("2021-03-01")
        week = [{"ts": monday + minute * MINUTE, "location": "asia-south2", "balloon": 3698,
                 "pressure": 94000 + minute, "temp": minute / 10} for minute in range(10_080)]
        for at in range(0, len(week), 1440):
            tallyd.write("balloon", week[at:at + 1440])
        self.assertEqual(["asia-south2#3698#2021w09"], tallyd.keys("CELL"))
        cells = tallyd.cells("CELL", "asia-south2#3698#2021w09", versions=20_000)["measurements"]
        self.assertEqual([94000 + minute for minute in reversed(range(10_080))],
                         [cell["value"] for cell in cells["pressure"]])
        self.assertEqual([10_080, 10_080], [len(cells["pressure"]), len(cells["temp"])])

    def test_S14_the_bucket_may_be_a_month_or_a_day(self):
        tallyd = self.start("""
            [tables.MONTH]
            stream = "garden"
            pattern = "new-column"
            row_key = "VEGGIEGARDEN#{ts:%Y%m01}"
            columns = [{ family = "TEMP", name = "{ts:%-d}", value = "{temperature}" }]
            families.TEMP = {}
            [tables.DAY]
            stream = "garden"
            pattern = "single-timestamp"
            row_key = "VEGGIEGARDEN#{ts:day}"
            columns = [
              { family = "DAILY", fields = ["temperature"], rename = { temperature = "TEMP" } },
            ]
            families.DAILY = {}
            """)
        tallyd.write("garden", [{"ts": ms(f"2015-03-{day:02}"), "temperature": value}
                                for day, value in GARDEN])
        month = tallyd.rows("MONTH")
        self.assertEqual(["VEGGIEGARDEN#20150301"], [row["key"] for row in month])
        self.assertEqual(["1", "2", "3", "31", "4", "5"], list(month[0]["cells"]["TEMP"]))
        self.assertEqual({"TEMP": {str(day): value for day, value in GARDEN}},
                         plain(month[0]["cells"]))
        self.assertEqual([(f"VEGGIEGARDEN#201503{day:02}", {"DAILY": {"TEMP": value}})
                          for day, value in GARDEN],
                         [(row["key"], plain(row["cells"])) for row in tallyd.rows("DAY")])

    def test_S14_every_bucket_size_works_before_and_after_the_entity(self):
        buckets = {
            "minute": "202103051204", "bucket(30m)": str(NOON), "hour": "2021030512",
            "day": "20210305",
            "week": "2021w09", "month": "202103", "year": "2021",
            "bucket(2d)": str(NOON - NOON % (2 * 86_400_000)),
            "%Y-%m-%d-%H%M": "2021-03-05-1204", "%G-W%V": "2021-W09", "%j/%y": "064/21",
        }
        tallyd = self.start("".join(f"""
            [tables.{where}{number}]
            stream = "balloon"
            pattern = "new-cell"
            row_key = "{key.replace("SPEC", spec)}"
            families.measurements = {{ max_versions = 100 }}
            """ for number, spec in enumerate(buckets)
            for where, key in (("SUFFIX", "{balloon}#{ts:SPEC}"),
                               ("PREFIX", "{ts:SPEC}#{balloon}"))))
        tallyd.write("balloon", [balloon(4, pressure=96021), balloon(4, pressure=96021)])
        for number, label in enumerate(buckets.values()):
            self.assertEqual([f"3698#{label}"], tallyd.keys(f"SUFFIX{number}"))
            self.assertEqual([f"{label}#3698"], tallyd.keys(f"PREFIX{number}"))

    def test_S15_a_single_timestamp_row_holds_one_serialized_column(self):
        tallyd = self.start(FOUR_PATTERNS)
        tallyd.write("balloon",
                     [balloon(minute, week="week1", **READINGS[minute]) for minute in range(4)])
        rows = tallyd.rows("BLOB")
        self.assertEqual(BALLOON_KEYS[:4], [row["key"] for row in rows])
        for row, reading in zip(rows, READINGS):
            self.assertEqual({"measurements": {"measurements_blob": reading}}, plain(row["cells"]))
        for row in tallyd.rows("BLOB", raw=1):
            self.assertTrue(unbase64(plain(row["cells"])["measurements"]["measurements_blob"]))

    def test_S15_json_and_cbor_serialize_the_same_fields(self):
        tallyd = self.start("".join(f"""
            [tables.{form.upper()}]
            stream = "balloon"
            pattern = "single-timestamp-serialized"
            row_key = "{{location}}#{{balloon}}#{{ts:%Y-%m-%d-%H%M}}"
            columns = [{{ family = "measurements", serialize = "{form}" }}]
            families.measurements = {{}}
            """ for form in ("json", "cbor", "protobuf")))
        mixed = {"pressure": 94558, "temperature": 9.0, "ok": True, "note": "naïve",
                 "big": 2**63 - 1, "low": -2**63}
        tallyd.write("balloon", balloon(0, **mixed))
        for table in "JSON", "CBOR", "PROTOBUF":
            value = plain(tallyd.rows(table)[0]["cells"])["measurements"]["measurements_blob"]
            self.assertEqual(mixed, value)
            self.assertIs(float, type(value["temperature"]), table)
        raw = plain(tallyd.rows("JSON", raw=1)[0]["cells"])["measurements"]["measurements_blob"]
        self.assertEqual(mixed, json.loads(unbase64(raw)))

    def test_S16_a_single_timestamp_row_holds_a_column_per_measure(self):
        tallyd = self.start(FOUR_PATTERNS)
        tallyd.write("balloon", [balloon(minute, week="week1", **reading)
                                 for minute, reading in enumerate(READINGS)])
        self.assertEqual([(key, {"measurements": reading})
                          for key, reading in zip(BALLOON_KEYS, READINGS)],
                         [(row["key"], plain(row["cells"])) for row in tallyd.rows("ROW")])
        some = tallyd.rows("ROW", start="us-west2#3698#2021-03-05-1201",
                           end="us-west2#3698#2021-03-05-1204")
        self.assertEqual([94122, 95992, 96025],
                         [plain(row["cells"])["measurements"]["pressure"] for row in some])

    def test_S16_the_four_patterns_give_equal_answers(self):
        tallyd = self.start(FOUR_PATTERNS)
        sent = [balloon(minute, week="week1", **reading) for minute, reading in enumerate(READINGS)]
        tallyd.write("balloon", [sent[minute] for minute in (3, 0, 4, 1, 2)])
        names = ("ts", "location", "balloon", "pressure", "temperature", "humidity", "altitude")
        whole = [{name: event[name] for name in names} for event in sent]
        for table in "COLUMN", "CELL", "BLOB", "ROW":
            def read(**more):
                return [{name: event.get(name) for name in names} for event in tallyd.events(
                    "balloon", location="us-west2", balloon=3698, table=table, **more)]
            self.assertEqual(whole, read(), table)
            self.assertEqual(whole[1:4], read(from_=NOON + MINUTE, to=NOON + 4 * MINUTE), table)
            self.assertEqual(whole[:2:-1], read(order="desc", limit=2), table)

    def test_S17_serialized_blobs_stand_in_a_bucket_row(self):
        for keys in ("""
            pattern = "new-cell"
            columns = [
              { family = "measurements", name = "measurements_blob", serialize = "protobuf" },
            ]
            """, 'pattern = "new-cell-serialized"'):
            with self.subTest(keys):
                self.blobs_stand_in_a_bucket_row(keys)

    def blobs_stand_in_a_bucket_row(self, keys):
        tallyd = self.start(f"""
            [tables.BLOBS]
            stream = "balloon"
            row_key = "{{location}}#{{balloon}}#{{week}}"
            families.measurements = {{}}
            {keys}
            """)
        tallyd.write("balloon",
                     [balloon(minute, week="week1", **READINGS[minute]) for minute in range(4)])
        self.assertEqual(["us-west2#3698#week1"], tallyd.keys("BLOBS"))
        cells = tallyd.cells("BLOBS", "us-west2#3698#week1", versions=10)
        self.assertEqual({"measurements": {"measurements_blob": [
            {"value": READINGS[minute], "ts": NOON + minute * MINUTE} for minute in (3, 2, 1, 0)]}},
                         cells)
        self.assertEqual([94558, 94122, 95992, 96025], [
            event["pressure"]
            for event in tallyd.events("balloon", location="us-west2", balloon=3698)])
