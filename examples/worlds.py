"""Two weeks of four worlds, made up from a seed.

  server   10 machines, a set of metrics every 30 s
  balloon  3 weather balloons, a measurement a minute
  meter    100 electricity meters, a reading every 15 minutes
  market   quotes and trades of 40 symbols, of which a few carry most, while the exchange is open

A world knows the times of its events before it makes them (`times`), so that progress can be told
exactly, and yields them as lines of JSON in time order (`events`). Times are milliseconds since the
epoch; ranges are half-open. The same seed, start and end make the same events.
"""

import datetime
import itertools
import math
import random

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def _swing(ts, peak_hour):
    """A daily rhythm between -1 and 1, highest at `peak_hour` UTC."""
    return math.cos(2 * math.pi * (ts / DAY_MS - peak_hour / 24))


class World:
    """Entities that each report at every time of a grid."""

    stream = ""
    every_ms = MINUTE_MS

    def __init__(self, seed, entities):
        self.entities = [(entity, random.Random(f"{seed}/{self.stream}/{entity}"))
                         for entity in entities]

    def times(self, start, end):
        first = -(-start // self.every_ms) * self.every_ms
        return range(first, end, self.every_ms)

    def count(self, start, end):
        return sum(1 for _ in self.times(start, end)) * len(self.entities)

    def events(self, start, end):
        for ts in self.times(start, end):
            for entity, dice in self.entities:
                yield self.event(ts, entity, dice)

    def event(self, ts, entity, dice):
        raise NotImplementedError


class Servers(World):
    stream = "server"
    every_ms = 30 * SECOND_MS

    def __init__(self, seed):
        super().__init__(seed, [f"server{number}.bbb.com" for number in range(1, 11)])
        self.read = dict.fromkeys((name for name, _ in self.entities), 253453634)
        self.written = dict.fromkeys((name for name, _ in self.entities), 657365234)

    def event(self, ts, hostname, dice):
        busy = min(1, max(0, 0.35 + 0.25 * _swing(ts, 15) + dice.gauss(0, 0.06)))
        self.read[hostname] += int(4000 * busy + dice.random() * 500)
        self.written[hostname] += int(9000 * busy + dice.random() * 800)
        return (f'{{"hostname":"{hostname}","ts":{ts},"CPU/CPU1_USR":{busy:.2f},'
                f'"CPU/CPU1_NICE":{dice.random() / 50:.2f},"IO/BLK_READ":{self.read[hostname]},'
                f'"MIO/BLK_WRTN":{self.written[hostname]}}}')


class Balloons(World):
    stream = "balloon"
    every_ms = MINUTE_MS

    def __init__(self, seed):
        super().__init__(seed, [("us-west2", 3698), ("asia-south2", 3699),
                                ("asia-southeast1", 3700)])
        self.altitude = dict.fromkeys((who for who, _ in self.entities), 600.0)

    def event(self, ts, who, dice):
        location, balloon = who
        # It drifts, but is drawn back to where it was tethered.
        altitude = self.altitude[who] = 600 + 0.98 * (self.altitude[who] - 600) + dice.gauss(0, 4)
        pressure = 101325 * (1 - 2.25577e-5 * altitude) ** 5.25588 + dice.gauss(0, 40)
        temperature = 9.5 + 4 * _swing(ts, 14) - 0.0065 * (altitude - 600) + dice.gauss(0, 0.1)
        humidity = min(100, max(0, 62 - 12 * _swing(ts, 14) + dice.gauss(0, 1.5)))
        return (f'{{"location":"{location}","balloon":{balloon},"ts":{ts},'
                f'"pressure":{pressure:.0f},"temperature":{temperature:.1f},'
                f'"humidity":{humidity:.0f},"altitude":{altitude:.0f}}}')


class Meters(World):
    stream = "meter"
    every_ms = 15 * MINUTE_MS

    def __init__(self, seed):
        super().__init__(seed, range(987654, 987754))
        self.hundredths = dict.fromkeys((meter for meter, _ in self.entities), 1234)

    def event(self, ts, meter, dice):
        self.hundredths[meter] += int(dice.random() * (35 + 20 * _swing(ts, 19)))
        return f'{{"meter":{meter},"ts":{ts},"value":{self.hundredths[meter] / 100:.2f}}}'


class Market(World):
    """One message per grid time, of a symbol drawn by weight; its quote and its last trade."""

    stream = "market"
    every_ms = 2340  # 10,000 in a trading day of six and a half hours
    opens_ms = 13 * HOUR_MS + 30 * MINUTE_MS
    closes_ms = 20 * HOUR_MS

    def __init__(self, seed):
        super().__init__(seed, ["exchange"])
        self.dice = self.entities[0][1]
        names = ["ZXZZT", "ZVZZT"] + [f"Z{a}{b}ZT" for a, b in itertools.product("BCDFG", repeat=2)]
        self.symbols = [(name, "NASDAQ") for name in names]
        self.symbols += [(f"N{letter}YT", "NYSE") for letter in "ABCDEFGHIJKLM"]
        self.weights = list(itertools.accumulate(1 / rank ** 1.25
                                                 for rank in range(1, len(self.symbols) + 1)))
        self.cents = {name: self.dice.randrange(2000, 90000) for name, _ in self.symbols}
        self.cents["ZXZZT"] = 60055
        self.volume = dict.fromkeys(self.cents, 0)

    def times(self, start, end):
        for day in range(start // DAY_MS * DAY_MS, end, DAY_MS):
            if datetime.datetime.fromtimestamp(day / 1000, datetime.timezone.utc).weekday() < 5:
                for ts in range(day + self.opens_ms, day + self.closes_ms, self.every_ms):
                    if start <= ts < end:
                        yield ts

    def event(self, ts, _entity, dice):
        symbol, exchange = dice.choices(self.symbols, cum_weights=self.weights)[0]
        bid = self.cents[symbol] = max(100, self.cents[symbol] + dice.randrange(-6, 7))
        spread = dice.randrange(1, 9)
        quote = (f'{{"SYMBOL":"{symbol}","EXCHANGE":"{exchange}","BID":{bid / 100:.2f},'
                 f'"ASK":{(bid + spread) / 100:.2f},"BIDSIZE":{100 * dice.randrange(1, 20)},'
                 f'"ASKSIZE":{100 * dice.randrange(1, 20)},"QUOTETIME":{ts}')
        # One message in four is a quote alone, which makes no row in TRADE.
        return quote + (self._trade(ts, symbol, bid, spread, dice) if dice.random() < 0.75 else "}")

    def _trade(self, ts, symbol, bid, spread, dice):
        last_size = 100 * dice.randrange(1, 10)
        self.volume[symbol] += last_size
        return (f',"LASTSALE":{(bid + dice.randrange(0, spread + 1)) / 100:.2f},'
                f'"LASTSIZE":{last_size},"TRADETIME":{ts - dice.randrange(0, 500)},'
                f'"VOLUME":{self.volume[symbol]}}}')


def all_worlds(seed):
    return [Servers(seed), Balloons(seed), Meters(seed), Market(seed)]
