"""S1 to S7, S10, S11 of the seeds: a sorted table of rows, families and timestamped cells."""

from tests.e2e.tallyd import E2eTest, ms

PLACES = [
    ("asia", "india", "bangalore"), ("asia", "india", "mumbai"),
    ("asia", "japan", "osaka"), ("asia", "japan", "sapporo"),
    ("southamerica", "bolivia", "cochabamba"), ("southamerica", "bolivia", "lapaz"),
    ("southamerica", "chile", "santiago"), ("southamerica", "chile", "temuco"),
]

PRICES = [("2015-03-01", 558.40), ("2015-03-02", 571.34), ("2015-03-03", 573.64),
          ("2015-03-04", 573.37), ("2015-03-05", 575.33)]

GAMES = [
    {"ts": ms("2015-03-01"), "game": "LoL", "player": "Corrie", "WIN": False, "KDA": 4.25},
    {"ts": ms("2015-03-02"), "game": "LoL", "player": "Jo", "WIN": True, "KDA": 7.00},
    {"ts": ms("2015-03-02"), "game": "LoL", "player": "Sam", "WIN": True, "KDA": 7.00},
    {"ts": ms("2015-03-03"), "game": "LoL", "player": "Corrie", "WIN": True, "KDA": 9.50},
    {"ts": ms("2015-03-03"), "game": "Starcraft", "player": "Eriko", "WIN": True, "KDA": 6.00},
]

GOOD_GAMES_TABLE = """
[tables.GAMES]
stream = "games"
pattern = "single-timestamp"
row_key = "{game}#{player}#{ts:day}"
families.GAME = {}
"""

CLOSING = """
[tables.CLOSING]
stream = "closing"
pattern = "new-cell"
row_key = "{symbol}"
families.STOCK = { max_versions = 100 }
"""

DEVICES = [("phone", "4c410523", "20200501"), ("phone", "4c410523", "20200502"),
           ("tablet", "a0b81f74", "20200501"), ("tablet", "a0b81f74", "20200502")]


def device_events():
    return [{"ts": ms(f"{day[:4]}-{day[4:6]}-{day[6:]}"), "type": kind, "device": device, "used": 1}
            for kind, device, day in DEVICES]


def columns_of(row, family):
    return list(row["cells"][family])


def values_of(rows, family, column):
    """Every value of one column in row order, whatever the row."""
    return [cell["value"] for row in rows for cell in row["cells"].get(family, {}).get(column, [])]


