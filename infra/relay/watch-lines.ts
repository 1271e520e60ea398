/** Reads the events of a watch, one in each line. If a line is too long, reads only the object's identity. */
import * as z from "zod/mini";
import type { ObjectIdentity } from "./kinds.ts";
import { TextPicker } from "./text-picker.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * The maximum length of a parsed line, equal to the API server's limit for annotations. Most watched objects are ten
 * times smaller.
 */
export const LONGEST_LINE_BYTES = 256 * 1024;

/** An event of a watch. If the line was too long, `object` is absent and only `identity` is present. */
export interface WatchEvent {
  readonly type: string;
  readonly object?: unknown;
  readonly identity?: ObjectIdentity;
}

const NEWLINE = 0x0a;

/**
 * The error for an unreadable line of a watch. The watch then lists the objects, because the change in the line is
 * unknown.
 */
export class UnreadLine extends Error {}

/** Yields the events of a watch. Throws UnreadLine for an invalid line. Calls `onChunk` whenever data arrives. */
export async function* watchEvents(body: ReadableStream<Uint8Array>, onChunk: () => void): AsyncGenerator<WatchEvent> {
  let line = new Line();
  for await (const chunk of body) {
    onChunk();
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      line.take(chunk.subarray(from, end));
      const event = line.event();
      if (event !== undefined) yield event;
      [line, from] = [new Line(), end + 1];
    }
    line.take(chunk.subarray(from));
  }
}

const PATHS = ["namespace", "name", "uid", "resourceVersion"].map((field) => `object.metadata.${field}`);

class Line {
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #picker: TextPicker | undefined;

  take(piece: Uint8Array): void {
    this.#bytes += piece.byteLength;
    this.#pieces.push(piece);
    if (this.#bytes <= LONGEST_LINE_BYTES) return;
    this.#picker ??= new TextPicker(["type", ...PATHS]);
    for (const one of this.#pieces.splice(0)) this.#picker.take(one);
  }

  /** Returns the event in the complete line. Returns undefined if the line is empty. */
  event(): WatchEvent | undefined {
    if (this.#bytes === 0) return undefined;
    return this.#picker === undefined ? parsed(this.#pieces) : longEvent(this.#picker.found);
  }
}

const Event = z.object({ type: z.string(), object: z.unknown() });

function parsed(pieces: readonly Uint8Array[]): WatchEvent {
  const decoder = new TextDecoder();
  const text = pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
  try {
    return Event.parse(JSON.parse(text));
  } catch (cause) {
    throw new UnreadLine(MESSAGES.noEvent, { cause });
  }
}

function longEvent(found: ReadonlyMap<string, string>): WatchEvent {
  const [namespace, name, uid, resourceVersion] = PATHS.map((path) => found.get(path));
  const type = found.get("type");
  if (type === undefined || name === undefined || uid === undefined || resourceVersion === undefined)
    throw new UnreadLine(MESSAGES.namelessEvent);
  return { type, identity: { ...(namespace !== undefined && { namespace }), name, uid, resourceVersion } };
}
