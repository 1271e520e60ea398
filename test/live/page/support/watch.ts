/** One who watches a page's stream, event by event. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

export interface Watcher {
  /** The next event of that name; undefined once the stream has ended. */
  next(event: string): Promise<string | undefined>;
  leave(): Promise<void>;
}

export async function watch(url: string, cookie: string): Promise<Watcher> {
  const leaving = new AbortController();
  const headers = { accept: "text/event-stream", cookie };
  const { body, status } = await fetch(url, { headers, signal: leaving.signal });
  if (status !== 200 || body === null) throw new Error(`the stream answered ${status}`);
  const events = eventsOf(body);
  return {
    async next(event) {
      for (;;) {
        const { value, done } = await events.next();
        if (done === true) return undefined;
        if (value.event === event) return value.data;
      }
    },
    async leave() {
      leaving.abort();
      await events.next().catch(() => undefined);
    },
  };
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let text = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) yield parse(part);
  }
}

function parse(part: string): StreamEvent {
  const lines = part.split("\n");
  const valueOf = (field: string) =>
    lines
      .filter((line) => line.startsWith(`${field}: `))
      .map((line) => line.slice(field.length + 2))
      .join("\n");
  return { event: valueOf("event"), data: valueOf("data") };
}
