"""Random histories of requests: a daemon on Bigtable answers them as one on LevelDB does.

    TALLYD_BIGTABLE_ANSWERS    how many histories (default 50)

What may differ is left out of the comparison: `plan`, `next`, estimates. Which table answers is part of the plan, for it
goes by estimates, and with it the order of the columns: so answers are compared by the columns' names. In half of the
pairs of daemons rows of one table are removed and written by hand, after which each table has its own answer: there
queries name their table. What the engine has not is 409 there, and then it is asked of neither (docs/storage.md). A
difference names its seed.
"""

import json
import os
import random
from urllib.parse import quote

from tests.e2e.bigtable import TabletServer, needs_tablet_server, storage
from tests.e2e.tallyd import E2eTest, SEED

HISTORIES = int(os.environ.get("TALLYD_BIGTABLE_ANSWERS", "50"))
HISTORIES_OF_DAEMON = 12
STEPS = 12
START = 1_426_464_000_000  # A Monday's midnight.
SPAN = 3 * 86_400_000
HOSTS = ("a", "a#", "b", "web 1", "ü")
KINDS = ("x", "y%", "z/1")
FIELDS = ("v", "w", "t", "n/1")
EVENT_TABLES = {
    "ROW": ("single-timestamp", "{host}#{kind}#{ts:ms}"),
    "BLOB": ("single-timestamp-serialized", "{host}#{kind}#{ts:reverse(ms)}"),
    "CELL": ("new-cell", "{host}#{kind}#{ts:day}"),
    "COLUMN": ("new-column", "{kind}#{host}#{field}#{ts:hour}"),
    "TIME": ("single-timestamp", "{ts:ms}#{host}#{kind}"),
    "SALT": ("single-timestamp", "{host:salt(4)}#{host}#{kind}#{ts:ms}"),
}
OTHER_TABLES = {
    "NEWEST": ("latest", "{host}#{kind}", ""),
    "KEPT": ("latest", "{host}#{kind}", 'keep = "row"\n'),
    "FEW": ("new-cell", "{host}#{kind}", ""),
}


def schema(chance):
    chosen = chance.sample(sorted(EVENT_TABLES), chance.randint(1, 3))
    toml = '[streams.s]\ntime = "ts"\ntime_required = true\n'
    tables = []
    for name in chosen:
        pattern, key = EVENT_TABLES[name]
        tables.append(name)
        toml += f'[tables.{name}]\nstream = "s"\npattern = "{pattern}"\nrow_key = "{key}"\nfamilies.F = {{}}\n'
    for name in chance.sample(sorted(OTHER_TABLES), chance.randint(0, 2)):
        pattern, key, more = OTHER_TABLES[name]
        rules = "{ max_versions = 3 }" if name == "FEW" else "{}"
        tables.append(name)
        toml += f'[tables.{name}]\nstream = "s"\npattern = "{pattern}"\n{more}row_key = "{key}"\nfamilies.F = {rules}\n'
    return toml, tables


def without(answer, *names):
    return {name: value for name, value in answer.items() if name not in names}


def by_name(answer):
    """The same whatever the order of the columns."""
    columns = answer.get("columns")
    if not isinstance(columns, list):
        return answer
    places = sorted(range(len(columns)), key=lambda place: columns[place])
    return {**answer, "columns": sorted(columns),
            "rows": [[row[place] for place in places] for row in answer.get("rows", [])]}


