/**
 * Lifeboat, collecting its garbage whenever an answer has been parsed, which is when there is most of it alive: its text and its objects,
 * and all that was kept of the answers before. And a door to the scheduled handler, which workerd has none to.
 */
import { tickTime } from "../../stage/tick-times.ts";
import lifeboat from "../../../../functions/index.ts";

/** With V8's flag --expose-gc. */
declare const gc: () => void;

type Fetch = typeof lifeboat.fetch;

const parse = JSON.parse;
JSON.parse = (...args) => {
  const value: unknown = parse(...args);
  gc();
  return value;
};

/** Lines of the log, the only place where a tick tells of them. */
let failures = 0;
const log = console.log;
console.log = (...args: readonly unknown[]) => {
  if (args.some((line) => typeof line === "string" && line.includes('"level":"error"'))) failures += 1;
  log(...args);
};

export default {
  async fetch(...[request, env, context]: Parameters<Fetch>): Promise<Response> {
    if (new URL(request.url).pathname !== "/tick") return await lifeboat.fetch(request, env, context);
    await lifeboat.scheduled({ scheduledTime: tickTime("bench", "small").getTime() }, env ?? {});
    return Response.json({ failures }, { status: failures > 0 ? 500 : 200 });
  },
};
