"""Grafana's OpenTSDB source: the calls that it makes, and a dashboard of ours drawn by them."""

import base64
import json
import time
import unittest

from tests.e2e.agents import AgentTest, INFLUX, config_of
from tests.e2e.tallyd import ROOT
from tests.e2e.test_secrets import entry, new_token

DASHBOARD = ROOT / "docs" / "agents" / "dashboard.json"
SERVER = """
[tables.METRIC]
stream = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}
"""
SECONDS = 600


def query_of(target, interval, variables):
    """What the source makes of a panel's target (its convertTargetToQuery, for version 2.3)."""
    def replaced(text):
        for name, value in variables.items():
            text = text.replace(f"${name}", value)
        return text

    query = {"metric": replaced(target["metric"]), "aggregator": target["aggregator"]}
    if target.get("shouldComputeRate"):
        query["rate"] = True
        query["rateOptions"] = {"counter": bool(target["isCounter"]), "dropResets": True}
    step = target["downsampleInterval"] or interval
    query["downsample"] = f'{step}-{target["downsampleAggregator"]}'
    if target["filters"]:
        query["filters"] = [{**one, "filter": replaced(one["filter"])} for one in target["filters"]]
    else:
        query["tags"] = {name: replaced(value) for name, value in target["tags"].items()}
    return query


class GrafanaTest(AgentTest):
    def setUp(self):
        self.toml = dict(config_of("grafana.md"))["toml"] + INFLUX + SERVER
        self.now = int(time.time())
        self.headers = {}

    def world(self, tokens=""):
        tallyd = self.start(self.toml + tokens)
        lines, events = [], []
        for at in range(self.now - SECONDS, self.now, 10):
            for number, host in enumerate(("web1", "web2")):
                ns, received = at * 1_000_000_000, (at - self.now + SECONDS) * 100
                lines += [f"cpu,cpu=cpu-total,host={host} usage_user={number + 1}.5 {ns}",
                          f"cpu,cpu=cpu0,host={host} usage_user=50 {ns}",
                          f"system,host={host} load1={number}.25 {ns}",
                          f"mem,host={host} used_percent=40.5 {ns}",
                          f"net,host={host},interface=eth0 bytes_recv={received}i {ns}"]
                events.append({"ts": at * 1000, "hostname": f"{host}.example.org",
                               "CPU/CPU1_USR": 0.25})
        body = "".join(line + "\n" for line in lines).encode()
        self.assertEqual(204, tallyd.request("POST", "/api/v2/write?bucket=b&org=o", body,
                                             self.headers).status)
        tallyd.post("server", events, headers=self.headers).expect(200)
        return tallyd

    def get(self, tallyd, path, **params):
        return tallyd.get(path, params, headers=self.headers).expect(200).json

    def draw(self, tallyd, queries):
        body = {"start": (self.now - SECONDS) * 1000, "queries": queries, "msResolution": True,
                "globalAnnotations": True, "showQuery": True, "end": self.now * 1000}
        return tallyd.request("POST", "/api/query", json.dumps(body).encode(), {
            **self.headers, "Content-Type": "application/json",
            "Accept": "application/json, text/plain, */*"})

    def test_the_source_is_found_good_and_suggests(self):
        tallyd = self.world()
        tried = self.get(tallyd, "/api/suggest", type="metrics", q="cpu", max=1000)
        self.assertIsInstance(tried, list)
        metrics = self.get(tallyd, "/api/suggest", type="metrics", q="telegraf.u", max=1000)
        self.assertEqual(["telegraf.usage_user", "telegraf.used_percent"], metrics)
        self.assertIn("server.CPU/CPU1_USR",
                      self.get(tallyd, "/api/suggest", type="metrics", q="server.", max=1000))
        self.assertIn("host", self.get(tallyd, "/api/suggest", type="tagk", q="h", max=1000))
        self.assertEqual(["web1", "web1.example.org"],
                         self.get(tallyd, "/api/suggest", type="tagv", q="web", max=2))
        aggregators = self.get(tallyd, "/api/aggregators")
        wanted = {"sum", "avg", "min", "max", "dev", "count", "none", "zimsum", "mimmin", "mimmax"}
        self.assertEqual(set(), wanted - set(aggregators))
        filters = self.get(tallyd, "/api/config/filters")
        for name in "literal_or", "wildcard", "regexp", "not_literal_or":
            self.assertIn(name, filters)
        found = self.get(tallyd, "/api/search/lookup", m="telegraf.usage_user{host=*}", limit=1000)
        self.assertEqual({"web1", "web2"}, {one["tags"]["host"] for one in found["results"]})
        found = self.get(tallyd, "/api/search/lookup", m="telegraf.usage_user", limit=1000)
        self.assertEqual({"measurement", "host", "cpu"},
                         {name for one in found["results"] for name in one["tags"]})

    def test_every_panel_of_the_dashboard_is_drawn(self):
        token = new_token()
        basic = base64.b64encode(f"grafana:{token}".encode()).decode()
        self.headers = {"Authorization": f"Basic {basic}"}
        tallyd = self.world(entry("grafana", token))
        dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        variable = dashboard["templating"]["list"][0]
        self.assertEqual("tag_values(telegraf.usage_user, host)", variable["query"])
        hosts = self.get(tallyd, "/api/search/lookup", m="telegraf.usage_user{host=*}", limit=1000)
        values = "|".join(sorted({one["tags"]["host"] for one in hosts["results"]}))
        drawn = {}
        for panel in dashboard["panels"]:
            queries = [query_of(target, "1m", {"host": values}) for target in panel["targets"]]
            answer = self.draw(tallyd, queries).expect(200).json
            drawn[panel["title"]] = answer
            self.assertEqual(2, len(answer), f"{panel['title']}: {answer}")
            for one in answer:
                self.assertGreater(len(one["dps"]), 5, panel["title"])
                self.assertTrue(all(int(at) % 60_000 == 0 for at in one["dps"]), panel["title"])
        user = {one["tags"]["host"]: set(one["dps"].values()) for one in drawn["CPU in user space"]}
        self.assertEqual({"web1": {1.5}, "web2": {2.5}}, user)
        rates = [value for one in drawn["Received from the network"]
                 for value in list(one["dps"].values())[1:-1]]
        self.assertEqual({100.0}, {round(rate, 6) for rate in rates})

    def test_what_is_wrong_is_told_where_it_looks(self):
        tallyd = self.world()
        answer = self.draw(tallyd, [{"metric": "telegraf.usage_user", "aggregator": "nonsense"}])
        said = answer.expect(400).json["error"]
        self.assertEqual(400, said["code"])
        self.assertIn("nonsense", said["message"])
        self.assertEqual([], self.draw(tallyd, [{"metric": "none", "aggregator": "avg"}])
                         .expect(200).json)


if __name__ == "__main__":
    unittest.main()
