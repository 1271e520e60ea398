/** Every route there is, as the app itself lists them: none can be forgotten. */
import { createApp } from "../../../functions/app.ts";
import { createPages } from "../../../functions/page/routes.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { newPlatform } from "../../support/doors.ts";

const { platform } = newPlatform();

const listed = ({ routes }: Pick<ReturnType<typeof createApp>, "routes">) =>
  routes.map(({ method, path }) => [method, path] as const);

/** Of programs: whatever is for all methods leads to the pages. */
export const ROUTES = listed(createApp(platform, newIsolateState())).filter(([method]) => method !== "ALL");
export const PAGES = listed(createPages(platform, newIsolateState())).filter(([method]) => method !== "ALL");

/** `/clusters/:cluster/…`; what is not given is `x`. */
export function filledIn(path: string, given: Readonly<Record<string, string>>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => given[name] ?? "x");
}
