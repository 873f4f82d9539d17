"""Nightly tables on Bigtable: as on LevelDB (test_nightly), and with several daemons over one file."""

import os
import subprocess
import shutil
import threading
import time
import unittest

from tests.e2e import test_nightly
from tests.e2e.bigtable import Emulator, TabletServer, needs_emulator, needs_tablet_server, storage
from tests.e2e.tallyd import E2eTest, eventually
from tests.e2e.test_nightly import KEY, READINGS, build, reading, sensor

TIMED = "[streams.meter]\ntime_required = true\n"
TABLE = "SENSOR_20170726"
CBT = shutil.which("cbt")
CELLS = {KEY: {"METER:ID": "987654", **{f"METER:{clock}": str(value) for clock, value in READINGS.items()}}}


def values_of(daemon, table=TABLE):
    return {row["key"]: len(row["cells"]["METER"]) for row in daemon.rows(table, limit=100_000)}


def tables_of(daemon):
    return [table["name"] for table in daemon.get("/v1/tables").expect(200).json["tables"]]


def is_whole(daemon):
    return "complete" not in daemon.query("meter", table=TABLE)["plan"]


class OnBigtable(E2eTest):
    kind = TabletServer

    def setUp(self):
        super().setUp()
        self.server = self.kind()
        self.addCleanup(self.server.end)

    def start(self, toml, **options):
        options.setdefault("storage", storage(self.server.address, poll="200ms"))
        daemon = super().start(TIMED + toml, **options)
        reload = daemon.reload
        daemon.reload = lambda changed: reload(TIMED + changed)
        return daemon


@needs_tablet_server
class NightlyOnBigtableTest(OnBigtable, test_nightly.NightlyTest):
    """What holds of nightly tables holds here."""

    def test_a_crash_half_way_leaves_the_old_table_or_the_new_one(self):
        self.skipTest("each row is as it was or as it is: test_a_killed_daemon_leaves_nothing_that_reads_as_whole")


class Several:
    """Of two daemons one is asked, and the other one read; over either Bigtable."""

    def two(self, daily='at = "00:30", keep = "90d"', **keys):
        options = {"storage": storage(self.server.address, poll="200ms", **keys)}
        daemons = [self.start(sensor(daily), **options) for _ in range(2)]
        for clock, value in READINGS.items():
            daemons[0].write("meter", reading(clock, value))
        return daemons

    def test_what_one_builds_the_others_read(self):
        one, other = self.two()
        self.assertEqual({"table": TABLE, "rows": 1, "cells": 8}, build(one).expect(200).json)
        eventually(lambda: TABLE in tables_of(other), "the other one sees it")
        eventually(lambda: not other.get(f"/v1/tables/{TABLE}").json["orphaned"], "and has it in use")
        self.assertEqual(one.rows(TABLE), other.rows(TABLE))
        self.assertEqual(len(READINGS), len(other.events("meter", table=TABLE)))
        self.assertTrue(is_whole(other))
        self.assertEqual(build(one).expect(200).json, build(other).expect(200).json)
        self.assertEqual(200, one.get("/readyz").status)
        self.assertEqual(200, other.get("/readyz").status)

    def test_late_readings_through_either_build_it_again_and_it_is_never_away(self):
        one, other = self.two()
        build(one).expect(200)
        eventually(lambda: TABLE in tables_of(other), "the other one sees it")
        ended = threading.Event()
        missed = []

        def look():
            while not ended.is_set():
                for daemon in (one, other):
                    answer = daemon.get(f"/v1/tables/{TABLE}/rows")
                    if answer.status != 200 or not answer.json["rows"]:
                        missed.append((answer.status, answer.text))

        looking = threading.Thread(target=look)
        looking.start()
        for number, daemon in enumerate((one, other)):
            daemon.write("meter", reading(f"010{number}", 1.5, meter=number + 1))
            self.assertFalse(is_whole(daemon) and len(values_of(daemon)) < number + 2)
            for each in (one, other):
                eventually(lambda each=each: len(values_of(each)) == number + 2, "the late reading is there")
                eventually(lambda each=each: is_whole(each), "and it is whole")
        ended.set()
        looking.join()
        self.assertEqual([], missed)

    def test_a_restart_of_either_keeps_it(self):
        one, other = self.two()
        build(one).expect(200)
        rows = one.rows(TABLE)
        for daemon in (other, one):
            daemon.restart()
            self.assertEqual(rows, daemon.rows(TABLE))
            self.assertFalse(daemon.get(f"/v1/tables/{TABLE}").json["orphaned"])
            self.assertTrue(is_whole(daemon))

    def test_who_reads_bigtable_itself_finds_it_by_its_name(self):
        one, _ = self.two()
        build(one).expect(200)
        self.assertEqual(CELLS, self.cells_there(TABLE))
        one.write("meter", reading("0100", 7.5))
        build(one).expect(200)
        self.assertEqual({KEY: {**CELLS[KEY], "METER:0100": "7.5"}}, self.cells_there(TABLE))


