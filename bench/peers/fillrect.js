drawers["fillRect"] = (spans, room, width, height) => {
  const canvas = room.appendChild(Object.assign(document.createElement("canvas"), { width, height }));
  const context = canvas.getContext("2d");
  const { from, to, row, color, alpha } = spans;
  return ([left, right, top, bottom]) => {
    context.clearRect(0, 0, width, height);
    const x = width / (right - left), y = height / (bottom - top), tall = Math.max(1, y);
    let last = -1;
    for (let at = 0; at < from.length; at++) {
      if (to[at] < left || from[at] >= right || row[at] + 1 <= top || row[at] >= bottom) continue;
      const style = color[at] * 256 + alpha[at];
      if (style != last) {
        context.fillStyle = `#${style.toString(16).padStart(8, "0")}`;
        last = style;
      }
      context.fillRect((from[at] - left) * x, (row[at] - top) * y, Math.max(1, (to[at] - from[at]) * x), tall);
    }
    return context;
  };
};
