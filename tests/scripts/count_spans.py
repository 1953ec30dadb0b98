"""Counts rows, traces and roots of span CSVs by the csv module alone: other means than the reader's.

    python3 count_spans.py FILE...

prints one line a file: name, rows, traces, roots. A root names no parent.
"""

import csv
import os
import sys

csv.field_size_limit(1 << 30)


def columns(header):
    """How a row tells its trace, and whether it is a root; None for a file without a header."""
    at = {name: place for place, name in enumerate(header)}
    if "span_hash" in at:
        return lambda row: row[at["trace_id"]], lambda row: "child-of" not in row[at["refs"]]
    if "traceIdHigh" in at:
        return (
            lambda row: (row[at["traceIdHigh"]], row[at["traceIdLow"]]),
            lambda row: row[at["parentSpanId"]] == "0",
        )
    if "ParentID" in at:
        return lambda row: row[at["TraceID"]], lambda row: row[at["ParentID"]] == "root"
    if "ParentSpan" in at:
        return lambda row: row[at["TraceId"]], lambda row: row[at["ParentSpan"]] == "-1"
    return None


def count(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    told = columns(rows[0])
    if told is None:
        # otel_traces as ClickHouse writes it without a header.
        told = (lambda row: row[1]), (lambda row: row[3] == "")
    else:
        rows = rows[1:]
    trace, is_root = told
    return len(rows), len({trace(row) for row in rows}), sum(map(is_root, rows))


for path in sys.argv[1:]:
    print(os.path.basename(path), *count(path))
