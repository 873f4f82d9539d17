"""Certificates for tests, made by openssl (Debian's package of that name)."""

import pathlib
import subprocess

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"openssl {arguments}: {done.stderr.decode()}")


class Pair:
    """A certificate and its key, which signed itself unless an authority did."""

    def __init__(self, folder, name, names="DNS:localhost,IP:127.0.0.1", authority=None):
        folder = pathlib.Path(folder)
        self.cert, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        signed = () if authority is None else ("-CA", authority.cert, "-CAkey", authority.key)
        if authority is None:
            openssl("req", "-x509", *CURVE, "-keyout", self.key, "-out", self.cert, "-days", 2,
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}")
        else:
            request, extensions = folder / f"{name}.csr", folder / f"{name}.ext"
            extensions.write_text(f"subjectAltName={names}\n", encoding="utf-8")
            openssl("req", "-new", *CURVE, "-keyout", self.key, "-out", request,
                    "-subj", f"/CN={name}")
            openssl("x509", "-req", "-in", request, *signed, "-CAcreateserial", "-days", 2,
                    "-extfile", extensions, "-out", self.cert)
        self.cert.chmod(0o644)
        self.key.chmod(0o600)
