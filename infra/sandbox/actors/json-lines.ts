/** Reads a stream of JSON documents, one in each line. */
import { on } from "node:events";
import type { Readable } from "node:stream";

/**
 * Yields each document when it arrives. A plain `for await` over the stream would lose buffered documents if the
 * connection breaks.
 */
export async function* readJsonLines(stream: Readable): AsyncIterable<unknown> {
  let rest = "";
  stream.setEncoding("utf8");
  // Without a listener, an error after the last read would end this process.
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