@needs_tablet_server
class SeveralOnTabletServerTest(Several, OnBigtable):
    def cells_there(self, table):
        return self.server.cells(table)

    def test_a_build_again_writes_what_differs_and_administers_nothing(self):
        one, _ = self.two()
        one.write("meter", [reading("0000", 1, meter) for meter in range(1, 1001)])
        build(one).expect(200)
        one.write("meter", reading("0100", 7.5, meter=500))
        self.server.calls()
        build(one).expect(200)
        calls = self.server.calls()
        self.assertEqual(1, calls.get(f"Entry {TABLE}", 0), calls)
        self.assertFalse(calls.keys() & {"CreateTable", "DeleteTable", "ModifyColumnFamilies", "DropRowRange"})

    def test_what_is_removed_through_either_goes_from_it_and_comes_not_back(self):
        one, other = self.two()
        one.write("meter", [reading("0000", 1, meter) for meter in (1, 2)])
        build(one).expect(200)
        eventually(lambda: TABLE in tables_of(other), "the other one sees it")
        other.delete("/v1/streams/meter/events", meter=1).expect(200)
        one.delete("/v1/tables/SENSOR/rows", prefix="0000000002").expect(200)
        for daemon in (one, other):
            self.assertEqual({KEY}, values_of(daemon).keys())
        build(other).expect(200)
        self.assertEqual({KEY}, self.server.cells(TABLE).keys())

    def test_when_its_keep_has_passed_it_goes_for_all(self):
        one, other = self.two('at = "00:30"')
        build(one).expect(200)
        eventually(lambda: TABLE in tables_of(other), "the other one sees it")
        short = sensor('at = "00:30", keep = "3d"')
        one.reload(short).expect(200)
        other.reload(short).expect(200)
        for daemon in (one, other):
            eventually(lambda daemon=daemon: tables_of(daemon) == ["SENSOR"], "it is gone")
            daemon.get(f"/v1/tables/{TABLE}/rows").problem(404)
            daemon.restart()
            self.assertEqual(["SENSOR"], tables_of(daemon))

    def test_a_killed_daemon_leaves_nothing_that_reads_as_whole(self):
        one, other = self.two()
        meters = 12_000  # Some batches of them.
        one.write("meter", [reading("0000", "x" * 150, meter) for meter in range(1, meters + 1)])
        self.server.tell("latency 20000")
        for again in (False, True):
            cut = threading.Thread(target=self.build_or_be_cut, args=(one,))
            self.server.calls()
            cut.start()
            if not again:
                eventually(lambda: self.server.cells(TABLE), "rows of it are there")
            time.sleep(0.05)
            one.kill()
            cut.join()
            if not again and TABLE in tables_of(other):  # It was faster than the kill.
                self.assertEqual(meters + 1, len(values_of(other)))
            if again:  # By itself it would come later, as this one takes its time.
                build(other).expect(200)
            eventually(lambda: TABLE in tables_of(other) and is_whole(other), "another one builds it")
            self.assertEqual(meters + 1, len(values_of(other)))
            one.start()
            if not again:
                self.server.tell("latency 0")
                other.write("meter", [reading("0015", "y" * 150, meter) for meter in range(1, meters + 1)])
                self.assertFalse(is_whole(other))
                self.server.tell("latency 20000")
        self.server.tell("latency 0")
        eventually(lambda: is_whole(other) and set(values_of(other).values()) == {3, 5}, "all late readings")
        self.assertEqual(values_of(other), values_of(one))

    @staticmethod
    def build_or_be_cut(daemon):
        try:
            build(daemon)
        except OSError:
            pass

    def test_with_faults_it_ends_whole(self):
        one, other = self.two(deadline="10s", attempt="2s")
        one.write("meter", [reading("0000", 1, meter) for meter in range(1, 501)])
        self.server.tell("faults 0.05")
        for daemon in (one, other, one):
            answer = build(daemon)
            self.assertIn(answer.status, (200, 503), answer.text)
            other.write("meter", reading("0100", 2, meter=7)) if answer.status == 200 else None
        self.server.tell("faults 0")
        for daemon in (one, other):
            eventually(lambda daemon=daemon: TABLE in tables_of(daemon) and is_whole(daemon), "it is whole")
            self.assertEqual(501, len(values_of(daemon)))

    def test_where_nothing_may_be_made_a_build_is_refused_until_the_table_is_there(self):
        self.two()
        daemon = self.start(sensor('at = "00:30", keep = "90d"'),
                            storage=storage(self.server.address, create=False))
        self.assertIn(TABLE, build(daemon).problem(409)["detail"])


@needs_emulator
class SeveralOnEmulatorTest(Several, OnBigtable):
    kind = Emulator

    def cells_there(self, table):
        if CBT is None:
            self.skipTest("cbt is not installed")
        told = subprocess.run([CBT, "-project", "p", "-instance", "i", "read", table], check=True, text=True,
                              env={**os.environ, "BIGTABLE_EMULATOR_HOST": self.server.address},
                              capture_output=True).stdout
        rows, column = {}, None
        for line in told.splitlines():
            if line.startswith("  ") and not line.startswith("    "):
                column = line.split()[0]
            elif line.startswith("    "):
                row.setdefault(column, line.strip().strip('"'))
            elif line and not line.startswith("-"):
                row = rows.setdefault(line, {})
        return rows


if __name__ == "__main__":
    unittest.main()
