// Ours, and what is of the same module: csv and plotters-canvas alone.
import init, * as ours from "./bench.js";

const canvasIn = (room, width, height) =>
  room.appendChild(Object.assign(document.createElement("canvas"), { width, height }));

readers.ours = { read: (bytes) => ours.table(bytes) };
readers["ours, rows without order"] = { read: (bytes) => ours.rows(bytes) };
readers.csv = { read: (bytes) => ours.records(bytes) };

drawers.ours = ({ loaded }, room, width, height) => {
  const context = canvasIn(room, width, height).getContext("2d");
  return (_, part) => {
    const pixels = loaded.frame(...part, width, height);
    context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
    return context;
  };
};
drawers["plotters-canvas"] = ({ loaded }, room, width, height) => {
  const canvas = canvasIn(room, width, height);
  return (view) => {
    loaded.plotters(canvas, view);
    return canvas.getContext("2d");
  };
};

// Opens a file, as it comes.
window.load = async (path, bars) => {
  const loaded = new ours.Loaded(), reader = (await fetch(path)).body.getReader();
  for (let it; !(it = await reader.read()).done; ) loaded.push(it.value);
  loaded.finish(bars);
  const columns = ["from", "to", "row", "color", "alpha"].map((name) => [name, bars ? loaded[name]() : null]);
  window.spans = { loaded, ...Object.fromEntries(columns) };
};

await init();
document.documentElement.dataset.state = "idle";
