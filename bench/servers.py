"""The servers that bench/run compares: how each is started on a scratch folder, settled and asked.

Every server listens on loopback only, is started as a child and ended by its own process id. The
peers come from Debian's packages, unpacked below build/peers and never installed.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

START_SECONDS = 30
STOP_SECONDS = 60
DOWNLOAD_SECONDS = 120
NAMES = ["tallyd", "victoria-metrics", "influxdb"]


class Unavailable(Exception):
    """A server that cannot take part, with the reason."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def unpack_package(name, binary, peers_dir):
    """Returns the path of `binary` and the version of the Debian package that holds it."""
    folder = peers_dir / name
    path = folder / "root" / binary
    if not path.exists():
        if not (shutil.which("apt-get") and shutil.which("dpkg")):
            raise Unavailable("no apt-get and dpkg to take it from Debian's packages with")
        folder.mkdir(parents=True, exist_ok=True)
        got = subprocess.run(["apt-get", "download", name], cwd=folder, capture_output=True,
                             text=True, timeout=DOWNLOAD_SECONDS)
        archives = sorted(folder.glob("*.deb"))
        if got.returncode != 0 or not archives:
            raise Unavailable(f"`apt-get download {name}` failed: {got.stderr.strip()[-200:]}")
        subprocess.run(["dpkg", "-x", archives[-1], folder / "root"], check=True,
                       timeout=DOWNLOAD_SECONDS)
    archives = sorted(folder.glob("*.deb"))
    version = re.match(r"[^_]*_([0-9.]+)", archives[-1].name).group(1) if archives else "?"
    return path, version


class Server:
    """One server process. Subclasses say how it is started and asked."""

    flavour = ""          # which spelling of the queries it understands
    data_format = ""
    durability = ""
    settle = []           # requests that make it do now what it would do later
    idle_seconds = 2      # how long it must be idle to count as settled

    def __init__(self, title, scratch):
        self.title = title
        self.scratch = pathlib.Path(scratch)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data_dir = self.scratch / "data"
        self.process = None

    def command(self):
        raise NotImplementedError

    def ready_path(self):
        raise NotImplementedError

    def prepare(self):
        """Called once it answers."""

    def start(self):
        self.scratch.mkdir(parents=True)
        command = [str(part) for part in self.command()]
        with open(self.log_path(), "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Unavailable(f"did not start: {self._log_tail()}")
            time.sleep(0.1)
        self.prepare()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def log_path(self):
        return self.scratch / "log"

    def get(self, target):
        with urllib.request.urlopen(self.url + target, timeout=120) as answer:
            return answer.read()

    def _answers(self):
        try:
            self.get(self.ready_path())
            return True
        except (urllib.error.URLError, OSError):
            return False

    def _log_tail(self):
        lines = self.log_path().read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class Tallyd(Server):
    flavour = "tallyd"
    data_format = "native"
    durability = "on disk (fsync)"
    settle = ["POST /-/settle"]

    def __init__(self, scratch, binary, config):
        super().__init__("tallyd", scratch)
        self.binary = binary
        self.config = config

    def command(self):
        text = pathlib.Path(self.config).read_text()
        text = re.sub(r'(?m)^listen\s*=.*$', f'listen = "127.0.0.1:{self.port}"', text)
        copy = self.scratch / "tallyd.toml"
        copy.write_text(text)
        return [self.binary, "serve", "--config", copy]

    def ready_path(self):
        return "/readyz"


class VictoriaMetrics(Server):
    flavour = "victoria"
    data_format = "influx-line"
    durability = "in memory"
    settle = ["GET /internal/force_flush", "GET /internal/force_merge"]

    def __init__(self, scratch, peers_dir):
        self.binary, version = unpack_package("victoria-metrics", "usr/bin/victoria-metrics",
                                              peers_dir)
        super().__init__(f"VictoriaMetrics {version}", scratch)

    def command(self):
        return [self.binary, f"-storageDataPath={self.data_dir}",
                f"-httpListenAddr=127.0.0.1:{self.port}", "-retentionPeriod=100y"]

    def ready_path(self):
        return "/health"


INFLUX_CONFIG = """\
reporting-disabled = true
bind-address = "127.0.0.1:{rpc_port}"
[meta]
  dir = "{data}/meta"
[data]
  dir = "{data}/data"
  wal-dir = "{data}/wal"
  query-log-enabled = false
  # Soon, not after hours: what it would compact later belongs to what the load cost.
  cache-snapshot-write-cold-duration = "5s"
  compact-full-write-cold-duration = "5s"
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  log-enabled = false
[continuous_queries]
  enabled = false
[subscriber]
  enabled = false
"""


class InfluxDb(Server):
    flavour = "influx"
    data_format = "influx-line"
    durability = "in its log (fsync)"
    idle_seconds = 12     # its full compaction begins some seconds after the others have ended

    def __init__(self, scratch, peers_dir):
        self.binary, version = unpack_package("influxdb", "usr/bin/influxd", peers_dir)
        super().__init__(f"InfluxDB {version}", scratch)

    def command(self):
        config = self.scratch / "influxdb.conf"
        config.write_text(INFLUX_CONFIG.format(rpc_port=free_port(), port=self.port,
                                               data=self.data_dir))
        return [self.binary, "-config", config]

    def ready_path(self):
        return "/ping"

    def prepare(self):
        body = urllib.parse.urlencode({"q": "CREATE DATABASE bench"}).encode()
        urllib.request.urlopen(self.url + "/query", data=body, timeout=30).read()


def make_server(name, scratch, binary, config, peers_dir):
    folder = pathlib.Path(scratch) / name
    if name == "tallyd":
        if not os.access(binary, os.X_OK):
            raise Unavailable(f"{binary} is not built")
        return Tallyd(folder, binary, config)
    return {"victoria-metrics": VictoriaMetrics, "influxdb": InfluxDb}[name](folder, peers_dir)
