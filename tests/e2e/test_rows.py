"""Rows: the Bigtable view, latest values, discovery, renames, and removal."""

import random
from urllib.parse import quote

from tests.e2e.tallyd import E2eTest, SEED, eventually, mentions
from tests.e2e.test_reading import (CURRENT, EVENTS, EVENTS_PATH, FIRST, HOSTS, METRIC, StoredTest,
                                    of_host)

ROWS_PATH = "/v1/tables/METRIC/rows"


class LatestTest(StoredTest):
    def test_the_latest_of_one_some_and_all_hosts(self):
        newest = [of_host(number)[-1] for number in range(3)]
        self.assertEqual(newest[:1], self.tallyd.latest("server", hostname=HOSTS[0]))
        self.assertEqual(newest,
                         sorted(self.tallyd.latest("server"), key=lambda event: event["hostname"]))
        some = self.tallyd.latest("server", hostname=[HOSTS[2], HOSTS[0]], fields="rack")
        self.assertEqual({(HOSTS[0], "r0"), (HOSTS[2], "r0")},
                         {(event["hostname"], event["rack"]) for event in some})
        self.assertEqual([], self.tallyd.latest("server", hostname="none"))
        answer = self.tallyd.get("/v1/streams/server/latest").json
        self.assertEqual(("CURRENT_METRIC", "range"),
                         (answer["plan"]["table"], answer["plan"]["kind"]))

    def test_a_late_older_event_never_wins(self):
        late = [{"ts": FIRST + step, "hostname": HOSTS[0], "CPU/CPU1_USR": -step}
                for step in range(100)]
        random.Random(SEED).shuffle(late)
        for event in late:
            self.tallyd.write("server", event)
        self.assertEqual(of_host()[-1:], self.tallyd.latest("server", hostname=HOSTS[0]))

    def test_a_stream_without_a_latest_table_is_404(self):
        tallyd = self.start(METRIC)
        tallyd.write("server", EVENTS[0])
        tallyd.get("/v1/streams/server/latest").problem(404)

    def test_keep_row_forgets_what_the_newest_lacks(self):
        tallyd = self.start(CURRENT + 'keep = "row"\n')
        tallyd.write("server",
                     [{"ts": 2, "hostname": "a", "x": 1}, {"ts": 3, "hostname": "a", "y": 2},
                                {"ts": 1, "hostname": "a", "z": 3}])
        self.assertEqual([(3, 2)], [(event["ts"], event["y"])
                                    for event in tallyd.latest("server", hostname="a")])
        self.assertEqual(["y"], list(tallyd.cells("CURRENT_METRIC", "a")["METRIC"]))


class DiscoveryTest(StoredTest):
    def test_streams_tables_fields_and_values_are_listed(self):
        self.assertTrue(mentions(self.tallyd.get("/v1/streams").expect(200).json, "server"))
        fields = self.tallyd.get("/v1/streams/server/fields").expect(200).json
        for name in EVENTS[0]:
            self.assertTrue(mentions(fields, name), (name, fields))
        values = self.tallyd.get("/v1/streams/server/values", field="hostname").expect(200).json
        self.assertEqual([True] * 3, [mentions(values, host) for host in HOSTS])
        some = self.tallyd.get("/v1/streams/server/values", field="hostname",
                               prefix="server2").expect(200).json
        self.assertEqual([False, True, False], [mentions(some, host) for host in HOSTS])
        tables = self.tallyd.get("/v1/tables").expect(200).json
        for name in "METRIC", "CURRENT_METRIC":
            self.assertTrue(mentions(tables, name))
            one = self.tallyd.get(f"/v1/tables/{name}").expect(200)
            self.assertTrue(mentions(one.json, "{hostname}#{ts:ms}" if name == "METRIC"
                                     else "{hostname}"), one.text)


