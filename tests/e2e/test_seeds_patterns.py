"""S12 to S22 and S24 of the seeds: how events become rows and cells."""

import json

from tests.e2e.tallyd import E2eTest, ms, unbase64
from tests.e2e.test_seeds_model import GAMES

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
columns = [{ family = "measurements", serialize = "protobuf", fields = ["pressure", "temperature", "humidity", "altitude"] }]
families.measurements = {}

[tables.ROW]
stream = "balloon"
pattern = "single-timestamp"
row_key = "{location}#{balloon}#{ts:%Y-%m-%d-%H%M}"
columns = [{ family = "measurements", fields = ["pressure", "temperature", "humidity", "altitude"] }]
families.measurements = {}
"""

MARKET = """
[tables.QUOTE]
stream = "market"
pattern = "single-timestamp"
time = "QUOTETIME"
when = ["BID", "ASK"]
row_key = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{QUOTETIME:ms}"
columns = [{ family = "MD", fields = ["SYMBOL", "BID", "ASK", "BIDSIZE", "ASKSIZE", "QUOTETIME", "EXCHANGE"] }]
families.MD = {}

[tables.TRADE]
stream = "market"
pattern = "single-timestamp"
time = "TRADETIME"
when = ["LASTSALE"]
row_key = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{TRADETIME:ms}"
columns = [{ family = "MD", fields = ["SYMBOL", "LASTSALE", "LASTSIZE", "TRADETIME", "EXCHANGE", "VOLUME"] }]
families.MD = {}
"""
MESSAGE = {
    "SYMBOL": "ZXZZT", "BID": 600.55, "ASK": 600.60, "BIDSIZE": 500, "ASKSIZE": 1500, "LASTSALE": 600.58,
    "LASTSIZE": 300, "QUOTETIME": 1426535612156, "TRADETIME": 1426535612045, "EXCHANGE": "NASDAQ",
    "VOLUME": 89000,
}

SERVERS = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}

[tables.CURRENT_METRIC]
stream = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
"""
FIRST = 1426535612045
METRICS = {"CPU/CPU1_USR": 0.02, "CPU/CPU1_NICE": 0.00, "IO/BLK_READ": 253453634, "MIO/BLK_WRTN": 657365234}

SENSOR = """
[tables.SENSOR]
stream = "meter"
pattern = "new-column"
row_key = "{meter:zero(10)}#{ts:day}"
columns = [
  { family = "METER", name = "ID", value = "{meter}" },
  { family = "METER", name = "{ts:%H%M}", value = "{value}" },
]
families.METER = {}
"""

GARDEN = [(1, 60.4), (2, 61.2), (3, 61.0), (4, 65.1), (5, 62.2), (31, 60.4)]


def balloon(minute, location="us-west2", **fields):
    return {"ts": NOON + minute * MINUTE, "location": location, "balloon": 3698, **fields}


def server(at=FIRST, host="server1.bbb.com", **changed):
    return {"ts": at, "hostname": host, **METRICS, **changed}


