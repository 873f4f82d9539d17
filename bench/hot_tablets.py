#!/usr/bin/env python3
"""Which part of a fleet's writes the busiest tablet of a table takes, by the shape of the row key.

    bench/hot_tablets.py [--hosts N] [--minutes N] [--tablet-rows N] [--settle MINUTES]

A tablet is a range of row keys that one node serves. One that has grown too large is cut in the middle
of its rows, as Bigtable does, which takes it minutes: here tablets are cut every so many minutes. Each
host writes a row a minute, in a random order. Told is, over the second half of the time, the busiest
tablet's share of a minute's writes, on average and in the worst minute: 1.00 means that one node takes
them all, however many there are. docs/scale.md has what it printed.
"""

import argparse
import bisect
import random

MINUTE = 60_000
BEGIN = 1_700_000_000_000 // 86_400_000 * 86_400_000


def reverse_digits(number):
    return str(number)[::-1]


def salted(number, salts):
    """Stands for XXH64, of which only the even spread matters."""
    return 1 + number * 2_654_435_761 % 2**32 % salts


SHAPES = {
    "{host}#{ts:ms}": lambda host, ts: f"host{host:06}#{ts}",
    "{host}#{ts:day}": lambda host, ts: f"host{host:06}#{ts // 86_400_000}",
    "{host}  (latest)": lambda host, ts: f"host{host:06}",
    "{ts:ms}#{host}": lambda host, ts: f"{ts}#host{host:06}",
    "{ts:hour}#{host}": lambda host, ts: f"{ts // 3_600_000}#host{host:06}",
    "{host:salt(16)}#{ts:ms}#{host}": lambda host, ts: f"{salted(host, 16):02}#{ts}#host{host:06}",
    "{ts:salt(16)}#{ts:ms}#{host}":
        lambda host, ts: f"{salted(ts // MINUTE, 16):02}#{ts}#host{host:06}",
    "{id:reverse_digits}#{ts:ms}": lambda host, ts: f"{reverse_digits(1_000_000 + host)}#{ts}",
}


class Table:
    """Rows in the order of their keys, in tablets."""

    def __init__(self, tablet_rows):
        self.tablet_rows = tablet_rows
        self.begins, self.tablets = [""], [[]]

    def write(self, key):
        """Which tablet took it."""
        at = bisect.bisect_right(self.begins, key) - 1
        rows = self.tablets[at]
        place = bisect.bisect_left(rows, key)
        if place == len(rows) or rows[place] != key:
            rows.insert(place, key)
        return at

    def cut(self):
        tablets = []
        for rows in self.tablets:
            parts = -(-len(rows) // self.tablet_rows) or 1
            size = -(-len(rows) // parts) or 1
            tablets += [rows[at:at + size] for at in range(0, len(rows), size)] or [rows]
        self.tablets = tablets
        self.begins = [""] + [rows[0] for rows in tablets[1:]]


def busiest(shape, arguments, chance):
    """The tablets, and the busiest one's share of a minute's writes, on average and at worst."""
    table, shares = Table(arguments.tablet_rows), []
    order = list(range(arguments.hosts))
    for minute in range(arguments.minutes):
        chance.shuffle(order)
        taken = [0] * len(table.tablets)
        for host in order:
            ts = BEGIN + minute * MINUTE + chance.randrange(MINUTE) // 1000 * 1000
            taken[table.write(shape(host, ts))] += 1
        shares.append(max(taken) / arguments.hosts)
        if minute % arguments.settle == arguments.settle - 1:
            table.cut()
    late = shares[len(shares) // 2:]
    return len(table.tablets), sum(late) / len(late), max(late)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--minutes", type=int, default=120)
    parser.add_argument("--tablet-rows", type=int, default=400)
    parser.add_argument("--settle", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{'row key':34} {'tablets':>7} {'average':>8} {'worst minute':>13}")
    for name, shape in SHAPES.items():
        tablets, average, worst = busiest(shape, arguments, random.Random(1))
        print(f"{name:34} {tablets:7} {average:8.2f} {worst:13.2f}")


if __name__ == "__main__":
    main()
