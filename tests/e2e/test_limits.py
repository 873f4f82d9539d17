"""S26, S44 of the seeds: wide rows, and limits; max_bytes; sizes of files; what deletes count."""

import datetime
import errno
import os
import resource
import subprocess
import time

from tests.e2e.tallyd import BINARY, SLOW, E2eTest, eventually, ms, run
from tests.e2e.test_seeds_keys import table

MIB = 1 << 20
KEYED = table("KEYED", "{k}", "latest")
NAMED = table("NAMED", "{k}", "new-column",
              columns='columns = [{ family = "METRIC", name = "{q}", value = "{v}" }]')
WIDE = table("WIDE", "{id}", "new-cell")


def metric(tallyd, name, label=""):
    total = 0.0
    for line in tallyd.get("/metrics").text.splitlines():
        if line.startswith(name) and line[len(name)] in " {" and label in line:
            total += float(line.rsplit(" ", 1)[1])
    return total


class LimitsTest(E2eTest):
    def test_S26_a_month_row_holds_its_days_and_the_next_day_goes_to_the_next_row(self):
        tallyd = self.start(
            table("GARDEN", "VEGGIEGARDEN#{ts:month}", "new-column",
                  columns='columns = [{ family = "METRIC", name = "{ts:%-d}", value = "{t}" }]')
            + table("TALL", "VEGGIEGARDEN#{ts:ms}", stream="garden"))
        first = ms("2015-03-01")
        tallyd.write("garden", [{"ts": first + day * 86_400_000, "t": day} for day in range(32)])
        rows = tallyd.rows("GARDEN")
        self.assertEqual(["VEGGIEGARDEN#201503", "VEGGIEGARDEN#201504"],
                         [row["key"] for row in rows])
        self.assertEqual([31, 1], [len(row["cells"]["METRIC"]) for row in rows])
        self.assertEqual(32, len(tallyd.keys("TALL")))

    def test_S26_a_tall_table_accepts_any_number_of_events(self):
        tallyd = self.start(table("TALL", "VEGGIEGARDEN#{ts:ms}"))
        first = ms("2015-03-01")
        for batch in range(5):
            tallyd.write("tall", [{"ts": first + batch * 1000 + i, "t": i} for i in range(1000)])
        self.assertEqual(5000, tallyd.get("/v1/tables/TALL").expect(200).json["rows"])

    def test_S44_a_key_of_4096_bytes_is_accepted_and_4097_refused(self):
        tallyd = self.start(KEYED)
        tallyd.write("keyed", {"ts": 1, "k": "k" * 4096, "v": 1})
        said = self.refused(tallyd.post("keyed", {"ts": 1, "k": "k" * 4097, "v": 1}), 0)
        self.assertIn("4097", said["detail"])
        self.assertEqual([4096], [len(key) for key in tallyd.keys("KEYED")])

    def test_S44_a_qualifier_of_16384_bytes_is_accepted_and_16385_refused(self):
        tallyd = self.start(NAMED)
        tallyd.write("named", {"ts": 1, "k": "a", "q": "q" * 16384, "v": 1})
        said = self.refused(tallyd.post("named", {"ts": 1, "k": "a", "q": "q" * 16385, "v": 1}), 0)
        self.assertIn("16385", said["detail"])

    def test_S44_a_value_over_10_mb_is_accepted_with_a_warning(self):
        tallyd = self.start(KEYED)
        answer = tallyd.write("keyed", {"ts": 1, "k": "a", "v": "x" * (10 * MIB)})
        self.assertNotIn("warnings", answer)
        self.assertEqual(0, metric(tallyd, "tallyd_limit_warnings_total"))
        answer = tallyd.write("keyed", {"ts": 2, "k": "a", "v": "x" * (10 * MIB + 1)})
        self.assertEqual(1, len(answer["warnings"]))
        self.assertEqual(1, metric(tallyd, "tallyd_limit_warnings_total", 'limit="value"'))
        self.assertEqual(1, tallyd.get("/v1/status").json["limits"]["large_values"])

    def test_S44_a_value_over_100_mb_is_refused(self):
        tallyd = self.start(KEYED, server='max_body = "256MiB"')
        said = self.refused(tallyd.post("keyed", {"ts": 1, "k": "a", "v": "x" * (100 * MIB + 1)}),
                            0, "v")
        self.assertIn("104857601", said["detail"])
        self.assertEqual([], tallyd.keys("KEYED"))

    def test_S44_a_row_over_100_mb_is_warned_of_and_over_256_mb_refused(self):
        tallyd = self.start(WIDE, server='max_body = "256MiB"')
        piece = "x" * (50 * MIB)
        for at in (1, 2):
            said = tallyd.write("wide", {"ts": at, "id": "r", "v": piece})
            self.assertEqual(1, len(said["warnings"]), "of the value alone")
        said = tallyd.write("wide", {"ts": 3, "id": "r", "v": "y"})
        said = tallyd.write("wide", {"ts": 4, "id": "r", "v": piece})
        self.assertIn("row r of table WIDE", " ".join(said["warnings"]))
        self.assertEqual(1, metric(tallyd, "tallyd_limit_warnings_total", 'limit="row"'))
        tallyd.write("wide", [{"ts": at, "id": "r", "v": piece} for at in (5, 6)])
        [large] = tallyd.get("/v1/status").json["limits"]["large_rows"]
        self.assertEqual(("WIDE", "r"), (large["table"], large["key"]))
        self.assertGreaterEqual(large["bytes"], 250 * MIB)
        said = tallyd.post("wide", {"ts": 7, "id": "r", "v": piece}).problem(400)
        for part in ('"r"', "WIDE", "268435456"):
            self.assertIn(part, said["detail"])
        tallyd.write("wide", {"ts": 7, "id": "other", "v": "y"})
        tallyd.delete("/v1/tables/WIDE/rows/r").expect(200)
        tallyd.write("wide", {"ts": 7, "id": "r", "v": "y"})

    def test_S44_the_101st_family_is_warned_of(self):
        def families(count):
            named = "".join(f"families.F{number} = {{}}\n" for number in range(count))
            return ('[tables.T]\npattern = "latest"\nrow_key = "{k}"\n'
                    'columns = [{ family = "F1" }]\n' + named)
        tallyd = self.start(families(100))
        self.assertEqual(0, metric(tallyd, "tallyd_limit_warnings_total"))
        tallyd.reload(families(101)).expect(200)
        self.assertEqual(1, metric(tallyd, "tallyd_limit_warnings_total", 'limit="families"'))
        self.assertEqual([{"table": "T", "families": 101}],
                         tallyd.get("/v1/status").json["limits"]["many_families"])
        self.assertIn("101 families", tallyd.log())

    def test_S44_the_1001st_table_is_refused(self):
        tallyd = self.start("".join(table(f"T{number}", "{k}", "latest", stream="s")
                                    for number in range(1000)))
        limits = tallyd.get("/v1/status").json["limits"]
        self.assertEqual((1000, 1000), (limits["tables"], limits["tables_max"]))
        said = tallyd.reload("".join(table(f"T{number}", "{k}", "latest", stream="s")
                                     for number in range(1001))).problem(409)
        self.assertIn("1001 tables", said["detail"])


