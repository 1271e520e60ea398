/**
 * A platform whose deadlines pass at once for a request that never gets its answer, when every other one has got its own; and never else.
 */
import { setImmediate } from "node:timers/promises";
import type { Platform } from "../../../../functions/env.ts";

export function hurried(
  isStuck: (request: { readonly method: string; readonly path: string }) => boolean,
): Pick<Platform, "fetch" | "timeout"> {
  const deadlines = new Map<AbortSignal, AbortController>();
  const others = new Set<Promise<unknown>>();
  const pass = async (deadline: AbortController | undefined) => {
    do {
      await Promise.allSettled(others);
      // What follows from an answer may be another request.
      await setImmediate();
    } while (others.size > 0);
    deadline?.abort(new DOMException("the deadline has passed", "TimeoutError"));
  };
  return {
    timeout() {
      const deadline = new AbortController();
      deadlines.set(deadline.signal, deadline);
      return deadline.signal;
    },
    async fetch(url, init) {
      const request = { method: init.method ?? "GET", path: decodeURIComponent(new URL(url).pathname) };
      if (isStuck(request)) {
        const asking = fetch(url, init);
        void pass(init.signal ? deadlines.get(init.signal) : undefined);
        return await asking;
      }
      const asking = wholly(url, init);
      others.add(asking);
      try {
        return await asking;
      } finally {
        others.delete(asking);
      }
    },
  };
}

/** With all of its body. */
async function wholly(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init);
  return new Response(await answer.arrayBuffer(), { status: answer.status, headers: answer.headers });
}
