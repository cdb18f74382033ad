// fadoctor in a worker: loads Pyodide and the packages from this folder, then answers texts.
// Messages in: {id, ask: "text"|"rest"|"markdown", text, gpu}; out: {progress}, {ready}, {id, ...}.
const here = self.PAGE;
const opened = async (name, told) => {
  const answer = await fetched(new URL(name, here));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(part, out) { told(part.byteLength); out.enqueue(part); },
  }));
  return counted.pipeThrough(new DecompressionStream("gzip"));
};
const fetched = self.fetch.bind(self);
const bytes = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());

let python;
let answering;
const load = async () => {
  const { large } = await (await fetched(new URL("files.json", here))).json();
  const total = Object.values(large).reduce((sum, each) => sum + each, 0);
  let done = 0;
  const told = (size) => { done += size; postMessage({ progress: Math.min(done / total, 1) }); };
  const wasm = opened("pyodide.asm.wasm.gz", told);
  const glue = opened("pyodide.asm.mjs.gz", told);
  const library = opened("stdlib.zip.gz", told).then(bytes);
  const packages = opened("packages.zip.gz", told).then(bytes);
  // Pyodide asks for its parts by name; the large ones lie here gzipped.
  const typed = { "pyodide.asm.wasm": wasm, "python_stdlib.zip": library };
  self.fetch = async (request, options) => {
    const name = String(request.url || request).split("/").pop();
    if (!(name in typed)) return fetched(request, options);
    const headers = { "Content-Type": name.endsWith(".wasm") ? "application/wasm" : "application/zip" };
    return new Response(await typed[name], { headers });
  };
  const source = new Blob([await bytes(await glue)], { type: "text/javascript" });
  const { loadPyodide } = await import(new URL("pyodide.mjs", here).href);
  const createPyodideModule = (await import(URL.createObjectURL(source))).default;
  const stdLibURL = new URL("python_stdlib.zip", here).href;
  python = await loadPyodide({ indexURL: here, stdLibURL, createPyodideModule });
  python.unpackArchive(await packages, "zip", { extractDir: "/packages" });
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  const shown = python.pyimport("fadoctor.interfaces.browser.shown");
  answering = shown.Answering();
  postMessage({ ready: true, gpus: JSON.parse(shown.gpu_names()), version: shown.version() });
};

const loaded = load();
loaded.catch((error) => postMessage({ failed: String(error && error.message || error) }));
self.onmessage = async ({ data }) => {
  try {
    await loaded;
    const began = performance.now();
    let answer;
    if (data.ask === "markdown") answer = { markdown: answering.markdown() };
    else answer = JSON.parse(data.ask === "rest" ? answering.rest() : answering.first(data.text, data.gpu));
    postMessage({ id: data.id, ask: data.ask, ms: performance.now() - began, ...answer });
  } catch (error) {
    postMessage({ id: data.id, ask: data.ask, problem: `fadoctor broke: ${error.message}`, where: "text" });
  }
};
