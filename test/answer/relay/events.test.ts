/** The contract with the Worker: what an event is, and that its documentation says so. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { EventBatch, LARGEST_BATCH, LARGEST_BATCH_BYTES, LifeboatEvent } from "../../../shared/events/cloud-event.ts";
import { EVENT_DATA } from "../../../shared/events/cloud-event.ts";

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

  test("may have attributes and fields that we do not know", () => {
    const data = { ...EVENT.data, phase: "Running" };
    expect(LifeboatEvent.parse({ ...EVENT, traceparent: "00-1", data })).toEqual(EVENT);
  });

  test.each([
    ["another version", { specversion: "0.3" }],
    ["no id", { id: "" }],
    ["no source", { source: undefined }],
    ["an unknown type", { type: "dev.lifeboat.vmi.changed.v2" }],
    ["no data", { data: undefined }],
    ["the data of another type", { data: { name: "node01" } }],
    ["a name longer than any", { data: { ...EVENT.data, name: long(254) } }],
    ["a time that is none", { time: "yesterday" }],
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

test("EVENTS.md has each type, with an example that is one", () => {
  const text = readFileSync(new URL("../../../shared/events/EVENTS.md", import.meta.url), "utf8");
  const [, ...sections] = text.split(/^## /m);
  expect(sections.map((section) => section.split("`")[1])).toEqual(Object.keys(EVENT_DATA));
  for (const section of sections) {
    const [, example = ""] = /```json\n(.+)\n```/.exec(section) ?? [];
    const event = { ...EVENT, type: section.split("`")[1], data: JSON.parse(example) };
    expect(LifeboatEvent.parse(event)).toEqual(event);
  }
  expect(text).toContain(`at most ${LARGEST_BATCH} events and ${LARGEST_BATCH_BYTES} bytes`);
});
