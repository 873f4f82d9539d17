"""/latest of tables whose columns are named for values: a row for each column."""

from tests.e2e.tallyd import E2eTest, as_dicts

FRIENDS = """
[tables.FRIENDS]
stream  = "friends"
pattern = "latest"
row_key = "{person}"
columns = [{ family = "f", name = "{friend}", value = "1" }]
families.f = {}
"""
CIRCLES = FRIENDS.replace('value = "1" }]', 'value = "{circle}" },\n'
                          '  { family = "f", fields = ["city"] }]')
START = 1_700_000_000_000
JOSE = ["Fred", "Gabriel", "Hiroshi"]
SOFIA = ["Hiroshi", "Jakob", "Seo Yoon"]


class LatestQualifiersTest(E2eTest):
    def friends(self, daemon, **params):
        return [(row["person"], row["friend"]) for row in daemon.latest("friends", params)]

    def befriend(self, daemon):
        daemon.write("friends", [{"ts": START, "person": "José", "friend": one} for one in JOSE])
        for at, one in enumerate(SOFIA):
            daemon.write("friends", [{"ts": START + at, "person": "Sofía", "friend": one}])

    def test_each_friend_is_a_row(self):
        daemon = self.start(FRIENDS)
        self.befriend(daemon)
        jose = [("José", one) for one in JOSE]
        sofia = [("Sofía", one) for one in SOFIA]
        for _ in range(2):
            self.assertEqual(jose, self.friends(daemon, person="José"))
            self.assertEqual(jose + sofia, self.friends(daemon))
            self.assertEqual([("José", "Hiroshi")],
                             self.friends(daemon, person="José", friend="Hiroshi"))
            self.assertEqual([("José", "Hiroshi"), ("Sofía", "Hiroshi")],
                             self.friends(daemon, friend="Hiroshi"))
            daemon.request("POST", "/-/settle").expect(200)
            daemon.restart()

    def test_each_row_has_the_time_of_its_own_column(self):
        daemon = self.start(FRIENDS)
        self.befriend(daemon)
        self.assertEqual([START, START + 1, START + 2],
                         [row["ts"] for row in daemon.latest("friends", person="Sofía")])

    def test_pages_end_between_the_columns_of_a_row(self):
        daemon = self.start(FRIENDS)
        self.befriend(daemon)
        found, cursor = [], None
        while True:
            answer = daemon.get("/v1/streams/friends/latest", limit=2, cursor=cursor)
            answer = answer.expect(200).json
            found += [tuple(row[1:]) for row in answer["rows"]]
            self.assertLessEqual(len(answer["rows"]), 2)
            cursor = answer["next"]
            if cursor is None:
                break
        self.assertEqual([("José", one) for one in JOSE] + [("Sofía", one) for one in SOFIA],
                         found)

    def test_a_column_comes_with_its_value_and_with_what_the_row_has_beside_it(self):
        daemon = self.start(CIRCLES)
        daemon.write("friends", [
            {"ts": START, "person": "José", "friend": "Fred", "circle": "club", "city": "Lima"},
            {"ts": START + 1, "person": "José", "friend": "Gabriel", "circle": "work"},
            {"ts": START + 2, "person": "José", "city": "Cusco"}])
        rows = [(row["friend"], row["circle"], row["city"]) for row in daemon.latest("friends")]
        self.assertEqual([("Fred", "club", "Cusco"), ("Gabriel", "work", "Cusco")], rows)
        self.assertEqual([{"ts": START, "person": "José", "circle": "club"}],
                         daemon.latest("friends", circle="club", fields="circle"))

    def test_pages_go_on_behind_the_last_column_whatever_comes_or_goes(self):
        daemon = self.start(FRIENDS)
        friends = ["b", "d", "f", "h"]
        daemon.write("friends", [{"ts": START, "person": "a", "friend": one} for one in friends])
        first = daemon.get("/v1/streams/friends/latest", {"person": "a", "limit": 2}).expect(200).json
        self.assertEqual([row["friend"] for row in as_dicts(first)], ["b", "d"])
        then = {"person": "a", "limit": 2, "cursor": first["next"]}
        daemon.delete("/v1/tables/FRIENDS/rows/a/cells/f:b").expect(200)
        second = daemon.get("/v1/streams/friends/latest", then).expect(200).json
        self.assertEqual([row["friend"] for row in as_dicts(second)], ["f", "h"])
        daemon.write("friends", [{"ts": START, "person": "a", "friend": one} for one in "abc"])
        second = daemon.get("/v1/streams/friends/latest", then).expect(200).json
        self.assertEqual([row["friend"] for row in as_dicts(second)], ["f", "h"])
