/** What pages do beyond links and forms: follow their stream, copy commands. Everything works without. */
export const SCRIPT = `"use strict";
const main = document.querySelector("main[data-stream]");
if (main !== null) {
  const source = new EventSource(main.dataset.stream);
  source.addEventListener("main", (event) => { main.innerHTML = event.data; });
}
`;
