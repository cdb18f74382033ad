// Keeps the page for use without a network: what was fetched once is answered from here.
const VERSION = "fadoctor-VERSION_OF_THE_PAGE";
const FIRST = ["./", "index.html", "page.js", "page.css", "files.json", "examples.json.gz", "worker.js", "pyodide.mjs", "pyodide-lock.json"];

addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FIRST)).then(() => self.skipWaiting()));
});
addEventListener("activate", (event) => {
  const old = async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("fadoctor-") && name !== VERSION) await caches.delete(name);
    }
    await self.clients.claim();
  };
  event.waitUntil(old());
});
addEventListener("fetch", (event) => {
  const { request } = event;
  const inScope = request.url.startsWith(self.registration.scope);
  if (request.method !== "GET" || !inScope) return;
  event.respondWith((async () => {
    const cache = await caches.open(VERSION);
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    const answer = await fetch(request);
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  })());
});
