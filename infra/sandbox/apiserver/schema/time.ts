/** Parses and formats times as Go does. Results are in UTC, with as many fractional digits as the layout. */
import { timestamp } from "../context.ts";

const RFC3339 = "2006-01-02T15:04:05Z07:00";

export const LAYOUTS: Readonly<Record<string, string>> = {
  Date: RFC3339,
  V1MicroTime: "2006-01-02T15:04:05.000000Z07:00",
};

export function readTime(text: string, layout: string, refuse: (why: string) => never): string {
  let rest = text;
  for (const [part] of layout.matchAll(/2006|Z07:00|\.0+|\d\d|./g)) {
    const found = formOf(part, layout).exec(rest)?.[0];
    rest = rest.slice(found?.length);
    if (found === undefined) refuse(`parsing time "${text}" as "${layout}": cannot parse "${rest}" as "${part}"`);
  }
  if (rest !== "") refuse(`parsing time "${text}": extra text: "${rest}"`);
  if (!isDate(text)) refuse(`parsing time "${text}": day out of range`);
  const seconds = timestamp(new Date(text));
  return layout === RFC3339 ? seconds : seconds.replace("Z", `${text.slice(19, 26)}Z`);
}

function formOf(part: string, layout: string): RegExp {
  if (part === "Z07:00") return /^(Z|[-+]\d\d:\d\d)/;
  // RFC 3339 times may have a fraction of a second.
  if (part === "05" && layout === RFC3339) return /^\d\d(\.\d+)?/;
  return new RegExp(`^${part.replace(".", "\\.").replaceAll(/\d/g, "\\d")}`);
}

/** Returns true if the date exists. JavaScript accepts 30 February as 2 March. */
function isDate(text: string): boolean {
  return !Number.isNaN(Date.parse(text)) && new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10));
}
