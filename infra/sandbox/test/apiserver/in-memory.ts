/** Requests to the API server over connections in memory: ten thousand of them need no sockets and no handshakes. */
import { createServer } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { handleRequest } from "../../apiserver/pipeline.ts";
import { type ApiServerOptions, createState } from "../../apiserver/server.ts";
import { ADMIN_TOKEN } from "./started.ts";

/** How much is buffered for a client that does not read, before the server has to wait. */
const BUFFER_BYTES = 1024;
const END_OF_STREAM = "0\r\n\r\n";

/** For a request whose answer is a stream; at first the client does not read it. */
export class Stream {
  readonly #connection: Duplex;
  readonly #chunks: string[] = [];
  #onChunk: (chunk: string) => void = () => undefined;

  constructor(connection: Duplex) {
    this.#connection = connection;
    connection.on("error", () => undefined).on("close", () => this.#onChunk(END_OF_STREAM));
  }

  read(): this {
    this.#connection.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk.toString());
      this.#onChunk(chunk.toString());
    });
    return this;
  }

  breakOff(): void {
    this.#connection.destroy();
  }

  /** Resolves when this text has arrived; connections in memory do not split words. */
  async has(text: string): Promise<void> {
    if (this.#connection.closed || this.#chunks.some((chunk) => chunk.includes(text))) return;
    await new Promise<void>((resolve) => {
      this.#onChunk = (chunk) => (chunk.includes(text) ? resolve() : undefined);
    });
  }

  /** Resolves when the server has ended the stream, or the connection is broken. */
  async ended(): Promise<void> {
    await this.has(END_OF_STREAM);
  }

  /** `TYPE name` of each event, the code of an error; `END` if the server ended the stream in order. */
  get events(): readonly string[] {
    const text = this.#chunks.join("");
    const events = text.matchAll(/"type":"(\w+)","object":(?:.*?"name":"([^"]+)"|.*"code":(\d+))/g);
    const shown = [...events].map(([, type, name, code]) => `${type} ${name ?? code}`);
    return text.endsWith(END_OF_STREAM) ? [...shown, "END"] : shown;
  }
}

export interface InMemory {
  readonly state: ReturnType<typeof createState>;
  readonly stream: (path: string) => Stream;
  /** Resolves to the answer's code. */
  readonly send: (method: string, path: string, body: object) => Promise<number>;
}

export function startInMemory(options: Pick<ApiServerOptions, "now" | "setTimer">): InMemory {
  const tokens = { [ADMIN_TOKEN]: { user: "kubernetes-admin", groups: ["system:masters"] } };
  const state = createState({ ...options, tokens });
  const server = createServer((request, response) => void handleRequest(state, request, response));
  const connect = (method: string, path: string, body = ""): Duplex => {
    const [client, connection] = duplexPair({ highWaterMark: BUFFER_BYTES });
    // The other half of a broken pair gets no event.
    client.on("close", () => connection.destroy());
    server.emit("connection", connection);
    const head = [
      `${method} ${path} HTTP/1.1`,
      "host: in-memory",
      `authorization: Bearer ${ADMIN_TOKEN}`,
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    client.write(`${head.join("\r\n")}\r\n\r\n${body}`);
    return client;
  };
  return {
    state,
    stream: (path) => new Stream(connect("GET", path)),
    send: (method, path, body) =>
      new Promise((resolve, reject) => {
        const connection = connect(method, path, JSON.stringify(body));
        connection.on("error", reject).once("data", (chunk: Buffer) => {
          resolve(Number(chunk.toString().split(" ")[1]));
          connection.destroy();
        });
      }),
  };
}
