"""Tables of what was measured, and their place in RESULTS.md. Beside a figure of bench/run stands how
many times better it is than that of the better VictoriaMetrics: there may be two."""

import pathlib
import platform
import re
import subprocess
import time


def is_peer(name):
    """Whether the server of that name is one to be measured by."""
    return name.startswith("victoria-metrics")


def better(values, more_is_better):
    """None where there is none."""
    known = [value for value in values if value is not None]
    return (max if more_is_better else min)(known, default=None)


def better_peer(results, read, more_is_better):
    return better([read(result) for name, result in results.items() if is_peer(name)],
                  more_is_better)


def millions(value):
    return f"{value / 1e6:.2f} M"


def milliseconds(value):
    return f"{value:.1f} ms" if value >= 10 else f"{value:.2f} ms"


def megabytes(value):
    return f"{value / 1e6:.0f} MB"


def _load_rows():
    """(label, how to read it from a result, how to print it, whether more is better)."""
    return [
        ("samples per CPU-second, settled",
         lambda load: load["samples"] / max(load["cpu_settled_s"], 0.01), millions, True),
        ("samples/s, wall", lambda load: load["samples"] / load["wall_s"], millions, True),
        ("request p50", lambda load: load["p50_ms"], milliseconds, False),
        ("request p99", lambda load: load["p99_ms"], milliseconds, False),
        ("request max", lambda load: load["max_ms"], milliseconds, False),
        ("bytes per sample, settled", lambda load: load["disk_bytes"] / load["samples"],
         lambda value: f"{value:.2f}", False),
        ("peak memory", lambda load: load["peak_bytes"], megabytes, False),
    ]


def _query_label(name, minutes):
    values = minutes * 60 // 5 * 100
    return {
        "one_machine": f"one machine, {minutes} min, 100 metrics ({values:,} values)",
        "latest": "latest of 1,000 machines x 100 metrics",
        "max_of_eight": f"max per minute, 1 metric, 8 machines, {minutes} min",
        "max_of_all": f"max per minute, 1 metric, 1,000 machines, {minutes} min",
    }[name]


def _cell(value, baseline, spell, more_is_better, is_peers):
    if value is None:
        return "-"
    if is_peers or not baseline or not value:
        return spell(value)
    ratio = value / baseline if more_is_better else baseline / value
    return f"{spell(value)} ({ratio:.1f}x)" if ratio < 100 else f"{spell(value)} ({ratio:.0f}x)"


def build_table(results, minutes):
    """`results` maps a server's name to {"title", "durability", "load", "queries"}."""
    names = list(results)
    rows = [
        ["figure (times better than the better VictoriaMetrics)"] + [results[name]["title"] for name in names],
        ["an acknowledged request is"] + [results[name]["durability"] for name in names],
    ]

    def add(label, read, spell, more_is_better):
        baseline = better_peer(results, read, more_is_better)
        rows.append([label] + [_cell(read(results[name]), baseline, spell, more_is_better,
                                     is_peer(name)) for name in names])

    load_rows = _load_rows()
    if any(result["load"]["alone_s"] != result["load"]["wall_s"] for result in results.values()):
        load_rows.insert(2, ("samples/s, the loader counted out",
                             lambda load: load["samples"] / load["alone_s"], millions, True))
    for label, read, spell, more_is_better in load_rows:
        add(label, lambda result, read=read: read(result["load"]), spell, more_is_better)
    asked = next((result["queries"] for result in results.values() if result["queries"]), {})
    for query in asked:
        add(_query_label(query, minutes),
            lambda result, query=query: result["queries"].get(query), milliseconds, False)
    return aligned(rows)


def aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(cells):
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(rows[0]), rule] + [line(row) for row in rows[1:]])


def describe_machine(cpus):
    model = platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{model}, {cpus} CPUs shared with the loader, Linux {platform.release()}"


def describe_commit(root):
    def git(*arguments):
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True,
                              timeout=30).stdout.strip()

    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    # Of what is measured: the file of results changes with each section that is saved.
    changes = git("status", "--porcelain", "-uno", "--", ".", ":!bench/RESULTS.md")
    return commit + (" with changes" if changes else "")


def save(path, title, parts, machine, commit, command):
    """Puts the section of that title in the place of the one that the file has, or at its end."""
    section = "\n\n".join([f"## {title}", *parts, "\n".join(
        [f"- measured: {time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit}",
         f"- machine: {machine}", f"- command: `{command}`"])]) + "\n"
    path = pathlib.Path(path)
    text = path.read_text() if path.exists() else "# Measured\n"
    sections = re.split(r"(?m)^(?=## )", text)
    place = next((i for i, old in enumerate(sections) if old.startswith(f"## {title}\n")), None)
    if place is None:
        sections[-1] = sections[-1].rstrip("\n") + "\n\n"
        sections.append(section)
    else:
        sections[place] = section + ("\n" if place + 1 < len(sections) else "")
    path.write_text("".join(sections))
