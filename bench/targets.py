"""What an hour of the fleet is to reach and what it aims for, beside what was measured.

The first two are ratios to VictoriaMetrics in the same run, so that the machine does not matter;
the others are plain.
"""

import report


def _of_load(read):
    return lambda result: read(result["load"])


def _per_cpu(load):
    return load["samples"] / max(load["cpu_settled_s"], 0.01)


def _wall(load):
    return load["samples"] / load["wall_s"]


def _ratio(value):
    return f"{value:.1f}x"


def _bytes(value):
    return f"{value:.2f}"


# (label, how to read it, a ratio to the baseline?, how to print it, must, aim)
TARGETS = [
    ("samples per CPU-second, settled", _of_load(_per_cpu), True, _ratio, 5, 8),
    ("samples/s, wall", _of_load(_wall), True, _ratio, 4, 6),
    ("bytes per sample, settled", _of_load(lambda load: load["disk_bytes"] / load["samples"]),
     False, _bytes, 1.3, 1.0),
    ("one machine, one hour", lambda result: result["queries"]["one_machine"], False,
     report.milliseconds, 6, 3),
    ("latest of all", lambda result: result["queries"]["latest"], False, report.milliseconds,
     40, 10),
    ("max of 8 machines", lambda result: result["queries"]["max_of_eight"], False,
     report.milliseconds, 1.4, 0.7),
    ("max of 1,000 machines", lambda result: result["queries"]["max_of_all"], False,
     report.milliseconds, 27, 15),
    ("peak memory", _of_load(lambda load: load["peak_bytes"]), False, report.megabytes,
     350e6, 250e6),
]


def _standing(value, must, aim, more_is_better):
    if (value >= aim) if more_is_better else (value <= aim):
        return "aim reached"
    if (value >= must) if more_is_better else (value <= must):
        return "must reached"
    return "MISSED"


def build_table(results):
    """None unless both tallyd and the baseline were measured, for an hour."""
    measured, baseline = results.get("tallyd"), results.get(report.BASELINE)
    if not measured or not baseline:
        return None
    rows = [["figure", "must", "aim", "tallyd", ""]]
    for label, read, is_ratio, spell, must, aim in TARGETS:
        value = read(measured)
        if value is None:
            return None
        if is_ratio:
            value /= read(baseline)
        rows.append([label, spell(must), spell(aim), spell(value),
                     _standing(value, must, aim, is_ratio)])
    return report.aligned(rows)