class RowsTest(StoredTest):
    def keys(self, **params):
        return self.tallyd.keys("METRIC", **params)

    def test_rows_by_prefix_and_range(self):
        whole = sorted(f"{event['hostname']}#{event['ts']}" for event in EVENTS)
        self.assertEqual(whole, self.keys())
        self.assertEqual(whole[20:40], self.keys(prefix="server2"))
        self.assertEqual(whole[5:25], self.keys(start=whole[5], end=whole[25]))
        self.assertEqual(whole[50:], self.keys(start=whole[50]))
        self.assertEqual(whole[:7], self.keys(end=whole[7]))
        self.assertEqual([], self.keys(start=whole[7], end=whole[7]))
        self.assertEqual([], self.keys(prefix="none"))

    def test_rows_reversed_limited_and_in_pages(self):
        whole = self.keys()
        self.assertEqual(whole[::-1], self.keys(reverse=1))
        self.assertEqual(whole[:5], self.keys(limit=5))
        self.assertEqual(whole[39:29:-1], self.keys(prefix="server2", reverse=1, limit=10))
        for reverse in 0, 1:
            keys, cursor = [], None
            for _ in range(20):
                page = self.tallyd.get(ROWS_PATH, limit=7, cursor=cursor,
                                       reverse=reverse or None).expect(200).json
                keys, cursor = keys + [row["key"] for row in page["rows"]], page["next"]
                if cursor is None:
                    break
            self.assertEqual(whole[::-1] if reverse else whole, keys)

    def test_columns_of_no_family_are_a_mistake(self):
        for columns in ("CPU:*", "CPU/*", "C*:CPU/*"):
            said = self.tallyd.get("/v1/tables/METRIC/rows", columns=columns).problem(400)
            self.assertIn(f"METRIC has no family '{columns.split(':')[0]}'", said["detail"])
            self.assertIn("it has METRIC", said["detail"])

    def test_columns_are_globs(self):
        for columns, names in (("METRIC:CPU/*", ["CPU/CPU1_NICE", "CPU/CPU1_USR"]),
                               ("METRIC:rack", ["rack"]),
                               ("METRIC:rack,METRIC:IO/*", ["IO/BLK_READ", "rack"]),
                               (["METRIC:rack", "METRIC:*NICE"], ["CPU/CPU1_NICE", "rack"])):
            rows = self.tallyd.rows("METRIC", columns=columns, prefix="server1")
            self.assertEqual([names] * 20, [list(row["cells"]["METRIC"]) for row in rows])

    def test_cells_by_time_version_and_value(self):
        tallyd = self.start("""
            [tables.CELL]
            stream = "cell"
            pattern = "new-cell"
            row_key = "{k}"
            families.A = {}
            """)
        tallyd.write("cell", [{"ts": at, "k": "a", "v": at % 3, "w": at} for at in range(10)])

        def cells(column="v", **params):
            rows = tallyd.rows("CELL", **params)
            return [(cell["value"], cell["ts"]) for row in rows
                    for cell in row["cells"].get("A", {}).get(column, [])]

        self.assertEqual([(at % 3, at) for at in reversed(range(10))], cells(versions=100))
        self.assertEqual([(0, 9), (2, 8), (1, 7)], cells(versions=3))
        self.assertEqual([(1, 4), (0, 3), (2, 2)], cells(from_="2.0", to="5.0", versions=100))
        self.assertEqual([(2, 8), (2, 5), (2, 2)], cells(value="2", columns="A:v", versions=100))
        self.assertEqual([(5, 5)], cells("w", from_="2.0", to="6.0", columns="A:w", versions=1))

    def test_serialized_cells_come_decoded_or_raw(self):
        tallyd = self.start("""
            [tables.BLOB]
            stream = "blob"
            pattern = "single-timestamp-serialized"
            row_key = "{k}#{ts:ms}"
            families.B = {}
            """)
        tallyd.write("blob", {"ts": 1, "k": "a", "x": 1, "y": "two"})
        self.assertEqual({"x": 1, "y": "two"},
                         tallyd.cells("BLOB",
                                      "a#0000000000001")["B"]["measurements_blob"][0]["value"])
        raw = tallyd.cells("BLOB", "a#0000000000001", raw=1)["B"]["measurements_blob"][0]["value"]
        self.assertEqual(["base64"], list(raw))

    def test_one_row_is_read_by_its_key_decoded_once(self):
        tallyd = self.start(METRIC.replace("{ts:ms}", "{part}"))
        pairs = [("a#b", "c"), ("a/b", "?&=+"), ("%", "%41"), ("sp ace", "é\t"), (".", ".."),
                 ("a+b", "a b")]
        tallyd.write("server", [{"ts": 1, "hostname": host, "part": part, "v": at}
                                for at, (host, part) in enumerate(pairs)])
        for at, (host, part) in enumerate(pairs):
            key = host.replace("%", "%25").replace("#", "%23") + "#" + part.replace("%",
                                                                                    "%25").replace(
                                                                                        "\t", "%09")
            row = tallyd.row("METRIC", key).expect(200).json
            self.assertEqual((key, at), (row["key"], row["cells"]["METRIC"]["v"][0]["value"]))
            self.assertEqual([key], tallyd.keys("METRIC", prefix=key))
        tallyd.get("/v1/tables/METRIC/rows/a%2523b%23c").expect(200)
        tallyd.get("/v1/tables/METRIC/rows/a%23b%23c").problem(404)

    def test_rows_come_as_ndjson_too(self):
        answer = self.tallyd.get(ROWS_PATH, prefix="server1", format="ndjson").expect(200)
        self.assertEqual(self.tallyd.rows("METRIC", prefix="server1"), answer.lines)


