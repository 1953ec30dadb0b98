// The page's start: the glue is fetched, and the engine, which arrives packed with xz and is compiled while it
// is unpacked, whatever the host takes it for. `cargo xtask pack` writes this into index.html. What goes wrong
// before there is a program that could say so is said here.
const start = async (glue, engine, unpacker) => {
  const fetched = async (address) => {
    const response = await fetch(address);
    if (!response.ok) throw Error(`${response.status} for ${response.url}`);
    return response;
  };

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

  try {
    const files = [engine, unpacker].filter(Boolean).map(fetched);
    const [{ default: init }, module] = await Promise.all([
      import(glue),
      Promise.all(files).then(([packed, module]) => (module ? unpacked(packed, module) : packed)),
    ]);
    await init({ module_or_path: module });
  } catch (error) {
    const notices = document.querySelector("#notices");
    notices.innerHTML = '<div class="notice error" role="alert"><span></span></div>';
    notices.querySelector("span").textContent = `herdscope cannot start: ${why ?? error.message ?? error}. Load the page again; if that does not help, its files are not whole on the host, or this browser has no WebAssembly.`;
    throw error;
  }
};
