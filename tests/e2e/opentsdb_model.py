"""What OpenTSDB's reads answer, told from points in the plainest way: for comparison with a daemon.

Points are {(tag items): [(milliseconds, number)]}, times ascending. Answers are dps by milliseconds.
"""

import fractions
import math


def percentile(numbers, percent):
    ordered = sorted(numbers)
    rank = fractions.Fraction(percent) / 100 * (len(ordered) - 1)
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (rank - below)


def deviation(numbers):
    mean = sum(numbers) / len(numbers)
    return math.sqrt(sum((number - mean) ** 2 for number in numbers) / len(numbers))


FOLDS = {
    "sum": sum, "zimsum": sum, "min": min, "mimmin": min, "max": max, "mimmax": max, "count": len,
    "avg": lambda numbers: sum(numbers) / len(numbers), "dev": deviation,
    "first": lambda numbers: numbers[0], "last": lambda numbers: numbers[-1],
    "p50": lambda numbers: percentile(numbers, 50), "p75": lambda numbers: percentile(numbers, 75),
    "p90": lambda numbers: percentile(numbers, 90), "p95": lambda numbers: percentile(numbers, 95),
    "p99": lambda numbers: percentile(numbers, 99),
    "p999": lambda numbers: percentile(numbers, fractions.Fraction(999, 10)),
}
INTERPOLATING = {"sum", "min", "max", "avg", "dev", "p50", "p75", "p90", "p95", "p99", "p999"}


def downsampled(points, width, name, first, last, fill=None):
    """Whole steps from that of `first` to that of `last`; fill: {} or {"value": number or None}."""
    steps = {}
    for time, number in points:
        start = time - time % width
        if first - first % width <= start <= last:
            steps.setdefault(start, []).append(number)
    made = {start: FOLDS[name](numbers) for start, numbers in steps.items()}
    if fill is not None and made:
        for start in range(first - first % width, last + 1, width):
            made.setdefault(start, fill["value"])
    return sorted(made.items())


def rates(points, counter=None, reset=0, drop=False):
    """counter: the greatest number of a counter; None: it is a gauge."""
    told = []
    for (before, number), (time, after) in zip(points, points[1:]):
        seconds = (time - before) / 1000
        if number is None or after is None:
            told.append((time, None))
        elif counter is None or after >= number:
            told.append((time, (after - number) / seconds))
        elif not drop:
            rate = (counter - number + after) / seconds
            told.append((time, 0 if 0 < reset < rate else rate))
    return told


def counts_at(points, time, interpolates):
    """What a series counts with at a time; None: it does not."""
    at = dict(points)
    if time in at:
        return at[time]
    before = [point for point in points if point[0] < time]
    behind = [point for point in points if point[0] > time]
    if not interpolates or not before or not behind or None in (before[-1][1], behind[0][1]):
        return None
    (early, low), (late, high) = before[-1], behind[0]
    return low + (high - low) * fractions.Fraction(time - early, late - early)


def joined(series, name):
    answer = {}
    for time in sorted({time for points in series for time, _ in points}):
        there = [counts_at(points, time, name in INTERPOLATING) for points in series]
        there = [number for number in there if number is not None]
        answer[time] = FOLDS[name](there) if there else None
    return answer
