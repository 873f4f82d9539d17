"""The queries of the fleet and those for long ranges, spelled for each server, and their answers read
back into one form.

Each server gets its cheapest spelling of the same question. The answers are compared, so that no
server is quick by answering something else.
"""

import json
import urllib.parse

METRIC = "CPU/CPU1_USR"
MACHINES = 1000
MACHINE = "server500.bbb.com"
EIGHT = [f"server{number}.bbb.com" for number in range(1, MACHINES, 125)]
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
MEANS_DIFFER = 1e-9  # of a mean: sums of floats in another order


def _target(path, *parameters):
    return path + "?" + urllib.parse.urlencode(parameters)


class TallydQueries:
    def __init__(self, start_ms, end_ms):
        self.events = "/v1/streams/server/events"
        self.span = [("from", start_ms), ("to", end_ms)]
        self.minutes = self.span + [("fields", METRIC), ("step", "1m"), ("agg", "max")]

    def one_machine(self):
        return _target(self.events, ("hostname", MACHINE), *self.span, ("limit", 1_000_000))

    def latest(self):
        return _target("/v1/streams/server/latest", ("limit", 1_000_000))

    def max_of_eight(self):
        return _target(self.events, *[("hostname", name) for name in EIGHT], *self.minutes)

    def max_of_all(self):
        # Bounded by no machine: a scan, which tallyd wants to be asked for.
        return _target(self.events, *self.minutes, ("scan", 1))

    def steps(self, aggregate, step_ms, machine=None, by_machine=False):
        """Maxima or means of one metric, of a machine or of all of them, in steps."""
        bound = [("hostname", machine)] if machine else [("scan", 1)]
        groups = [("by", "hostname")] if by_machine else []
        return _target(self.events, *bound, *self.span, ("fields", METRIC),
                       ("step", f"{step_ms // MINUTE_MS}m"), ("agg", aggregate), *groups,
                       ("limit", 1_000_000))

    @staticmethod
    def series(answer):
        """The values in order of time, by machine; of all machines by ""."""
        table = json.loads(answer)
        value = table["columns"].index(METRIC)
        machine = table["columns"].index("hostname") if "hostname" in table["columns"] else None
        found = {}
        for row in table["rows"]:
            found.setdefault(row[machine] if machine is not None else "", []).append(
                float(row[value]))
        return found

    @staticmethod
    def count(answer):
        table = json.loads(answer)
        skipped = [table["columns"].index(name) for name in ("ts", "hostname")
                   if name in table["columns"]]
        return sum(1 for row in table["rows"] for index, value in enumerate(row)
                   if value is not None and index not in skipped)

    @staticmethod
    def maxima(answer):
        table = json.loads(answer)
        column = table["columns"].index(METRIC)
        return [float(row[column]) for row in table["rows"]]