def plain(cells):
    """family -> column -> the newest value."""
    return {family: {name: cell[0]["value"] for name, cell in columns.items()}
            for family, columns in cells.items()}


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
        tallyd.write("balloon", [balloon(minute, "asia-south2", week="week1", pressure=pressure, temp=temp)
                                 for minute, (pressure, temp) in
                                 enumerate([(94558, 9.5), (94122, 9.4), (95992, 9.2)])])
        self.assertEqual(["asia-south2#3698#week1"], tallyd.keys("CELL"))
        cells = tallyd.cells("CELL", "asia-south2#3698#week1", versions=10)["measurements"]
        times = [NOON + 2 * MINUTE, NOON + MINUTE, NOON]
        for name, values in ("pressure", (95992, 94122, 94558)), ("temp", (9.2, 9.4, 9.5)):
            self.assertEqual([{"value": value, "ts": at} for value, at in zip(values, times)], cells[name])

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
            columns = [{ family = "DAILY", fields = ["temperature"], rename = { temperature = "TEMP" } }]
            families.DAILY = {}
            """)
        tallyd.write("garden", [{"ts": ms(f"2015-03-{day:02}"), "temperature": value} for day, value in GARDEN])
        month = tallyd.rows("MONTH")
        self.assertEqual(["VEGGIEGARDEN#20150301"], [row["key"] for row in month])
        self.assertEqual(["1", "2", "3", "31", "4", "5"], list(month[0]["cells"]["TEMP"]))
        self.assertEqual({"TEMP": {str(day): value for day, value in GARDEN}}, plain(month[0]["cells"]))
        self.assertEqual([(f"VEGGIEGARDEN#201503{day:02}", {"DAILY": {"TEMP": value}}) for day, value in GARDEN],
                         [(row["key"], plain(row["cells"])) for row in tallyd.rows("DAY")])

    def test_S14_every_bucket_size_works_before_and_after_the_entity(self):
        buckets = {
            "minute": "202103051204", "bucket(30m)": str(NOON), "hour": "2021030512", "day": "20210305",
            "week": "2021w09", "month": "202103", "bucket(2d)": str(NOON - NOON % (2 * 86_400_000)),
            "%Y-%m-%d-%H%M": "2021-03-05-1204", "%G-W%V": "2021-W09", "%j/%y": "064/21",
        }
        tallyd = self.start("".join(f"""
            [tables.{where}{number}]
            stream = "balloon"
            pattern = "new-cell"
            row_key = "{key.replace("SPEC", spec)}"
            families.measurements = {{ max_versions = 100 }}
            """ for number, spec in enumerate(buckets)
            for where, key in (("SUFFIX", "{balloon}#{ts:SPEC}"), ("PREFIX", "{ts:SPEC}#{balloon}"))))
        tallyd.write("balloon", [balloon(4, pressure=96021), balloon(4, pressure=96021)])
        for number, label in enumerate(buckets.values()):
            self.assertEqual([f"3698#{label}"], tallyd.keys(f"SUFFIX{number}"))
            self.assertEqual([f"{label}#3698"], tallyd.keys(f"PREFIX{number}"))

    def test_S15_a_single_timestamp_row_holds_one_serialized_column(self):
        tallyd = self.start(FOUR_PATTERNS)
        tallyd.write("balloon", [balloon(minute, week="week1", **READINGS[minute]) for minute in range(4)])
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
        mixed = {"pressure": 94558, "temperature": 9.0, "ok": True, "note": "naïve", "big": 2**63 - 1, "low": -2**63}
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
        self.assertEqual([(key, {"measurements": reading}) for key, reading in zip(BALLOON_KEYS, READINGS)],
                         [(row["key"], plain(row["cells"])) for row in tallyd.rows("ROW")])
        some = tallyd.rows("ROW", start="us-west2#3698#2021-03-05-1201", end="us-west2#3698#2021-03-05-1204")
        self.assertEqual([94122, 95992, 96025], [plain(row["cells"])["measurements"]["pressure"] for row in some])

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
        tallyd = self.start("""
            [tables.BLOBS]
            stream = "balloon"
            pattern = "new-cell"
            row_key = "{location}#{balloon}#{week}"
            columns = [{ family = "measurements", name = "measurements_blob", serialize = "protobuf" }]
            families.measurements = {}
            """)
        tallyd.write("balloon", [balloon(minute, week="week1", **READINGS[minute]) for minute in range(4)])
        self.assertEqual(["us-west2#3698#week1"], tallyd.keys("BLOBS"))
        cells = tallyd.cells("BLOBS", "us-west2#3698#week1", versions=10)
        self.assertEqual({"measurements": {"measurements_blob": [
            {"value": READINGS[minute], "ts": NOON + minute * MINUTE} for minute in (3, 2, 1, 0)]}}, cells)
        self.assertEqual([94558, 94122, 95992, 96025], [
            event["pressure"] for event in tallyd.events("balloon", location="us-west2", balloon=3698)])

    def test_S18_one_batch_goes_to_several_tables_with_different_keys(self):
        tallyd = self.start("".join(f"""
            [tables.{name}]
            stream = "games"
            pattern = "single-timestamp"
            row_key = "{key}"
            columns = [{{ family = "GAME", fields = ["WIN", "KDA"] }}]
            families.GAME = {{}}
            """ for name, key in (("BY_PLAYER", "{game}#{player}#{ts:day}"), ("BY_DATE", "{game}#{ts:day}#{player}"))))
        self.assertEqual({"events": 5, "rows": 10, "cells": 20},
                         {name: count for name, count in tallyd.write("games", GAMES).items()
                          if name in ("events", "rows", "cells")})
        march = {"game": "LoL", "from_": ms("2015-03-01"), "to": ms("2015-04-01")}
        lol = tallyd.query("games", march, table="BY_DATE")
        self.assertEqual((4, 1, "range", 4), (len(lol["rows"]), lol["plan"]["ranges"], lol["plan"]["kind"],
                                              lol["plan"]["rows_read"]))
        corrie = tallyd.query("games", march, player="Corrie", table="BY_PLAYER")
        self.assertEqual((2, 1, "range", 2), (len(corrie["rows"]), corrie["plan"]["ranges"],
                                              corrie["plan"]["kind"], corrie["plan"]["rows_read"]))
        for table in "BY_DATE", "BY_PLAYER":
            self.assertEqual(GAMES[:4], tallyd.events("games", march, table=table))
        self.assertEqual(["LoL#20150301#Corrie", "LoL#20150302#Jo", "LoL#20150302#Sam", "LoL#20150303#Corrie"],
                         tallyd.keys("BY_DATE", start="LoL#20150301", end="LoL#20150401"))
        self.assertEqual(2, len(tallyd.keys("BY_PLAYER", start="LoL#Corrie#20150301", end="LoL#Corrie#20150401")))

    def test_S19_one_message_is_split_into_a_quote_and_a_trade(self):
        tallyd = self.start(MARKET)
        counts = tallyd.write("market", MESSAGE)
        self.assertEqual((1, 2, 13), (counts["events"], counts["rows"], counts["cells"]))
        quote, trade = tallyd.rows("QUOTE"), tallyd.rows("TRADE")
        self.assertEqual(["NASDAQ#ZXZZT#1426535612156"], [row["key"] for row in quote])
        self.assertEqual(["NASDAQ#ZXZZT#1426535612045"], [row["key"] for row in trade])
        self.assertEqual({"MD": {"SYMBOL": "ZXZZT", "BID": 600.55, "ASK": 600.60, "BIDSIZE": 500,
                                 "ASKSIZE": 1500, "QUOTETIME": 1426535612156, "EXCHANGE": "NASDAQ"}},
                         plain(quote[0]["cells"]))
        self.assertEqual({"MD": {"SYMBOL": "ZXZZT", "LASTSALE": 600.58, "LASTSIZE": 300,
                                 "TRADETIME": 1426535612045, "EXCHANGE": "NASDAQ", "VOLUME": 89000}},
                         plain(trade[0]["cells"]))
        self.assertEqual(1426535612156, quote[0]["cells"]["MD"]["BID"][0]["ts"])
        self.assertEqual(1426535612045, trade[0]["cells"]["MD"]["VOLUME"][0]["ts"])

    def test_S19_a_message_of_one_kind_enters_one_table(self):
        tallyd = self.start(MARKET)
        quote = {name: MESSAGE[name] for name in ("SYMBOL", "EXCHANGE", "BID", "ASK", "QUOTETIME")}
        self.assertEqual(1, tallyd.write("market", quote)["rows"])
        self.assertEqual((1, 0), (len(tallyd.keys("QUOTE")), len(tallyd.keys("TRADE"))))
        self.refused(tallyd.post("market", {"SYMBOL": "ZXZZT", "EXCHANGE": "NASDAQ", "VOLUME": 1}), index=0)

    def test_S20_history_is_read_by_entity_and_time(self):
        tallyd = self.start(SERVERS)
        tallyd.write("server", [server(FIRST + step * 5000) for step in range(200)])
        tallyd.write("server", [server(FIRST + step * 5000, "server1.bbb.co") for step in range(200)])
        rows = tallyd.rows("METRIC", start=f"server1.bbb.com#{FIRST}", end=f"server1.bbb.com#{FIRST + 1}")
        self.assertEqual([(f"server1.bbb.com#{FIRST}", {"METRIC": METRICS})],
                         [(row["key"], plain(row["cells"])) for row in rows])
        one = tallyd.query("server", hostname="server1.bbb.com", from_=FIRST, to=FIRST + 1)
        self.assertEqual([FIRST], [row[0] for row in one["rows"]])
        quarter = tallyd.query("server", hostname="server1.bbb.com", from_=FIRST, to=FIRST + 15 * MINUTE)
        self.assertEqual(180, len(quarter["rows"]))
        self.assertEqual({"table": "METRIC", "kind": "range", "ranges": 1, "rows_read": 180},
                         {name: quarter["plan"][name] for name in ("table", "kind", "ranges", "rows_read")})

    def test_S21_the_latest_table_holds_one_row_per_machine(self):
        tallyd = self.start(SERVERS)
        tallyd.write("server", server())
        tallyd.write("server", [{"ts": FIRST + 5000, "hostname": "server1.bbb.com", "CPU/CPU1_USR": 0.03},
                                server(host="server2.bbb.com")])
        self.assertEqual(2, len(tallyd.keys("METRIC", prefix="server1.bbb.com#")))
        self.assertEqual(["server1.bbb.com", "server2.bbb.com"], tallyd.keys("CURRENT_METRIC"))
        cells = tallyd.cells("CURRENT_METRIC", "server1.bbb.com", versions=10)["METRIC"]
        self.assertEqual([{"value": 0.03, "ts": FIRST + 5000}], cells["CPU/CPU1_USR"])
        self.assertEqual([{"value": 253453634, "ts": FIRST}], cells["IO/BLK_READ"])

    def test_S21_a_late_older_batch_replaces_nothing_newer(self):
        tallyd = self.start(SERVERS)
        tallyd.write("server", server(FIRST + 5000, **{"CPU/CPU1_USR": 0.03}))
        tallyd.write("server", server(FIRST, late=1))
        self.assertEqual({"METRIC": {**METRICS, "CPU/CPU1_USR": 0.03, "late": 1}},
                         plain(tallyd.cells("CURRENT_METRIC", "server1.bbb.com", versions=10)))
        tallyd.write("server", [server(FIRST + 9000, **{"CPU/CPU1_USR": 0.09}),
                                server(FIRST + 7000, **{"CPU/CPU1_USR": 0.07})])
        self.assertEqual([{"value": 0.09, "ts": FIRST + 9000}],
                         tallyd.cells("CURRENT_METRIC", "server1.bbb.com", versions=10)["METRIC"]["CPU/CPU1_USR"])
        self.assertEqual(4, len(tallyd.keys("METRIC")))

    def test_S21_keep_row_replaces_the_whole_row(self):
        tallyd = self.start(SERVERS.replace('"latest"', '"latest"\nkeep = "row"'))
        tallyd.write("server", server())
        tallyd.write("server", {"ts": FIRST + 5000, "hostname": "server1.bbb.com", "CPU/CPU1_USR": 0.03})
        self.assertEqual({"METRIC": {"CPU/CPU1_USR": 0.03}}, plain(tallyd.cells("CURRENT_METRIC", "server1.bbb.com")))
        tallyd.write("server", server(FIRST + 1))
        self.assertEqual({"METRIC": {"CPU/CPU1_USR": 0.03}}, plain(tallyd.cells("CURRENT_METRIC", "server1.bbb.com")))
        self.assertEqual(3, len(tallyd.keys("METRIC")))

    def test_S22_a_meter_has_a_row_per_day_and_a_column_per_reading(self):
        tallyd = self.start(SENSOR)
        readings = {"0000": 12.34, "0015": 13.45, "2330": 27.89, "2345": 28.90}
        tallyd.write("meter", [{"ts": ms(f"2017-07-26T{slot[:2]}:{slot[2:]}"), "meter": 987654, "value": value}
                               for slot, value in readings.items()])
        rows = tallyd.rows("SENSOR", versions=1)
        self.assertEqual(["0000987654#20170726"], [row["key"] for row in rows])
        self.assertEqual({"METER": {**readings, "ID": 987654}}, plain(rows[0]["cells"]))
        self.assertEqual(["0000", "0015", "2330", "2345", "ID"], list(rows[0]["cells"]["METER"]))

    def test_S22_a_full_day_has_96_slots_at_any_interval_its_own(self):
        tallyd = self.start(SENSOR)
        midnight = ms("2017-07-26")
        sent = [{"ts": midnight + slot * 15 * MINUTE, "meter": 987654, "value": slot + 0.5} for slot in range(96)]
        tallyd.write("meter", sent[::-1])
        tallyd.write("meter", [{"ts": ms("2017-07-27") + slot * 5 * MINUTE, "meter": 987654, "value": slot}
                               for slot in range(288)])
        columns = tallyd.cells("SENSOR", "0000987654#20170726", versions=1)["METER"]
        self.assertEqual(97, len(columns))
        self.assertEqual(("0000", "2345"), (min(columns), sorted(columns)[-2]))
        self.assertEqual(289, len(tallyd.cells("SENSOR", "0000987654#20170727", versions=1)["METER"]))
        day = tallyd.events("meter", meter=987654, from_=midnight, to=ms("2017-07-27"))
        self.assertEqual(sent, [{name: event[name] for name in ("ts", "meter", "value")} for event in day])

    def test_S24_qualifiers_hold_data(self):
        tallyd = self.start("""
            [tables.FRIENDS]
            stream = "friends"
            pattern = "new-column"
            row_key = "{person}"
            columns = [{ family = "Friends", name = "{friend}", value = "{circle}" }]
            families.Friends = {}
            """)
        friends = {"José": {"Fred": "club de lectura", "Gabriel": "trabajo", "Hiroshi": "tenis"},
                   "Sofía": {"Hiroshi": "trabajo", "Seo Yoon": "escuela", "Jakob": "club de ajedrez"}}
        counts = tallyd.write("friends", [{"ts": 1, "person": person, "friend": friend, "circle": circle}
                                          for person, circles in friends.items()
                                          for friend, circle in circles.items()])
        self.assertEqual((6, 2, 6), (counts["events"], counts["rows"], counts["cells"]))
        self.assertEqual([(person, {"Friends": circles}) for person, circles in friends.items()],
                         [(row["key"], plain(row["cells"])) for row in tallyd.rows("FRIENDS")])