class FileSizeTest(E2eTest):
    def test_a_write_beyond_the_systems_limit_is_refused_and_the_daemon_goes_on(self):
        tallyd = self.start(KEYED)
        pid = tallyd.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (2 * MIB, before[1]))
        taken, answer = [], None
        for number in range(100, 200):
            answer = tallyd.post("keyed", {"ts": number, "k": str(number), "v": "x" * 100_000})
            if answer.status != 200:
                break
            taken.append(str(number))
        answer.problem(503)
        self.assertGreater(len(taken), 5)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        eventually(lambda: tallyd.post("keyed", {"ts": 1, "k": "later", "v": "y"}).status == 200,
                   "writes are taken again")
        self.assertIsNone(tallyd.process.poll())
        held = " ".join(tallyd.keys("KEYED"))
        for key in [*taken, "later"]:
            self.assertIn(key, held)

    def test_a_command_tells_what_it_cannot_write_and_is_not_killed(self):
        tallyd = self.start(KEYED)
        tallyd.write("keyed", {"ts": 1, "k": "a", "v": "x" * 200_000})
        tallyd.stop()
        for command in ("backup", "salvage"):
            with self.subTest(command):
                done = subprocess.run(
                    [BINARY, command, "--config", tallyd.config, "--to", tallyd.directory / command],
                    capture_output=True, text=True, timeout=60,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16,) * 2))
                self.assertEqual(1, done.returncode, done.stdout + done.stderr)
                self.assertIn(os.strerror(errno.EFBIG), done.stderr)


