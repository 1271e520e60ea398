/**
 * Every route there is, as the app itself lists them: none can be forgotten.
 * Owns: the list, filling in a path. Does not own: what is asked there.
 */
import { createApp } from "../../functions/app.ts";
import { newIsolateState } from "../../functions/target.ts";
import { NOW } from "../functions/support/doors.ts";

const platform = { fetch, now: () => NOW, sleep: () => Promise.resolve(), log: () => undefined };

export const ROUTES = createApp(platform, newIsolateState()).routes.map(({ method, path }) => [method, path] as const);

/** `/clusters/:cluster/…`; what is not given is `x`. */
export function filledIn(path: string, given: Readonly<Record<string, string>>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => given[name] ?? "x");
}
