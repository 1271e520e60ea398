/**
 * What pages do beyond links and forms: follow their stream, say how old they are, copy commands.
 * Everything works without. Of all that is on the page it changes only what is different: focus, selection, scroll and what is
 * unfolded stay as they are.
 */
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
  let seenAt = performance.now() - 1000 * Number(line.dataset.age);
  let heardAt = performance.now();
  const tell = () => {
    const silent = (performance.now() - heardAt) / 1000;
    const age = Math.max(0, Math.round((performance.now() - seenAt) / 1000));
    line.dataset.state = silent > 10 ? "silent" : "live";
    words.textContent = silent > 10 ? "no word for " + Math.round(silent) + " s, as of " + age + " s ago" : "as of " + age + " s ago";
  };
  const heard = (age) => {
    heardAt = performance.now();
    seenAt = heardAt - 1000 * age;
    tell();
  };
  const open = () => {
    const source = new EventSource(line.dataset.stream);
    source.addEventListener("main", (event) => {
      const parsed = new DOMParser().parseFromString(event.data, "text/html");
      morphChildren(main, parsed.body);
    });
    source.addEventListener("asof", (event) => heard(Number(event.data)));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(again, 3000);
    });
  };
  // The stream was refused. Where the visitor has to sign in again, or the page is gone, the server says so.
  const again = async () => {
    const answer = await fetch(line.dataset.stream, { redirect: "manual" }).catch(() => undefined);
    if (answer === undefined || answer.status >= 500) return setTimeout(again, 3000);
    if (!answer.ok) return location.reload();
    open();
  };
  setInterval(tell, 1000);
  open();
};

const line = document.getElementById("asof");
if (line !== null && "EventSource" in window) follow(line);

document.addEventListener("click", async ({ target }) => {
  const button = target.closest(".command button");
  if (button === null) return;
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
});
`;
