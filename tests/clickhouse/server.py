"""ClickHouse's HTTP interface over chDB, which is ClickHouse in a Python module.

Queries, formats, settings, limits and exceptions are ClickHouse's own. Made up here is what the module
lacks: the listening, users (every query needs the one of the command line), and CORS, as a server has it
with `add_http_cors_header` and `http_options_response`. It listens on 127.0.0.1 alone, prints its address as
the first line, and ends with its standard input.

    python server.py --spans FILE.csv [--many N] [--user U] [--password P] [--cors]

otel.otel_traces holds the spans of the file (the exporter's columns, times in UTC), otel.many N thousand
generated traces of three spans, and reading otel.broken fails after most of them. The server's zone is
Asia/Tokyo.
"""

import argparse
import gzip
import os
import re
import secrets
import sys
import tempfile
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

os.environ["TZ"] = "Asia/Tokyo"
time.tzset()

from chdb.session import Session  # noqa: E402  (the zone has to be set before)

HERE = Path(__file__).parent

# What http_options_response says in ClickHouse's documentation.
PREFLIGHT = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, "
    "x-clickhouse-key, Authorization",
    "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
    "Access-Control-Max-Age": "86400",
}

STATUS = {46: 404, 47: 404, 60: 404, 62: 400, 81: 404, 115: 404, 159: 408, 192: 403, 193: 403, 194: 401, 516: 403}


def load(session, spans, many):
    run = session.query
    run("CREATE DATABASE otel")
    # As few as here, wherever this runs: what was read when the broken part is met depends on it.
    run("SET max_threads = 2")
    run((HERE / "otel_traces.sql").read_text())
    if spans:
        columns = run("DESCRIBE TABLE otel.otel_traces", "TSVRaw").bytes().decode()
        pairs = [line.split("\t")[:2] for line in columns.splitlines()]
        zoned = {"Timestamp": "DateTime64(9, 'UTC')"}
        layout = ", ".join(f"`{name}` {zoned.get(name, kind)}" for name, kind in pairs)
        layout = layout.replace("\\", "\\\\").replace("'", "\\'")
        data = Path(spans).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            unpacked = Path(folder) / "spans.csv"
            unpacked.write_bytes(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
            run(f"INSERT INTO otel.otel_traces SELECT * FROM file('{unpacked}', 'CSVWithNames', '{layout}')")
    run("CREATE TABLE otel.many AS otel.otel_traces")
    run(
        f"""
        INSERT INTO otel.many (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, SpanKind, ServiceName,
            ResourceAttributes, Duration, StatusCode)
        SELECT
            fromUnixTimestamp64Nano(toInt64(1774745970000000000) + toInt64(number) * 10000000 + depth * 1000),
            lower(hex(MD5(toString(number)))),
            lower(hex(number * 4 + depth + 1)),
            depth = 0 ? '' : lower(hex(number * 4 + depth)),
            'GET /', ['Client', 'Server', 'Internal'][depth + 1], ['caller', 'callee', 'callee'][depth + 1],
            map('k8s.pod.name', concat('pod-', toString(number % 4))),
            10000000 - depth * 2000, 'Unset'
        FROM numbers({many * 1000}) ARRAY JOIN [0, 1, 2] AS depth
        """
    )
    run(
        f"""
        CREATE VIEW otel.broken AS
        SELECT * REPLACE (
            if(throwIf(rowNumberInAllBlocks() >= {many * 2000}, 'a broken part'), '', StatusMessage)
            AS StatusMessage)
        FROM otel.many
        """
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cors = False

    def do_OPTIONS(self):
        if not self.server.options.cors:
            return self.plain(200, b"")
        self.send_response(204)
        for name, value in PREFLIGHT.items():
            self.send_header(name, value)
        self.end_headers()

    def do_GET(self):
        self.plain(200, b"Ok.\n")

    def do_POST(self):
        asked = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
        sql = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        options = self.server.options
        self.cors = False
        # Headers are bytes, which Python takes for Latin-1.
        user, key = (
            self.headers.get(name, otherwise).encode("latin-1").decode()
            for name, otherwise in (("X-ClickHouse-User", "default"), ("X-ClickHouse-Key", ""))
        )
        if (user, key) != (options.user, options.password):
            return self.refuse(
                f"Code: 516. DB::Exception: {user}: Authentication failed: password is incorrect, or there is no "
                "user with such name. (AUTHENTICATION_FAILED)"
            )
        self.cors = options.cors and asked.get("add_http_cors_header") == "1" and bool(self.headers.get("Origin"))
        packs = asked.get("enable_http_compression") == "1" and "gzip" in self.headers.get("Accept-Encoding", "")
        # One query at a time is all that the module does.
        with self.server.lock:
            self.answer(sql, packs)

    def answer(self, sql, packs):
        tag = secrets.token_hex(8)
        begun = False
        packer = zlib.compressobj(level=1, wbits=31) if packs else None

        def chunk(data):
            if data:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

        def send(data):
            chunk(packer.compress(data) if packs else data)

        def begin():
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.send_header("Content-Type", "text/csv; charset=UTF-8; header=present")
            self.send_header("X-ClickHouse-Exception-Tag", tag)
            if packs:
                self.send_header("Content-Encoding", "gzip")
            self.allow()
            self.end_headers()

        try:
            session = self.server.session
            header = None
            with session.send_query(sql, "TabSeparated") as pieces:
                for piece in pieces:
                    if not begun:
                        begin()
                        begun = True
                    # The module writes the header anew for every piece.
                    data = piece.bytes()
                    line = data[: data.find(b"\n") + 1]
                    send(data[len(line) :] if line == header else data)
                    header = header or (line if "WithNames" in sql else None)
            if not begun:
                # Nor does it stream a header without rows.
                data = session.query(sql, "TabSeparated").bytes()
                begin()
                send(data)
        except OSError:
            # Whoever asked is gone.
            self.close_connection = True
            return
        except Exception as error:  # noqa: BLE001  (whatever the engine raises is its answer)
            text = f"{error}".removeprefix("Streaming query failed: ") + " (version 26.9.2.1)\n"
            if not begun:
                return self.refuse(text)
            send(f"\r\n__exception__\r\n{tag}\r\n{text}{len(text)} {tag}\r\n__exception__\r\n".encode())
        if packs:
            chunk(packer.flush())
        self.wfile.write(b"0\r\n\r\n")

    def refuse(self, text):
        code = re.search(r"Code: (\d+)", text)
        code = int(code.group(1)) if code else 0
        self.plain(STATUS.get(code, 500), text.encode(), {"X-ClickHouse-Exception-Code": str(code)})

    def allow(self):
        if self.cors:
            self.send_header("Access-Control-Allow-Origin", "*")

    def plain(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.allow()
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--spans")
    words.add_argument("--many", type=int, default=1)
    words.add_argument("--user", default="default")
    words.add_argument("--password", default="")
    words.add_argument("--cors", action="store_true")
    options = words.parse_args()
    session = Session()
    load(session, options.spans, options.many)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.session, server.options, server.lock = session, options, threading.Lock()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    session.cleanup()


main()
