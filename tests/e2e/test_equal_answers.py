"""Random events through five patterns: every table answers random queries as a small model does."""

import os
import random
import statistics

from tests.e2e.tallyd import E2eTest, SEED, as_dicts

QUERIES = int(os.environ.get("TALLYD_QUERIES", "150"))
START = 1_426_464_000_000  # A Monday's midnight.
SPAN = 3 * 86_400_000
HOSTS = ("a", "a#", "a%23", "b", "web 1", "ü")
KINDS = (
    ("ROW", "single-timestamp", "{host}#{ts:ms}"),
    ("BLOB", "single-timestamp-serialized", "{host}#{ts:reverse(ms)}"),
    ("CELL", "new-cell", "{host}#{ts:day}"),
    ("CELLBLOB", "new-cell-serialized", "{host}#{ts:day}"),
    ("COLUMN", "new-column", "{host}#{field}#{ts:hour}"),
)
NAMES = tuple(name for name, _, _ in KINDS)
FUNCTIONS = {"avg": lambda values: sum(values) / len(values), "min": min, "max": max, "sum": sum,
             "count": len,
             "first": lambda values: values[0], "last": lambda values: values[-1],
             "stddev": statistics.pstdev}


def tables_of(kinds):
    return "".join(f"""
[tables.{name}]
stream = "s"
pattern = "{pattern}"
row_key = "{key}"
families.F = {{}}
""" for name, pattern, key in kinds)


def spelled(value):
    return value if isinstance(value, str) else repr(value)


class Model:
    """All events in time order, and what a query makes of them."""

    def __init__(self, events):
        self.events = sorted(events, key=lambda event: event["ts"])

    def matching(self, query):
        for event in self.events:
            if query.get("from", 0) <= event["ts"] < query.get("to", 2**63) and all(
                    name in event and spelled(event[name]) in values
                for name, values in query["filters"].items()):
                yield event

    def rows(self, query):
        """(ts, host, fields...) of what matches; null where absent."""
        rows = [(event["ts"], event["host"], *(event.get(name) for name in query["fields"]))
                for event in self.matching(query)]
        return rows[::-1] if query["order"] == "desc" else rows

    def steps(self, query):
        """(start, group...) -> function -> value, of the first field."""
        groups = {}
        for event in self.matching(query):
            key = (event["ts"] - event["ts"] % query["step"],
                   *(event[name] for name in query["by"]))
            groups.setdefault(key, []).append(event[query["fields"][0]])
        return {key: {name: FUNCTIONS[name](values) for name in query["agg"]}
                for key, values in groups.items()}


def make_events(chance, count):
    """Events at different times; v and w are always there, x and y now and then."""
    events = []
    for at in chance.sample(range(SPAN), count):
        event = {"ts": START + at, "host": chance.choice(HOSTS), "v": chance.randint(-5, 5),
                 "w": round(chance.uniform(-1, 1), chance.randint(0, 6))}
        if chance.random() < 0.5:
            event["x"] = chance.choice(("up", "down", "a,b", "50%"))
        if chance.random() < 0.2:
            event["y"] = chance.randint(-2**63, 2**63 - 1)
        events.append(event)
    return events


