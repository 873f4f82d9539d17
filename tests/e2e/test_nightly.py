"""Nightly tables: the rows of one UTC day in a table of their own (S23)."""

import threading
import time

from tests.e2e.tallyd import E2eTest, Tallyd, eventually, ms, plain

DAY = ms("2017-07-26T00:00")
READINGS = {"0000": 12.34, "0015": 13.45, "2330": 27.89, "2345": 28.90}
KEY = "0000987654#20170726"


def sensor(daily='at = "00:30"', family="", more=""):
    return f'''
[tables.SENSOR]
stream   = "meter"
pattern  = "new-column"
row_key  = "{{meter:zero(10)}}#{{ts:day}}"
columns  = [
  {{ family = "METER", name = "ID",        value = "{{meter}}" }},
  {{ family = "METER", name = "{{ts:%H%M}}", value = "{{value}}" }},
]
families.METER = {{{family}}}
daily = {{ name = "SENSOR_{{date}}", {daily} }}
{more}'''


def reading(clock, value, meter=987654, day=DAY):
    minutes = int(clock[:2]) * 60 + int(clock[2:])
    return {"meter": meter, "ts": day + minutes * 60_000, "value": value}


def day_of(clock, value, meter=987654):
    """The same reading on the days before and after."""
    return [reading(clock, value, meter, DAY + days * 86_400_000) for days in (-1, 0, 1)]


def build(daemon, date="2017-07-26", table="SENSOR"):
    return daemon.request("POST", f"/v1/tables/{table}/daily", params={"date": date})


