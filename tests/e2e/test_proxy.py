"""A proxy in front, as docs/operations.md has it."""

import http.client
import json
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import unittest

from tests.e2e.agents import environment, path_of
from tests.e2e.certificates import Pair
from tests.e2e.tallyd import ROOT, START_SECONDS, E2eTest, eventually, free_port

SCHEMA = """
[tables.T]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
"""
AROUND = """
daemon off;
pid {folder}/pid;
error_log {folder}/log;
events {{}}
http {{
access_log off;
client_body_temp_path {folder}/body;
proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi;
scgi_temp_path {folder}/scgi;
{recipe}
}}
"""


CADDY = """
{{
admin off
auto_https disable_redirects
skip_install_trust
}}
{recipe}
"""


def recipe(begin):
    """The block of the page that begins so, which is what is tested."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    return re.search(rf"```\w*\n({re.escape(begin)}.*?)```", page, re.S).group(1)


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class ProxyTest(E2eTest):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-proxy-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        self.pair = Pair(self.folder, "proxy", "DNS:tallyd.example.org,DNS:localhost")
        self.port = free_port()
        self.log = self.folder / "log"

    def filled(self, begin, places):
        """The recipe, with what is a matter of the machine put in its place."""
        text = recipe(begin)
        for old, new in places.items():
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def run_proxy(self, config, text, command):
        config.write_text(text, encoding="utf-8")
        with open(self.log, "ab") as log:
            self.proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                          env={**environment(), "HOME": str(self.folder),
                                               "XDG_DATA_HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)})
        self.addCleanup(self.proxy.wait)
        self.addCleanup(self.proxy.terminate)

    def asked(self, method, path, body=None):
        context = ssl.create_default_context(cafile=str(self.pair.cert))
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=START_SECONDS,
                                                 context=context)
        try:
            connection.request(method, path, body, {"Host": "tallyd.example.org"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def is_ready(self):
        try:
            return self.asked("GET", "/readyz")[0] == 200
        except OSError:
            self.assertIsNone(self.proxy.poll(), self.log.read_text(encoding="utf-8"))
            return False

    def assert_events_go_through(self, daemon):
        eventually(self.is_ready, "the proxy answers")
        events = [{"host": "a", "ts": 1_700_000_000_000 + n, "v": "x" * 1000} for n in range(3000)]
        status, said = self.asked("POST", "/v1/streams/T/events", json.dumps(events))
        self.assertEqual((200, 3000), (status, json.loads(said)["events"]))
        status, said = self.asked("GET", "/v1/streams/T/events?host=a&format=ndjson")
        self.assertEqual((200, 3000), (status, said.count(b"\n")))
        self.assertEqual(403, daemon.get("/readyz", headers={"Host": "elsewhere"}).status)

    def start_daemon(self):
        return self.start(SCHEMA, server='hosts = ["tallyd.example.org"]')

    def test_events_go_through_nginx_and_answers_come_back(self):
        nginx = path_of("usr/sbin/nginx")
        daemon = self.start_daemon()
        text = self.filled("upstream", {
            "127.0.0.1:8780": f"127.0.0.1:{daemon.port}",
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
            "/etc/ssl/tallyd/fullchain.pem": str(self.pair.cert),
            "/etc/ssl/tallyd/privkey.pem": str(self.pair.key)})
        config = self.folder / "nginx.conf"
        self.run_proxy(config, AROUND.format(folder=self.folder, recipe=text),
                       [nginx, "-c", str(config), "-e", str(self.log)])
        self.assert_events_go_through(daemon)

    def test_events_go_through_caddy_and_answers_come_back(self):
        caddy = path_of("usr/bin/caddy")
        daemon = self.start_daemon()
        text = self.filled("tallyd.example.org {", {
            "127.0.0.1:8780": f"127.0.0.1:{daemon.port}",
            "tallyd.example.org {": f"https://tallyd.example.org:{self.port} {{\n"
                                    f"  bind 127.0.0.1\n  tls {self.pair.cert} {self.pair.key}"})
        config = self.folder / "Caddyfile"
        self.run_proxy(config, CADDY.format(recipe=text),
                       [caddy, "run", "--config", str(config), "--adapter", "caddyfile"])
        self.assert_events_go_through(daemon)


if __name__ == "__main__":
    unittest.main()
