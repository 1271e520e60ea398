/** Tests how the lines of a watch are read. A line can have any length, and can arrive in pieces of any size. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TextPicker } from "../../../infra/relay/text-picker.ts";
import { LONGEST_LINE_BYTES, UnreadLine, type WatchEvent, watchEvents } from "../../../infra/relay/watch-lines.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

async function eventsOf(text: string, piece = 7): Promise<readonly WatchEvent[]> {
  const bytes = bytesOf(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / piece) }, (_, i) =>
    bytes.subarray(i * piece, (i + 1) * piece),
  );
  const events: WatchEvent[] = [];
  for await (const event of watchEvents(ReadableStream.from(pieces), () => undefined)) events.push(event);
  return events;
}

const IDENTITY = { namespace: "apps", name: "web", uid: "uid-of-web", resourceVersion: "7" };
const LONG = "x".repeat(LONGEST_LINE_BYTES);

const event = (name: string) => ({ type: "ADDED", object: { metadata: { name: `${name}ä` } } });

test("lines of any length are read in order, in pieces of any size", async () => {
  const text = `${JSON.stringify(event("a"))}\n\n${JSON.stringify(event("b"))}\n`;
  for (const piece of [1, 2, 50, 1000]) expect(await eventsOf(text, piece)).toEqual([event("a"), event("b")]);
});

describe("a line that is too long", () => {
  // Go writes the keys of a core object in the order of its Go type, and the keys of a custom resource by alphabet.
  // prettier-ignore
  test.each<[string, object]>([
    ["labels after the name",         { metadata: { ...IDENTITY, labels: { a: LONG } } }],
    ["annotations before the name",   { metadata: { annotations: { a: LONG }, ...IDENTITY } }],
    ["a spec that imitates metadata", { spec: { object: { metadata: { name: "other" } }, metadata: { name: "other" }, a: LONG }, metadata: IDENTITY }],
    ["a text that imitates metadata", { metadata: { annotations: { a: `${LONG}","name":"other"},"metadata":{"name":"other` }, ...IDENTITY } }],
    ["quoted keys",                   { [`metadata":{"name":"other`]: LONG, metadata: IDENTITY }],
    ["a list before the metadata",    { list: [{ metadata: { name: "other" } }, LONG], metadata: IDENTITY }],
  ])("is an event about its object: %s", async (_, object) => {
    const next = { type: "DELETED", object: {} };
    const text = `${JSON.stringify({ type: "MODIFIED", object })}\n${JSON.stringify(next)}\n`;
    expect(await eventsOf(text, 65_536)).toEqual([{ type: "MODIFIED", identity: IDENTITY }, next]);
  });

  test("without an object's name is an error, because the changed object is unknown", async () => {
    await expect(eventsOf(`{"type":"ADDED","object":{"a":"${LONG}"}}\n`, 65_536)).rejects.toThrow(UnreadLine);
  });
});

test("a malformed line is an error, because the changed object is unknown", async () => {
  for (const line of ["nonsense", '"text"', '{"object":{}}'])
    await expect(eventsOf(`${line}\n`)).rejects.toThrow(UnreadLine);
});

test("the reader picks exactly the texts at the given paths, from any JSON", () => {
  const inner = fc.dictionary(fc.constantFrom("name", "uid", "other", 'quo"ted'), fc.jsonValue());
  const anyObject = fc.record({ type: fc.string(), object: fc.record({ metadata: inner, spec: fc.jsonValue() }) });
  fc.assert(
    fc.property(anyObject, fc.integer({ min: 1, max: 9 }), (object, piece) => {
      const picker = new TextPicker(["type", "object.metadata.name", "object.metadata.uid"]);
      const bytes = bytesOf(JSON.stringify(object));
      for (let i = 0; i < bytes.length; i += piece) picker.take(bytes.subarray(i, i + piece));
      const { name, uid } = object.object.metadata;
      const wanted = { type: object.type, "object.metadata.name": name, "object.metadata.uid": uid };
      const texts = Object.entries(wanted).filter(([, value]) => typeof value === "string");
      expect(Object.fromEntries(picker.found)).toEqual(Object.fromEntries(texts));
    }),
  );
});