class MaxBytesTest(E2eTest):
    TABLE = table("LOG", "{h}#{ts:ms}")

    def capped(self, size):
        return self.TABLE.replace("families", f'max_bytes = "{size}"\nfamilies')

    def test_the_oldest_goes_and_no_write_is_refused(self):
        tallyd = self.start(self.capped("400KiB"), storage='seal_delay = "10ms"')
        for day in range(10):
            tallyd.write("log", [{"ts": ms("2026-01-01") + day * 86_400_000 + i, "h": "a",
                                  "v": os.urandom(500).hex()} for i in range(100)])
        tallyd.request("POST", "/-/settle").expect(200)
        told = tallyd.get("/v1/tables/LOG").json
        self.assertLessEqual(told["disk_bytes"], 400 << 10)
        self.assertEqual(400 << 10, told["max_bytes"])
        keys = tallyd.keys("LOG", limit=10_000)
        self.assertEqual(f"a#{ms('2026-01-10') + 99}", keys[-1])
        self.assertTrue(100 <= len(keys) < 1000 and len(keys) % 100 == 0, len(keys))
        self.assertGreater(metric(tallyd, "tallyd_capped_files_total"), 0)
        whole = ms("2026-01-11") - len(keys) // 100 * 86_400_000
        self.assertNotIn("complete", tallyd.query("log", h="a", from_=whole)["plan"])
        plan = tallyd.query("log", h="a", from_=whole - 1)["plan"]
        self.assertFalse(plan["complete"])
        self.assertIn("max_bytes", plan["note"])
        tallyd.restart()
        self.assertFalse(tallyd.query("log", h="a")["plan"]["complete"])

    def test_one_event_far_ahead_makes_nothing_go_that_is_newer_than_what_stays(self):
        tallyd = self.start(self.capped("256KiB"), storage='seal_delay = "10ms"')
        first, each, count = ms("2024-03-01"), 1800, 24_000
        tallyd.write("log", {"ts": ms("2100-01-01"), "h": "a", "v": "far ahead"})
        for begin in range(0, count, 6000):
            tallyd.write("log", [{"ts": first + number * each, "h": "a", "v": os.urandom(12).hex()}
                                 for number in range(begin, begin + 6000)])
        tallyd.request("POST", "/-/settle").expect(200)
        self.assertLessEqual(tallyd.get("/v1/tables/LOG").json["disk_bytes"], 256 << 10)
        rows = tallyd.query("log", h="a", from_=first, to=first + count * each, fields="v",
                            limit=count)["rows"]
        times = [row[0] for row in rows]
        self.assertEqual(list(range(first + (count - len(times)) * each, first + count * each,
                                    each)), times, "the newest are there")
        self.assertGreater(len(times), count // 12, "more than the last hour of twelve")
        self.assertLess(len(times), count)

    def test_a_latest_table_has_no_oldest_ones(self):
        tallyd = self.start(self.TABLE)
        bad = table("NOW", "{h}", "latest").replace("families", "max_bytes = 100000\nfamilies")
        said = tallyd.reload(self.TABLE + bad).problem(409)
        self.assertIn("tables.NOW.max_bytes", said["detail"])
        status, text = run("check", "--config", tallyd.config)
        self.assertEqual(2, status, text)


class RemovalCountTest(E2eTest):
    TABLES = (table("LOG", "{h}#{ts:ms}", stream="log") + table("NOW", "{h}", "latest", "", "log"))

    def test_deletes_count_rows_and_cells(self):
        tallyd = self.start(self.TABLES)
        tallyd.write("log", [{"ts": at, "h": host, "x": 1, "y": 2}
                             for host in ("a", "b") for at in range(1, 6)])
        said = tallyd.delete("/v1/tables/LOG/rows", prefix="a#").expect(200).json
        self.assertEqual({"deleted": {"prefix": "a#"}, "rows": 5, "cells": 10, "counted": "exact"},
                         said)
        said = tallyd.delete("/v1/tables/NOW/rows/a/cells/METRIC:x").expect(200).json
        self.assertEqual((1, 1, "exact"), (said["rows"], said["cells"], said["counted"]))
        said = tallyd.delete("/v1/streams/log/events", h="b", from_="2.0", to="4.0").expect(200).json
        self.assertEqual({"ranges": 1, "rows": 2, "cells": 4, "counted": "exact"},
                         said["tables"]["LOG"])
        said = tallyd.delete("/v1/tables/LOG/rows", prefix="none").expect(200).json
        self.assertEqual((0, 0), (said["rows"], said["cells"]))

    def test_many_rows_are_estimated(self):
        tallyd = self.start(self.TABLES)
        for batch in range(3):
            tallyd.write("log", [{"ts": batch * 5000 + i + 1, "h": "a", "x": 1}
                                 for i in range(5000)])
        said = tallyd.delete("/v1/tables/LOG/rows", prefix="a#").expect(200).json
        self.assertEqual("estimated", said["counted"])
        self.assertAlmostEqual(15_000, said["rows"], delta=5000)


class ReclaimedTest(E2eTest):
    def test_S43_what_versions_push_out_is_counted_when_it_is_removed(self):
        tallyd = self.start(table("STOCK", "ZXZZT", "new-cell").replace("METRIC = {}",
                            "METRIC = { max_versions = 1 }").replace("ZXZZT", "{symbol}"))
        prices = [558.40, 571.34, 573.64, 573.37, 575.33]
        tallyd.write("stock", [{"ts": ms("2015-03-01") + day * 86_400_000, "symbol": "ZXZZT",
                                "price": price} for day, price in enumerate(prices)])
        self.assertEqual([575.33], [cell["value"] for cell in
                                    tallyd.cells("STOCK", "ZXZZT")["METRIC"]["price"]])
        tallyd.request("POST", "/-/settle").expect(200)
        self.assertEqual(4, metric(tallyd, "tallyd_gc_cells_total", 'reason="versions"'))
        self.assertEqual([575.33], [cell["value"] for cell in
                                    tallyd.cells("STOCK", "ZXZZT")["METRIC"]["price"]])

    def test_S43_files_that_expired_are_counted(self):
        day = 86_400_000
        now = int(datetime.datetime.now(datetime.timezone.utc).timestamp() * 1000)
        tallyd = self.start(table("LOG", "{h}#{ts:ms}"), storage='seal_window = "1m"')
        tallyd.write("log", [{"ts": now - 3 * day + i, "h": "a", "v": i} for i in range(100)])
        tallyd.request("POST", "/-/settle").expect(200)
        tallyd.reload(table("LOG", "{h}#{ts:ms}").replace("METRIC = {}",
                      'METRIC = { max_age = "1d" }')).expect(200)
        eventually(lambda: metric(tallyd, "tallyd_expired_files_total") >= 1, "a file expired")
        self.assertGreater(metric(tallyd, "tallyd_expired_bytes_total"), 0)


class DescriptorTest(E2eTest):
    def test_connections_take_no_descriptor_that_the_store_needs(self):
        tallyd = self.start(WIDE + KEYED, storage='write_buffer = "64KiB"\nseal_delay = "200ms"',
                            wrapper=("sh", "-c", "ulimit -n 256; exec \"$@\"", "sh"))
        self.assertIn("raise the limit", tallyd.log())
        request = b"GET /v1/tables/KEYED/rows HTTP/1.1\r\nHost: localhost\r\n\r\n"
        mine = tallyd.raw(request)
        self.addCleanup(mine.socket.close)
        self.assertEqual(200, mine.answer().status)
        idle = []
        self.addCleanup(lambda: [one.socket.close() for one in idle])
        for _ in range(330):
            idle.append(tallyd.raw())
        refused = 0
        for number in range(60):
            body = f'{{"ts": {number + 1}, "id": "r{number}", "v": "{"x" * 5000}"}}'.encode()
            mine.send(b"POST /v1/streams/wide/events HTTP/1.1\r\nHost: localhost\r\n"
                      b"Content-Type: application/json\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.assertEqual(200, mine.answer().status)
            mine.send(request.replace(b"KEYED", b"WIDE"))
            answer = mine.answer()
            self.assertEqual((200, number + 1), (answer.status, len(answer.json["rows"])))
            with tallyd.raw(request) as other:
                said = other.answer()
                refused += said is not None and said.status == 503
        self.assertGreater(refused, 30)
        self.assertNotIn("open files", tallyd.log())
        while idle:
            idle.pop().socket.close()
        eventually(lambda: self.is_taken(tallyd), "there is room again")

    def is_taken(self, tallyd):
        try:
            return tallyd.get("/readyz").status == 200
        except OSError:
            return False

    def test_closed_standard_descriptors_become_dev_null(self):
        for closed in ("0<&- 1>&- 2>&-", "0<&-", "2>&-", "1>&- 2>&-"):
            with self.subTest(closed):
                tallyd = self.start(KEYED, wrapper=("sh", "-c", f"exec \"$@\" {closed}", "sh"))
                for descriptor in (0, 1, 2):
                    if f"{descriptor}<&-" in closed or f"{descriptor}>&-" in closed:
                        link = os.readlink(f"/proc/{tallyd.process.pid}/fd/{descriptor}")
                        self.assertEqual("/dev/null", link)
                tallyd.delete("/v1/tables/NONE/rows/x").problem(404)
                tallyd.write("keyed", {"ts": 1, "k": "a", "v": 1})
                tallyd.restart()
                self.assertEqual(["a"], tallyd.keys("KEYED"))
                tallyd.stop()


class QueryMemoryTest(E2eTest):
    def filled(self, memory):
        tallyd = self.start(table("T", "{host}#{ts:ms}", stream="s"),
                            server=f'query_memory = "{memory}"')
        for number in range(20):
            events = [{"ts": ms("2024-01-01") + at * 1000 + number, "host": f"h{number:02}",
                       "v": at, "text": "x" * 150} for at in range(3000)]
            tallyd.write("s", events)
        tallyd.request("POST", "/-/settle").expect(200)
        return tallyd

    def resident(self, tallyd):
        with open(f"/proc/{tallyd.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) * 1024 for line in status if "VmRSS" in line)

    def test_readers_that_do_not_read_hold_little(self):
        tallyd = self.filled("16MiB")
        tallyd.get("/v1/streams/s/events", scan=1, format="ndjson", limit=100).expect(200)
        before = self.resident(tallyd)
        readers = []
        self.addCleanup(lambda: [one.socket.close() for one in readers])
        for _ in range(16):
            readers.append(tallyd.raw(b"GET /v1/streams/s/events?scan=1&format=ndjson HTTP/1.1\r\n"
                                      b"Host: localhost\r\n\r\n"))
        most = 0
        for _ in range(20):
            time.sleep(0.1)
            most = max(most, self.resident(tallyd) - before)
        if SLOW < 10:  # A sanitizer keeps for a while what was freed.
            self.assertLess(most, (16 + 64) * MIB)
        self.assertLess(metric(tallyd, "tallyd_query_memory_bytes"), 16 * MIB)
        # Others are answered, and one that goes on reading later has all that there is.
        rows = tallyd.query("s", host="h07", limit=5000)["rows"]
        self.assertEqual(3000, len(rows))
        answer = readers[3].answer()
        times = [line["ts"] for line in answer.lines]
        self.assertEqual(60_000, len(times))
        self.assertEqual(sorted(times), times)

    def test_a_read_that_cannot_fit_says_what_would_be_smaller(self):
        tallyd = self.filled("2MiB")
        said = tallyd.get("/v1/streams/s/events", scan=1, step="1s", agg="p50,min,max,first,last",
                          fields="v", by="host").problem(422)
        self.assertIn("query_memory", said["detail"])
        self.assertIn("longer step", said["detail"])
        part = {"scan": 1, "to": ms("2024-01-01") + 500_000}
        lines = tallyd.get("/v1/streams/s/events", format="ndjson", **part).expect(200).lines
        self.assertEqual(10_000, len(lines))
        pages, seen, cursor = 0, 0, None
        while pages == 0 or cursor:
            page = tallyd.query("s", limit=100_000, cursor=cursor, **part)
            pages, seen, cursor = pages + 1, seen + len(page["rows"]), page["next"]
        self.assertEqual(10_000, seen)
        self.assertGreater(pages, 1, "pages end early")

    def test_keys_are_an_order_too(self):
        tallyd = self.filled("16MiB")
        keys = []
        params = {"scan": 1, "order": "key", "limit": 7000, "format": "ndjson"}
        answer = tallyd.get("/v1/streams/s/events", params).expect(200)
        while True:
            keys += [(line["host"], line["ts"]) for line in answer.lines]
            link = answer.header("Link")
            if not link:
                break
            answer = tallyd.get(link[1:link.index(">")]).expect(200)
        self.assertEqual(60_000, len(keys))
        self.assertEqual(sorted(keys), keys)
        said = tallyd.get("/v1/streams/s/events", host="h01", order="key", step="1m",
                          agg="max").problem(400)
        self.assertIn("order", said["detail"])
