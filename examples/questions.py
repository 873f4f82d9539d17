"""Four questions to a filled tallyd: the curl line of each, and its answer, abridged."""

import datetime
import json
import time
import urllib.error
import urllib.request

SHOWN = 3


def _compact(value):
    return json.dumps(value, ensure_ascii=False)


def _list(name, items, indent):
    """The first few of `items`, one per line, and how many follow."""
    pad = " " * indent
    lines = [pad + item for item in items[:SHOWN]]
    if len(items) > SHOWN:
        lines.append(f"{pad}... {len(items) - SHOWN:,} more {name}")
    return ",\n".join(lines)


def _abridge_table(answer):
    rest = {key: value for key, value in answer.items() if key not in ("columns", "rows")}
    rows = _list("rows", [_compact(row) for row in answer["rows"]], 2)
    return (f'{{"columns": {_compact(answer["columns"])},\n "rows": [\n{rows}],\n '
            + _compact(rest)[1:])


def _abridge_row(answer):
    parts = []
    for family, columns in answer["cells"].items():
        cells = _list("columns", [f"{_compact(name)}: {_compact(cells)}"
                                  for name, cells in columns.items()], 2)
        parts.append(f' {_compact(family)}: {{\n{cells}}}')
    return f'{{"key": {_compact(answer["key"])}, "cells": {{\n' + ",\n".join(parts) + "}}"


def questions(end_ms):
    """(title, target, how to abridge its answer), about the last whole day before `end_ms`."""
    end = datetime.datetime.fromtimestamp(end_ms / 1000, datetime.timezone.utc)
    today = end.date()
    day = today - datetime.timedelta(days=1)
    yield ("One machine, 10:00 to 10:15",
           "/v1/streams/server/events?hostname=server1.bbb.com"
           f"&from={day}T10:00:00Z&to={day}T10:15:00Z", _abridge_table)
    yield "The latest of every machine", "/v1/streams/server/latest", _abridge_table
    yield ("A balloon's highest pressure of every hour of a day",
           "/v1/streams/balloon/events?location=us-west2&balloon=3698&fields=pressure"
           f"&from={day}T00:00:00Z&to={today}T00:00:00Z&step=1h&agg=max", _abridge_table)
    yield ("A meter's day: one row",
           f"/v1/tables/SENSOR/rows/0000987654%23{day:%Y%m%d}", _abridge_row)


def ask_all(url, end_ms):
    """Prints each question with its answer; returns whether all were answered."""
    answered = True
    for number, (title, target, abridge) in enumerate(questions(end_ms), 1):
        print(f"\n{number}. {title}\n\n$ curl -s '{url}{target}'")
        began = time.monotonic()
        try:
            with urllib.request.urlopen(url + target, timeout=60) as response:
                text = response.read()
            milliseconds = 1000 * (time.monotonic() - began)
            print(abridge(json.loads(text)))
            print(f"({milliseconds:.1f} ms, {len(text):,} bytes)")
        except urllib.error.HTTPError as error:
            answered = False
            print(f"HTTP {error.code}: {error.read(500).decode(errors='replace')}")
    return answered
