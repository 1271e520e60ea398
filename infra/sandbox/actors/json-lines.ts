/**
 * A stream of JSON documents, one per line, as a watch sends them.
 * Owns: putting chunks back together, losing none. Does not own: what the documents mean.
 */
import type { Readable } from "node:stream";

/**
 * Reads as fast as the stream delivers: iterating over the stream itself would drop what is still buffered when the
 * connection breaks, and a watch that always breaks early would never get anywhere.
 */
export async function* readJsonLines(stream: Readable): AsyncIterable<unknown> {
  const lines: string[] = [];
  const end: { came: boolean; error?: unknown } = { came: stream.closed, error: stream.errored };
  let wake: (() => void) | undefined;
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.filter((line) => line !== ""));
    wake?.();
  });
  stream.on("error", (error) => (end.error = error));
  stream.on("close", () => {
    end.came = true;
    wake?.();
  });
  try {
    while (true) {
      for (let line = lines.shift(); line !== undefined; line = lines.shift()) yield JSON.parse(line) as unknown;
      if (end.came) break;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stream.destroy();
  }
  if (end.error) throw end.error;
}
