#!/usr/bin/env python3
"""npm's @influxdata/influxdb-client writes to a tallyd, which is killed in the middle: by hand, a minute.

`make npm-test` installs the client of a fixed version below build/agents and runs this; it needs npm and Node.js,
which Debian's own tests here do without.
"""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

# pylint: disable=wrong-import-position
from tests.e2e.agents import AgentTest, INFLUX, path_of
from tests.e2e.tallyd import ANSWER_SECONDS, eventually
from tests.e2e.test_secrets import entry, new_token

BATCHES = 60
CLIENT = """
const { InfluxDB, Point } = require(process.argv[2]);
const [url, token, batches] = process.argv.slice(3);
const client = new InfluxDB({ url, token, timeout: 30000 });
const api = client.getWriteApi("anybody", "telegraf", "ms", {
  minRetryDelay: 50, maxRetryDelay: 500, maxRetries: 1000, maxRetryTime: 120000, batchSize: 20,
  gzipThreshold: 100, writeFailed: () => {},
});
(async () => {
  for (let number = 0; number < Number(batches); number++) {
    for (const host of ["a", "b"]) {
      api.writePoint(new Point("cpu").tag("host", host).tag("room", "a b, c=d").floatField("v", number + 0.5)
        .intField("n", number).uintField("u", 2 ** 53 - 1).stringField("s", 'x"y\\\\z').booleanField("b", true)
        .timestamp(1700000000000 + number));
    }
    try { await api.flush(true); } catch (error) { console.error(String(error)); }
    console.log(number);
  }
  await api.close();
  console.log("closed");
})().catch((error) => { console.error(String(error)); process.exit(1); });
"""


class NpmClientTest(AgentTest):
    def setUp(self):
        super().setUp()
        self.package = path_of("node_modules/@influxdata/influxdb-client")
        self.node = shutil.which("node")
        if self.node is None:
            self.skipTest("there is no Node.js")

    def start_client(self, tallyd, token):
        script = tallyd.directory / "client.cjs"
        script.write_text(CLIENT, encoding="utf-8")
        log = tallyd.directory / "client.log"
        client = self.start_agent([self.node, str(script), self.package, f"http://127.0.0.1:{tallyd.port}", token,
                                   str(BATCHES)], log)
        return client, lambda: log.read_text(encoding="utf-8")

    def test_a_kill_loses_and_doubles_nothing(self):
        token, reader = new_token(), new_token()
        tallyd = self.start(INFLUX + entry("agent", token, "write") + entry("reader", reader))
        client, said = self.start_client(tallyd, token)
        eventually(lambda: len(said().split()) > 15 or client.poll() is not None, "it writes")
        self.kill_and_start(tallyd)
        client.wait(ANSWER_SECONDS)
        self.assertEqual(0, client.returncode, said())
        self.assertIn("closed", said())
        events = tallyd.get("/v1/streams/telegraf/events", scan=1, format="ndjson",
                            headers={"Authorization": f"Bearer {reader}"}).expect(200).lines
        self.assertEqual(2 * BATCHES, len(events))
        self.assertEqual({(host, 1_700_000_000_000 + n, n + 0.5, n) for host in "ab" for n in range(BATCHES)},
                         {(one["host"], one["ts"], one["v"], one["n"]) for one in events})
        self.assertEqual({("a b, c=d", 'x"y\\z', True, 2 ** 53 - 1)},
                         {(one["room"], one["s"], one["b"], one["u"]) for one in events})

    def test_a_wrong_token_is_told(self):
        tallyd = self.start(INFLUX + entry("agent", new_token(), "write"))
        script = tallyd.directory / "wrong.cjs"
        script.write_text(CLIENT.replace("console.error(String(error));", "console.log(error.statusCode);")
                          .replace("maxRetries: 1000", "maxRetries: 0"), encoding="utf-8")
        said = self.run_agent([self.node, str(script), self.package, f"http://127.0.0.1:{tallyd.port}",
                               new_token(), "1"])
        self.assertIn("401", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