class Pair:
    """Both daemons, and what both are asked."""

    def __init__(self, test, chance, server):
        toml, self.tables = schema(chance)
        self.by_hand = chance.random() < 0.5
        self.test = test
        self.toml = toml
        self.here = test.start(toml)
        self.there = test.start(toml, storage=storage(server.address))
        self.times = iter(chance.sample(range(SPAN), 40_000))
        self.known = []  # (host, kind, ts) of events.
        self.asked = []

    def ask(self, method, path, body=None, params=None):
        """The answer of both, None where the engine has it not."""
        text = json.dumps(body) if body is not None else None
        self.asked.append((method, path, text, params))
        there = self.there.request(method, path, text, None, params)
        if there.status == 409:
            # A latest row would lose a value that older events have: the engine cannot bring it back.
            self.test.assertEqual((method, path), ("DELETE", "/v1/streams/s/events"), there.body)
            return None
        here = self.here.request(method, path, text, None, params)
        self.test.assertEqual(self.kept(here), self.kept(there), (self.toml, self.asked[-6:]))
        return here, there

    def kept(self, answer):
        try:
            said = json.loads(answer.body)
        except ValueError:
            return answer.status, answer.body
        if isinstance(said, dict):
            said = by_name(without(said, "plan", "next", "estimate", "estimated"))
            # A version that a newer one made expire is gone from one store and not yet from the other.
            if isinstance(said.get("tables"), dict) and "FEW" in said["tables"]:
                said["tables"]["FEW"].pop("cells", None)
        return answer.status, said

    def pages(self, path, params):
        answers = self.ask("GET", path, None, params)
        for _ in range(3):
            if answers is None or any(answer.status != 200 for answer in answers):
                return
            nexts = [json.loads(answer.body).get("next") for answer in answers]
            self.test.assertEqual(nexts[0] is None, nexts[1] is None, self.asked[-1])
            if nexts[0] is None:
                return
            here, there = (daemon.request("GET", path, None, None, {**params, "cursor": cursor})
                           for daemon, cursor in zip((self.here, self.there), nexts))
            self.test.assertEqual(self.kept(here), self.kept(there), (self.toml, self.asked[-3:]))
            answers = here, there


