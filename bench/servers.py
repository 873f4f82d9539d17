"""The servers that are compared: how each is started on a scratch folder, settled and asked.

Every server listens on loopback only, is started as a child and ended by its own process id. The
peers come from Debian's packages, unpacked below build/peers and never installed.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

START_SECONDS = 30
STOP_SECONDS = 60
DOWNLOAD_SECONDS = 180
DEBIAN = "http://deb.debian.org/debian"
KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PEERS = ["victoria-metrics", "victoria-metrics-1.79"]
NAMES = ["tallyd", *PEERS, "influxdb"]
# Debian 12 has VictoriaMetrics 1.79, and the next one a newer.
SUITES = {"victoria-metrics": "trixie", "victoria-metrics-1.79": "bookworm", "influxdb": "bookworm"}


class Unavailable(Exception):
    """A server that cannot take part, with the reason."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinning(cpus):
    """What a child is to do first so that it stays on `cpus`; None where it may run anywhere."""
    return (lambda: os.sched_setaffinity(0, cpus)) if cpus else None


def _apt(folder, *arguments):
    """Runs apt-get in `folder`; returns None, or why it failed."""
    done = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", *arguments],
                          cwd=folder, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)
    return None if done.returncode == 0 else done.stderr.strip()[-200:]


def _mirror():
    """Where this machine takes Debian's packages from."""
    told = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(COMPONENT) $(REPO_URI)",
                           "Created-By: Packages"], capture_output=True, text=True, check=False)
    lines = [line.split() for line in told.stdout.splitlines()]
    found = (line[2] for line in lines if line[:2] == ["Debian", "main"] and len(line) == 3)
    return next((uri for uri in found if "security" not in uri), DEBIAN)


def _lists_of_suite(folder, suite):
    """apt's options for the packages of that suite alone, with lists of its own below `folder`: what
    the machine has installed, and from where, stays as it is."""
    own = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (own / part).mkdir(parents=True, exist_ok=True)
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    (own / "sources.list").write_text(f"deb {signed}{_mirror()} {suite} main\n")
    options = [f"Dir::State::lists={own}/lists", f"Dir::Cache={own}/cache",
               f"Dir::Etc::sourcelist={own}/sources.list", "Dir::Etc::sourceparts=/dev/null",
               "Acquire::Languages=none"]
    return [word for option in options for word in ("-o", option)]


def _installed(package):
    """The version of the package where the machine has it."""
    if not shutil.which("dpkg-query"):
        return None
    told = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package],
                          capture_output=True, text=True, check=False).stdout.split()
    return told[1] if told[:1] == ["installed"] else None


def _upstream(version):
    """1.79.5 of 1.79.5+ds1-2+b5."""
    return re.match(r"[0-9.]*", version).group(0)


def find_package(package, binary, suite, peers_dir):
    """Returns the path of `binary` and the version of the package of that suite that holds it:
    unpacked earlier, unpacked now, or, where it cannot be had, the installed one."""
    folder = peers_dir / f"{package}-{suite}"
    path = folder / "root" / binary
    if not path.exists() and (failure := _unpack(package, suite, folder)):
        if not (version := _installed(package)):
            raise Unavailable(failure)
        return pathlib.Path("/") / binary, _upstream(version)
    archive = max(folder.glob("*.deb"))
    return path, _upstream(archive.name.split("_")[1])


