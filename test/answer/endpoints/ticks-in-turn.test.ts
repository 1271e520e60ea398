/** A fleet without a queue: clusters whose API servers do not answer cost the others nothing but a few seconds. */
import { describe, expect, test } from "vitest";
import { newIsolateState } from "../../../functions/target.ts";
import { runTick } from "../../../functions/schedule.ts";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { VirtualClock } from "../../support/clock.ts";
import { entry, newPlatform, NOW } from "../../support/doors.ts";

const named = (kind: "drips" | "well", count: number) => Array.from({ length: count }, (_, i) => `${kind}-${i}`);

/** What is no list does not exist. Of clusters that drip, lists begin and never end. */
function answer(url: URL, signal: AbortSignal): Response {
  const isList = /\/(evacuations|virtualmachineinstances|nodes)$/.test(url.pathname);
  if (isList && url.hostname.startsWith("drips")) return new Response(endless('{"kind":"List",', signal));
  if (/\/(lifeboatconfigurations|configmaps)\/[^/]+$/.test(url.pathname)) {
    const body = { kind: "Status", status: "Failure", reason: "NotFound", code: 404 };
    return Response.json(body, { status: 404 });
  }
  return Response.json({ kind: "List", metadata: {}, items: [] });
}

function endless(beginning: string, signal: AbortSignal): ReadableStream {
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(new TextEncoder().encode(beginning));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
}

/** Of the clusters, which a tick has looked at, and how long it took. */
function fleet(names: readonly string[], random: () => number) {
  const clock = new VirtualClock(tickTime(names[0] ?? "", "small", NOW));
  const reached = new Set<string>();
  const { platform, world } = newPlatform(undefined, undefined, {
    now: () => clock.now(),
    timeout: (ms) => clock.timeout(ms),
    random,
    fetch: async (address, { signal }) => {
      const url = new URL(address);
      if (url.pathname.endsWith("/evacuations")) reached.add(url.hostname);
      return answer(url, signal ?? new AbortController().signal);
    },
  });
  const CLUSTERS = JSON.stringify(Object.fromEntries(names.map((name) => [name, entry(`https://${name}`)])));
  const tick = async () => {
    const began = clock.now().getTime();
    const ticking = runTick(began, { env: { CLUSTERS }, platform, state: newIsolateState() });
    await clock.settle([ticking]);
    await ticking;
    return { reached, took: (clock.now().getTime() - began) / 1000 };
  };
  return { tick, log: world.log };
}

describe("clusters that drip come first", () => {
  // prettier-ignore
  test.each<[drips: number, well: number, seconds: number, why: string]>([
    [ 0, 40,  0, "nothing to wait for"],
    [ 4, 40, 10, "four at a time wait ten seconds"],
    [20, 40, 50, "as many as the minute has time for"],
    [ 4,  0, 60, "no other cluster waits: they have their full time, that of a full scan"],
  ])("%i of them, then %i others: all are reached, in %i s: %s", async (drips, well, seconds) => {
    const { tick } = fleet([...named("drips", drips), ...named("well", well)], () => 0);
    const { reached, took } = await tick();
    expect({ reached: reached.size, took: Math.round(took) }).toEqual({ reached: drips + well, took: seconds });
  });

  test("so many that the minute is over: those that were not reached are logged", async () => {
    const names = [...named("drips", 30), ...named("well", 10)];
    const { tick, log } = fleet(names, () => 0);
    const { reached } = await tick();
    const missed = names.filter((name) => !reached.has(name));
    expect(missed).toEqual(expect.arrayContaining(named("well", 10)));
    expect(log.flatMap(({ level, cluster }) => (level === "warn" ? [cluster] : []))).toEqual(missed);
  });
});
