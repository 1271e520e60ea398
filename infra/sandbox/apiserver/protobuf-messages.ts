/**
 * The protobuf messages of the kinds that kubectl creates through typed clients: protobuf-messages.yaml.
 * Owns: reading that file. Does not own: the wire format (protobuf.ts).
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { viewAs } from "./objects.ts";

export type Field = readonly [name: string, type: string, shape?: "list" | "map"];

interface File {
  readonly kinds: Readonly<Record<string, string>>;
  readonly messages: Readonly<Record<string, Readonly<Record<number, Field>>>>;
}

export const { kinds: KINDS, messages: MESSAGES } = viewAs<File>(
  load(readFileSync(new URL("protobuf-messages.yaml", import.meta.url), "utf8")),
);