def _unpack(package, suite, folder):
    """Unpacks the package below `folder`; returns None, or why it could not."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return "no apt-get and dpkg-deb to take it from Debian's packages with"
    folder.mkdir(parents=True, exist_ok=True)
    options = _lists_of_suite(folder, suite)
    try:
        failure = _apt(folder, *options, "update") or _apt(folder, *options, "download", package)
    finally:
        shutil.rmtree(folder / "apt", ignore_errors=True)
    if failure:
        return f"no {package} of {suite}: {failure}"
    subprocess.run(["dpkg-deb", "-x", max(folder.glob("*.deb")), folder / "root"], check=True,
                   timeout=DOWNLOAD_SECONDS)
    return None


class Certificate:
    """Signed by itself, for loopback, of the kind that is cheapest to show (ECDSA on P-256)."""

    def __init__(self, folder):
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                               "-nodes", "-days", "2", "-subj", "/CN=bench", "-addext",
                               "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.cert],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"openssl made no certificate: {done.stderr.strip()[-200:]}")
        self.key.chmod(0o600)

    def context(self):
        return ssl.create_default_context(cafile=self.cert)


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
        self.tls = None
        self.data_dir = self.scratch / "data"
        self.process = None
        self.cpus = None      # set before start(): the ones that it may run on

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def speak_tls(self):
        """From its start on, with a certificate of its own."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.tls = Certificate(self.scratch)

    def command(self):
        raise NotImplementedError

    def ready_path(self):
        raise NotImplementedError

    def prepare(self):
        """Called once it answers."""

    def start(self):
        """Returns once it is ready, or raises Unavailable. Again after stop(): with the data that
        it left."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        command = [str(part) for part in self.command()]
        with open(self.log_path(), "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL,
                                            preexec_fn=pinning(self.cpus))
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise Unavailable(f"did not start: {self._log_tail()}")
            time.sleep(0.01)
        self.prepare()

    def restart(self):
        """Ends it in its own time; returns the seconds from its next start until it is ready."""
        self.stop()
        if self.process.returncode != 0:
            raise Unavailable(f"did not end by itself: {self._log_tail()}")
        began = time.monotonic()
        self.start()
        return time.monotonic() - began

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024

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
        context = self.tls.context() if self.tls else None
        with urllib.request.urlopen(self.url + target, timeout=120, context=context) as answer:
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
        listen = f'"127.0.0.1:{self.port}"'
        if self.tls:
            listen = f'[{{ at = {listen}, tls = true }}]\ntls = {{ cert = "{self.tls.cert}", key = "{self.tls.key}" }}'
        text = re.sub(r'(?m)^listen\s*=.*$', f"listen = {listen}", text)
        copy = self.scratch / "tallyd.toml"
        copy.write_text(text)
        return [self.binary, "serve", "--config", copy]

    def ready_path(self):
        return "/readyz"

    def metric(self, name):
        """The value of a metric without labels."""
        text = self.get("/metrics").decode()
        return float(re.search(rf"(?m)^{name} (\S+)$", text).group(1))


class VictoriaMetrics(Server):
    flavour = "victoria"
    data_format = "influx-line"
    durability = "in memory"
    settle = ["GET /internal/force_flush", "GET /internal/force_merge"]

    def __init__(self, scratch, peers_dir, suite):
        self.binary, version = find_package("victoria-metrics", "usr/bin/victoria-metrics", suite,
                                            peers_dir)
        super().__init__(f"VictoriaMetrics {version}", scratch)

    def command(self):
        return [self.binary, f"-storageDataPath={self.data_dir}",
                f"-httpListenAddr=127.0.0.1:{self.port}", "-retentionPeriod=100y",
                *(["-tls", f"-tlsCertFile={self.tls.cert}", f"-tlsKeyFile={self.tls.key}"] if self.tls else [])]

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

    def speak_tls(self):
        raise Unavailable("it is measured without TLS")

    def __init__(self, scratch, peers_dir, suite):
        self.binary, version = find_package("influxdb", "usr/bin/influxd", suite, peers_dir)
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


def make_server(name, scratch, binary, config, peers_dir, tls=False):
    server = _make_server(name, scratch, binary, config, peers_dir)
    if tls:
        server.speak_tls()
    return server


def _make_server(name, scratch, binary, config, peers_dir):
    folder = pathlib.Path(scratch) / name
    if name == "tallyd":
        if not os.access(binary, os.X_OK):
            raise Unavailable(f"{binary} is not built")
        return Tallyd(folder, binary, config)
    kind = InfluxDb if name == "influxdb" else VictoriaMetrics
    return kind(folder, peers_dir, SUITES[name])
