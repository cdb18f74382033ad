for (const box of document.querySelectorAll(".copy")) {
  const text = box.querySelector("pre");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  text.classList.add("room");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(text);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  box.append(button);
}
const opened = () => {
  const named = location.hash && document.getElementById(location.hash.slice(1));
  const box = named && named.querySelector("details");
  if (box) { box.open = true; box.querySelector("summary").focus(); }
};
addEventListener("hashchange", opened);
opened();
const folded = document.querySelectorAll("details:not([open])");
addEventListener("beforeprint", () => { for (const each of folded) each.open = true; });
addEventListener("afterprint", () => { for (const each of folded) each.open = false; });