class VictoriaQueries:
    def __init__(self, start_ms, end_ms):
        self.start_ms = start_ms
        self.end_ms = end_ms

    def one_machine(self):
        return _target("/api/v1/export", ("match[]", f'{{hostname="{MACHINE}"}}'),
                       ("start", self.start_ms / 1000), ("end", self.end_ms / 1000))

    def latest(self):
        return _target("/api/v1/query", ("query", '{__name__=~"server_.*"}'),
                       ("time", self.end_ms / 1000), ("nocache", 1))

    def max_of_eight(self):
        return self._maxima(',hostname=~"' + "|".join(EIGHT) + '"')

    def max_of_all(self):
        return self._maxima("")

    def _maxima(self, machines):
        return self._range(f'max(max_over_time({{__name__="server_{METRIC}"{machines}}}[1m]))',
                           MINUTE_MS)

    def _range(self, query, step_ms):
        # Its window is (t - 1m, t]: one that ends a millisecond before the next minute is a minute.
        first = (self.start_ms + step_ms - 1) / 1000
        last = (self.end_ms - 1) / 1000
        return _target("/api/v1/query_range", ("query", query), ("start", first), ("end", last),
                       ("step", step_ms // 1000), ("nocache", 1))

    def steps(self, aggregate, step_ms, machine=None, by_machine=False):
        of_one = f',hostname="{machine}"' if machine else ""
        over = f'{{__name__="server_{METRIC}"{of_one}}}[{step_ms // MINUTE_MS}m]'
        # Of one series per machine; all have as many values in a step, so means of means are means.
        query = f"{aggregate}_over_time({over})"
        return self._range(query if by_machine or machine else f"{aggregate}({query})", step_ms)

    @staticmethod
    def series(answer):
        result = json.loads(answer)["data"]["result"]
        by_machine = len(result) > 1
        return {series["metric"]["hostname"] if by_machine else "":
                [float(value) for _, value in series["values"]] for series in result}

    @staticmethod
    def count(answer):
        if answer.startswith(b'{"status"'):
            return len(json.loads(answer)["data"]["result"])
        return sum(len(json.loads(line)["values"]) for line in answer.splitlines())

    @staticmethod
    def maxima(answer):
        result = json.loads(answer)["data"]["result"]
        return [float(value) for _, value in result[0]["values"]] if result else []


class InfluxQueries:
    def __init__(self, start_ms, end_ms):
        self.span = f"time >= {start_ms}ms AND time < {end_ms}ms"

    def _query(self, text):
        return _target("/query", ("db", "bench"), ("epoch", "ms"), ("q", text))

    def one_machine(self):
        return self._query(f"SELECT * FROM server WHERE hostname = '{MACHINE}' AND {self.span}")

    def latest(self):
        return self._query("SELECT * FROM server GROUP BY hostname ORDER BY time DESC LIMIT 1")

    def max_of_eight(self):
        machines = " OR ".join(f"hostname = '{name}'" for name in EIGHT)
        return self._maxima(f"({machines}) AND ")

    def max_of_all(self):
        return self._maxima("")

    def _maxima(self, machines):
        return self._query(f'SELECT max("{METRIC}") FROM server WHERE {machines}{self.span} '
                           "GROUP BY time(1m)")

    @staticmethod
    def _series(answer):
        return json.loads(answer)["results"][0].get("series", [])

    @classmethod
    def count(cls, answer):
        total = 0
        for series in cls._series(answer):
            kept = [index for index, name in enumerate(series["columns"])
                    if name not in ("time", "hostname")]
            total += sum(1 for row in series["values"] for index in kept if row[index] is not None)
        return total

    @classmethod
    def maxima(cls, answer):
        return [float(row[1]) for series in cls._series(answer) for row in series["values"]]


FLAVOURS = {"tallyd": TallydQueries, "victoria": VictoriaQueries, "influx": InfluxQueries}


def fleet_queries(flavour, start_ms, end_ms):
    """Yields (name, target, reader of its answer) in the order of the table."""
    queries = FLAVOURS[flavour](start_ms, end_ms)
    yield "one_machine", queries.one_machine(), queries.count
    yield "latest", queries.latest(), queries.count
    yield "max_of_eight", queries.max_of_eight(), queries.maxima
    yield "max_of_all", queries.max_of_all(), queries.maxima


def long_ranges(flavour, start_ms, end_ms, machines):
    """The same for tallyd and VictoriaMetrics, of machines that are so many."""
    queries = FLAVOURS[flavour](start_ms, end_ms)
    one = f"server{machines // 2}.bbb.com"
    yield ("max_by_machine_hour", queries.steps("max", HOUR_MS, by_machine=True), queries.series)
    yield "mean_by_hour", queries.steps("avg", HOUR_MS), queries.series
    yield "mean_by_minute", queries.steps("avg", MINUTE_MS), queries.series
    yield "one_machine_by_minute", queries.steps("max", MINUTE_MS, one), queries.series


def difference(wanted, found):
    """In what two answers of long_ranges differ; None where they do not."""
    if wanted.keys() != found.keys():
        return f"{len(found)} series, not {len(wanted)}"
    for machine, values in wanted.items():
        others = found[machine]
        if len(values) != len(others):
            return f"{len(others)} values of {machine or 'all'}, not {len(values)}"
        for place, (value, other) in enumerate(zip(values, others)):
            if abs(value - other) > MEANS_DIFFER * max(abs(value), 1):
                return f"{other} at step {place} of {machine or 'all'}, not {value}"
    return None
