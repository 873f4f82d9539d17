"""Programs that others wrote, as Debian has them, write to a tallyd by recipes of docs/agents."""

import json
import os
import pwd
import socket
import time
import unittest

from tests.e2e.agents import (AgentTest, Between, INFLUX, OPENTSDB, PYTHON, answers_at, config_of,
                              filled, path_of)
from tests.e2e.tallyd import ANSWER_SECONDS, eventually, free_port
from tests.e2e.test_secrets import entry, new_token

IMPORT = """# DDL
CREATE DATABASE telegraf

# DML
# CONTEXT-DATABASE: telegraf
"""

CLIENT = """
import sys, time
from influxdb import InfluxDBClient
from influxdb.exceptions import InfluxDBServerError

client = InfluxDBClient("127.0.0.1", int(sys.argv[1]), "anybody", sys.argv[2], "telegraf",
                        timeout=30, retries=1)
print(client.ping())
client.create_database("telegraf")
print(client.get_list_database())
client.write_points([])  # As Home Assistant tries whether it may.
for number in range(int(sys.argv[3])):
    points = [{"measurement": "cpu", "tags": {"host": host, "room": "a b"},
               "time": 1700000000000 + number,
               "fields": {"v": number + 0.5, "n": number, "s": 'x"y', "b": True}}
              for host in ("a", "b")]
    while True:
        try:
            client.write_points(points, time_precision="ms")
            break
        except (IOError, InfluxDBServerError):
            time.sleep(0.02)
    print(number, flush=True)
"""


class InfluxClientsTest(AgentTest):
    def test_the_shell_of_influxdb_imports_and_inserts(self):
        influx = path_of("usr/bin/influx")
        tallyd = self.start(INFLUX)
        file = tallyd.directory / "import"
        lines = "".join(f"cpu,host=h{n % 7} v={n}.5,n={n}i {1_700_000_000_000 + n}\n"
                        for n in range(6000))  # More than it sends at once.
        file.write_text(IMPORT + lines, encoding="utf-8")
        ask = [influx, "-host", "127.0.0.1", "-port", str(tallyd.port)]
        said = self.run_agent([*ask, "-import", f"-path={file}", "-precision=ms"])
        self.assertIn("Processed 6000 inserts", said)
        self.assertIn("Failed 0 inserts", said)
        said = self.run_agent([*ask, "-database", "telegraf", "-precision", "ms", "-execute",
                               "INSERT cpu,host=h8 v=1,n=1i 1700000000000"])
        self.assertNotIn("ERR", said)
        said = self.run_agent([*ask, "-database", "telegraf", "-execute",
                               "INSERT cpu,host=h8 host=1"])
        self.assertIn("host", said, "what is wrong reaches who types it")
        self.assertIn("telegraf", self.run_agent([*ask, "-execute", "SHOW DATABASES"]))
        events = self.all_events(tallyd, "telegraf")
        self.assert_once(events, ["host"])
        self.assertEqual({(f"h{n % 7}", 1_700_000_000_000 + n, n + 0.5, n) for n in range(6000)} |
                         {("h8", 1_700_000_000_000, 1.0, 1)},
                         {(one["host"], one["ts"], one["v"], one["n"]) for one in events})

    def test_a_kill_loses_and_doubles_nothing_of_the_client_for_python(self):
        path_of("usr/lib/python3/dist-packages/influxdb/__init__.py")
        token, reader = new_token(), new_token()
        tallyd = self.start(INFLUX + entry("agent", token, "write") + entry("reader", reader))
        script = tallyd.directory / "client.py"
        script.write_text(CLIENT, encoding="utf-8")
        log = tallyd.directory / "client.log"
        client = self.start_agent([PYTHON, str(script), str(tallyd.port), token, "60"], log)
        written = lambda: len(log.read_text(encoding="utf-8").split())
        eventually(lambda: written() > 15 or client.poll() is not None, "it writes")
        self.kill_and_start(tallyd)
        client.wait(ANSWER_SECONDS)
        self.assertEqual(0, client.returncode, log.read_text(encoding="utf-8"))
        answer = tallyd.get("/v1/streams/telegraf/events", scan=1, format="ndjson",
                            headers={"Authorization": f"Bearer {reader}"})
        events = answer.expect(200).lines
        self.assertEqual(120, len(events))
        self.assertEqual(
            {(host, 1_700_000_000_000 + n, n + 0.5, n) for host in "ab" for n in range(60)},
            {(one["host"], one["ts"], one["v"], one["n"]) for one in events})
        self.assertEqual({("a b", 'x"y', True)},
                         {(one["room"], one["s"], one["b"]) for one in events})


