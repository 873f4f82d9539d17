"""S27 to S36 of the seeds: row keys built from templates, and read back to fields."""

from tests.e2e.tallyd import E2eTest, ms
from tests.e2e.test_seeds_model import DEVICES, device_events
from tests.e2e.test_seeds_worlds import MARKET, MESSAGE, SENSOR

BATTERY = [("Corrie", 98), ("Jo", 54), ("Corrie", 96), ("Sam", 43), ("Sam", 38)]
FIRST = ms("2015-03-01T12:45:01.001")
MASK = 2**64 - 1


def xxh64(data, seed=0):
    """XXH64, as its specification defines it."""
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                          0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)

    def turn(value, bits):
        return (value << bits | value >> 64 - bits) & MASK

    def mix(lane, word):
        return turn((lane + word * p2) & MASK, 31) * p1 & MASK

    def word(at, size=8):
        return int.from_bytes(data[at:at + size], "little")

    at, end = 0, len(data)
    if end >= 32:
        lanes = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
        while at + 32 <= end:
            lanes = [mix(lane, word(at + 8 * index)) for index, lane in enumerate(lanes)]
            at += 32
        total = sum(turn(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            total = ((total ^ mix(0, lane)) * p1 + p4) & MASK
    else:
        total = seed + p5
    total = total + end & MASK
    while at + 8 <= end:
        total, at = (turn(total ^ mix(0, word(at)), 27) * p1 + p4) & MASK, at + 8
    if at + 4 <= end:
        total, at = (turn(total ^ word(at, 4) * p1 & MASK, 23) * p2 + p3) & MASK, at + 4
    while at < end:
        total, at = turn(total ^ data[at] * p5 & MASK, 11) * p1 & MASK, at + 1
    total = (total ^ total >> 33) * p2 & MASK
    total = (total ^ total >> 29) * p3 & MASK
    return total ^ total >> 32


def battery_events(**more):
    return [{"ts": FIRST + step, "USER": user, "PERCENTAGE": value,
             **{name: values[step] for name, values in more.items()}}
            for step, (user, value) in enumerate(BATTERY)]


def table(name, row_key, pattern="single-timestamp", columns="", stream=None):
    return f"""
[tables.{name}]
stream = "{stream or name.lower()}"
pattern = "{pattern}"
row_key = "{row_key}"
{columns}
families.METRIC = {{}}
"""


class SeedsKeysTest(E2eTest):
    def test_S27_templates_join_segments_with_any_delimiter(self):
        tallyd = self.start("".join(
            table(f"T{number}", "{type}D{device}D{ts:day}".replace("D", delimiter),
                  stream="devices")
            for number, delimiter in enumerate("#:/|")))
        tallyd.write("devices", device_events())
        for number, delimiter in enumerate("#:/|"):
            self.assertEqual([delimiter.join(device) for device in DEVICES],
                             tallyd.keys(f"T{number}"))
        self.assertEqual(["phone#4c410523#20200501", "phone#4c410523#20200502"],
                         tallyd.keys("T0", prefix="phone#4c410523#"))

    def test_S28_a_promoted_field_is_no_column_unless_it_is_named(self):
        key = "BATTERY#{USER}#{ts:%Y%m%d%H%M%S%L}"
        kept = 'columns = [{ family = "METRIC", fields = ["USER", "PERCENTAGE"] }]'
        tallyd = self.start(table("BATTERY", key)
                            + table("KEPT", key, columns=kept, stream="battery"))
        tallyd.write("battery", battery_events())
        good = [("BATTERY#Corrie#20150301124501001", 98), ("BATTERY#Corrie#20150301124501003", 96),
                ("BATTERY#Jo#20150301124501002", 54), ("BATTERY#Sam#20150301124501004", 43),
                ("BATTERY#Sam#20150301124501005", 38)]

        def stored(name):
            return [(row["key"], {column: cells[0]["value"]
                                  for column, cells in row["cells"]["METRIC"].items()})
                    for row in tallyd.rows(name)]

        self.assertEqual([(key, {"PERCENTAGE": value}) for key, value in good], stored("BATTERY"))
        self.assertEqual([(key, {"PERCENTAGE": value, "USER": key.split("#")[1]})
                          for key, value in good],
                         stored("KEPT"))

    def test_S29_the_salt_is_one_plus_the_hash_of_the_time(self):
        self.assertEqual((0xEF46DB3751D8E999, 0x44BC2CF5AD770999), (xxh64(b""), xxh64(b"abc")))
        tallyd = self.start(table("BATTERY", "BATTERY#{ts:salt(3)}#{ts:%Y%m%d%H%M%S%L}"))
        tallyd.write("battery", battery_events())
        salts = [1 + xxh64(str((FIRST + step) * 1000).encode()) % 3 for step in range(5)]
        expected = sorted(f"BATTERY#{salt}#2015030112450100{step + 1}"
                          for step, salt in enumerate(salts))
        self.assertEqual(expected, tallyd.keys("BATTERY"))
        for key in expected:
            self.assertRegex(key, r"^BATTERY#[1-3]#\d{17}$")
        tallyd.write("battery", battery_events())
        self.assertEqual(expected, tallyd.keys("BATTERY"))

    def test_S29_a_time_query_fans_out_over_the_salts_and_merges(self):
        tallyd = self.start(table("BATTERY", "BATTERY#{ts:salt(3)}#{ts:%Y%m%d%H%M%S%L}"))
        tallyd.write("battery", battery_events()[::-1])
        answer = tallyd.query("battery", from_=FIRST, to=FIRST + 5)
        self.assertEqual((3, "range", 5), (answer["plan"]["ranges"], answer["plan"]["kind"],
                                           answer["plan"]["rows_read"]))
        self.assertEqual([98, 54, 96, 43, 38], [
            row[answer["columns"].index("PERCENTAGE")] for row in answer["rows"]])
        newest = tallyd.events("battery", from_=FIRST, to=FIRST + 5, order="desc", limit=2)
        self.assertEqual([38, 43], [event["PERCENTAGE"] for event in newest])

    def test_S29_a_salt_of_an_entity_is_known_when_the_query_names_it(self):
        tallyd = self.start(table("BATTERY", "{USER:salt(16)}#{USER}#{ts:ms}"))
        tallyd.write("battery", battery_events())
        self.assertEqual({f"{1 + xxh64(user.encode()) % 16}#{user}" for user, _ in BATTERY},
                         {key.rpartition("#")[0] for key in tallyd.keys("BATTERY")})
        answer = tallyd.query("battery", USER="Corrie")
        self.assertEqual((1, 2), (answer["plan"]["ranges"], len(answer["rows"])))

    def test_S29_injected_salts_give_the_keys_of_the_seeds(self):
        tallyd = self.start(table("BATTERY", "BATTERY#{salt}#{ts:%Y%m%d%H%M%S%L}"))
        tallyd.write("battery", battery_events(salt=[3, 2, 1, 1, 3]))
        self.assertEqual(["BATTERY#1#20150301124501003", "BATTERY#1#20150301124501004",
                          "BATTERY#2#20150301124501002", "BATTERY#3#20150301124501001",
                          "BATTERY#3#20150301124501005"], tallyd.keys("BATTERY"))

    def test_S30_reversed_timestamps_put_the_newest_first(self):
        tallyd = self.start(table("QUOTES", "{exchange}#{symbol}#{ts:reverse(ms)}"))
        times = (1426535612045, 1426535612156)
        tallyd.write("quotes", [{"ts": at, "exchange": "NASDAQ", "symbol": "ZXZZT", "bid": 600.55}
                                for at in times])
        self.assertEqual(["NASDAQ#ZXZZT#9223370610319163651", "NASDAQ#ZXZZT#9223370610319163762"],
                         tallyd.keys("QUOTES", prefix="NASDAQ#ZXZZT#"))
        self.assertEqual(["NASDAQ#ZXZZT#9223370610319163651"],
                         tallyd.keys("QUOTES", prefix="NASDAQ#ZXZZT#", limit=1))
        query = {"exchange": "NASDAQ", "symbol": "ZXZZT"}
        self.assertEqual(list(times), [event["ts"] for event in tallyd.events("quotes", query)])
        one = tallyd.query("quotes", query, from_=times[0], to=times[0] + 1)
        self.assertEqual([times[0]], [row[0] for row in one["rows"]])
        self.assertEqual((1, "range"), (one["plan"]["ranges"], one["plan"]["kind"]))

    def test_S31_integers_are_padded_with_zeros_on_the_left(self):
        tallyd = self.start(SENSOR)
        at = ms("2017-07-26")
        tallyd.write("meter", [{"ts": at, "meter": meter, "value": 1.5}
                               for meter in (987654, 20, 3, 9999999999)])
        self.assertEqual(["0000000003", "0000000020", "0000987654", "9999999999"],
                         [key.split("#")[0] for key in tallyd.keys("SENSOR")])
        self.assertEqual([20], [event["meter"] for event in tallyd.events("meter", meter=20)])
        self.refused(tallyd.post("meter", [{"ts": at, "meter": 1, "value": 1.5},
                                           {"ts": at, "meter": 98765432109, "value": 1.5}]), 1,
                     "meter")
        self.refused(tallyd.post("meter", {"ts": at, "meter": -1, "value": 1.5}), 0, "meter")
        self.refused(tallyd.post("meter", {"ts": at, "meter": "abc", "value": 1.5}), 0, "meter")
        self.assertEqual(4, len(tallyd.keys("SENSOR")))

    def test_S32_text_is_padded_with_spaces_on_the_right(self):
        tallyd = self.start(MARKET)
        tallyd.write("market", [MESSAGE, {**MESSAGE, "EXCHANGE": "NYSE", "SYMBOL": "IBM"}])
        self.assertEqual(["NASDAQ#ZXZZT#1426535612156", "NYSE  #IBM  #1426535612156"],
                         tallyd.keys("QUOTE"))
        self.assertEqual("IBM",
                         tallyd.cells("QUOTE",
                                      "NYSE  #IBM  #1426535612156")["MD"]["SYMBOL"][0]["value"])
        ibm = tallyd.events("market", EXCHANGE="NYSE", SYMBOL="IBM", table="QUOTE")
        self.assertEqual([("NYSE", "IBM")], [(event["EXCHANGE"], event["SYMBOL"]) for event in ibm])
        self.refused(tallyd.post("market", {**MESSAGE, "SYMBOL": "TOOLONG"}), 0, "SYMBOL")
        self.refused(tallyd.post("market", {**MESSAGE, "SYMBOL": "IBM "}), 0, "SYMBOL")

    def test_S33_reversed_domains_put_related_hosts_together(self):
        tallyd = self.start(table("SITES", "{domain:reverse_domain}", "latest"))
        domains = ("drive.google.com", "en.wikipedia.org", "maps.google.com")
        tallyd.write("sites", [{"ts": 1, "domain": domain, "hits": 1} for domain in domains])
        self.assertEqual(["com.google.drive", "com.google.maps", "org.wikipedia.en"],
                         tallyd.keys("SITES"))
        self.assertEqual(["com.google.drive", "com.google.maps"],
                         tallyd.keys("SITES", prefix="com.google."))
        self.assertEqual(set(domains), {event["domain"] for event in tallyd.latest("sites")})
        self.assertEqual(["maps.google.com"], [
            event["domain"] for event in tallyd.latest("sites", domain="maps.google.com")])

    def test_S34_reversed_ids_are_read_back(self):
        tallyd = self.start(table("USERS", "{user:reverse_digits}", "latest"))
        tallyd.write("users",
                     [{"ts": 1, "user": user, "seen": 1} for user in (1234567, 1234568, 1200)])
        self.assertEqual(["0021", "7654321", "8654321"], tallyd.keys("USERS"))
        self.assertEqual({1234567, 1234568, 1200},
                         {event["user"] for event in tallyd.latest("users")})
        self.assertEqual([1234567],
                         [event["user"] for event in tallyd.latest("users", user=1234567)])

    def test_S35_a_tenant_is_dropped_by_its_prefix(self):
        tallyd = self.start(table("DEVICES", "{tenant}#{type}#{device}#{ts:day}"))
        stored = ["altostrat#phone#4c410523#20190501", "altostrat#phone#4c410523#20190502",
                  "altostrat#tablet#a0b41f74#20190501", "examplepetstore#phone#4c410523#20190502",
                  "examplepetstore#tablet#a0b81f79#20190502",
                  "examplepetstore#tablet#a6b81f79#20190501"]
        second = "altostrat2#phone#4c410523#20190501"
        for key in stored + [second]:
            tenant, kind, device, day = key.split("#")
            tallyd.write("devices", {"ts": ms(f"{day[:4]}-{day[4:6]}-{day[6:]}"), "tenant": tenant,
                                     "type": kind, "device": device, "used": 1})
        self.assertEqual(stored[:3] + [second] + stored[3:], tallyd.keys("DEVICES"))
        tallyd.delete("/v1/tables/DEVICES/rows", prefix="altostrat#").expect(200, 204)
        self.assertEqual([second] + stored[3:], tallyd.keys("DEVICES"))
        tallyd.row("DEVICES", stored[0]).problem(404)
        tallyd.restart()
        self.assertEqual([second] + stored[3:], tallyd.keys("DEVICES"))

    def test_S36_key_segments_are_decoded_on_read(self):
        tallyd = self.start(table("LOAD", "{machine}#{ts:ms}"))
        tallyd.write("load", {"ts": 1425330757685, "machine": "machine_4223421", "cpu": 0.5})
        self.assertEqual(["machine_4223421#1425330757685"], tallyd.keys("LOAD"))
        self.assertEqual([{"ts": 1425330757685, "machine": "machine_4223421", "cpu": 0.5}],
                         tallyd.events("load", machine="machine_4223421"))

    def test_S36_no_value_can_forge_the_key_of_another(self):
        tallyd = self.start(table("LOAD", "{machine}#{part}#{ts:ms}"))
        pairs = [("a#b", "c"), ("a", "b#c"), ("a%23b", "c"), ("100%", "\t"), ("a/b", "ü §"),
                 ("a\x00", "\n")]
        tallyd.write("load", [{"ts": 1000000000000, "machine": machine, "part": part, "cpu": index}
                              for index, (machine, part) in enumerate(pairs)])
        self.assertEqual({"a%23b#c#1000000000000", "a#b%23c#1000000000000",
                          "a%2523b#c#1000000000000",
                          "100%25#%09#1000000000000", "a/b#ü §#1000000000000",
                          "a%00#%0A#1000000000000"},
                         {key.replace("%0a", "%0A") for key in tallyd.keys("LOAD")})
        for index, (machine, part) in enumerate(pairs):
            self.assertEqual([{"ts": 1000000000000, "machine": machine, "part": part,
                               "cpu": index}],
                             tallyd.events("load", machine=machine, part=part))
        self.assertEqual([1], [event["cpu"] for event in tallyd.events("load", machine="a")])
