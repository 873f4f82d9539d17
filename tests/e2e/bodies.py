"""Encoded request bodies, and the smallest snappy and zstd encoders that are valid."""

import gzip
import json
import zlib

ZSTD_BLOCK = 128 * 1024


def snappy(data):
    """The snappy block format with literals only."""
    return snappy_length(len(data)) + b"".join(
        snappy_literal(data[at:at + 65536]) for at in range(0, len(data), 65536))


def snappy_length(length):
    """The varint of the decoded length that opens a snappy block."""
    out = bytearray()
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out)


def snappy_literal(data):
    size = len(data) - 1
    if size < 60:
        return bytes([size << 2]) + data
    if size < 256:
        return bytes([60 << 2, size]) + data
    return bytes([61 << 2]) + size.to_bytes(2, "little") + data


def zstd(data, declared=None):
    """A zstd frame of raw blocks, which declares its decoded size (or a wrong one)."""
    size = len(data) if declared is None else declared
    blocks = [data[at:at + ZSTD_BLOCK] for at in range(0, len(data), ZSTD_BLOCK)] or [b""]
    out = b"\x28\xb5\x2f\xfd" + bytes([0b11100000]) + size.to_bytes(8, "little")
    for number, block in enumerate(blocks, 1):
        header = len(block) << 3 | (number == len(blocks))
        out += header.to_bytes(3, "little") + block
    return out


def zstd_rle(size):
    """A zstd frame of run-length blocks, of no declared size: a few bytes that decode to many."""
    out = bytearray(b"\x28\xb5\x2f\xfd\x00\x50")  # A window of 1 MiB.
    while size:
        part = min(size, ZSTD_BLOCK)
        size -= part
        out += (part << 3 | 1 << 1 | (size == 0)).to_bytes(3, "little") + b" "
    return bytes(out)


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "snappy": snappy, "zstd": zstd}


def ndjson(events):
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def chunked(data, size=1000):
    """The pieces of a chunked body, framed."""
    for at in range(0, len(data), size):
        part = data[at:at + size]
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"
