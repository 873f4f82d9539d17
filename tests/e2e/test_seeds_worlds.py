"""S18 to S22 and S24 of the seeds: the worked examples of games, markets, servers, meters."""

from tests.e2e.tallyd import E2eTest, ms, plain
from tests.e2e.test_seeds_model import GAMES

MINUTE = 60_000
MARKET = """
[tables.QUOTE]
stream = "market"
pattern = "single-timestamp"
time = "QUOTETIME"
when = ["BID", "ASK"]
row_key = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{QUOTETIME:ms}"
columns = [
  { family = "MD", fields = [
      "SYMBOL", "BID", "ASK", "BIDSIZE", "ASKSIZE", "QUOTETIME", "EXCHANGE"] },
]
families.MD = {}

[tables.TRADE]
stream = "market"
pattern = "single-timestamp"
time = "TRADETIME"
when = ["LASTSALE"]
row_key = "{EXCHANGE:pad(6)}#{SYMBOL:pad(5)}#{TRADETIME:ms}"
columns = [
  { family = "MD", fields = [
      "SYMBOL", "LASTSALE", "LASTSIZE", "TRADETIME", "EXCHANGE", "VOLUME"] },
]
families.MD = {}
"""
MESSAGE = {
    "SYMBOL": "ZXZZT", "BID": 600.55, "ASK": 600.60, "BIDSIZE": 500, "ASKSIZE": 1500,
    "LASTSALE": 600.58,
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
METRICS = {"CPU/CPU1_USR": 0.02, "CPU/CPU1_NICE": 0.00, "IO/BLK_READ": 253453634,
           "MIO/BLK_WRTN": 657365234}

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


def server(at=FIRST, host="server1.bbb.com", **changed):
    return {"ts": at, "hostname": host, **METRICS, **changed}


class SeedsWorldsTest(E2eTest):
    def test_S18_one_batch_goes_to_several_tables_with_different_keys(self):
        tallyd = self.start("".join(f"""
            [tables.{name}]
            stream = "games"
            pattern = "single-timestamp"
            row_key = "{key}"
            columns = [{{ family = "GAME", fields = ["WIN", "KDA"] }}]
            families.GAME = {{}}
            """ for name, key in (("BY_PLAYER", "{game}#{player}#{ts:day}"),
                                  ("BY_DATE", "{game}#{ts:day}#{player}"))))
        self.assertEqual({"events": 5, "rows": 10, "cells": 20},
                         {name: count for name, count in tallyd.write("games", GAMES).items()
                          if name in ("events", "rows", "cells")})
        march = {"game": "LoL", "from_": ms("2015-03-01"), "to": ms("2015-04-01")}
        lol = tallyd.query("games", march, table="BY_DATE")
        self.assertEqual((4, 1, "range", 4),
                         (len(lol["rows"]), lol["plan"]["ranges"], lol["plan"]["kind"],
                                              lol["plan"]["rows_read"]))
        corrie = tallyd.query("games", march, player="Corrie", table="BY_PLAYER")
        self.assertEqual((2, 1, "range", 2), (len(corrie["rows"]), corrie["plan"]["ranges"],
                                              corrie["plan"]["kind"], corrie["plan"]["rows_read"]))
        for table in "BY_DATE", "BY_PLAYER":
            self.assertEqual(GAMES[:4], tallyd.events("games", march, table=table))
        self.assertEqual(["LoL#20150301#Corrie", "LoL#20150302#Jo", "LoL#20150302#Sam",
                          "LoL#20150303#Corrie"],
                         tallyd.keys("BY_DATE", start="LoL#20150301", end="LoL#20150401"))
        self.assertEqual(2, len(tallyd.keys("BY_PLAYER", start="LoL#Corrie#20150301",
                                            end="LoL#Corrie#20150401")))

    def test_S19_one_message_is_split_into_a_quote_and_a_trade(self):
        tallyd = self.start(MARKET)
        counts = tallyd.write("market", MESSAGE)
        self.assertEqual((1, 2, 13), (counts["events"], counts["rows"], counts["cells"]))
        quote, trade = tallyd.rows("QUOTE"), tallyd.rows("TRADE")
        self.assertEqual(["NASDAQ#ZXZZT#1426535612156"], [row["key"] for row in quote])
        self.assertEqual(["NASDAQ#ZXZZT#1426535612045"], [row["key"] for row in trade])
        self.assertEqual({"MD": {"SYMBOL": "ZXZZT", "BID": 600.55, "ASK": 600.60, "BIDSIZE": 500,
                                 "ASKSIZE": 1500, "QUOTETIME": 1426535612156,
                                 "EXCHANGE": "NASDAQ"}},
                         plain(quote[0]["cells"]))
        self.assertEqual({"MD": {"SYMBOL": "ZXZZT", "LASTSALE": 600.58, "LASTSIZE": 300,
                                 "TRADETIME": 1426535612045, "EXCHANGE": "NASDAQ",
                                 "VOLUME": 89000}},
                         plain(trade[0]["cells"]))
        self.assertEqual(1426535612156, quote[0]["cells"]["MD"]["BID"][0]["ts"])
        self.assertEqual(1426535612045, trade[0]["cells"]["MD"]["VOLUME"][0]["ts"])

    def test_S19_a_message_of_one_kind_enters_one_table(self):
        tallyd = self.start(MARKET)
        quote = {name: MESSAGE[name] for name in ("SYMBOL", "EXCHANGE", "BID", "ASK", "QUOTETIME")}
        self.assertEqual(1, tallyd.write("market", quote)["rows"])
        self.assertEqual((1, 0), (len(tallyd.keys("QUOTE")), len(tallyd.keys("TRADE"))))
        self.refused(tallyd.post("market", {"SYMBOL": "ZXZZT", "EXCHANGE": "NASDAQ", "VOLUME": 1}),
                     index=0)

    def test_S20_history_is_read_by_entity_and_time(self):
        tallyd = self.start(SERVERS)
        tallyd.write("server", [server(FIRST + step * 5000) for step in range(200)])
        tallyd.write("server",
                     [server(FIRST + step * 5000, "server1.bbb.co") for step in range(200)])
        rows = tallyd.rows("METRIC", start=f"server1.bbb.com#{FIRST}",
                           end=f"server1.bbb.com#{FIRST + 1}")
        self.assertEqual([(f"server1.bbb.com#{FIRST}", {"METRIC": METRICS})],
                         [(row["key"], plain(row["cells"])) for row in rows])
        one = tallyd.query("server", hostname="server1.bbb.com", from_=FIRST, to=FIRST + 1)
        self.assertEqual([FIRST], [row[0] for row in one["rows"]])
        quarter = tallyd.query("server", hostname="server1.bbb.com", from_=FIRST,
                               to=FIRST + 15 * MINUTE)
        self.assertEqual(180, len(quarter["rows"]))
        self.assertEqual({"table": "METRIC", "kind": "range", "ranges": 1, "rows_read": 180},
                         {name: quarter["plan"][name]
                          for name in ("table", "kind", "ranges", "rows_read")})

    def test_S21_the_latest_table_holds_one_row_per_machine(self):
        tallyd = self.start(SERVERS)
        tallyd.write("server", server())
        tallyd.write("server",
                     [{"ts": FIRST + 5000, "hostname": "server1.bbb.com", "CPU/CPU1_USR": 0.03},
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
                         tallyd.cells("CURRENT_METRIC", "server1.bbb.com",
                                      versions=10)["METRIC"]["CPU/CPU1_USR"])
        self.assertEqual(4, len(tallyd.keys("METRIC")))

    def test_S21_keep_row_replaces_the_whole_row(self):
        tallyd = self.start(SERVERS.replace('"latest"', '"latest"\nkeep = "row"'))
        tallyd.write("server", server())
        tallyd.write("server",
                     {"ts": FIRST + 5000, "hostname": "server1.bbb.com", "CPU/CPU1_USR": 0.03})
        self.assertEqual({"METRIC": {"CPU/CPU1_USR": 0.03}},
                         plain(tallyd.cells("CURRENT_METRIC", "server1.bbb.com")))
        tallyd.write("server", server(FIRST + 1))
        self.assertEqual({"METRIC": {"CPU/CPU1_USR": 0.03}},
                         plain(tallyd.cells("CURRENT_METRIC", "server1.bbb.com")))
        self.assertEqual(3, len(tallyd.keys("METRIC")))

    def test_S22_a_meter_has_a_row_per_day_and_a_column_per_reading(self):
        tallyd = self.start(SENSOR)
        readings = {"0000": 12.34, "0015": 13.45, "2330": 27.89, "2345": 28.90}
        tallyd.write("meter", [{"ts": ms(f"2017-07-26T{slot[:2]}:{slot[2:]}"), "meter": 987654,
                                "value": value}
                               for slot, value in readings.items()])
        rows = tallyd.rows("SENSOR", versions=1)
        self.assertEqual(["0000987654#20170726"], [row["key"] for row in rows])
        self.assertEqual({"METER": {**readings, "ID": 987654}}, plain(rows[0]["cells"]))
        self.assertEqual(["0000", "0015", "2330", "2345", "ID"], list(rows[0]["cells"]["METER"]))

    def test_S22_a_full_day_has_96_slots_at_any_interval_its_own(self):
        tallyd = self.start(SENSOR)
        midnight = ms("2017-07-26")
        sent = [{"ts": midnight + slot * 15 * MINUTE, "meter": 987654, "value": slot + 0.5}
                for slot in range(96)]
        tallyd.write("meter", sent[::-1])
        tallyd.write("meter",
                     [{"ts": ms("2017-07-27") + slot * 5 * MINUTE, "meter": 987654, "value": slot}
                               for slot in range(288)])
        columns = tallyd.cells("SENSOR", "0000987654#20170726", versions=1)["METER"]
        self.assertEqual(97, len(columns))
        self.assertEqual(("0000", "2345"), (min(columns), sorted(columns)[-2]))
        self.assertEqual(289,
                         len(tallyd.cells("SENSOR", "0000987654#20170727", versions=1)["METER"]))
        day = tallyd.events("meter", meter=987654, from_=midnight, to=ms("2017-07-27"))
        self.assertEqual(sent, [{name: event[name] for name in ("ts", "meter", "value")}
                                for event in day])

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
                   "Sofía": {"Hiroshi": "trabajo", "Seo Yoon": "escuela",
                             "Jakob": "club de ajedrez"}}
        counts = tallyd.write("friends",
                              [{"ts": 1, "person": person, "friend": friend, "circle": circle}
                                          for person, circles in friends.items()
                                          for friend, circle in circles.items()])
        self.assertEqual((6, 2, 6), (counts["events"], counts["rows"], counts["cells"]))
        self.assertEqual([(person, {"Friends": circles}) for person, circles in friends.items()],
                         [(row["key"], plain(row["cells"])) for row in tallyd.rows("FRIENDS")])