class CollectdTest(AgentTest):
    def configuration(self, tallyd, port):
        section = filled(dict(config_of("collectd.md"))["apache"], {
            '"4242"': f'"{port}"', "ResolveInterval 10": "ResolveInterval 1",
            "ResolveJitter 2": "ResolveJitter 0"})
        plugins = path_of("usr/lib/collectd")
        types = path_of("usr/share/collectd/types.db")
        file = tallyd.directory / "collectd.conf"
        file.write_text(
            f'Hostname "web1"\nFQDNLookup false\nBaseDir "{tallyd.directory}"\n'
            f'PIDFile "{tallyd.directory}/pid"\nPluginDir "{plugins}"\nTypesDB "{types}"\n'
            f'Interval 0.2\nReadThreads 1\nLoadPlugin load\nLoadPlugin memory\n{section}',
            encoding="utf-8")
        return file

    def test_its_lines_are_events_and_go_on_after_a_kill(self):
        collectd = path_of("usr/sbin/collectd")
        port = free_port()
        recipe = filled(dict(config_of("collectd.md"))["toml"], {":4242": f":{port}"})
        tallyd = self.start(recipe)
        self.assertTrue(answers_at(port))
        self.start_agent([collectd, "-f", "-C", str(self.configuration(tallyd, port))],
                         tallyd.directory / "collectd.log")

        def seconds():
            answer = tallyd.get("/v1/streams/opentsdb/events", scan=1, format="ndjson",
                                fields="load.load.shortterm")
            return {one["ts"] for one in answer.lines} if answer.status == 200 else set()

        eventually(lambda: len(seconds()) > 1, "load is there")
        latest = tallyd.latest("opentsdb", fqdn="web1", site="berlin")[0]
        self.assertGreaterEqual(latest["load.load.shortterm"], 0)
        self.assertGreater(latest["memory.free.memory"], 0)
        self.kill_and_start(tallyd)
        before = max(seconds())
        eventually(lambda: max(seconds()) > before, "it came back")
        self.assert_once(self.all_events(tallyd, "opentsdb"), ["fqdn", "site"])


class TcollectorTest(AgentTest):
    """It is not in Debian: what it sends, as its source says."""

    def test_its_checks_are_answered_and_its_lines_are_events(self):
        port = free_port()
        recipe = filled(dict(config_of("tcollector.md"))["toml"], {":4242": f":{port}"})
        tallyd = self.start(recipe)
        with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as tsd:
            for at in range(1_700_000_000, 1_700_000_030, 15):
                tsd.sendall(b"version\n")
                self.assertTrue(0 < len(tsd.recv(4096)) < 4096, "it would take it for dead")
                tsd.sendall("".join(f"put {line} host=web1\n" for line in (
                    f"proc.loadavg.1min {at} 0.25", f"proc.stat.cpu {at} 100 type=user",
                    f"proc.stat.cpu {at} 7 type=nice", f"df.bytes.free {at} 1e+06 mount=/",
                    f"tcollector.reader.lines_collected {at} 3 ")).encode())
            tsd.sendall(b"version\n")
            self.assertNotIn(b"put:", tsd.recv(4096), "no line was bad")
        eventually(lambda: len(self.stored(tallyd)) == 8, "all is stored")
        point = {"metric": "proc.loadavg.1min", "timestamp": 1_700_000_030, "value": 0.5,
                 "tags": {"host": "web1"}}
        answer = tallyd.request("POST", "/api/put", json.dumps([point]), {
            "Content-Type": "application/json", "Accept-Encoding": "identity",
            "Connection": "close", "User-Agent": "Python-urllib/3.11"})
        self.assertIn(answer.status, (200, 204))
        latest = tallyd.latest("opentsdb", host="web1", fields="proc.loadavg.1min")
        self.assertEqual([0.5], [one["proc.loadavg.1min"] for one in latest])

    def stored(self, tallyd):
        answer = tallyd.get("/v1/streams/opentsdb/events", scan=1, format="ndjson")
        return answer.lines if answer.status == 200 else []