class RenameTest(E2eTest):
    def test_renames_compact_names_and_families_are_undone_in_events(self):
        tallyd = self.start("""
            [tables.R]
            stream = "r"
            pattern = "single-timestamp"
            row_key = "{k}#{ts:ms}"
            columns = [
              { family = "A", fields = ["CELLPHONE"], rename = { CELLPHONE = "CELL" } },
              { family = "B", fields = ["Bid size", "Ask size"], names = "compact" },
            ]
            families.A = {}
            families.B = {}
            """)
        event = {"ts": 1, "k": "a", "CELLPHONE": "555", "Bid size": 500, "Ask size": 1500}
        tallyd.write("r", event)
        self.assertEqual({"A": ["CELL"], "B": ["ASKSIZE", "BIDSIZE"]},
                         {family: list(cells)
                          for family, cells in tallyd.rows("R")[0]["cells"].items()})
        self.assertEqual([event], tallyd.events("r", k="a"))
        self.assertEqual([500], [one["Bid size"]
                                 for one in tallyd.events("r", {"k": "a", "Ask size": 1500})])

    def test_every_spelling_asks_and_the_last_one_comes_back(self):
        tallyd = self.start("""
            [tables.Q]
            stream = "market"
            pattern = "single-timestamp"
            row_key = "{k}#{ts:ms}"
            columns = [{ family = "MD", names = "compact" }]
            families.MD = {}
            """)
        tallyd.write("market", {"ts": 1, "k": "a", "Bid size": 500})
        for asked in "Bid size", "BIDSIZE":
            self.assertEqual([{"ts": 1, "k": "a", "Bid size": 500}],
                             tallyd.events("market", k="a", fields=asked))
        tallyd.write("market", {"ts": 2, "k": "a", "BID SIZE": 600})
        tallyd.restart()
        for asked in "Bid size", "BID SIZE", "BIDSIZE":
            self.assertEqual([500, 600], [one["BID SIZE"] for one in
                                          tallyd.events("market", k="a", fields=asked)])

    def test_two_fields_of_one_column_refuse_the_event_and_name_both(self):
        tallyd = self.start("""
            [tables.Q]
            stream = "market"
            pattern = "single-timestamp"
            row_key = "{k}#{ts:ms}"
            columns = [
              { family = "A", names = "compact" },
              { family = "B", rename = { long = "short" } },
            ]
            families.A = {}
            families.B = {}
            """)
        for event, first, second in (({"Bid": 1, "BID": 2}, "Bid", "BID"),
                                     ({"long": 1, "short": 2}, "long", "short"),
                                     ({"short": 2}, "long", "short")):
            refused = tallyd.post("market", {"ts": 1, "k": "a", **event})
            [error] = refused.problem(400)["errors"]
            self.assertEqual(second, error["field"])
            self.assertIn(f'field "{first}" and field "{second}"', error["detail"])
        self.assertEqual([], tallyd.rows("Q"))