class NightlyTest(E2eTest):
    def sensors(self, *arguments, **options):
        daemon = self.start(sensor(*arguments), **options)
        for clock, value in READINGS.items():
            daemon.write("meter", day_of(clock, value))
        return daemon

    def test_S23_a_nightly_table_holds_the_rows_of_its_day(self):
        daemon = self.sensors('at = "00:30", keep = "90d"')
        said = build(daemon).expect(200).json
        self.assertEqual({"table": "SENSOR_20170726", "rows": 1, "cells": 8}, said)
        self.assertEqual([KEY], daemon.keys("SENSOR_20170726"))
        cells = daemon.cells("SENSOR_20170726", KEY)
        self.assertEqual({"METER": {"ID": 987654, **READINGS}}, plain(cells))
        self.assertEqual(daemon.cells("SENSOR", KEY), cells)

    def test_S23_a_rerun_gives_the_same_table(self):
        daemon = self.sensors()
        first = build(daemon).expect(200).json
        rows = daemon.rows("SENSOR_20170726")
        self.assertEqual(first, build(daemon).expect(200).json)
        self.assertEqual(rows, daemon.rows("SENSOR_20170726"))
        self.assertEqual(["SENSOR", "SENSOR_20170726"], self.tables(daemon))

    def tables(self, daemon):
        return [table["name"] for table in daemon.get("/v1/tables").expect(200).json["tables"]]

    def test_S23_a_nightly_table_lists_like_any_other(self):
        daemon = self.sensors()
        build(daemon).expect(200)
        table = daemon.get("/v1/tables/SENSOR_20170726").expect(200).json
        for name, value in {"name": "SENSOR_20170726", "stream": "meter", "pattern": "new-column",
                            "row_key": "{meter:zero(10)}#{ts:day}", "orphaned": False, "rows": 1,
                            "source": "SENSOR", "date": "2017-07-26",
                            "families": {"METER": {}}}.items():
            self.assertEqual(value, table[name], name)
        source = daemon.get("/v1/tables/SENSOR").expect(200).json
        self.assertEqual({"name": "SENSOR_{date}", "at": "00:30"}, source["daily"])

    def test_S23_reading_a_whole_nightly_table_is_a_range(self):
        daemon = self.sensors()
        daemon.write("meter", reading("0100", 1.5, meter=123456))
        build(daemon).expect(200)
        answer = daemon.query("meter", table="SENSOR_20170726")
        self.assertEqual("range", answer["plan"]["kind"])
        self.assertEqual("SENSOR_20170726", answer["plan"]["table"])
        self.assertNotIn("complete", answer["plan"])
        events = daemon.events("meter", table="SENSOR_20170726", fields=["meter", "value"])
        self.assertEqual(5, len(events))
        self.assertEqual([12.34, 13.45, 1.5, 27.89, 28.90], [one["value"] for one in events])
        one = daemon.events("meter", table="SENSOR_20170726", meter=123456)
        self.assertEqual([1.5], [event["value"] for event in one])
        late = daemon.events("meter", table="SENSOR_20170726", from_="2017-07-26T12:00:00Z")
        self.assertEqual([27.89, 28.90], [event["value"] for event in late])
        none = daemon.events("meter", table="SENSOR_20170726", from_="2017-07-27T00:00:00Z")
        self.assertEqual([], none)
        # Without table= it is not among what is asked.
        self.assertEqual("SENSOR", daemon.query("meter", meter=987654)["plan"]["table"])
        steps = daemon.query("meter", table="SENSOR_20170726", step="1d", agg="max",
                             fields="value")
        self.assertEqual([[DAY, 28.90]], steps["rows"])

    def test_late_readings_build_it_again(self):
        daemon = self.sensors()
        build(daemon).expect(200)
        daemon.write("meter", [reading("1200", 20.5), reading("0300", 1.0, meter=1)])
        eventually(lambda: len(daemon.rows("SENSOR_20170726")) == 2, "the late meter is there")
        cells = plain(daemon.cells("SENSOR_20170726", KEY))
        self.assertEqual(20.5, cells["METER"]["1200"])
        self.assertEqual({"ID", "1200", *READINGS}, set(cells["METER"]))

    def test_late_readings_are_not_forgotten_by_a_crash(self):
        daemon = self.sensors()
        build(daemon).expect(200)
        daemon.write("meter", reading("0300", 1.0, meter=1))
        daemon.kill()
        daemon.start()
        eventually(lambda: len(daemon.rows("SENSOR_20170726")) == 2, "the late meter is there")

    def test_no_answer_lacks_a_late_reading_without_saying_so(self):
        daemon = self.sensors()
        build(daemon).expect(200)
        daemon.write("meter", reading("0000", 99.5))
        self.assert_has_it_or_says_so(daemon)
        daemon.kill()
        daemon.start()
        self.assert_has_it_or_says_so(daemon)
        eventually(lambda: "complete" not in
                   daemon.query("meter", table="SENSOR_20170726")["plan"], "it is whole again")
        self.assert_has_it_or_says_so(daemon)

    def assert_has_it_or_says_so(self, daemon):
        answer = daemon.query("meter", table="SENSOR_20170726", fields="value")
        has_it = any(99.5 in row for row in answer["rows"])
        self.assertTrue(has_it or answer["plan"].get("complete") is False, answer)

    def test_a_restart_keeps_it(self):
        daemon = self.sensors()
        build(daemon).expect(200)
        rows = daemon.rows("SENSOR_20170726")
        daemon.restart()
        self.assertEqual(rows, daemon.rows("SENSOR_20170726"))
        self.assertFalse(daemon.get("/v1/tables/SENSOR_20170726").json["orphaned"])
        self.assertEqual(4, len(daemon.events("meter", table="SENSOR_20170726")))
        daemon.kill()
        daemon.start()
        self.assertEqual(rows, daemon.rows("SENSOR_20170726"))

    def test_a_crash_half_way_leaves_the_old_table_or_the_new_one(self):
        daemon = self.start(sensor(), storage='seal_cpu = 0.2')
        meters = 3000
        daemon.write("meter", [reading("0000", 1, meter) for meter in range(1, meters + 1)])
        build(daemon).expect(200)
        daemon.write("meter", [reading("0015", 2, meter) for meter in range(1, meters + 1)])
        for delay in (0.0, 0.02, 0.05, 0.1, 0.3):
            thread = threading.Thread(target=self.build_or_be_cut, args=(daemon,))
            thread.start()
            time.sleep(delay)
            daemon.kill()
            thread.join()
            daemon.start()
            rows = daemon.rows("SENSOR_20170726", limit=10_000)
            widths = {len(row["cells"]["METER"]) for row in rows}
            self.assertEqual(meters, len(rows), delay)
            self.assertIn(widths, ({2}, {3}), delay)
        eventually(lambda: len(daemon.cells("SENSOR_20170726", KEY.replace("987654", "000001"))
                               ["METER"]) == 3, "it is built again after a crash")

    @staticmethod
    def build_or_be_cut(daemon):
        try:
            build(daemon)
        except OSError:
            pass

    def test_its_rows_live_for_keep_alone(self):
        daemon = self.sensors('at = "00:30"')
        build(daemon).expect(200)
        daemon.reload(sensor('at = "00:30"', 'max_age = "30d"')).expect(200)
        self.assertEqual([], daemon.rows("SENSOR"))
        self.assertEqual([KEY], daemon.keys("SENSOR_20170726"))
        refusal = build(daemon).problem(409)
        self.assertIn("begun to expire", refusal["detail"])
        self.assertEqual([KEY], daemon.keys("SENSOR_20170726"))

    def test_a_lowered_keep_removes_old_ones(self):
        daemon = self.sensors()
        build(daemon).expect(200)
        build(daemon, "2017-07-27").expect(200)
        daemon.reload(sensor('keep = "3d"')).expect(200)
        eventually(lambda: self.tables(daemon) == ["SENSOR"], "old nightly tables are gone")
        daemon.get("/v1/tables/SENSOR_20170726/rows").problem(404)
        daemon.restart()
        self.assertEqual(["SENSOR"], self.tables(daemon))

    def test_a_day_that_has_passed_is_built_by_itself(self):
        now = int(time.time())
        yesterday = (now - now % 86_400 - 86_400) * 1000
        daemon = self.start(sensor('at = "00:00"'))
        daemon.write("meter", reading("0700", 1.5, day=yesterday))
        name = "SENSOR_" + time.strftime("%Y%m%d", time.gmtime(yesterday / 1000))
        eventually(lambda: name in self.tables(daemon), "yesterday's table is there")
        self.assertEqual(1, len(daemon.rows(name)))

    def test_what_is_refused(self):
        daemon = self.sensors('at = "00:30"', "", '''
[tables.NOW]
stream = "meter"
pattern = "latest"
row_key = "{meter}"
families.M = {}
''')
        tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86_400))
        path = "/v1/tables/SENSOR/daily"
        daemon.request("POST", path).problem(400)
        for date in ("", "20170726", "2017-02-30", "yesterday", "2017-7-26", tomorrow,
                     time.strftime("%Y-%m-%d", time.gmtime())):
            daemon.request("POST", path, params={"date": date}).problem(400)
        daemon.request("POST", path, params={"date": "2017-07-26", "x": "1"}).problem(400)
        build(daemon, table="NOW").problem(400)
        build(daemon, table="NONE").problem(404)
        build(daemon).expect(200)
        build(daemon, table="SENSOR_20170726").problem(400)
        daemon.delete("/v1/tables/SENSOR_20170726").problem(409)

    def test_deletes_of_events_reach_nightly_tables(self):
        daemon = self.sensors()
        daemon.write("meter", reading("0100", 1.5, meter=123456))
        build(daemon).expect(200)
        daemon.delete("/v1/streams/meter/events", meter=987654).expect(200)
        self.assertEqual(["0000123456#20170726"], daemon.keys("SENSOR_20170726"))

    def test_concurrent_requests_for_one_day_all_answer(self):
        daemon = self.sensors()
        threads = [threading.Thread(target=lambda: build(daemon).expect(200)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([KEY], daemon.keys("SENSOR_20170726"))

    def test_status_and_metrics_tell_of_it(self):
        daemon = self.sensors()
        self.assertEqual([], daemon.get("/v1/status").json["nightly"])
        build(daemon).expect(200)
        told, = daemon.get("/v1/status").json["nightly"]
        self.assertEqual(("SENSOR_20170726", "SENSOR", "2017-07-26", "built", 1, 8),
                         tuple(told[name] for name in ("table", "source", "date", "state", "rows",
                                                       "cells")))
        metrics = daemon.get("/metrics").body.decode()
        self.assertIn("\ntallyd_nightly_tables 1", metrics)
        self.assertIn('\ntallyd_nightly_builds_total{result="built"} 1', metrics)
        self.assertIn("\ntallyd_nightly_rows_total 1", metrics)

    def test_a_name_that_another_table_has_is_refused_at_start(self):
        daemon = Tallyd(sensor(more='''
[tables.SENSOR_20170726]
stream = "meter"
pattern = "latest"
row_key = "{meter}"
families.M = {}
'''))
        self.addCleanup(daemon.discard)
        daemon.port = 1
        daemon.write_config()
        daemon.spawn()
        self.assertEqual(2, daemon.process.wait(60))
        self.assertIn("tables.SENSOR.daily: the name SENSOR_{date} is that of table "
                      "SENSOR_20170726", daemon.log())
