"""What Telegraf's three outputs send, in their own forms, and what they do with the answers.

The bodies are written here, as Telegraf writes them: cpu, system, disk and docker of a few hosts.
"""

import gzip
import http.client
import json
import threading
import time
import unittest

from tests.e2e.agents import AgentTest, INFLUX, OPENTSDB, config_of
from tests.e2e.tallyd import ANSWER_SECONDS, as_dicts

BEGIN = 1_700_000_000
HOSTS = ("web1", "web2", "db1")


def lines_of(at):
    """An interval of three hosts, each line a measurement, as Telegraf writes them."""
    lines = []
    for number, host in enumerate(HOSTS):
        time_ns = at * 1_000_000_000
        lines += [
            f"cpu,cpu=cpu-total,host={host} usage_user={number}.5,usage_system=0.25,"
            f"usage_idle=98.25 {time_ns}",
            f"cpu,cpu=cpu0,host={host} usage_user=1.25,usage_system=0.5,"
            f"usage_idle=98.25 {time_ns}",
            f"system,host={host} load1={at - BEGIN}.25,n_cpus=4i,n_users=0i {time_ns}",
            f'system,host={host} uptime=800000i {time_ns}',
            f'system,host={host} uptime_format="9 days,  6:13" {time_ns}',
            f"disk,device=sda1,fstype=ext4,host={host},mode=rw,path=/mnt/my\\ disk\\,\\ 1 "
            f"free=1000000i,used_percent=12.5 {time_ns}",
            f'docker,host={host},unit=a\\=b kernel_version="6.1 \\"amd64\\"",paused=false '
            f"{time_ns}"]
    return "".join(line + "\n" for line in lines).encode()


def points_of(at):
    """The same interval of its output for OpenTSDB: values are texts, floats have six decimals."""
    points = []
    for host in HOSTS:
        for metric, value in (("system_load1", f"{at - BEGIN}.250000"), ("system_n_cpus", "4"),
                              ("cpu_usage_user", "1.500000")):
            points.append({"metric": metric, "timestamp": at, "value": value,
                           "tags": {"host": host}})
    return ("[" + ",".join(json.dumps(point) + "\n" for point in points) + "]").encode()


