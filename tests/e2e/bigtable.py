"""Bigtables for tests, each a process of its own on loopback: the tablet server of tests/bigtable, and
Google's emulator where it is installed. Beside them a balancer, for several daemons over one Bigtable.

    TALLYD_TABLET_SERVER   the binary (default: tablet_server beside the daemon's)
    BIGTABLE_EMULATOR      Google's emulator, cbtemulator (default: where Google's packages put it)
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import unittest

from tests.e2e.tallyd import BINARY, Failure, eventually, free_port

SERVER = pathlib.Path(os.environ.get("TALLYD_TABLET_SERVER", BINARY.parent / "tablet_server"))
SDK = "/usr/lib/google-cloud-sdk/platform/bigtable-emulator"
EMULATOR = shutil.which(os.environ.get("BIGTABLE_EMULATOR") or "cbtemulator",
                        path=os.environ.get("PATH", "") + os.pathsep + SDK)

needs_tablet_server = unittest.skipUnless(SERVER.exists(), f"{SERVER} is not built (TALLYD_BIGTABLE=OFF)")
needs_emulator = unittest.skipUnless(
    SERVER.exists() and EMULATOR, "Google's emulator is not installed (google-cloud-cli-bigtable-emulator)")


def storage(address, **keys):
    """What stands in [storage] of a daemon on that Bigtable."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    return "\n".join(['engine = "bigtable"', "[storage.bigtable]", 'project = "p"', 'instance = "i"',
                      f'emulator = "{address}"', *lines])


class TabletServer:
    """Our own: tests/bigtable/tablet/tablet_server_main.cc says what it can be told."""

    def __init__(self, seed=1):
        self.process = subprocess.Popen([str(SERVER), "--seed", str(seed)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise Failure(f"the tablet server ended with {self.process.wait()}")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith(("unknown", "the port")):
            raise Failure(f"the tablet server answers {line!r} with {answer!r}")
        return answer

    def calls(self):
        """Of calls by name, since it was asked last."""
        return json.loads(self.tell("calls"))

    def cells(self, table):
        """The newest cells of a table, by row key and column; None where there is no such table."""
        rows = {}
        told = json.loads(self.tell(f"cells projects/p/instances/i/tables/{table}"))
        for key, family, qualifier, value in told or []:
            rows.setdefault(key, {})[f"{family}:{qualifier}"] = value
        return None if told is None else rows

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Emulator:
    """Google's."""

    def __init__(self):
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.process = subprocess.Popen([EMULATOR, "-host=127.0.0.1", f"-port={port}"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: self._listens(port), "the emulator listens")

    def _listens(self, port):
        if self.process.poll() is not None:
            raise Failure(f"the emulator ended with {self.process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            return False

    def end(self):
        self.process.kill()
        self.process.wait()


class Balancer:
    """Gives each connection to the next daemon that takes one."""

    def __init__(self, daemons):
        self.daemons = list(daemons)
        self.turn = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # It has ended.
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _connect(self):
        for _ in self.daemons:
            self.turn += 1
            daemon = self.daemons[self.turn % len(self.daemons)]
            try:
                return socket.create_connection(("127.0.0.1", daemon.port), 5)
            except OSError:
                continue
        return None

    def _serve(self, client):
        server = self._connect()
        if server is None:
            client.close()
            return
        back = threading.Thread(target=self._pass, args=(server, client), daemon=True)
        back.start()
        self._pass(client, server)
        back.join()
        client.close()
        server.close()

    @staticmethod
    def _pass(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for one in (source, target):  # One of them is gone, so the other has nobody.
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def end(self):
        self.listener.close()
