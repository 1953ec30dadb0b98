readers.PapaParse = { read: (bytes) => durations(Papa.parse(text(bytes), { skipEmptyLines: true }).data, 1) };
