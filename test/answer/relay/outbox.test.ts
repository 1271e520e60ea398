/**
 * Tests the outbox, which stores events for the Worker in limited memory. For each object, the outbox contains only the
 * newest event of each type.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { createOutbox, type Outbox } from "../../../infra/relay/outbox.ts";
import { LARGEST_BATCH_BYTES } from "../../../shared/events/cloud-event.ts";
import { vmiEvent } from "./fake-worker.ts";

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 12, 0, second));
const ids = (outbox: Outbox, second = 0, limit = 100) => outbox.first(limit, at(second)).map(({ id }) => id);

describe("the outbox", () => {
  let outbox: Outbox;
  beforeEach(() => {
    outbox = createOutbox();
  });

  test("limits the size of a delivery", () => {
    const long = "x".repeat(250);
    for (let i = 0; i < 100; i++)
      outbox.put({ ...vmiEvent(`vm-${i}`), id: `${i}${long}`, source: long.repeat(4) }, at(0));
    const batch = outbox.first(100, at(0));
    expect(batch.length).toBeLessThan(100);
    expect(JSON.stringify(batch).length).toBeLessThanOrEqual(LARGEST_BATCH_BYTES);
    expect(JSON.stringify([...batch, batch[0]]).length).toBeGreaterThan(LARGEST_BATCH_BYTES);
  });

  test("keeps the newest event of an object, in the place of the oldest", () => {
    outbox.put(vmiEvent("a", 1), at(1));
    outbox.put(vmiEvent("b", 1), at(2));
    outbox.put(vmiEvent("a", 2), at(3));
    expect(ids(outbox)).toEqual(["a.2", "b.1"]);
    expect(outbox.waitingSince()).toEqual(at(1));
  });

  test("keeps a change during a delivery, behind all other events", () => {
    outbox.put(vmiEvent("a", 1), at(1));
    const batch = outbox.first(1, at(0));
    outbox.put(vmiEvent("b", 1), at(2));
    outbox.put(vmiEvent("a", 2), at(3));
    outbox.settle(batch);
    expect(ids(outbox)).toEqual(["b.1", "a.2"]);
    expect(outbox.waitingSince()).toEqual(at(2));
    outbox.settle(outbox.first(1, at(0)));
    expect(outbox.waitingSince()).toEqual(at(3));
  });

  test("puts failed events behind all other events", () => {
    for (const name of ["a", "b", "c", "d"]) outbox.put(vmiEvent(name), at(0));
    const batch = outbox.first(3, at(0));
    outbox.settle(batch.slice(1, 2));
    outbox.postpone(batch, at(5));
    expect(ids(outbox)).toEqual(["d.1"]);
    outbox.settle(outbox.first(1, at(0)));
    expect(ids(outbox)).toEqual(["a.1"]);
    outbox.settle(outbox.first(1, at(0)));
    expect(ids(outbox)).toEqual(["c.1"]);
    expect([outbox.length, outbox.waitingSince()]).toEqual([1, at(0)]);
  });

  test("holds a failed event back while another event is left, even if the object of the failed event changes", () => {
    outbox.put(vmiEvent("a"), at(0));
    outbox.postpone(outbox.first(1, at(0)), at(5));
    expect([outbox.put(vmiEvent("a", 2), at(1)), outbox.put(vmiEvent("b"), at(2))]).toEqual([false, true]);
    expect(ids(outbox)).toEqual(["b.1"]);
    outbox.settle(outbox.first(1, at(0)));
    expect(ids(outbox)).toEqual(["a.2"]);
  });

  test("retries each of two failed events alone, among the others", () => {
    for (const name of ["a", "b"]) outbox.put(vmiEvent(name), at(0));
    outbox.postpone(outbox.first(2, at(0)), at(5));
    for (const name of ["c", "d"]) outbox.put(vmiEvent(name), at(1));
    expect([ids(outbox, 4), ids(outbox, 5)]).toEqual([["c.1", "d.1"], ["a.1"]]);
    outbox.settle(outbox.first(1, at(5)));
    expect(ids(outbox, 5)).toEqual(["b.1"]);
    outbox.settle(outbox.first(1, at(5)));
    expect(ids(outbox, 5)).toEqual(["c.1", "d.1"]);
  });
});
