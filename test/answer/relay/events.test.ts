/** The contract with the Worker: what an event is, and that its documentation says so. */
import { describe, expect, test } from "vitest";
import { EventBatch, LARGEST_BATCH, LARGEST_BATCH_BYTES, LifeboatEvent } from "../../../shared/events/cloud-event.ts";

const EVENT = {
  specversion: "1.0",
  id: "0b8c6a52.17.dev.lifeboat.vmi.changed.v1",
  source: "/relay",
  type: "dev.lifeboat.vmi.changed.v1",
  subject: "vms/web-1",
  time: "2026-11-20T12:00:00.000Z",
  data: { namespace: "vms", name: "web-1", uid: "0b8c6a52" },
};

const long = (length: number) => "x".repeat(length);

describe("an event", () => {
  test("is a CloudEvent of one of our types", () => {
    expect(LifeboatEvent.parse(EVENT)).toEqual(EVENT);
  });

  test.each([
    ["another version", { specversion: "0.3" }],
    ["no id", { id: "" }],
    ["an unknown type", { type: "dev.lifeboat.vmi.changed.v2" }],
    ["the data of another type", { data: { name: "node01" } }],
    ["a name longer than any", { data: { ...EVENT.data, name: long(254) } }],
  ])("is refused with %s", (_, tweak) => {
    expect(LifeboatEvent.safeParse({ ...EVENT, ...tweak }).success).toBe(false);
  });
});

describe("a batch", () => {
  test("has at most so many events", () => {
    expect(EventBatch.safeParse(Array.from({ length: LARGEST_BATCH }, () => EVENT)).success).toBe(true);
    expect(EventBatch.safeParse(Array.from({ length: LARGEST_BATCH + 1 }, () => EVENT)).success).toBe(false);
  });

  test("of the largest events has several in what a delivery may be", () => {
    const data = { namespace: long(63), name: long(253), uid: long(128), node: long(253) };
    const type = "dev.lifeboat.pod.disrupted.v1";
    const largest = { ...EVENT, id: long(1024), source: long(1024), subject: long(1024), type, data };
    const batch = Array.from({ length: 10 }, () => largest);
    expect(EventBatch.parse(batch)).toEqual(batch);
    expect(JSON.stringify(batch).length).toBeLessThan(LARGEST_BATCH_BYTES);
  });
});
