"""What the commands here share: a server on a scratch folder, the loader beside it, and the options
that all of them have."""

import argparse
import contextlib
import http.client
import json
import math
import os
import pathlib
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import report
import servers

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
START_MS = 1_735_689_600_000  # 2025-01-01T00:00:00Z, the loader's own
LOAD_SECONDS = 900
QUERY_SECONDS = 180
QUICK_SIZE = 0.05
# One run differs from the next by a fifth, more than most of what is to be told apart.
ROUNDS = 3
BYTES_OF_VALUE = 26  # In a body, name included; of an event there are as many beside its values.
BYTES_OF_MACHINE = 256  # In the loader, beside its values.
Unavailable = servers.Unavailable


def say(text):
    print(text, file=sys.stderr, flush=True)


def make_parser(description):
    parser = argparse.ArgumentParser(description=description.strip().splitlines()[0])
    parser.add_argument("--size", type=float, default=1,
                        help="how much of the data, 1 being what the figures are for (%(default)s)")
    parser.add_argument("--quick", dest="size", action="store_const", const=QUICK_SIZE,
                        help=f"--size {QUICK_SIZE}: to see that it works")
    parser.add_argument("--cpus", type=int, default=2,
                        help="shared by server and loader (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="leave the scratch folders")
    parser.add_argument("--save", metavar="TITLE",
                        help="write it to bench/RESULTS.md, as the section of that title")
    return parser


def _at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number from 1 on is wanted, not {text}")
    return int(text)


def add_rounds(parser):
    parser.add_argument("--rounds", type=_at_least_one,
                        help="measure each so often, in turns, and take the medians "
                             f"({ROUNDS}; of less than all of the data, 1)")


def rounds(arguments):
    if arguments.rounds is not None:
        return arguments.rounds
    return ROUNDS if arguments.size >= 1 else 1


def tell_rounds(count):
    """What a headline says of them."""
    return f"; medians of {count}, in turns" if count > 1 else ""


def add_servers(parser, default):
    parser.add_argument("--servers", type=_server_names, default=default,
                        help="which to run (%(default)s)")


def _server_names(text):
    names = text.split(",")
    unknown = set(names) - set(servers.NAMES)
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{', '.join(servers.NAMES)} are known, not {', '.join(unknown)}")
    return names


def scaled(requests, size, multiple=1):
    """At least one request for each of `multiple`, and a whole number of these."""
    return max(1, math.ceil(requests * size / multiple)) * multiple


def loader_binary():
    path = BUILD / "fleet_bench"
    if not path.exists():
        sys.exit(f"bench: {path} is not built; `make bench` builds it")
    return path


def limit_cpus(count):
    """Keeps this process and its children on `count` CPUs; returns these."""
    allowed = sorted(os.sched_getaffinity(0))[:count]
    os.sched_setaffinity(0, allowed)
    return allowed


def check_memory(requests, events=100, metrics=100, machines=0):
    needed = requests * events * (metrics + 1) * BYTES_OF_VALUE + machines * BYTES_OF_MACHINE
    with open("/proc/meminfo") as meminfo:
        line = next(line for line in meminfo if line.startswith("MemAvailable"))
    free = int(line.split()[1]) * 1024
    if needed > free / 2:
        sys.exit(f"bench: {requests} requests take {needed >> 20} MiB, and only "
                 f"{free >> 20} MiB are free: give less --size")


@contextlib.contextmanager
def running(name, config="fleet", keep=False, cpus=None, tls=False):
    """Yields the server of that name, started on an empty folder; ends it and removes the folder, also
    when this process is told to end. `config` names the file of tallyd's; on `cpus`, a list, the
    server is pinned; with `tls` it speaks nothing else."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended"))
    BUILD.mkdir(exist_ok=True)
    # Beside the build, not in /tmp, which may be memory: an fsync must cost what it costs.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=BUILD))
    try:
        server = servers.make_server(name, scratch, BUILD / "tallyd",
                                     ROOT / "bench" / f"{config}.toml", BUILD / "peers", tls)
        server.cpus = cpus
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        if keep:
            say(f"  kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


def load(server, settle=True, cpus=None, **options):
    """Runs the loader with --OPTION VALUE of each; returns what it printed. Without `settle` the
    data stays as the last answer left it. On `cpus`, a list, the loader is pinned."""
    command = [loader_binary(), "--url", server.url, "--pid", server.process.pid,
               "--data-dir", server.data_dir, "--format", server.data_format, "--json"]
    options.setdefault("start_ms", START_MS)
    for option, value in options.items():
        command += ["--" + option.replace("_", "-"), value]
    if settle:
        command += ["--idle-seconds", server.idle_seconds]
        for step in server.settle:
            command += ["--settle", step]
    else:
        command += ["--settle", f"GET {server.ready_path()}", "--settle-seconds", 0]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True,
                          timeout=LOAD_SECONDS, preexec_fn=servers.pinning(cpus))
    if done.returncode != 0:
        raise Unavailable("the load failed (see above)")
    return json.loads(done.stdout)


def first(cpus, count):
    """The first so many of the CPUs; None where no count is given."""
    if count and count > len(cpus):
        sys.exit(f"bench: {count} cores are more than the {len(cpus)} of --cpus")
    return cpus[:count] if count else None


def load_beside(server, cpus, server_cores, **options):
    """load() of a server that is pinned to the first `server_cores` of the CPUs, if any: the loader
    has the others. What it takes of the server's, where there are no others, is left out of
    `alone_s`, the wall time that the load would have taken without it."""
    others = cpus[server_cores:] if server_cores else None
    result = load(server, cpus=others, **options)
    result["alone_s"] = result["wall_s"]
    if server_cores and not others:
        result["alone_s"] -= result["loader_cpu_s"] / server_cores
    return result


def median_ms(server, target, repeat):
    """None where the query failed, which is said."""
    done = subprocess.run([loader_binary(), "--url", server.url, "--get", target, "--repeat",
                           str(repeat), "--json"], stdout=subprocess.PIPE, text=True,
                          timeout=QUERY_SECONDS)
    return json.loads(done.stdout)["median_ms"] if done.returncode == 0 else None


def ask(server, asked, repeat):
    """Asks (name, target, reader) each; returns the medians, and the answers as the readers tell
    them, by name. Of a query that failed the median is None, and there is no answer."""
    medians, answers = {}, {}
    for name, target, read in asked:
        try:
            answers[name] = read(server.get(target))
            medians[name] = median_ms(server, target, repeat)
        except (OSError, ValueError, KeyError, IndexError, http.client.HTTPException,
                subprocess.TimeoutExpired) as error:
            say(f"  {name}: {error}")
            medians[name] = None
    return medians, answers


def ask_in_turns(asked, repeat, count):
    """Asks several servers what ask() asks one of: by key, the server and a list of its queries, of the
    same names as the others'. So often, each query of all of them before the next, so that a slow
    minute of the machine is all of theirs. Returns what ask() does, by key: the medians of the
    rounds, and the last answers."""
    results = {key: ({}, {}) for key in asked}
    rounds_of = {}
    for _ in range(count):
        for queries in zip(*(queries for _, queries in asked.values()), strict=True):
            for key, query in zip(asked, queries):
                medians, answers = ask(asked[key][0], [query], repeat)
                rounds_of.setdefault((key, query[0]), []).append(medians[query[0]])
                results[key][1].update(answers)
    for (key, name), medians in rounds_of.items():
        results[key][0][name] = None if None in medians else statistics.median_low(medians)
    return results


def finish(arguments, parts, faults=()):
    """Prints the parts, a line per fault, and where they were measured; saves them if asked to.
    Returns the exit status. A target that is missed is no fault: the table says it."""
    parts = list(parts)
    if faults:
        parts.append("\n".join(f"- FAULT: {fault}" for fault in faults))
    cpus = len(os.sched_getaffinity(0))
    machine, commit = report.describe_machine(cpus), report.describe_commit(ROOT)
    print("\n" + "\n\n".join([*parts, f"{machine}; commit {commit}"]), flush=True)
    if arguments.save:
        command = shlex.join(["bench/" + pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])
        report.save(ROOT / "bench" / "RESULTS.md", arguments.save, parts, machine, commit, command)
    return 1 if faults else 0