class Output:
    """One of Telegraf's outputs: how it sends a batch, and what it makes of an answer."""

    agent = "Telegraf/1.30.0 Go/1.22.1"

    def __init__(self, tallyd, token=None):
        self.tallyd, self.token = tallyd, token

    def post(self, path, body, headers, chunked=False):
        connection = http.client.HTTPConnection("127.0.0.1", self.tallyd.port,
                                                timeout=ANSWER_SECONDS)
        try:
            headers = {"User-Agent": self.agent, "Accept-Encoding": "gzip", **headers}
            if chunked:
                pieces = (body[at:at + 1000] for at in range(0, len(body), 1000))
                headers["Transfer-Encoding"] = "chunked"
                connection.request("POST", path, pieces, headers, encode_chunked=True)
            else:
                connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            answer.content = answer.read()
            return answer
        finally:
            connection.close()

    def send(self, at):
        raise NotImplementedError

    def outcome(self, status):
        """"sent", "dropped" or "kept"."""
        raise NotImplementedError

    def deliver(self, at):
        """Until it is sent, or dropped; answers which."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            try:
                outcome = self.outcome(self.send(at).status)
            except (OSError, http.client.HTTPException):
                outcome = "kept"
            if outcome != "kept":
                return outcome
            time.sleep(0.02)
        return "kept"


class InfluxV2(Output):
    def send(self, at):
        return self.post("/api/v2/write?bucket=telegraf&org=any", gzip.compress(lines_of(at)), {
            "Content-Type": "text/plain; charset=utf-8", "Content-Encoding": "gzip",
            "Authorization": f"Token {self.token or ''}"})

    def outcome(self, status):
        if status in (200, 201, 202, 204, 206, 207, 208):
            return "sent"
        return "dropped" if 400 <= status < 500 and status not in (401, 403, 413, 429) else "kept"


class InfluxV1(Output):
    """Its body has no length that it knew before."""

    def send(self, at):
        return self.post("/write?db=telegraf", lines_of(at),
                         {"Content-Type": "text/plain; charset=utf-8"}, chunked=True)

    def outcome(self, status):
        if status == 204:
            return "sent"
        return "dropped" if 400 <= status < 500 else "kept"


class OpenTsdb(Output):
    agent = "Go-http-client/1.1"

    def send(self, at):
        return self.post("/api/put", gzip.compress(points_of(at)), {
            "Content-Type": "applicaton/json", "Content-Encoding": "gzip"})  # So it spells it.

    def outcome(self, status):
        if 200 <= status < 300:
            return "sent"
        return "dropped" if 400 <= status < 500 else "kept"


class TelegrafTest(AgentTest):
    def test_the_recipe_takes_what_it_writes_and_a_host_is_a_range(self):
        _, recipe = config_of("telegraf.md")[0]
        self.assertLessEqual(len(recipe.splitlines()), 3)
        tallyd = self.start(recipe)
        for output in InfluxV2(tallyd), InfluxV1(tallyd):
            for at in range(BEGIN, BEGIN + 50, 10):
                answer = output.send(at)
                self.assertEqual((204, b""), (answer.status, answer.content))
        found = tallyd.query("telegraf", measurement="cpu", host="web2", cpu="cpu-total",
                             fields="usage_*")
        self.assertEqual("range", found["plan"]["kind"])
        self.assertEqual(5, found["plan"]["rows_read"])
        self.assertEqual([1.5] * 5, [one["usage_user"] for one in as_dicts(found)])
        one = tallyd.events("telegraf", measurement="cpu", host="web2")
        self.assertEqual(10, len(one), "of two CPUs, each once")
        system = tallyd.latest("telegraf", measurement="system", host="db1")[0]
        self.assertEqual((BEGIN + 40) * 1000, system["ts"])
        self.assertEqual((40.25, 4, 800000, "9 days,  6:13"), tuple(
            system[name] for name in ("load1", "n_cpus", "uptime", "uptime_format")))
        self.assertEqual("/mnt/my disk, 1", tallyd.latest("telegraf", measurement="disk",
                                                          host="web1")[0]["path"])
        docker = tallyd.latest("telegraf", measurement="docker", host="web1")[0]
        self.assertEqual(("a=b", '6.1 "amd64"', False), tuple(
            docker[name] for name in ("unit", "kernel_version", "paused")))

    def test_the_recipe_with_an_age_is_sound(self):
        pages = [text for language, text in config_of("telegraf.md") if language == "toml"]
        aged = next(text for text in pages if "max_age" in text)
        tallyd = self.start(aged)
        self.assertEqual(204, InfluxV2(tallyd).send(int(time.time())).status)
        self.assertEqual(3, len(tallyd.latest("telegraf", measurement="system")))

    def test_what_is_bad_is_told_by_name_and_the_rest_is_stored(self):
        tallyd = self.start(INFLUX)
        body = b"cpu,host=a v=1 1700000000000000000\ncpu,host=a host=2 1700000000000000000\n"
        for path in "/write?db=x", "/api/v2/write?bucket=x&org=x":
            answer = InfluxV2(tallyd).post(path, body, {"Content-Type": "text/plain"})
            self.assertIn(answer.status, (400, 422), path)
            self.assertIn(b"host", answer.content, path)
        self.assertEqual([1], [one["v"] for one in self.all_events(tallyd, "telegraf")])

    def killed_in_the_middle(self, tallyd, output, count=40):
        """Delivers so many intervals, while the daemon is killed and comes back."""
        sent = []
        goes_on = threading.Event()

        def deliver():
            for number in range(count):
                sent.append((BEGIN + number, output.deliver(BEGIN + number)))
                if number == count // 4:
                    goes_on.set()

        thread = threading.Thread(target=deliver)
        thread.start()
        goes_on.wait(ANSWER_SECONDS)
        self.kill_and_start(tallyd)
        thread.join()
        self.assertEqual({"sent"}, {outcome for _, outcome in sent})
        self.assertEqual(count, len(sent))

    def test_a_kill_loses_and_doubles_nothing_of_influx(self):
        for kind in InfluxV2, InfluxV1:
            with self.subTest(kind.__name__):
                tallyd = self.start(INFLUX)
                self.killed_in_the_middle(tallyd, kind(tallyd))
                events = tallyd.events("telegraf", measurement="system", fields="load1")
                self.assertEqual(
                    {(host, (BEGIN + n) * 1000, n + 0.25) for host in HOSTS for n in range(40)},
                    {(one["host"], one["ts"], one["load1"]) for one in events})
                self.assertEqual(120, len(events))

    def test_a_kill_loses_and_doubles_nothing_of_opentsdb(self):
        tallyd = self.start(OPENTSDB)
        self.killed_in_the_middle(tallyd, OpenTsdb(tallyd))
        events = self.all_events(tallyd, "opentsdb")
        self.assert_once(events, ["host"])
        self.assertEqual(
            {(host, (BEGIN + n) * 1000, n + 0.25, 4, 1.5) for host in HOSTS for n in range(40)},
            {(one["host"], one["ts"], one["system_load1"], one["system_n_cpus"],
              one["cpu_usage_user"]) for one in events})


if __name__ == "__main__":
    unittest.main()
