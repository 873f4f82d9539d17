"""Random events through tables of all kinds: where, agg, fill and top are as a model has them."""

import os
import random
import statistics
from fractions import Fraction

from tests.e2e.tallyd import E2eTest, SEED, as_dicts
from tests.e2e.test_equal_answers import HOSTS, KINDS, START, make_events, tables_of

QUERIES = int(os.environ.get("TALLYD_QUERIES", "150")) // 2
# SCATTERED is read in no order of time at all.
ALL_KINDS = KINDS + (
    ("SCATTERED", "single-timestamp", "{v}#{host}#{ts:ms}"),
    ("BY_TIME", "single-timestamp", "{ts:ms}#{host}"),
)
NAMES = tuple(name for name, _, _ in ALL_KINDS)
NOW = tables_of([("NOW", "latest", "{host}")])
OPERATORS = {">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b,
             "<=": lambda a, b: a <= b, "=": lambda a, b: a == b, "!=": lambda a, b: a != b}


def percentile(values, percent):
    values = sorted(values)
    rank = Fraction((len(values) - 1) * percent, 100)
    low = int(rank)
    high = min(low + 1, len(values) - 1)
    return Fraction(values[low]) + (Fraction(values[high]) - Fraction(values[low])) * (rank - low)


def grown(values, before):
    """What a counter grew over these values since the one before them, which may be none."""
    total = 0
    for value in values:
        if before is not None:
            total += value - before if value >= before else value
        before = value
    return total


FUNCTIONS = {
    "avg": lambda values, before, step: sum(values) / len(values),
    "min": lambda values, before, step: min(values),
    "max": lambda values, before, step: max(values),
    "sum": lambda values, before, step: sum(values),
    "count": lambda values, before, step: len(values),
    "first": lambda values, before, step: values[0],
    "last": lambda values, before, step: values[-1],
    "stddev": lambda values, before, step: statistics.pstdev(values),
    "increase": lambda values, before, step: grown(values, before),
    "rate": lambda values, before, step: grown(values, before) * 1000 / step,
    "delta": lambda values, before, step: values[-1] - values[0],
    "p50": lambda values, before, step: percentile(values, 50),
    "p99": lambda values, before, step: percentile(values, 99),
}


def bytes_of(value):
    return value.encode() if isinstance(value, str) else value


class Model:
    def __init__(self, events):
        self.events = sorted(events, key=lambda event: event["ts"])

    def matching(self, query):
        return [event for event in self.events
                if query.get("from", 0) <= event["ts"] < query.get("to", 2**63)
                and event["host"] in query["hosts"]
                and all(name in event and OPERATORS[operator](bytes_of(event[name]), bytes_of(value))
                        for name, operator, value in query["where"])]

    def series(self, query):
        """Group -> step -> [value of each function]."""
        values = {}
        for event in self.matching(query):
            if query["field"] in event:
                group = tuple(event[name] for name in query["by"])
                start = event["ts"] - event["ts"] % query["step"]
                values.setdefault(group, {}).setdefault(start, []).append(event[query["field"]])
        series = {}
        for group, steps in values.items():
            before = None
            for start in sorted(steps):
                series.setdefault(group, {})[start] = [
                    FUNCTIONS[name](steps[start], before, query["step"]) for name in query["agg"]]
                before = steps[start][-1]
        return series

    def top(self, query, series):
        ranked = sorted(series, key=lambda group: (-max(row[0] for row in series[group].values()),
                                                   "".join(group).encode()))
        return {group: series[group] for group in ranked[:query["top"]]}

    def filled(self, query, steps):
        """Every step of the group; its gaps filled column by column."""
        if "from" in query and "to" in query:
            if query["from"] == query["to"]:
                return {}
            first = query["from"] - query["from"] % query["step"]
            last = query["to"] - 1 - (query["to"] - 1) % query["step"]
        else:
            first, last = min(steps), max(steps)
        starts = range(first, last + 1, query["step"])
        columns = [fill(query["fill"], [steps[start][at] if start in steps else None
                                        for start in starts]) for at in range(len(query["agg"]))]
        return {start: list(row) for start, *row in zip(starts, *columns)}

    def rows(self, query):
        series = self.series(query)
        if "top" in query:
            series = self.top(query, series)
        if "fill" in query:
            if not series and not query["by"] and "from" in query and "to" in query:
                series = {(): {}}
            series = {group: self.filled(query, steps) for group, steps in series.items()}
        rows = sorted(((start, group, row) for group, steps in series.items()
                       for start, row in steps.items()),
                      key=lambda row: (row[0], "".join(row[1]).encode()))
        return rows[::-1] if query["order"] == "desc" else rows

    def greatest(self, query):
        """The events with the greatest values, in order of time."""
        with_field = [event for event in self.matching(query) if query["field"] in event]
        best = sorted(with_field, key=lambda event: (-event[query["field"]], event["ts"]))
        rows = sorted((event["ts"], event["host"], event[query["field"]])
                      for event in best[:query["top"]])
        return rows[::-1] if query["order"] == "desc" else rows


