/** The lines of a watch, however they are cut into pieces and however long they are. */
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

test("lines of any length are read in their order, however they are cut", async () => {
  const text = `${JSON.stringify(event("a"))}\n\n${JSON.stringify(event("b"))}\n`;
  for (const piece of [1, 2, 50, 1000]) expect(await eventsOf(text, piece)).toEqual([event("a"), event("b")]);
});

describe("a line that is too long", () => {
  // As Go writes a core object, and as it writes a custom resource: with its keys in the order of the alphabet.
  // prettier-ignore
  test.each<[string, object]>([
    ["labels after the name",       { metadata: { ...IDENTITY, labels: { a: LONG } } }],
    ["annotations before the name", { metadata: { annotations: { a: LONG }, ...IDENTITY } }],
    ["a spec that imitates it",     { spec: { object: { metadata: { name: "other" } }, metadata: { name: "other" }, a: LONG }, metadata: IDENTITY }],
    ["a text that imitates it",     { metadata: { annotations: { a: `${LONG}","name":"other"},"metadata":{"name":"other` }, ...IDENTITY } }],
    ["keys that are quoted",        { [`metadata":{"name":"other`]: LONG, metadata: IDENTITY }],
    ["a list around it",            { list: [{ metadata: { name: "other" } }, LONG], metadata: IDENTITY }],
  ])("tells which object it is about: %s", async (_, object) => {
    const next = { type: "DELETED", object: {} };
    const text = `${JSON.stringify({ type: "MODIFIED", object })}\n${JSON.stringify(next)}\n`;
    expect(await eventsOf(text, 65_536)).toEqual([{ type: "MODIFIED", identity: IDENTITY }, next]);
  });

  test("is an error if it names no object, because what has changed is not known", async () => {
    await expect(eventsOf(`{"type":"ADDED","object":{"a":"${LONG}"}}\n`, 65_536)).rejects.toThrow(UnreadLine);
  });
});

test("a line that is no event is an error, because what has changed is not known", async () => {
  for (const line of ["nonsense", '"text"', '{"object":{}}'])
    await expect(eventsOf(`${line}\n`)).rejects.toThrow(UnreadLine);
});

test("of any JSON exactly the texts at the paths are picked", () => {
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
