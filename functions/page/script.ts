/** The scripts of the pages. They refresh the page, show its age, and copy commands. */
export const SCRIPT = `"use strict";
document.documentElement.classList.add("script");

const morph = (from, to) => {
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
  }
  morphChildren(from, to);
};

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.dataset.key || node.id : "") || node.nodeName;

const morphChildren = (from, to) => {
  const known = new Map();
  for (const child of from.childNodes) known.set(keyOf(child), [...(known.get(keyOf(child)) || []), child]);
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const same = (known.get(keyOf(wanted)) || []).shift();
    if (same !== undefined) morph(same, wanted);
    const placed = same || wanted;
    if (placed === at) at = at.nextSibling;
    else from.insertBefore(placed, at);
  }
  for (const unwanted of [...known.values()].flat()) unwanted.remove();
};

const follow = (line) => {
  const main = document.getElementById("main");
  const words = line.querySelector(".words");
  let seenAt = performance.now();
  let isSilent = false;
  const tell = () => {
    const age = Math.round((performance.now() - seenAt) / 1000);
    line.dataset.state = isSilent ? "silent" : "live";
    words.textContent = (isSilent ? "the last refresh failed; " : "") + "as of " + age + " s ago";
  };
  const refresh = async () => {
    if (document.hidden) return;
    const answer = await fetch(line.dataset.path, { redirect: "manual", headers: { accept: "text/html" } }).catch(() => undefined);
    isSilent = answer === undefined || answer.status >= 500;
    if (isSilent) return tell();
    // After an error, the reload shows the sign-in page or the error page.
    if (!answer.ok) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    morphChildren(main, page.getElementById("main"));
    seenAt = performance.now();
    tell();
  };
  const again = async () => {
    await refresh().catch(() => undefined);
    setTimeout(again, 1000 * Number(line.dataset.every));
  };
  setTimeout(again, 1000 * Number(line.dataset.every));
  setInterval(tell, 1000);
  document.addEventListener("visibilitychange", refresh);
  tell();
};

const line = document.getElementById("asof");
if (line !== null) follow(line);

document.addEventListener("click", async ({ target }) => {
  const button = target.closest(".command button");
  if (button === null) return;
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
});
`;
