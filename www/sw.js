// The page without a network: its files are kept on this device, and come from there. `cargo xtask pack` writes the
// first line, `version` and `files`, the names with what each has to hash to.
//
// A version is kept as a whole or not at all. It is taken with the next navigation: index.html is that of the version
// that runs here, and names files whose names change with what is in them, so that no page gets a mix. On this machine
// the server is asked first: there a page is built anew and looked at, and another one may have the port tomorrow.
const ours = `herdscope ${registration.scope} `;
const name = ours + version;

const keep = async () => {
  const kept = await caches.open(name);
  const fetched = async ([file, integrity]) => {
    // A file in the browser's own cache may be an old one.
    const response = await fetch(file, { integrity, cache: "no-cache" });
    // One that was redirected answers no navigation: as a new one it does.
    await kept.put(file, new Response(response.body, response));
  };
  await Promise.all(Object.entries(files).map(fetched));
  await skipWaiting();
};

// A page of an older version may still be fetching its files: they go when a page of this one is opened.
const tidy = async () => {
  for (const other of await caches.keys()) {
    if (other.startsWith(ours) && other != name) await caches.delete(other);
  }
};

const tell = async () => {
  await clients.claim();
  for (const page of await clients.matchAll()) page.postMessage(version);
};

const isLocal = /^(localhost|127\.0\.0\.1)$/.test(location.hostname);

const answer = async (request, file) => {
  if (isLocal && request.mode == "navigate") {
    // One that has just ended may leave a connection behind that says nothing.
    const patience = new Promise((done) => setTimeout(done, 1500));
    const fresh = await Promise.race([patience, fetch(request).catch(() => 0)]);
    if (fresh) return fresh;
  }
  const kept = await caches.open(name);
  return (await kept.match(file)) ?? (await caches.match(request)) ?? fetch(request);
};

addEventListener("install", (event) => event.waitUntil(keep()));
addEventListener("activate", (event) => event.waitUntil(tell()));
addEventListener("fetch", (event) => {
  const { method, mode, url } = event.request;
  const [address] = url.split(/[?#]/);
  if (method != "GET" || !address.startsWith(registration.scope)) return;
  const file = address.slice(registration.scope.length) || "index.html";
  // A file that an older version has had is among those that it has left.
  const old = /-[0-9a-f]{16}\.[a-z.]+$/.test(file);
  if (!Object.hasOwn(files, file) && !old) return;
  event.respondWith(answer(event.request, file));
  if (mode == "navigate") event.waitUntil(tidy());
});
