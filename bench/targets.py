"""What every measured figure is to reach and what it aims for: here and nowhere else.

Ratios are to the better of the peers in the same run, so that the machine does not matter, or of
tallyd to itself; the others are plain.
"""

import dataclasses

import report


@dataclasses.dataclass(frozen=True)
class Target:
    must: float
    aim: float
    more_is_better: bool = True

    def standing(self, value):
        if value is None:
            return "not measured"
        if self._is_reached(value, self.aim):
            return "aim reached"
        return "must reached" if self._is_reached(value, self.must) else "MISSED"

    def _is_reached(self, value, wanted):
        return value >= wanted if self.more_is_better else value <= wanted


def at_most(must, aim):
    return Target(must, aim, more_is_better=False)


@dataclasses.dataclass(frozen=True)
class Load:
    """What the loader is to send to every server, and how many times better than the better peer
    tallyd is to be."""

    label: str
    options: dict   # of the loader, --format and the like aside
    cpu: Target | None = None   # samples per CPU-second of the server, until settled
    wall: Target | None = None  # samples per second; None: reported, and nothing asked of it
    config: str = ""            # the file of tallyd's, if it is not the workload's
    tls: bool = False

    def tables(self):
        return self.config or self.options["workload"]


# Each keeps the peers busy for some five seconds at least, also where two million samples take them one:
# their buffers hold what comes in the first, and nothing has been merged yet.
LOADS = [
    Load("100 values, 4 connections",
         {"workload": "fleet", "metrics": 100, "events": 100, "connections": 4, "requests": 3600},
         Target(7, 10), Target(6, 7)),
    Load("100 values, 4 connections, over TLS",
         {"workload": "fleet", "metrics": 100, "events": 100, "connections": 4, "requests": 3600}, tls=True),
    Load("10 values, 4 connections",
         {"workload": "fleet", "metrics": 10, "events": 100, "connections": 4, "requests": 43_200},
         Target(2.7, 5), Target(1.2, 2)),
    Load("10 values, 32 connections",
         {"workload": "fleet", "metrics": 10, "events": 100, "connections": 32, "requests": 43_200},
         Target(4, 6), Target(2.7, 4)),
    Load("10 values, 32 connections, over TLS",
         {"workload": "fleet", "metrics": 10, "events": 100, "connections": 32, "requests": 43_200}, tls=True),
    Load("1 value (meters), 32 connections",
         {"workload": "meters", "events": 100, "connections": 32, "requests": 96_000},
         Target(1, 2), Target(1, 2)),
    Load("1 value, 1,000 a request, 8 connections",
         {"workload": "meters", "events": 1000, "connections": 8, "requests": 16_000},
         Target(1.2, 3), Target(1.2, 2.5)),
    # What such a table is for is mostly read as the newest value of each meter, too.
    Load("1 value, its latest beside it, 32 connections",
         {"workload": "meters", "events": 100, "connections": 32, "requests": 96_000},
         config="meters_latest"),
    Load("1 value, its latest beside it, 1,000 a request, 8 connections",
         {"workload": "meters", "events": 1000, "connections": 8, "requests": 16_000},
         config="meters_latest"),
    Load("market (8 values, two tables, skewed), 4 connections",
         {"workload": "market", "events": 100, "connections": 4, "requests": 60_000},
         Target(2.5, 4), Target(1.3, 2)),
]

# Long ranges, by the names of queries.long_ranges: how many times as fast as the better peer.
RANGES = {
    "max_by_machine_hour": Target(3, 10),
    "mean_by_hour": Target(3, 10),
    "mean_by_minute": Target(3, 6),
    "one_machine_by_minute": Target(2, 4),
}

# Of tallyd to itself: a value of line protocol against one of JSON.
LINES_CPU = at_most(1.1, 1.0)
# Of tallyd to itself: 15 of 30 optional fields against always the same 15.
OPTIONAL_CPU = at_most(2, 1.3)
OPTIONAL_BYTES = at_most(1.35, 1.22)
OPTIONAL_QUERY = at_most(3, 1.5)
# A latest row of 1,000 fields against one of 50: as long per event, but for what a run differs from
# the next.
WIDE_LATEST = at_most(1.25, 1.1)

# Bytes that a million latest rows of ten fields take after a start, and the seconds until ten million
# of one field are there.
LATEST_MEMORY = at_most(250e6, 150e6)
LATEST_START = at_most(5, 3)

# Of a run at the real rates, how much more is there late in it than early: of what waits to be
# sealed, and of memory.
DEBT_GROWTH = at_most(1.5, 1.2)
MEMORY_GROWTH = at_most(1.2, 1.1)


def per_cpu(load):
    return load["samples"] / max(load["cpu_settled_s"], 0.01)


def wall(load):
    return load["samples"] / load["wall_s"]


def bytes_per_sample(load):
    return load["disk_bytes"] / load["samples"]


def ratio(value):
    return f"{value:.2f}x" if value < 10 else f"{value:.1f}x"


def _of_load(read):
    return lambda result: read(result["load"])


# An hour of the fleet: (label, how to read it, a ratio to the better peer?, how to print it, target).
HOUR = [
    ("samples per CPU-second, settled", _of_load(per_cpu), True, ratio, LOADS[0].cpu),
    ("samples/s, wall", _of_load(wall), True, ratio, LOADS[0].wall),
    ("bytes per sample, settled", _of_load(bytes_per_sample), False, lambda value: f"{value:.2f}",
     at_most(1.3, 1.0)),
    ("one machine, one hour", lambda result: result["queries"]["one_machine"], False,
     report.milliseconds, at_most(6, 3)),
    ("latest of all", lambda result: result["queries"]["latest"], False, report.milliseconds,
     at_most(40, 10)),
    ("max of 8 machines", lambda result: result["queries"]["max_of_eight"], False,
     report.milliseconds, at_most(1.4, 0.7)),
    ("max of 1,000 machines", lambda result: result["queries"]["max_of_all"], False,
     report.milliseconds, at_most(27, 15)),
    ("peak memory", _of_load(lambda load: load["peak_bytes"]), False, report.megabytes,
     at_most(350e6, 250e6)),
]


def hour_table(results):
    """None unless tallyd and a peer were measured, for an hour."""
    measured = results.get("tallyd")
    if not measured or not any(report.is_peer(name) for name in results):
        return None
    rows = [["figure", "must", "aim", "tallyd", ""]]
    for label, read, is_ratio, spell, target in HOUR:
        value = read(measured)
        if value is None:
            return None
        if is_ratio:
            value /= report.better_peer(results, read, target.more_is_better)
        rows.append([label, spell(target.must), spell(target.aim), spell(value),
                     target.standing(value)])
    return report.aligned(rows)


def beside_peers(title, names, titles, rows):
    """A table of figures side by side with each peer's. `names` and `titles` are of the servers,
    tallyd the first; a row is (label, figure, values by name, how to print them, target or None,
    whether more is better)."""
    table = [[title, "figure", *titles, "times the better", "must", "aim", ""]]
    for label, figure, values, spell, target, more_is_better in rows:
        own = values.get("tallyd")
        peer = report.better([value for name, value in values.items() if report.is_peer(name)],
                             more_is_better)
        times = None
        if own and peer:
            times = own / peer if more_is_better else peer / own
        table.append([label, figure,
                      *["-" if values.get(name) is None else spell(values[name]) for name in names],
                      "-" if times is None else ratio(times),
                      *(("-", "-", "") if target is None else
                        (ratio(target.must), ratio(target.aim), target.standing(times)))])
    return report.aligned(table)
