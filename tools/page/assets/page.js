// The page: a text and a GPU go to the worker, its answer is shown. Nothing is sent anywhere.
const $ = (id) => document.getElementById(id);
const [text, gpu, state, answer, tools, progress] =
  ["text", "gpu", "state", "answer", "tools", "progress"].map($);
const WAIT_MS = 250;
const here = new URL("./", location.href).href;
const within = new URLSearchParams(location.search).has("within");
document.documentElement.classList.toggle("within", within);

let worker = null;
let ready = false;
let number = 0;
let shown = 0;
let waiting = null;
let busy = false;
const asked = new Map();

const start = async () => {
  if (worker) return;
  progress.hidden = false;
  say("Loading fadoctor: once, about 10 MB.");
  if ("serviceWorker" in navigator) {
    try {
      await navigator.serviceWorker.register("sw.js");
      await Promise.race([controlled(), new Promise((go) => setTimeout(go, 4000))]);
    } catch { /* the page works without, but not without a network */ }
  }
  if (worker) return;
  // A worker from a blob inherits the page's policy: it can connect to nothing but this folder.
  const source = `self.PAGE = ${JSON.stringify(here)}; await import(${JSON.stringify(here + "worker.js")});`;
  const queue = `const early = []; self.onmessage = (event) => early.push(event);` + source +
    `for (const each of early) self.onmessage(each);`;
  worker = new Worker(URL.createObjectURL(new Blob([queue], { type: "text/javascript" })), { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  worker.onerror = (event) => failed(event.message || "the worker did not start");
  ask();
};
const controlled = () => new Promise((go) => {
  if (navigator.serviceWorker.controller) go();
  else navigator.serviceWorker.addEventListener("controllerchange", go, { once: true });
});
const say = (words) => { state.textContent = words; };
const failed = (why) => {
  progress.hidden = true;
  say(`fadoctor could not be loaded: ${why}. Reload the page to try again.`);
};

const send = (message) => { worker.postMessage({ id: ++number, ...message }); return number; };
const ask = () => {
  if (!worker) { start(); return; }
  const wanted = { ask: "text", text: text.value, gpu: gpu.value };
  if (!wanted.text.trim() && !wanted.gpu.trim()) { cleared(); return; }
  if (busy) { waiting = wanted; return; }
  busy = true;
  answer.classList.add("old");
  answer.setAttribute("aria-busy", "true");
  if (ready) say("Reading the text.");
  send(wanted);
};
const cleared = () => {
  answer.replaceChildren();
  answer.classList.remove("old");
  answer.removeAttribute("aria-busy");
  tools.hidden = true;
  problem("");
  say(ready ? "Paste a text to begin." : state.textContent);
};
const problem = (words) => {
  const box = $("gpu-problem");
  box.hidden = !words;
  box.textContent = words;
  gpu.toggleAttribute("aria-invalid", Boolean(words));
};

const heard = (data) => {
  if (data.failed) { failed(data.failed); return; }
  if ("progress" in data) { progress.value = data.progress * 0.9; return; }
  if (data.ready) {
    ready = true;
    progress.hidden = true;
    $("gpus").replaceChildren(...data.gpus.map((name) => Object.assign(document.createElement("option"), { value: name })));
    $("version").textContent = `: ${data.version}`;
    if (!busy) say("Ready. Paste a text.");
    document.documentElement.dataset.ready = "yes";
    return;
  }
  if (data.ask === "markdown") { asked.get(data.id)?.(data.markdown); asked.delete(data.id); return; }
  show(data);
};
const show = (data) => {
  const newer = waiting;
  const more = data.more && !newer;
  answer.classList.remove("old");
  answer.removeAttribute("aria-busy");
  problem(data.where === "gpu" ? data.problem : "");
  if (data.problem) {
    if (data.where !== "gpu") say(data.problem);
  } else {
    // The markup was made by the program, which escapes every text.
    answer.innerHTML = data.html;
    decorate();
    tools.hidden = false;
    say(`Read as ${data.words}. ${data.first}${more ? ` ${data.checking}` : ""}`);
    answer.dataset.kind = data.kind;
    answer.dataset.ms = Math.round(data.ms);
  }
  answer.dataset.more = more ? "yes" : "no";
  shown += 1;
  answer.dataset.shown = shown;
  grown();
  if (more) { send({ ask: "rest" }); return; }
  busy = false;
  waiting = null;
  if (newer) ask();
};
const decorate = () => {
  for (const box of answer.querySelectorAll(".copy")) {
    const pre = box.querySelector("pre");
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
    pre.classList.add("room");
    button.addEventListener("click", () => copy(pre.textContent, button));
    box.append(button);
  }
  for (const name of answer.querySelectorAll("code[data-rule]")) {
    const address = `../rules/${encodeURIComponent(name.dataset.rule)}.html`;
    const link = Object.assign(document.createElement("a"), { href: address, target: "_top" });
    name.replaceWith(link);
    link.append(name);
  }
};
const copy = async (words, button) => {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(words);
    button.textContent = "Copied";
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: words });
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Not copied";
    area.remove();
  }
  setTimeout(() => { button.textContent = before; }, 2000);
};

let timer;
text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT_MS); });
gpu.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 2 * WAIT_MS); });
text.addEventListener("focus", start, { once: true });
$("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
$("markdown").addEventListener("click", (event) => {
  const button = event.currentTarget;
  asked.set(send({ ask: "markdown" }), (words) => copy(words, button));
});
$("link").addEventListener("click", (event) => {
  const parts = new URLSearchParams();
  if (text.value) parts.set("text", text.value);
  if (gpu.value) parts.set("gpu", gpu.value);
  copy(`${here}index.html#${parts}`, event.currentTarget);
});
$("clear").addEventListener("click", () => { text.value = ""; gpu.value = ""; cleared(); text.focus(); });
$("example").addEventListener("change", (event) => { if (event.target.value) fill(`kind:${event.target.value}`); });

const examples = async () => {
  const { body } = await fetch("examples.json.gz");
  return new Response(body.pipeThrough(new DecompressionStream("gzip"))).json();
};
const fill = async (name) => {
  const found = (await examples())[name];
  if (found === undefined) { say(`There is no example for ${name}.`); return; }
  text.value = typeof found === "string" ? found : found.text;
  gpu.value = found.gpu || "";
  ask();
};
const linked = () => {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.has("gpu")) gpu.value = parts.get("gpu").slice(0, 200);
  if (parts.has("rule")) fill(parts.get("rule"));
  else if (parts.has("text")) { text.value = parts.get("text"); ask(); }
  else if (parts.has("gpu")) ask();
};
const grown = () => {
  if (within) parent.postMessage({ fadoctor: Math.ceil(document.body.offsetHeight) + 2 }, location.origin);
};
addEventListener("message", ({ data, origin }) => {
  if (within && origin === location.origin && data && ["dark", "light"].includes(data.scheme)) {
    document.documentElement.dataset.scheme = data.scheme;
  }
});
if (within) new ResizeObserver(grown).observe(document.body);
addEventListener("hashchange", linked);
linked();
if (!within) start();
