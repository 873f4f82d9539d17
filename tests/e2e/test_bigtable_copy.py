"""tallyd copy from LevelDB to Bigtable and back, verified, and gone on with after a kill."""

from tests.e2e.bigtable import TabletServer, needs_tablet_server, storage
from tests.e2e.test_copy import CopyTest, events, in_order

BY_MACHINE = """
[streams.load]
time_required = true
[tables.HISTORY]
stream = "load"
pattern = "single-timestamp"
row_key = "{machine}#{ts:ms}"
families.F = {}
[tables.NEWEST]
stream = "load"
pattern = "latest"
row_key = "{machine}"
families.F = {}
"""
BY_TIME = BY_MACHINE.replace("{machine}#{ts:ms}", "{ts:ms}#{machine}")
COUNT = 4_000
SOME = [{**event, "text": ["7", "'q", "true", "up"][at % 4]} for at, event in enumerate(events(COUNT, step=7))]


@needs_tablet_server
class BigtableCopyTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.server = TabletServer()
        self.addCleanup(self.server.end)

    def copy_in_two_goes(self, source, target):
        """Killed when it is under way, and gone on with; both ends are nobody's."""
        state = self.kill_copying(source, target)
        report, _ = self.copy(source, target)
        stream = report["streams"][0]
        self.assertEqual((COUNT, COUNT, True),
                         (stream["events"], stream["target_events"], stream["verified"]))
        self.assertEqual(stream["checksum"], stream["target_checksum"])
        self.assertFalse(state.exists())
        return report

    def test_events_go_to_bigtable_and_back_also_after_a_kill(self):
        source = self.source(BY_MACHINE, some=SOME)
        source.stop()
        there = self.unserved(BY_MACHINE, storage=storage(self.server.address))
        report = self.copy_in_two_goes(source, there)
        self.assertEqual(f"projects/p/instances/i/tables/* on {self.server.address}", report["to"])
        back = self.unserved(BY_TIME)
        self.server.calls()
        self.copy_in_two_goes(there, back)
        calls = self.server.calls()
        self.assertLess(calls["ReadRows HISTORY"], 100, calls)
        self.assertFalse(calls.keys() & {"CreateTable", "ModifyColumnFamilies", "Entry HISTORY"})
        back.start()
        answered = back.events("load", scan=1, limit=100_000)
        self.assertEqual(in_order(SOME), in_order(answered))
        self.assertEqual({f"m{at}": SOME[-7:][(at - COUNT) % 7]["ts"] for at in range(7)},
                         {row["machine"]: row["ts"] for row in back.latest("load")})

    def test_a_source_that_is_not_there_is_not_made_nor_copied_to_itself(self):
        there = self.unserved(BY_MACHINE, storage=storage(self.server.address))
        _, said = self.copy(there, self.unserved(BY_MACHINE), status=1)
        self.assertIn("there is no table projects/p/instances/i/tables/tallyd_catalogue", said)
        self.assertNotIn("CreateTable", self.server.calls())
        _, said = self.copy(there, there, status=2)
        self.assertIn("are the same tables", said)
