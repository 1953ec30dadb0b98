// Runs before the page's own scripts: notes when frames are asked for, answered and painted, and other questions, too.
// Not there yet.
const root = () => document.documentElement;
window.marks = { asked: [], answered: [], painted: [], long: [], sent: [], heard: [] };
const isFrame = (message) => message && (message.buffers || message.pixels);
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  (isFrame(message) ? marks.asked : marks.sent).push(performance.now());
  return post.call(this, message, ...rest);
};
// The worker tells how large its memory is.
const around = (address) => `
  import ${JSON.stringify(new URL(address, location.href).href)};
  const real = WebAssembly.instantiate;
  WebAssembly.instantiate = async (...all) => {
    const made = await real(...all), exports = (made.instance ?? made).exports;
    const memory = Object.values(exports).find((it) => it instanceof WebAssembly.Memory);
    const channel = new BroadcastChannel("memory");
    channel.onmessage = ({ data }) => data == "?" && channel.postMessage(memory.buffer.byteLength);
    return made;
  }`;
const RealWorker = Worker;
window.Worker = class extends RealWorker {
  constructor(address, ...rest) {
    super(URL.createObjectURL(new Blob([around(address)], { type: "text/javascript" })), ...rest);
    this.addEventListener("message", ({ data }) => {
      (isFrame(data) ? marks.answered : marks.heard).push(performance.now());
    });
  }
};
for (const name of ["drop", "change"])
  addEventListener(name, ({ target }) => {
    if (name == "drop" || target.type == "file") marks.dropped = performance.now();
  }, true);
new PerformanceObserver((list) => list.getEntries().forEach((it) => marks.long.push(it.duration)))
  .observe({ type: "longtask" });
document.addEventListener("DOMContentLoaded", () => {
  let frames = root().dataset.frames;
  new MutationObserver(() => {
    const now = performance.now();
    if (root().dataset.state == "idle" && root().dataset.frames > 0) marks.idle ??= now;
    if (root().dataset.frames == frames) return;
    frames = root().dataset.frames;
    const part = !document.querySelector("#foot-spans").textContent.includes(" of ");
    marks.painted.push(now);
    if (marks.dropped && (part || root().dataset.state != "reading")) {
      marks.first ??= now;
      marks.last = now;
    }
  }).observe(root(), { attributes: true });
});

const plot = () => document.querySelector("#plot");
const middle = () => {
  const box = document.querySelector("#plot-over").getBoundingClientRect();
  return { box, x: box.x + box.width / 2, y: box.y + box.height / 2 };
};
const point = (type, x, y, more = {}) => plot().dispatchEvent(new PointerEvent(type, {
  bubbles: true, cancelable: true, clientX: x, clientY: y, pointerId: 1, pointerType: "mouse", isPrimary: true,
  button: type == "pointermove" ? -1 : 0, ...more }));
window.wheel = (dy) => {
  const { x, y } = middle();
  plot().dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX: x, clientY: y, deltaY: dy }));
};
const forget = () => Object.values(marks).forEach((it) => { if (Array.isArray(it)) it.length = 0; });

// Pans to and fro, then zooms in and out, one step an animation frame, until so many pictures are painted or time is up.
window.move = (pictures, reach) => new Promise((done) => {
  const { box, x, y } = middle(), begun = performance.now();
  let step = 0, panning = true;
  forget();
  point("pointerdown", x, y, { shiftKey: true, buttons: 1 });
  const next = () => {
    const enough = marks.painted.length >= pictures || performance.now() - begun > 20_000;
    if (panning && (enough || marks.painted.length >= pictures / 2)) {
      point("pointerup", x, y, { shiftKey: true });
      panning = false;
      step = 0;
    }
    if (enough) return setTimeout(() => done({ ...marks, plot: [box.width, box.height] }), 300);
    const angle = ++step / 40;
    if (panning) {
      point("pointermove", x + Math.sin(angle) * box.width * reach, y + Math.sin(angle * 0.7) * box.height * reach,
        { shiftKey: true, buttons: 1 });
    } else wheel(step % 20 < 10 ? -24 : 24);
    requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
});

// So many frames of nothing: a worker hands over as many pixels as the plot has, and they are put on a canvas. The
// milliseconds from asking for them to the last canvas call.
window.nothing = (pictures, width, height) => new Promise((done) => {
  const source = `onmessage = ({ data }) => postMessage(data, [data])`;
  const worker = new RealWorker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const canvas = document.createElement("canvas"), took = [];
  Object.assign(canvas, { width, height });
  canvas.style = `position: fixed; left: 0; top: 0; width: ${width}px; height: ${height}px`;
  document.body.append(canvas);
  let pixels = new ArrayBuffer(4 * width * height), begun;
  const ask = () => {
    begun = performance.now();
    worker.postMessage(pixels, [pixels]);
  };
  worker.onmessage = ({ data }) => {
    pixels = data;
    canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels), width, height), 0, 0);
    took.push(performance.now() - begun);
    if (took.length < pictures) return requestAnimationFrame(ask);
    worker.terminate();
    canvas.remove();
    done(took);
  };
  requestAnimationFrame(ask);
});

// Asks so many times what is under the pointer, or picks it; the milliseconds until the engine has answered.
window.ask = async (times, clicks) => {
  const { box } = middle(), took = [];
  for (let n = 1; n <= times; n++) {
    const x = box.x + box.width * ((n * 0.618) % 1), y = box.y + box.height * ((n * 0.618) % 1);
    forget();
    point("pointermove", x, y, { buttons: 0 });
    if (clicks) {
      while (marks.heard.length < marks.sent.length) await new Promise((done) => setTimeout(done, 1));
      forget();
      point("pointerdown", x, y, { buttons: 1 });
      point("pointerup", x, y);
      plot().dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: x, clientY: y, detail: 1 }));
    }
    if (!marks.sent.length) continue;
    while (!marks.heard.length) await new Promise((done) => setTimeout(done, 0));
    took.push(marks.heard[0] - marks.sent[0]);
    // What a click changes is painted before the next one.
    await new Promise((done) => setTimeout(done, clicks ? 100 : 20));
  }
  return took;
};

// Moves a slider; the milliseconds until the picture of it is painted.
window.slide = (selector, value) => new Promise((done) => {
  const slider = document.querySelector(selector), begun = performance.now();
  forget();
  const look = () => (marks.painted.length ? done(marks.painted.at(-1) - begun) : setTimeout(look, 1));
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  look();
});

// How many bytes the worker's memory has.
window.memory = () => new Promise((done) => {
  const channel = new BroadcastChannel("memory");
  channel.onmessage = ({ data }) => {
    if (data == "?") return;
    channel.close();
    done(data);
  };
  channel.postMessage("?");
});
