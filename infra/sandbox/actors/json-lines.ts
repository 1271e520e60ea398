/** A stream of JSON documents, one per line, as a watch sends them. */
import { on } from "node:events";
import type { Readable } from "node:stream";

/**
 * Yields the documents, and reads as fast as the stream delivers. Iterating over the stream itself would drop what is
 * still buffered when the connection breaks. Then a watch whose connection always breaks early would make no progress.
 */
export async function* readJsonLines(stream: Readable): AsyncIterable<unknown> {
  let rest = "";
  stream.setEncoding("utf8");
  // A break after the reader has left is no error.
  stream.on("error", () => undefined);
  try {
    const chunks = stream.closed ? [] : on(stream, "data", { close: ["close"] });
    for await (const [chunk] of chunks as AsyncIterable<[string]>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line) as unknown;
    }
  } finally {
    stream.destroy();
  }
  if (stream.errored) throw stream.errored;
}
