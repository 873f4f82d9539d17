"""The counters' table, and whether their sums are right: the loader's data is drawn again."""

import json

import report

CHECKED = 50
ADD_MAX = 1000
MASK = (1 << 64) - 1
GOLDEN = 0x9e3779b97f4a7c15


class Random:
    """bench/random.h."""

    def __init__(self, seed, entity):
        self.state = (seed * GOLDEN + entity) & MASK
        self._next()

    def _next(self):
        self.state = (self.state + GOLDEN) & MASK
        mixed = self.state
        mixed = ((mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94d049bb133111eb) & MASK
        return mixed ^ (mixed >> 31)

    def between(self, low, high):
        return low + ((self._next() >> 32) * (high - low + 1) >> 32)


def wrong_sums(server, counters, adds, seed):
    """A sentence per counter, of some, whose sum is not that of its adds."""
    if adds % counters:
        return []  # Some have an add more, and which ones the shuffle knows.
    wrong = []
    for number in range(0, counters, max(1, counters // CHECKED)):
        random = Random(seed, number)
        wanted = sum(random.between(1, ADD_MAX) for _ in range(adds // counters))
        row = json.loads(server.get(f"/v1/tables/HITS/rows/c{number:07}"))
        cells = row["cells"]["COUNT"]["n"]
        if [cell["value"] for cell in cells] != [wanted]:
            wrong.append(f"counter {number} is {cells}, not {wanted}")
    return wrong


def build_table(load, counters):
    adds = load["events"]
    return report.aligned([
        ["figure", "tallyd"],
        ["an acknowledged request is", "on disk (fsync)"],
        ["adds per CPU-second, settled", report.millions(adds / max(load["cpu_settled_s"], 0.01))],
        ["adds/s, wall", report.millions(adds / load["wall_s"])],
        ["request p50", report.milliseconds(load["p50_ms"])],
        ["request p99", report.milliseconds(load["p99_ms"])],
        ["bytes per counter, settled", f"{load['disk_bytes'] / min(adds, counters):.1f}"],
        ["bytes per add, settled", f"{load['disk_bytes'] / adds:.2f}"],
        ["peak memory", report.megabytes(load["peak_bytes"])],
        ["a peer", "none: VictoriaMetrics keeps every add as a sample, and sums when asked"],
    ])