class SeedsModelTest(E2eTest):
    def test_S01_rows_are_sorted_and_read_by_key_prefix_and_range(self):
        tallyd = self.start("""
            [tables.PLACES]
            stream = "places"
            pattern = "latest"
            row_key = "{continent}#{country}#{city}"
            families.PLACE = {}
            """)
        tallyd.write("places", [{"ts": 1, "continent": a, "country": b, "city": c, "visits": 1}
                                for a, b, c in reversed(PLACES)])
        everything = ["#".join(place) for place in PLACES]
        self.assertEqual(everything, tallyd.keys("PLACES"))
        self.assertEqual(["asia#japan#osaka", "asia#japan#sapporo"],
                         tallyd.keys("PLACES", prefix="asia#japan#"))
        self.assertEqual(everything[1:5], tallyd.keys(
            "PLACES", start="asia#india#mumbai", end="southamerica#bolivia#lapaz"))
        self.assertEqual("asia#japan#osaka",
                         tallyd.row("PLACES", "asia#japan#osaka").expect(200).json["key"])
        tallyd.row("PLACES", "asia#japan").problem(404)

    def test_S02_keys_sort_as_unsigned_bytes_not_as_numbers(self):
        tallyd = self.start("""
            [tables.KEYS]
            stream = "keys"
            pattern = "latest"
            row_key = "{id}"
            families.F = {}
            """)
        tallyd.write("keys", [{"ts": 1, "id": one, "v": 1} for one in ("3", "20", "03")])
        self.assertEqual(["03", "20", "3"], tallyd.keys("KEYS"))
        tallyd.write("keys", [{"ts": 1, "id": one, "v": 1} for one in ("é", "~", "\uffff", "𝄞")])
        self.assertEqual(["03", "20", "3", "~", "é", "\uffff", "𝄞"], tallyd.keys("KEYS"))

    def test_S03_columns_come_in_byte_order_inside_a_family(self):
        tallyd = self.start("""
            [tables.PROCESSES]
            stream = "processes"
            pattern = "latest"
            row_key = "{host}"
            families.SysMonitor = {}
            """)
        written = ["ProcessName", "User", "%CPU", "ID", "Memory", "DiskRead", "Priority"]
        tallyd.write("processes", {"ts": 1, "host": "a", **{name: 1 for name in written}})
        self.assertEqual(["%CPU", "DiskRead", "ID", "Memory", "Priority", "ProcessName", "User"],
                         columns_of(tallyd.rows("PROCESSES")[0], "SysMonitor"))

    def test_S04_a_column_holds_several_timestamped_cells(self):
        tallyd = self.start(CLOSING)
        tallyd.write("closing", [{"ts": ms(day), "symbol": "ZXZZT", "PRICE": price}
                                 for day, price in PRICES])
        newest_first = [{"value": price, "ts": ms(day)} for day, price in reversed(PRICES)]
        self.assertEqual({"STOCK": {"PRICE": newest_first}},
                         tallyd.cells("CLOSING", "ZXZZT", versions=100))

    def test_S05_an_amendment_keeps_the_history(self):
        tallyd = self.start(CLOSING)
        tallyd.write("closing", {"ts": 1425168000000, "symbol": "ZXZZT", "PRICE": 559.40})
        tallyd.write("closing", {"ts": 1425168000001, "symbol": "ZXZZT", "PRICE": 558.40})
        right = {"value": 558.4, "ts": 1425168000001}
        wrong = {"value": 559.4, "ts": 1425168000000}
        self.assertEqual([right], tallyd.cells("CLOSING", "ZXZZT", versions=1)["STOCK"]["PRICE"])
        self.assertEqual([right, wrong],
                         tallyd.cells("CLOSING", "ZXZZT", versions=2)["STOCK"]["PRICE"])

    def test_S06_the_same_key_is_the_same_row_and_the_last_write_wins(self):
        tallyd = self.start("""
            [tables.POOR]
            stream = "games"
            pattern = "single-timestamp"
            row_key = "{game}#{ts:day}"
            families.GAME = {}
            """)
        jo, sam = GAMES[1], GAMES[2]
        counts = tallyd.write("games", [jo, sam])
        self.assertEqual((2, 1), (counts["events"], counts["rows"]))

        def stored():
            rows = tallyd.rows("POOR", versions=10)
            self.assertEqual(["LoL#20150302"], [row["key"] for row in rows])
            return {name: [cell["value"] for cell in cells]
                    for name, cells in rows[0]["cells"]["GAME"].items()}

        self.assertEqual({"KDA": [7.0], "WIN": [True], "player": ["Sam"]}, stored())
        tallyd.write("games", {**jo, "KDA": 7.5})
        self.assertEqual({"KDA": [7.5], "WIN": [True], "player": ["Jo"]}, stored())

    def test_S07_rows_are_sparse_and_qualifiers_are_free(self):
        tallyd = self.start("""
            [tables.FRIENDS]
            stream = "friends"
            pattern = "latest"
            row_key = "{person}"
            families.Friends = {}
            """)
        jose = {"Fred": "club de lectura", "Gabriel": "trabajo", "Hiroshi": "tenis"}
        sofia = {"Hiroshi": "trabajo", "Seo Yoon": "escuela", "Jakob": "club de ajedrez"}
        tallyd.write("friends", [{"ts": 1, "person": "José", **jose},
                                 {"ts": 1, "person": "Sofía", **sofia}])
        cells = tallyd.cells("FRIENDS", "José")["Friends"]
        self.assertEqual(jose, {name: cell[0]["value"] for name, cell in cells.items()})
        self.assertEqual(["Hiroshi", "Jakob", "Seo Yoon"],
                         list(tallyd.cells("FRIENDS", "Sofía")["Friends"]))

    def test_S10_reads_filter_by_family_column_value_and_time(self):
        tallyd = self.start(GOOD_GAMES_TABLE)
        tallyd.write("games", GAMES)
        corrie = tallyd.rows("GAMES", prefix="LoL#Corrie#", columns="GAME:WIN")
        self.assertEqual([False, True], values_of(corrie, "GAME", "WIN"))
        self.assertEqual([["WIN"], ["WIN"]], [columns_of(row, "GAME") for row in corrie])
        both = tallyd.rows("GAMES", prefix="LoL#Corrie#", columns="GAME:*")
        self.assertEqual([["KDA", "WIN"]] * 2, [columns_of(row, "GAME") for row in both])
        won = tallyd.rows("GAMES", prefix="LoL#", columns="GAME:WIN", value="true")
        self.assertEqual([True, True, True], values_of(won, "GAME", "WIN"))
        second = tallyd.rows("GAMES", from_=ms("2015-03-02"), to=ms("2015-03-03"))
        self.assertEqual(["LoL#Jo#20150302", "LoL#Sam#20150302"],
                         [row["key"] for row in second if row["cells"]])
        march = tallyd.rows("GAMES", start="LoL#Corrie#20150301", end="LoL#Corrie#20150401")
        self.assertEqual([False, True], values_of(march, "GAME", "WIN"))

    def test_S11_the_planner_tells_a_range_from_a_full_scan(self):
        tallyd = self.start("""
            [tables.DEVICES]
            stream = "devices"
            pattern = "single-timestamp"
            row_key = "{type}#{device}#{ts:day}"
            families.USE = {}
            """)
        tallyd.write("devices", device_events())
        day = {"from_": ms("2020-05-01"), "to": ms("2020-05-02")}
        self.assertIn("type", tallyd.get("/v1/streams/devices/events", day).problem(422)["detail"])
        scan = tallyd.query("devices", day, scan=1)
        self.assertEqual((2, "scan"), (len(scan["rows"]), scan["plan"]["kind"]))
        phones = tallyd.query("devices", type="phone")
        self.assertEqual((2, "range"), (len(phones["rows"]), phones["plan"]["kind"]))
        self.assertEqual((1, 2), (phones["plan"]["ranges"], phones["plan"]["rows_read"]))

    def test_S11_a_day_that_is_a_field_of_its_own_is_a_full_scan_too(self):
        tallyd = self.start("""
            [tables.DEVICES]
            stream = "devices"
            pattern = "single-timestamp"
            row_key = "{type}#{device}#{day}"
            families.USE = {}
            """)
        tallyd.write("devices", [{"ts": 1, "type": kind, "device": device, "day": day, "used": 1}
                                 for kind, device, day in DEVICES])
        self.assertEqual(["#".join(device) for device in DEVICES], tallyd.keys("DEVICES"))
        tallyd.get("/v1/streams/devices/events", day="20200501").problem(422)
        scan = tallyd.query("devices", day="20200501", scan=1)
        self.assertEqual((2, "scan"), (len(scan["rows"]), scan["plan"]["kind"]))
