/**
 * Tests that one failed request loses no VM, leaves no object behind, and does not change how the evacuation ends. A
 * write fails because it is refused, the request or its answer is lost, or Lifeboat crashes after it. A read fails
 * because it is refused, gets no answer, or returns old or empty data.
 */
import { describe, expect, test } from "vitest";
import { type Flow, FLOWS, run } from "./adversity.ts";
import { present } from "../support/client.ts";
import { type Disturbance, READ_FAULTS, type Request, WRITE_FAULTS } from "./disturbance.ts";

/**
 * In the nightly run, each write fails in every way, and so do the first and the third read of each kind. In the other
 * runs, each write fails in at least one way, and only the reads that `SEED` selects fail.
 */
const IS_ALL = process.env["LIFEBOAT_NIGHTLY"] !== undefined;
const SEED = 3;
const SHARE = 12;
const WAYS = Object.keys(WRITE_FAULTS).length;

const isRead = (label: string) => /^(?:get|list|count) /.test(label);
const span = (from: number, to: number, step = 1) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);

const COURSES = new Map(await Promise.all(FLOWS.map(async (flow) => [flow, await run(flow)] as const)));

function writesOf(flow: Flow, way: number): readonly Request[] {
  const writes = [...(COURSES.get(flow) ?? [])].filter(([label]) => !isRead(label));
  return writes.flatMap(([label, times]) =>
    (IS_ALL ? span(1, times) : span(1 + (way % times), times, WAYS)).map((time) => ({ label, time })),
  );
}

function readsOf(flow: Flow, way: number): readonly Request[] {
  const reads = [...(COURSES.get(flow) ?? [])].filter(([label]) => isRead(label));
  const all = reads.flatMap(([label, times]) =>
    [1, 3].filter((time) => time <= times).map((time) => ({ label, time })),
  );
  return IS_ALL ? all : all.filter((_, i) => (i + way + FLOWS.indexOf(flow)) % SHARE === SEED);
}

async function each(flow: Flow, requests: readonly Request[], how: Omit<Disturbance, "request">): Promise<void> {
  expect(requests).not.toEqual([]);
  for (const request of requests) {
    try {
      await run(flow, { ...how, request });
    } catch (cause) {
      throw new Error(`${request.label}, no. ${request.time}, of "${flow.name}"`, { cause });
    }
  }
}

describe.each(FLOWS.filter(({ asks }) => asks === "deletes"))("$name, while a failure lasts", (flow) => {
  test.each(["is refused: 403", "is refused: 422"])("no VM is lost if each kind of write %s", async (name) => {
    await each(flow, writesOf(flow, 0), { isLasting: true, fault: present(WRITE_FAULTS[name]) });
  });

  test("no VM is lost if each kind of read is forbidden", async () => {
    const reads = [...(COURSES.get(flow) ?? [])].flatMap(([label]) => (isRead(label) ? [{ label, time: 1 }] : []));
    await each(flow, reads, { isLasting: true, fault: present(READ_FAULTS["is forbidden"]) });
  });
});

describe.each(FLOWS)("$name", (flow) => {
  test.each(Object.entries(WRITE_FAULTS))("ends as usual if one write %s", async (name, fault) => {
    await each(flow, writesOf(flow, Object.keys(WRITE_FAULTS).indexOf(name)), { fault });
  });

  test.each(Object.entries(READ_FAULTS))("ends as usual if one read %s", async (name, fault) => {
    await each(flow, readsOf(flow, Object.keys(READ_FAULTS).indexOf(name)), { fault });
  });
});
