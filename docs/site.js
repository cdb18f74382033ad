// The box on the home page says how tall it is, and is told which colours the site has.
const box = document.querySelector(".fadoctor-box");
const coloured = () => box.contentWindow.postMessage(
  { scheme: document.body.dataset.mdColorScheme === "slate" ? "dark" : "light" }, location.origin,
);
if (box) {
  addEventListener("message", ({ data, origin, source }) => {
    if (origin !== location.origin || source !== box.contentWindow || !data) return;
    if (Number.isFinite(data.fadoctor)) box.style.height = `${Math.min(Math.max(data.fadoctor, 200), 20000)}px`;
    coloured();
  });
  new MutationObserver(coloured).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
}
// The theme's dialog has no name for those who do not see it.
document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");
// The theme wraps the copy button of every code block in a landmark for navigation: it is none.
// A table that is scrolled on a phone is scrolled by keys, too.
const plain = () => {
  document.querySelectorAll("nav.md-code__nav:not([role])").forEach((each) => each.setAttribute("role", "none"));
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((each) => each.setAttribute("tabindex", "0"));
};
new MutationObserver(plain).observe(document.body, { childList: true, subtree: true });
plain();
// The search splits Chinese words by itself. Kana and Hangul are told apart here, as they are in the index.
const told = /[\u3040-\u30ff\uac00-\ud7af]/g;
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message && typeof message.data === "string") message = { ...message, data: message.data.replace(told, "$&\u200b") };
  return post.call(this, message, ...rest);
};
