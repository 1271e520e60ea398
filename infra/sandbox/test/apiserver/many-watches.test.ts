/**
 * A thousand watches at once that time out, break, lag and are compacted during writes: no write fails, no other
 * watch misses an event, and no watch is left over.
 */
import { expect, test } from "vitest";
import { createSteppedClock } from "../../actors/clock.ts";
import { collectionOf } from "../../apiserver/context.ts";
import { type Stream, startInMemory } from "./in-memory.ts";

const OF_EACH_SORT = 200;
const WAVES = ["first", "second", "third"];
const WRITERS = 4;
const TIMEOUT_SECONDS = 30;

const MAPS = "/api/v1/namespaces/default/configmaps";
const map = (name: string) => ({ metadata: { name }, data: { key: "x".repeat(500) } });

const clock = createSteppedClock();
let timers = 0;
const { state, stream, send } = startInMemory({
  now: () => clock.now(),
  setTimer(ms, fn) {
    timers += 1;
    const cancel = clock.setTimer(ms, fn);
    return () => {
      timers -= 1;
      cancel();
    };
  },
});

let started = 0;
const many = (query: string): readonly Stream[] =>
  Array.from({ length: OF_EACH_SORT }, () => stream(`${MAPS}?watch=true&resourceVersion=${started}${query}`));

/** Several writers at once, then one last write. */
async function write(wave: string): Promise<void> {
  const names = Array.from({ length: WRITERS }, (_, writer) => `${wave}-${writer}`);
  const codes = await Promise.all(names.map((name) => send("POST", MAPS, map(name))));
  expect([...codes, await send("POST", MAPS, map(`${wave}-last`))]).toEqual([...names.map(() => 201), 201]);
}

const seenBy = (streams: readonly Stream[], wave: string) =>
  Promise.all(streams.map((one) => one.has(`"${wave}-last"`)));

/** All events up to here, as a watch without gaps gets them. */
function everything(): readonly string[] {
  const kind = state.kinds.find("", "v1", "configmaps");
  const stored = kind === undefined ? [] : collectionOf(state, kind).list("default");
  const changes = stored.filter(({ revision }) => revision > started).toSorted((a, b) => a.revision - b.revision);
  return changes.map(({ name }) => `ADDED ${name}`);
}

test("a thousand watches", { timeout: 60_000 }, async () => {
  await send("POST", MAPS, map("old"));
  started = state.store.revision;
  const steady = many("").map((one) => one.read());
  const timingOut = many(`&timeoutSeconds=${TIMEOUT_SECONDS}`).map((one) => one.read());
  const breakingOff = many("").map((one) => one.read());
  const slowAndTimingOut = many(`&timeoutSeconds=${TIMEOUT_SECONDS}`);
  const slowAndCompacted = many("");
  for (const wave of WAVES) await write(wave);
  await seenBy([...steady, ...timingOut, ...breakingOff], WAVES.at(-1) ?? "");
  const before = everything();

  // During the next writes some watches time out and others break; then the past is compacted.
  const writing = write("midst");
  clock.advance(TIMEOUT_SECONDS * 1000);
  for (const one of breakingOff) one.breakOff();
  await writing;
  state.store.compact();
  await write("after");
  for (const one of [...slowAndTimingOut, ...slowAndCompacted]) one.read();
  await seenBy(steady, "after");
  await Promise.all([...timingOut, ...breakingOff, ...slowAndTimingOut, ...slowAndCompacted].map((one) => one.ended()));

  const all = everything();
  expect(all).toHaveLength((WAVES.length + 2) * (WRITERS + 1));
  for (const { events } of steady) expect(events).toEqual(all);
  for (const { events } of timingOut) expect(events).toEqual([...before, "END"]);
  for (const { events } of breakingOff) expect(events).toEqual(before);
  for (const { events } of slowAndTimingOut) {
    expect(events.at(-1)).toBe("END");
    expect(before.slice(0, -1).slice(0, events.length - 1)).toEqual(events.slice(0, -1));
  }
  for (const { events } of slowAndCompacted) {
    expect(events.slice(-2)).toEqual(["ERROR 410", "END"]);
    expect(before.slice(0, -1).slice(0, events.length - 2)).toEqual(events.slice(0, -2));
  }
  expect(timers).toBe(steady.length);
});
