readers["d3-dsv"] = { read: (bytes) => durations(d3.csvParseRows(text(bytes)), 1) };