def make_query(chance):
    query = {"filters": {}, "order": chance.choice(("asc", "desc")), "fields": ["v"]}
    query["fields"] += [name for name in ("w", "x", "y") if chance.random() < 0.5]
    chance.shuffle(query["fields"])
    if chance.random() < 0.8:
        query["filters"]["host"] = chance.sample(HOSTS, chance.randint(1, 3))
    if chance.random() < 0.3:
        query["filters"]["v"] = [str(value) for value in chance.sample(range(-5, 6), 3)]
    if chance.random() < 0.1:
        query["filters"]["x"] = ["up", "50%"]
    if chance.random() < 0.7:
        query["from"] = START + chance.randrange(SPAN)
    if chance.random() < 0.7:
        query["to"] = query.get("from",
                                START) + chance.randrange(SPAN // chance.choice((1, 10, 1000)))
    return query


def parameters(query, table):
    params = {**query["filters"], "table": table, "order": query["order"],
              "fields": ",".join(query["fields"])}
    params.update({name: query[name] for name in ("from", "to") if name in query})
    return params if "host" in query["filters"] else {**params, "scan": 1}


class EqualAnswersTest(E2eTest):
    def setUp(self):
        self.chance = random.Random(SEED)
        events = make_events(self.chance, 600)
        self.model = Model(events)
        self.tallyd = self.start(tables_of(KINDS))
        while events:
            size = self.chance.randint(1, 60)
            batch, events = events[:size], events[size:]
            self.tallyd.write("s", batch)

    def rows(self, answer, query):
        return [(row["ts"], row["host"], *(row.get(name) for name in query["fields"]))
                for row in as_dicts(answer)]

    def test_events_are_the_same_from_every_table(self):
        for number in range(QUERIES):
            query = make_query(self.chance)
            expected = self.model.rows(query)
            for table in NAMES:
                with self.subTest(number=number, seed=SEED, table=table, query=query):
                    answer = self.tallyd.query("s", parameters(query, table))
                    self.assertEqual(expected, self.rows(answer, query))
                    self.assertEqual(table, answer["plan"]["table"])

    def test_pages_are_the_same_from_every_table(self):
        for number in range(QUERIES // 5):
            query, limit = make_query(self.chance), self.chance.choice((1, 3, 10, 100))
            expected = self.model.rows(query)[:limit * 5]
            for table in NAMES:
                with self.subTest(number=number, seed=SEED, table=table, query=query, limit=limit):
                    got, cursor = [], None
                    for _ in range(5):
                        answer = self.tallyd.query("s", parameters(query, table), limit=limit,
                                                   cursor=cursor)
                        got, cursor = got + self.rows(answer, query), answer["next"]
                        if cursor is None:
                            break
                    self.assertEqual(expected, got)

    def test_steps_are_the_same_from_every_table(self):
        for number in range(QUERIES):
            query = make_query(self.chance)
            query.update(fields=[self.chance.choice("vw")],
                         step=self.chance.choice((1000, 600_000, 3_600_000, 86_400_000)),
                         agg=self.chance.sample(sorted(FUNCTIONS), self.chance.randint(1, 3)),
                         by=self.chance.choice(([], ["host"])), order="asc")
            expected = self.model.steps(query)
            for table in NAMES:
                with self.subTest(number=number, seed=SEED, table=table, query=query):
                    self.assert_steps(expected, self.tallyd.events(
                        "s", parameters(query, table), step=f"{query['step'] // 1000}s",
                        agg=query["agg"],
                        by=query["by"], limit=1_000_000), query)

    def assert_steps(self, expected, rows, query):
        field, names = query["fields"][0], query["agg"]
        got = {(row["ts"], *(row[name] for name in query["by"])): row for row in rows}
        self.assertEqual(len(rows), len(got))
        self.assertEqual(set(expected), set(got))
        for key, values in expected.items():
            for name in names:
                column = field if len(names) == 1 else f"{field}:{name}"
                self.assertAlmostEqual(values[name], got[key][column], delta=1e-9,
                                       msg=f"{key} {column}")

    def test_whatever_table_the_planner_takes_the_answer_is_the_same(self):
        for _ in range(QUERIES // 5):
            query = make_query(self.chance)
            answer = self.tallyd.query("s", {**parameters(query, None)})
            self.assertEqual(self.model.rows(query), self.rows(answer, query))

    def test_rare_fields_alone_are_the_same_but_for_events_that_lack_them(self):
        for fields in (["x"], ["y"], ["x", "y"]):
            query = {"filters": {"host": list(HOSTS)}, "order": "asc", "fields": fields}
            expected = [row for row in self.model.rows(query)
                        if any(value is not None for value in row[2:])]
            for table in NAMES:
                got = self.rows(self.tallyd.query("s", parameters(query, table)), query)
                self.assertEqual(expected, [row for row in got
                                            if any(value is not None for value in row[2:])], table)
