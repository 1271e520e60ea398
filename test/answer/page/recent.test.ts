/** What pages have read is shared, for as long as it is new and there is room; who waits for another's reading gets it. */
import { expect, test } from "vitest";
import { RecentReads } from "../../../functions/page/stream.ts";

/** Sleeping takes no time: the clock goes on. */
function clockAt(start = 0) {
  let ms = start;
  return {
    now: () => new Date(ms),
    sleep: (forMs: number) => {
      ms += forMs;
      return Promise.resolve();
    },
  };
}

function reads(mostKept?: number) {
  const recent = new RecentReads<string>(mostKept);
  const clock = clockAt();
  const read: string[] = [];
  const get = (key: string, reading: () => Promise<string> = () => Promise.resolve(key)) =>
    recent.get(
      {
        key,
        maxAgeMs: 1000,
        read() {
          read.push(key);
          return reading();
        },
      },
      clock,
    );
  return { recent, clock, get, read };
}

test("what is new enough is not read again, what is older is", async () => {
  const { get, read, clock } = reads();
  await get("a");
  await clock.sleep(1000);
  await get("a");
  expect(read).toEqual(["a"]);
  await clock.sleep(1);
  await get("a");
  expect(read).toEqual(["a", "a"]);
});

test("what was asked for longest ago makes room", async () => {
  const { recent, get } = reads(2);
  for (const key of ["a", "b", "a", "c"]) await get(key);
  expect(["a", "b", "c"].filter((key) => recent.last(key) !== undefined)).toEqual(["a", "c"]);
});

test("what is being read keeps its place: another visitor waits for it, and reads nothing", async () => {
  const { get, read } = reads(1);
  const slow = Promise.withResolvers<string>();
  const first = get("slow", () => slow.promise);
  await get("other");
  const second = get("slow");
  slow.resolve("at last");
  expect((await first).facts).toBe("at last");
  expect((await second).facts).toBe("at last");
  expect(read).toEqual(["slow", "other"]);
});

test("a reading that fails is its own visitor's failure, and the next one reads", async () => {
  const { get, read } = reads();
  await expect(get("a", () => Promise.reject(new Error("no answer")))).rejects.toThrow("no answer");
  expect((await get("a")).facts).toBe("a");
  expect(read).toEqual(["a", "a"]);
});
