/**
 * The style sheet and the script, as they are served.
 * Owns: their addresses, which change with their content, so that a browser may keep them for good.
 */
import { ICON } from "./icon.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

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
