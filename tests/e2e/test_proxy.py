"""A proxy in front, as docs/operations.md has it."""

import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import unittest

from tests.e2e.certificates import Pair
from tests.e2e.tallyd import ROOT, START_SECONDS, E2eTest, eventually, free_port

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
SCHEMA = """
[tables.T]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}
"""
AROUND = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
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


def recipe():
    """The block of the page, which is what is tested."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    return re.search(r"```nginx\n(.*?)```", page, re.S).group(1)


@unittest.skipUnless(NGINX and shutil.which("openssl"), "nginx or openssl is not installed")
class NginxTest(E2eTest):
    def test_events_go_through_nginx_and_answers_come_back(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tallyd-nginx-"))
        self.addCleanup(shutil.rmtree, folder, True)
        folder.chmod(0o755)
        pair = Pair(folder, "proxy", "DNS:tallyd.example.org,DNS:localhost")
        daemon = self.start(SCHEMA, server='hosts = ["tallyd.example.org"]')
        port = free_port()
        text = recipe()
        for old, new in (("127.0.0.1:8780", f"127.0.0.1:{daemon.port}"),
                         ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
                         ("/etc/ssl/tallyd/fullchain.pem", str(pair.cert)),
                         ("/etc/ssl/tallyd/privkey.pem", str(pair.key))):
            self.assertIn(old, text)
            text = text.replace(old, new)
        config = folder / "nginx.conf"
        config.write_text(AROUND.format(folder=folder, recipe=text), encoding="utf-8")
        proxy = subprocess.Popen([NGINX, "-c", str(config), "-e", str(folder / "error.log")],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.terminate)

        def asked(method, path, body=None):
            context = ssl.create_default_context(cafile=str(pair.cert))
            connection = http.client.HTTPSConnection("localhost", port, timeout=START_SECONDS,
                                                     context=context)
            try:
                connection.request(method, path, body, {"Host": "tallyd.example.org"})
                answer = connection.getresponse()
                return answer.status, answer.read()
            finally:
                connection.close()

        def is_ready():
            try:
                return asked("GET", "/readyz")[0] == 200
            except OSError:
                self.assertIsNone(proxy.poll(), (folder / "error.log").read_text(encoding="utf-8"))
                return False

        eventually(is_ready, "nginx answers")
        events = [{"host": "a", "ts": 1_700_000_000_000 + n, "v": "x" * 1000} for n in range(3000)]
        status, said = asked("POST", "/v1/streams/T/events", json.dumps(events))
        self.assertEqual((200, 3000), (status, json.loads(said)["events"]))
        status, said = asked("GET", "/v1/streams/T/events?host=a&format=ndjson")
        self.assertEqual((200, 3000), (status, said.count(b"\n")))
        self.assertEqual(403, daemon.get("/readyz", headers={"Host": "elsewhere"}).status)


if __name__ == "__main__":
    unittest.main()
