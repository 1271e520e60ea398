/**
 * A stream of JSON documents, one per line, as a watch sends them.
 * Owns: putting chunks back together. Does not own: what the documents mean.
 */
import type { Readable } from "node:stream";

export async function* readJsonLines(stream: Readable): AsyncIterable<unknown> {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + (chunk as string)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as unknown;
  }
}