def fill(how, values):
    known = [at for at, value in enumerate(values) if value is not None]
    filled = list(values)
    for at, value in enumerate(values):
        left = max((other for other in known if other < at), default=None)
        right = min((other for other in known if other > at), default=None)
        if value is not None or how == "null":
            continue
        if how == "0":
            filled[at] = 0
        elif how == "previous":
            filled[at] = None if left is None else values[left]
        elif left is not None and right is not None:
            low, high = Fraction(values[left]), Fraction(values[right])
            filled[at] = low + (high - low) * (at - left) / (right - left)
    return filled


def make_where(chance, events):
    name = chance.choice(("v", "v", "w", "w", "x", "y", "host"))
    value = chance.choice([event[name] for event in events if name in event])
    if name == "v" and chance.random() < 0.3:
        value += chance.choice((-0.5, 0.5))
    return name, chance.choice(sorted(OPERATORS)), value


def make_query(chance, events):
    query = {"hosts": chance.sample(HOSTS, chance.randint(1, 4)), "order": chance.choice(("asc", "desc")),
             "field": chance.choice("vvwwy"),
             "where": [make_where(chance, events) for _ in range(chance.choice((0, 0, 1, 1, 2)))]}
    span = 3 * 86_400_000
    if chance.random() < 0.6:
        query["from"] = START + chance.randrange(span)
    if chance.random() < 0.6:
        query["to"] = query.get("from", START) + chance.randrange(span // chance.choice((1, 10)))
    return query


def make_steps(chance, events):
    query = make_query(chance, events)
    query.update(step=chance.choice((600_000, 3_600_000, 36_000_000, 86_400_000)),
                 agg=chance.sample(sorted(FUNCTIONS), chance.randint(1, 3)),
                 by=chance.choice(([], ["host"], ["host"])))
    if chance.random() < 0.5:
        query["fill"] = chance.choice(("null", "previous", "linear", "0"))
    if query["by"] and chance.random() < 0.4:
        query.update(top=chance.randint(1, 3), agg=query["agg"][:1])
    return query


def parameters(query, table):
    params = {"host": query["hosts"], "table": table, "order": query["order"],
              "fields": query["field"], "limit": 1_000_000, "scan": 1,
              "where": [f"{name}{operator}{value}" for name, operator, value in query["where"]]}
    if "step" in query:
        params.update(step=f"{query['step'] // 1000}s", agg=query["agg"], by=query["by"])
    params.update({name: query[name] for name in ("from", "to", "fill", "top") if name in query})
    return params


class EqualStepsTest(E2eTest):
    def setUp(self):
        self.chance = random.Random(SEED)
        self.all_events = make_events(self.chance, 600)
        self.model = Model(self.all_events)
        self.tallyd = self.start(tables_of(ALL_KINDS) + NOW)
        for at in range(0, 600, 50):
            self.tallyd.write("s", self.all_events[at:at + 50])
            if at == 350:
                self.tallyd.request("POST", "/-/settle").expect(200)

    def assert_rows(self, expected, got):
        self.assertEqual([row[:2] for row in expected], [row[:2] for row in got])
        for want, have in zip(expected, got):
            for value, other in zip(want[2], have[2]):
                if value is None or other is None:
                    self.assertEqual(value, other, want)
                else:
                    self.assertAlmostEqual(value, other, delta=1e-9 * max(1, abs(value)), msg=want)

    def rows(self, answer, query):
        names, field = query["agg"], query["field"]
        columns = [field if len(names) == 1 else f"{field}:{name}" for name in names]
        return [(row["ts"], tuple(row[name] for name in query["by"]),
                 [row[column] for column in columns]) for row in as_dicts(answer)]

    def test_steps_are_as_the_model_has_them_from_every_table(self):
        for number in range(QUERIES):
            query = make_steps(self.chance, self.all_events)
            expected = self.model.rows(query)
            for table in NAMES:
                with self.subTest(number=number, seed=SEED, table=table, query=query):
                    answer = self.tallyd.query("s", parameters(query, table))
                    self.assert_rows(expected, self.rows(answer, query))
                    self.assertEqual(table, answer["plan"]["table"])

    def test_pages_of_steps_joined_are_the_whole(self):
        for number in range(QUERIES // 5):
            query, limit = make_steps(self.chance, self.all_events), self.chance.choice((1, 3, 10))
            expected = self.model.rows(query)[:limit * 6]
            table = self.chance.choice(NAMES)
            with self.subTest(number=number, seed=SEED, table=table, query=query, limit=limit):
                got, cursor = [], None
                for _ in range(6):
                    answer = self.tallyd.query("s", {**parameters(query, table), "limit": limit},
                                               cursor=cursor)
                    got, cursor = got + self.rows(answer, query), answer["next"]
                    if cursor is None:
                        break
                self.assert_rows(expected, got)

    def test_events_are_compared_alike_from_every_table(self):
        for number in range(QUERIES):
            query = make_query(self.chance, self.all_events)
            query["where"].append(make_where(self.chance, self.all_events))
            expected = [(event["ts"], event["host"], event[query["field"]])
                        for event in self.model.matching(query) if query["field"] in event]
            if query["order"] == "desc":
                expected.reverse()
            for table in NAMES:
                with self.subTest(number=number, seed=SEED, table=table, query=query):
                    got = self.tallyd.events("s", parameters(query, table))
                    self.assertEqual(expected, [(row["ts"], row["host"], row[query["field"]])
                                                for row in got if row[query["field"]] is not None])

    def test_the_greatest_events_are_the_same_from_every_table(self):
        for number in range(QUERIES // 3):
            query = make_query(self.chance, self.all_events)
            query["top"] = self.chance.choice((1, 3, 10, 50))
            expected = self.model.greatest(query)
            for table in NAMES:
                with self.subTest(number=number, seed=SEED, table=table, query=query):
                    params = parameters(query, table)
                    self.assertEqual(expected, self.ranked(self.tallyd.query("s", params), query))
                    first = self.tallyd.query("s", {**params, "limit": 2})
                    self.assertEqual(expected[:2], self.ranked(first, query))
                    if len(expected) > 2:
                        rest = self.tallyd.query("s", {**params, "limit": 2}, cursor=first["next"])
                        self.assertEqual(expected[2:4], self.ranked(rest, query))

    def ranked(self, answer, query):
        return [(row["ts"], row["host"], row[query["field"]]) for row in as_dicts(answer)]

    def test_the_latest_are_compared_and_ranked_alike(self):
        latest = {}
        for event in self.model.events:
            latest.setdefault(event["host"], {}).update(event)
        hosts = sorted(latest, key=str.encode)
        for _ in range(QUERIES):
            name, operator, value = make_where(self.chance, self.all_events)
            expected = [host for host in hosts
                        if name in latest[host] and OPERATORS[operator](
                            bytes_of(latest[host][name]), bytes_of(value))]
            got = self.tallyd.latest("s", where=f"{name}{operator}{value}", limit=100)
            self.assertEqual(expected, [row["host"] for row in got], (name, operator, value))
        for top in 1, 2, 4:
            best = sorted(hosts, key=lambda host: (-latest[host]["w"], host.encode()))[:top]
            got = self.tallyd.latest("s", fields="w", top=top, limit=100)
            self.assertEqual([host for host in hosts if host in best], [row["host"] for row in got])
