/** Where the demo is watched: see infra/tools/console/screen.ts, which the command `lifeboat` uses too. */
export { createScreen, type Output, type Screen } from "../tools/console/screen.ts";
