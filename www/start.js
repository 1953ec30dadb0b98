// The page's start: the glue is fetched, and the engine, which arrives packed with xz and is compiled while it
// is unpacked, whatever the host takes it for. `cargo xtask pack` writes this into index.html, and the call with each
// file's name and what it has to hash to. What goes wrong before there is a program that could say so, or after it has
// stopped, is here.
const start = async (...files) => {
  const find = (selector) => document.querySelector(selector);
  for (const button of ["#update", "#reload"]) find(button).onclick = () => location.reload();

  // What ends without a panic, as where there is no memory left, has no program left to say so.
  addEventListener("error", ({ error }) => {
    const dialog = find("#stopped-dialog");
    if (!(error instanceof WebAssembly.RuntimeError) || dialog.open) return;
    find("#stopped-report").textContent = `${document.documentElement.dataset.version}: ${error}\n${error.stack}`;
    dialog.dataset.end = "page";
    dialog.showModal();
  });

  // The browser does not tell a file that is another from one that is not there.
  const refused = async (address) => {
    const { ok, status, url } = await fetch(address, { cache: "no-cache" }).catch(() => ({}));
    if (!url) throw Error(`${address} cannot be fetched: there is no connection to the host`);
    throw Error(ok ? `${url} is not the file that this page was built with` : `${status} for ${url}`);
  };
  const fetched = ([address, integrity]) => fetch(address, { integrity }).catch(() => refused(address));

  // The browser's own error says no more than that a stream has failed.
  let why;

  // The packed bytes as a wasm module. The unpacker is that of the package xz-decompress, whose memory begins, from
  // `at` on, with the size of its buffers; where packed bytes go, how far they are used, how many there are; and
  // where unpacked bytes are, and how many.
  const unpacked = async (packed, module) => {
    const { instance } = await WebAssembly.instantiate(await module.arrayBuffer());
    const xz = instance.exports;
    const at = xz.create_context();
    const fields = () => new Uint32Array(xz.memory.buffer, at, 6);
    const bytes = (from, to) => new Uint8Array(xz.memory.buffer).subarray(from, to);
    const reader = packed.body.getReader();
    // The thread does something else after each piece: all of them, one after the other, would be a long task.
    const { port1, port2 } = new MessageChannel();
    const turn = () =>
      new Promise((done) => {
        port1.onmessage = done;
        port2.postMessage(0);
      });
    let input = new Uint8Array();
    // All of it is little, so that nobody has to ask for the next piece.
    const start = async (controller) => {
      for (let result = 0; !result; await turn()) {
        const [size, to, used, given] = fields();
        if (used == given) {
          // After the last bytes there are none, and perhaps more to unpack of those before.
          if (!input.length) input = (await reader.read()).value ?? input;
          const piece = input.subarray(0, size);
          input = input.subarray(size);
          bytes(to).set(piece);
          xz.supply_input(at, piece.length);
        }
        result = xz.get_next_output(at);
        if (result > 1) throw Error((why = `${packed.url} is damaged or cut off`));
        const [, , , , from, n] = fields();
        controller.enqueue(bytes(from, from + n).slice());
        fields()[5] = 0;
      }
      controller.close();
    };
    const headers = { "content-type": "application/wasm" };
    return new Response(new ReadableStream({ start }), { headers });
  };

  // Kept on this device, where the browser does that: see www/sw.js.
  const keep = async () => {
    const { serviceWorker } = navigator;
    serviceWorker.onmessage = ({ data }) => {
      find("#update").hidden = data == document.documentElement.dataset.version;
    };
    await serviceWorker.register("sw.js");
  };

  try {
    const style = find("link[rel=stylesheet]");
    if (!style.sheet?.cssRules.length) await refused(style.href);
    const [glue, ...modules] = files;
    const [{ default: init }, module] = await Promise.all([
      import(glue[0]).catch(() => refused(glue[0])),
      Promise.all(modules.map(fetched)).then(([packed, module]) => (module ? unpacked(packed, module) : packed)),
    ]);
    await init({ module_or_path: module });
    // Where it does not, everything is fetched each time, as before.
    keep().catch(() => {});
  } catch (error) {
    const notices = find("#notices");
    notices.innerHTML = '<div class="notice error" role="alert"><span></span></div>';
    notices.querySelector("span").textContent = `herdscope cannot start: ${why ?? error.message ?? error}. Load the page again; if that does not help, its files are not whole on the host (all files of one build belong together), or this browser has no WebAssembly.`;
    throw error;
  }
};