NETDATA = """[global]
  hostname = web1
  run as user = {user}
[directories]
  config = {etc}
  stock config = {stock}
  plugins = {plugins}
  web = {home}
  cache = {home}
  lib = {home}
  home = {home}
  log = {home}
  lock = {home}
[db]
  mode = ram
  retention = 300
[logs]
  debug = {home}/debug.log
  error = {home}/error.log
  access = none
[web]
  mode = none
[cloud]
  enabled = no
[ml]
  enabled = no
[health]
  enabled = no
[registry]
  enabled = no
[statsd]
  enabled = no
[plugins]
  enable running new plugins = no
  proc = yes
  timex = no
  idlejitter = no
  tc = no
  diskspace = no
  cgroups = no
  checks = no
  apps = no
  ebpf = no
  perf = no
  slabinfo = no
  nfacct = no
  charts.d = no
  python.d = no
  go.d = no
  netdata monitoring = no
[plugin:proc]
  /proc/net/dev = no
  /proc/diskstats = no
  /proc/mdstat = no
  /proc/vmstat = no
  /proc/interrupts = no
  /proc/softirqs = no
  /proc/pressure = no
  /proc/net/snmp = no
  /proc/net/netstat = no
  /proc/net/sockstat = no
"""


class NetdataTest(AgentTest):
    def start_netdata(self, tallyd, port, token):
        program = path_of("usr/sbin/netdata")
        home, etc = tallyd.directory / "netdata", tallyd.directory / "netdata-etc"
        home.mkdir()
        etc.mkdir()
        (etc / "netdata.conf").write_text(NETDATA.format(
            etc=etc, home=home, user=pwd.getpwuid(os.getuid()).pw_name,
            stock=path_of("usr/lib/netdata/conf.d"),
            plugins=path_of("usr/lib/netdata/plugins.d")), encoding="utf-8")
        (etc / "exporting.conf").write_text(filled(dict(config_of("netdata.md"))["ini"], {
            "127.0.0.1:8780": f"127.0.0.1:{port}", "tly_...": token,
            "update every = 10": "update every = 1", "timeout ms = 20000": "timeout ms = 2000"}),
            encoding="utf-8")
        return self.start_agent([program, "-D", "-c", str(etc / "netdata.conf")],
                                tallyd.directory / "netdata.log")

    def test_what_it_was_told_is_stored_is_there_after_a_kill_and_once(self):
        path_of("usr/sbin/netdata")
        token, reader = new_token(), new_token()
        tallyd = self.start(OPENTSDB + entry("agent", token, "write") + entry("reader", reader))
        reads = {"Authorization": f"Bearer {reader}"}
        with Between(tallyd) as between:
            self.start_netdata(tallyd, between.port, token)
            with_points = lambda: [one for one in between.told("/api/put") if b"metric" in one.body]
            eventually(lambda: len(with_points()) >= 2, "it writes")
            tallyd.kill()
            time.sleep(1)
            tallyd.spawn()
            before = len(with_points())
            eventually(lambda: len(with_points()) > before, "it came back")
            told = with_points()
            answer = tallyd.get("/v1/streams/opentsdb/events", scan=1, format="ndjson",
                                headers=reads)
            events = answer.expect(200).lines
        labels = {name for one in told for point in json.loads(one.body) for name in point["tags"]}
        self.assertIn("host", labels)
        self.assert_once(events, sorted(labels))
        stored = {(one["ts"], one["host"]): one for one in events}
        points = [point for one in told for point in json.loads(one.body)]
        self.assertGreater(len(points), 20)
        for point in points:
            event = stored[(point["timestamp"] * 1000, point["tags"]["host"])]
            self.assertEqual(point["value"], event[point["metric"]], point)


if __name__ == "__main__":
    unittest.main()
