"""S49 of the seeds: short names, since a name travels with every cell."""

from tests.e2e.tallyd import E2eTest, plain

AT = 1426535612156


class SeedsNamesTest(E2eTest):
    def test_S49_a_renamed_field_is_stored_under_its_short_name(self):
        tallyd = self.start("""
            [tables.PEOPLE]
            stream = "people"
            pattern = "single-timestamp"
            row_key = "{person}#{ts:ms}"
            columns = [{ family = "P", rename = { CELLPHONE_NUMBER = "CELL" } }]
            families.P = {}
            """)
        event = {"ts": AT, "person": "jo", "CELLPHONE_NUMBER": "+34 600", "CITY": "Vigo"}
        tallyd.write("people", event)
        self.assertEqual({"P": {"CELL": "+34 600", "CITY": "Vigo"}},
                         plain(tallyd.cells("PEOPLE", f"jo#{AT}")))
        self.assertEqual([event], tallyd.events("people", person="jo"))
        self.assertEqual([{name: event[name] for name in ("ts", "person", "CELLPHONE_NUMBER")}],
                         tallyd.events("people", person="jo", fields="CELLPHONE_NUMBER"))

    def test_S49_compact_names_are_capitals_without_spaces(self):
        tallyd = self.start("""
            [tables.QUOTE]
            stream = "market"
            pattern = "single-timestamp"
            row_key = "{SYMBOL}#{ts:ms}"
            columns = [{ family = "MD", names = "compact" }]
            families.MD = {}
            """)
        event = {"ts": AT, "SYMBOL": "ZXZZT", "Bid size": 500, "Ask": 600.6}
        tallyd.write("market", event)
        self.assertEqual({"MD": {"ASK": 600.6, "BIDSIZE": 500}},
                         plain(tallyd.cells("QUOTE", f"ZXZZT#{AT}")))
        for spelling in "Bid size", "BIDSIZE":
            answer = tallyd.events("market", SYMBOL="ZXZZT", fields=spelling)
            self.assertEqual([500], [one.get("Bid size", one.get("BIDSIZE")) for one in answer])
        self.assertEqual([event], tallyd.events("market", SYMBOL="ZXZZT"))