class History:
    def __init__(self, chance, pair):
        self.chance = chance
        self.pair = pair
        self.hosts = chance.sample(HOSTS, 2)

    def play(self):
        for _ in range(STEPS):
            self.chance.choices((self.write, self.query, self.steps, self.rows, self.newest, self.remove,
                                 self.mutate, self.discover), (4, 4, 3, 3, 2, 1, self.pair.by_hand, 1))[0]()

    def value(self, field):
        chance = self.chance
        if field == "v":
            return chance.randint(-5, 5)
        if field == "w":
            return round(chance.uniform(-1, 1), chance.randint(0, 6))
        return chance.choice(("up", "7", "'q", "true", "", "a,b", "1e3", "ü", "'bAA"))

    def event(self):
        chance, known = self.chance, self.pair.known
        if known and chance.random() < 0.15:  # Of an event that is there, or was.
            host, kind, ts = chance.choice(known[-50:])
        else:
            host, kind, ts = chance.choice(self.hosts), chance.choice(KINDS), START + next(self.pair.times)
            known.append((host, kind, ts))
        some = {field: self.value(field) for field in FIELDS if chance.random() < 0.6}
        return {"host": host, "kind": kind, "ts": ts, "v": self.value("v"), **some}

    def write(self):
        batch = [self.event() for _ in range(self.chance.randint(1, 8))]
        params = {}
        if self.chance.random() < 0.15:
            self.chance.choice(batch).pop(self.chance.choice(("host", "ts")))
            params = self.chance.choice(({}, {"partial": 1}))
        self.pair.ask("POST", "/v1/streams/s/events", batch, params)

    def times(self, unit=1):
        if self.chance.random() < 0.4:
            return {}
        first = START + self.chance.randrange(SPAN)
        return {"from": first // unit * unit, "to": (first + self.chance.randrange(1, SPAN)) // unit * unit + unit}

    def whose(self):
        params = {}
        if self.chance.random() < 0.8:
            params["host"] = self.chance.choice(self.hosts)
        if self.chance.random() < 0.4:
            params["kind"] = self.chance.choice(KINDS)
        return params

    def table(self):
        if not self.pair.by_hand and self.chance.random() < 0.7:
            return {}
        return {"table": self.chance.choice(self.pair.tables)}

    def query(self):
        chance = self.chance
        params = {"scan": 1, **self.whose(), **self.times()}
        if chance.random() < 0.3:
            params["fields"] = chance.choice(("v", "w,t", "n/*", "nothing"))
        if chance.random() < 0.5:
            params["limit"] = chance.randint(1, 20)
        if chance.random() < 0.4:
            params["order"] = "desc"
        if chance.random() < 0.2:
            params["where"] = chance.choice(("v>0", "w<=0.5", "v!=3"))
        self.pair.pages("/v1/streams/s/events", {**params, **self.table()})

    def steps(self):
        chance = self.chance
        params = {"scan": 1, **self.whose(), **self.times(), "step": chance.choice(("10m", "1h", "1d")),
                  "agg": ",".join(chance.sample(("avg", "min", "max", "sum", "count", "first", "last"), 2)),
                  "fields": chance.choice(("v", "v,w"))}
        if chance.random() < 0.5:
            params["by"] = chance.choice(("host", "kind", "host,kind"))
        if chance.random() < 0.2:
            params["fill"] = chance.choice(("null", "0", "previous"))
        self.pair.ask("GET", "/v1/streams/s/events", None, {**params, **self.table()})

    def rows(self):
        chance = self.chance
        params = {**self.times()}
        if chance.random() < 0.6:
            params["prefix"] = chance.choice((*self.hosts, *KINDS, "1426"))
        if chance.random() < 0.3:
            params["versions"] = chance.randint(1, 3)
        if chance.random() < 0.3:
            params["columns"] = chance.choice(("F:v", "F:*", "F:n*", "F:?"))
        if chance.random() < 0.4:
            params["reverse"] = 1
        params["limit"] = chance.randint(1, 30)
        self.pair.pages(f"/v1/tables/{chance.choice(self.pair.tables)}/rows", params)

    def newest(self):
        self.pair.ask("GET", "/v1/streams/s/latest", None, self.whose())

    def discover(self):
        path, params = self.chance.choice((("fields", {}), ("values", {"field": "host"}),
                                           ("values", {"field": "kind", "prefix": "y"})))
        self.pair.ask("GET", f"/v1/streams/s/{path}", None, params)

    def key(self):
        host, kind, ts = self.chance.choice(self.pair.known)
        table = self.chance.choice([name for name in self.pair.tables if name in ("ROW", "NEWEST", "FEW")]
                                   or self.pair.tables)
        return table, quote(f"{host}#{kind}#{ts}" if table == "ROW" else f"{host}#{kind}", safe=""), ts

    def remove(self):
        chance = self.chance
        if not self.pair.known:
            return
        if not self.pair.by_hand or chance.random() < 0.5:
            self.pair.ask("DELETE", "/v1/streams/s/events", None,
                          {"host": chance.choice(self.hosts), **self.times(86_400_000)})
        elif chance.random() < 0.5:
            table = chance.choice(self.pair.tables)
            self.pair.ask("DELETE", f"/v1/tables/{table}/rows", None, {"prefix": chance.choice(self.hosts)})
        else:
            table, key, _ = self.key()
            self.pair.ask("DELETE", f"/v1/tables/{table}/rows/{key}")

    def mutate(self):
        if not self.pair.known:
            return
        chance = self.chance
        table, key, ts = self.key()
        some = [{"set": {"family": "F", "qualifier": chance.choice("vwt"), "ts": ts + chance.randint(0, 3),
                         "value": chance.choice((1, 0.5, "up", True, {"base64": "AP8="}))}}
                for _ in range(chance.randint(1, 3))]
        if chance.random() < 0.4:
            some.append({"delete": chance.choice(({}, {"family": "F"}, {"family": "F", "qualifier": "v"}))})
        self.pair.ask("POST", f"/v1/tables/{table}/rows/{key}/mutations", {"mutations": some})


@needs_tablet_server
class BigtableAnswersTest(E2eTest):
    def test_answers_are_those_of_leveldb(self):
        for first in range(0, HISTORIES, HISTORIES_OF_DAEMON):
            server = TabletServer()
            try:
                pair = Pair(self, random.Random(f"{SEED}-{first}"), server)
                for number in range(first, min(first + HISTORIES_OF_DAEMON, HISTORIES)):
                    with self.subTest(seed=SEED, history=number):
                        History(random.Random(f"{SEED}+{number}"), pair).play()
                for daemon in pair.here, pair.there:
                    daemon.kill()
            finally:
                server.end()
