// A chart of boxes: a path builder puts each span into the Path2D of its colour, of which there are few since opacity has
// eight steps.
drawers.uPlot = (spans, room, width, height) => {
  const { from, to, row, color, alpha } = spans;
  const boxes = (u, series) => {
    const paths = new Map();
    uPlot.orient(u, series, (series, xs, ys, scaleX, scaleY, posX, posY, left, top, wide, high) => {
      const { min, max } = scaleX, first = scaleY.min, last = scaleY.max;
      const tall = Math.max(1, posY(1, scaleY, high, top) - posY(0, scaleY, high, top));
      for (let at = 0; at < from.length; at++) {
        if (to[at] < min || from[at] > max || row[at] + 1 < first || row[at] > last) continue;
        const style = color[at] * 8 + (alpha[at] >> 5);
        let path = paths.get(style);
        if (!path) paths.set(style, (path = new Path2D()));
        const x = posX(from[at], scaleX, wide, left);
        path.rect(x, posY(row[at], scaleY, high, top), Math.max(1, posX(to[at], scaleX, wide, left) - x), tall);
      }
    });
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    for (const [style, path] of paths) {
      u.ctx.fillStyle = `#${((style >> 3) * 256 + (style % 8) * 32 + 31).toString(16).padStart(8, "0")}`;
      u.ctx.fill(path);
    }
    u.ctx.restore();
    return null;
  };
  const range = (u, min, max) => [min, max];
  const options = {
    width, height, mode: 2, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range }, y: { dir: -1, range } },
    series: [null, { facets: [{ scale: "x", auto: false }, { scale: "y", auto: false }], paths: boxes }],
    axes: [{}, {}],
  };
  const chart = new uPlot(options, [null, [from, row]], room);
  return async ([left, right, top, bottom]) => {
    chart.batch(() => {
      chart.setScale("x", { min: left, max: right });
      chart.setScale("y", { min: top, max: bottom });
    });
    // It draws when the present task is done.
    await null;
    return chart.ctx;
  };
};
