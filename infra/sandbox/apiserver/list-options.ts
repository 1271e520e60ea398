/**
 * The options of a request for a collection: lists, watches, deletions of many.
 * Owns: reading them, which go together. Does not own: what they select (reading.ts), where a watch starts (watch.ts).
 */
import { forbiddenValue, unsupportedValue } from "./field-errors.ts";
import { badRequest, fail } from "./status.ts";

export type ListOptions = ReturnType<typeof readListOptions>;

const MATCH = "resourceVersionMatch";

export function readListOptions(query: URLSearchParams, of: "list" | "watch") {
  readInteger(query, "timeoutSeconds");
  const limit = readInteger(query, "limit");
  const text = (name: string): string => query.get(name) ?? "";
  const [token, version, match] = [text("continue"), text("resourceVersion"), text(MATCH)] as const;
  const initial = query.has("sendInitialEvents") ? isTrue(query.get("sendInitialEvents")) : undefined;
  const forbidden = (why: string) => forbiddenValue(MATCH, why);
  const whileListing = () => [
    match && !version && forbidden(`${MATCH} is forbidden unless resourceVersion is provided`),
    match && token && forbidden(`${MATCH} is forbidden when continue is provided`),
    match && !/^(Exact|NotOlderThan)$/.test(match) && unsupportedValue(MATCH, match, ["Exact", "NotOlderThan", ""]),
    match === "Exact" && version === "0" && forbidden(`${MATCH} "exact" is forbidden for resourceVersion "0"`),
    initial !== undefined && forbiddenValue("sendInitialEvents", "sendInitialEvents is forbidden for list"),
  ];
  const [asked, wrong] = [initial !== undefined, match !== "NotOlderThan"];
  const whileWatching = () => [
    asked && wrong && forbidden(`sendInitialEvents requires setting ${MATCH} to NotOlderThan`),
    match && !asked && forbidden(`${MATCH} is forbidden for watch unless sendInitialEvents is provided`),
    match && wrong && unsupportedValue(MATCH, match, ["NotOlderThan"]),
    match && token && forbidden(`${MATCH} is forbidden when continue is provided`),
  ];
  const errors = (of === "list" ? whileListing() : whileWatching()).filter((error) => typeof error === "object");
  if (errors.length > 0) {
    fail({ reason: "Invalid", kind: { group: "meta.k8s.io", kind: "ListOptions" }, name: "", errors });
  }
  return { limit, token, version, match, initial };
}

/** Everything but "false" and "0" is true, even nothing. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

function readInteger(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? "0";
  if (/^[-+]?\d+$/.test(text)) return Number(text);
  return badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
}
