/** The style sheet and the script, as they are served. */
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

/** The mark: a lifebuoy, cut where a light and a dark surface would both show it. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke-width="7"><circle cx="16" cy="16" r="11.5" stroke="#0f7f8c"/><circle cx="16" cy="16" r="11.5" stroke="#f4f7f7" stroke-dasharray="6.02 12.04" stroke-dashoffset="3.01"/></g><g fill="none" stroke="#0a5c66" stroke-width="1.2"><circle cx="16" cy="16" r="15"/><circle cx="16" cy="16" r="8"/></g></svg>
`;

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly content: string;
}

/** FNV-1a, 32 bits: tells versions apart, secures nothing. */
function versionOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

export const ASSETS = {
  icon: { path: `/assets/${versionOf(ICON)}.svg`, type: "image/svg+xml", content: ICON },
  style: { path: `/assets/${versionOf(STYLE)}.css`, type: "text/css; charset=utf-8", content: STYLE },
  script: { path: `/assets/${versionOf(SCRIPT)}.js`, type: "text/javascript; charset=utf-8", content: SCRIPT },
} as const satisfies Record<string, Asset>;