class RemovalTest(StoredTest):
    def test_a_row_goes_by_its_key(self):
        key = f"{HOSTS[0]}#{FIRST}"
        path = f"{ROWS_PATH}/{quote(key, safe='')}"
        self.tallyd.delete(path).expect(200, 204)
        self.tallyd.row("METRIC", key).problem(404)
        self.assertEqual(of_host()[1:], self.events())
        self.assertEqual(20, len(self.events(host=1)))
        self.tallyd.restart()
        self.assertEqual(of_host()[1:], self.events())

    def test_rows_go_by_prefix(self):
        self.tallyd.delete(ROWS_PATH, prefix="server1").expect(200, 204)
        self.assertEqual([event for event in EVENTS if event["hostname"] != HOSTS[0]],
                         self.tallyd.events("server", scan=1))
        self.assertEqual(3, len(self.tallyd.keys("CURRENT_METRIC")))

    def test_a_column_of_a_row_goes_alone(self):
        key = f"{HOSTS[0]}#{FIRST}"
        path = f"{ROWS_PATH}/{quote(key, safe='')}/cells/METRIC:{quote('CPU/CPU1_USR', safe='')}"
        self.tallyd.delete(path).expect(200, 204)
        self.assertEqual(["CPU/CPU1_NICE", "IO/BLK_READ", "rack"],
                         list(self.tallyd.cells("METRIC", key)["METRIC"]))
        self.assertEqual(20, len(self.events()))

    def test_a_range_of_an_entity_goes_from_every_table(self):
        at = [event["ts"] for event in of_host()]
        self.tallyd.delete(EVENTS_PATH, hostname=HOSTS[0], from_=at[15]).expect(200, 204)
        self.assertEqual(of_host()[:15], self.events())
        self.assertEqual(20, len(self.events(host=1)))
        implied = {}
        for event in of_host()[:15]:
            implied |= event
        self.await_latest(HOSTS[0], implied)
        self.tallyd.delete(EVENTS_PATH, hostname=HOSTS[1], from_=at[3], to=at[5]).expect(200, 204)
        self.assertEqual(of_host(1)[:3] + of_host(1)[5:], self.events(host=1))
        self.await_latest(HOSTS[1], of_host(1)[-1])

    def await_latest(self, host, wanted):
        """Latest rows come back to what history still implies, within seconds."""
        eventually(lambda: self.tallyd.latest("server", hostname=host) == [wanted],
                   f"the latest of {host} is {wanted}")

    def test_a_removal_without_a_key_is_400(self):
        self.tallyd.delete(ROWS_PATH).problem(400)
        self.tallyd.delete(ROWS_PATH, prefix="").problem(400)
        self.tallyd.delete(EVENTS_PATH).problem(400)
        self.tallyd.delete(EVENTS_PATH, from_=FIRST, to=FIRST + 1).problem(400)
        self.assertEqual(60, len(self.tallyd.events("server", scan=1)))

    def test_a_removal_forgets_and_what_is_older_is_stored_again(self):
        self.tallyd.delete("/v1/tables/CURRENT_METRIC/rows", prefix=HOSTS[0]).expect(200, 204)
        self.tallyd.delete(ROWS_PATH, prefix=HOSTS[0]).expect(200, 204)
        old = {"ts": FIRST - 1000, "hostname": HOSTS[0], "CPU/CPU1_USR": 9.5}
        same = of_host()[3]
        self.tallyd.write("server", old)
        self.assertEqual([9.5], [event["CPU/CPU1_USR"]
                                 for event in self.tallyd.latest("server", hostname=HOSTS[0])])
        self.tallyd.write("server", same)
        self.assertEqual([old["ts"], same["ts"]], [event["ts"] for event in self.events()])
        self.assertEqual([same], self.tallyd.latest("server", hostname=HOSTS[0]))

    def test_ranges_go_from_bucket_rows_too(self):
        tables = {"COLUMN": ("new-column", "{k}#{field}#{ts:day}"),
                  "CELL": ("new-cell", "{k}#{ts:day}"),
                  "CELLBLOB": ("new-cell-serialized", "{k}#{ts:day}"),
                  "ROW": ("single-timestamp", "{k}#{ts:ms}"),
                  "BLOB": ("single-timestamp-serialized", "{k}#{ts:ms}")}
        tallyd = self.start("".join(f"""
            [tables.{name}]
            stream = "s"
            pattern = "{pattern}"
            row_key = "{key}"
            families.F = {{}}
            """ for name, (pattern, key) in tables.items()))
        sent = [{"ts": FIRST + at * 1000, "k": "a", "v": at % 3, "w": at / 2} for at in range(20)]
        tallyd.write("s", sent + [{**event, "k": "ab"} for event in sent])
        tallyd.delete("/v1/streams/s/events", k="a", from_=FIRST + 5000,
                      to=FIRST + 9000).expect(200, 204)
        for table in tables:
            self.assertEqual(sent[:5] + sent[9:], tallyd.events("s", k="a", table=table), table)
            self.assertEqual(20, len(tallyd.events("s", k="ab", table=table)), table)
