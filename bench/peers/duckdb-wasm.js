// Worker and module come from beside this page: nothing is asked of the network.
import { AsyncDuckDB, ConsoleLogger, LogLevel } from "@duckdb/duckdb-wasm";

let connection, db;

const start = async () => {
  db = new AsyncDuckDB(new ConsoleLogger(LogLevel.ERROR), new Worker("duckdb-browser-eh.worker.js"));
  await db.instantiate(new URL("duckdb-eh.wasm", location.href).href);
  connection = await db.connect();
  await connection.query("SET autoinstall_known_extensions = false");
  await connection.query("SET autoload_known_extensions = false");
};

readers.DuckDB = {
  ready: async (bytes) => {
    if (!db) await start();
    await connection.query("DROP TABLE IF EXISTS spans");
    await db.registerFileBuffer("spans.csv", bytes.slice());
  },
  read: async () => {
    await connection.query("CREATE TABLE spans AS SELECT * FROM read_csv('spans.csv')");
    const counted = await connection.query("SELECT count(*) AS n FROM spans");
    return Number(counted.toArray()[0].n);
  },
};
