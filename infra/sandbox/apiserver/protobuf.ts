/**
 * Decodes protobuf bodies. Some kubectl commands send only protobuf (create namespace, drain, auth can-i, create
 * token).
 */
import { childOf, stringAt } from "./objects.ts";
import { readYaml } from "./read-yaml.ts";
import { badRequest, unsupportedFormat } from "./status.ts";

type Field = readonly [name: string, type: string, shape?: "list" | "map"];

interface Messages {
  readonly kinds: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, Readonly<Record<number, Field>>>>;
}

const { kinds: KINDS, messages: MESSAGES } = readYaml<Messages>("protobuf-messages.yaml");
const MAGIC = Buffer.from("k8s\0");

/** Decodes the envelope, which contains apiVersion, kind and the bytes of the object. */
export function decodeProtobuf(body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    badRequest("the protobuf body does not start with its magic number");
  const envelope = readMessage(body.subarray(MAGIC.length), "Unknown");
  const kind = stringAt(envelope, "typeMeta.kind");
  const message = KINDS[kind];
  if (message === undefined) return unsupportedFormat(undefined, `the sandbox does not support ${kind} in protobuf`);
  const raw = Buffer.isBuffer(envelope.raw) ? envelope.raw : Buffer.alloc(0);
  return { apiVersion: stringAt(envelope, "typeMeta.apiVersion"), kind, ...readMessage(raw, message) };
}

class Reader {
  readonly #bytes: Buffer;
  #position = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#position >= this.#bytes.length;
  }

  varint(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.#bytes[this.#position++];
      if (byte === undefined) return badRequest("the protobuf body ends too early");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  bytes(): Buffer {
    const length = this.varint();
    const start = this.#position;
    this.#position += length;
    return this.#bytes.subarray(start, this.#position);
  }

  skip(wireType: number): void {
    if (wireType === 0) this.varint();
    else if (wireType === 2) this.bytes();
    else this.#position += wireType === 1 ? 8 : 4;
  }
}

function readMessage(bytes: Buffer, name: string): Record<string, unknown> {
  const fields = MESSAGES[name] ?? {};
  const result: Record<string, unknown> = {};
  for (const reader = new Reader(bytes); !reader.done;) {
    const tag = reader.varint();
    const field = fields[tag >>> 3];
    if (field === undefined) reader.skip(tag & 7);
    else put(result, field, reader);
  }
  return name === "IntOrString" || name === "Time" || name === "MicroTime" ? result : withoutEmpty(result);
}

/** Removes empty strings and messages, because Go omits them in JSON. */
function withoutEmpty(message: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== "" && value !== undefined));
}

function put(result: Record<string, unknown>, [name, type, shape]: Field, reader: Reader): void {
  if (shape === "map") {
    const entry = readEntry(reader.bytes(), type);
    childOf(result, name)[entry.key] = entry.value;
    return;
  }
  const value = readValue(reader, type);
  const others = Array.isArray(result[name]) ? result[name] : [];
  result[name] = shape === "list" ? [...others, value] : value;
}

function readEntry(bytes: Buffer, type: string): { key: string; value: unknown } {
  let [key, value]: [string, unknown] = ["", ""];
  for (const reader = new Reader(bytes); !reader.done;) {
    if (reader.varint() >>> 3 === 1) key = reader.bytes().toString();
    else value = readValue(reader, type);
  }
  return { key, value };
}

const SCALARS: Readonly<Record<string, (reader: Reader) => unknown>> = {
  string: (reader) => reader.bytes().toString(),
  base64: (reader) => reader.bytes().toString("base64"),
  raw: (reader) => reader.bytes(),
  int: (reader) => signed(reader.varint()),
  bool: (reader) => reader.varint() === 1,
};

function signed(value: number): number {
  return value >= 2 ** 63 ? value - 2 ** 64 : value;
}

function readValue(reader: Reader, type: string): unknown {
  const scalar = SCALARS[type];
  if (scalar !== undefined) return scalar(reader);
  const message = readMessage(reader.bytes(), type);
  if (type === "Time" || type === "MicroTime") return timeOf(message);
  if (type === "IntOrString") return message.type === 1 ? message.strVal : (message.intVal ?? 0);
  return message;
}

/** Converts a time. Returns undefined for Go's zero time, which has no fields. */
function timeOf({ seconds, nanos = 0 }: Record<string, unknown>): string | undefined {
  if (typeof seconds !== "number") return undefined;
  const micros = String(Math.floor(Number(nanos) / 1000)).padStart(6, "0");
  return `${new Date(seconds * 1000).toISOString().slice(0, -"000Z".length)}${micros}Z`;
}
