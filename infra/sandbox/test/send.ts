/** Sends plain HTTPS requests to an API server. */
import { type Agent, request as httpsRequest } from "node:https";

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  /** The content type. The default is JSON. Use "" for a body without a content type. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The token. The default is the administrator's token. */
  readonly token?: string;
}

export interface Response {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body, or `{}` if the answer is not JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Connection {
  readonly url: string;
  readonly agent: Agent;
  readonly token: string;
}

export const WATCH = /[?&]watch(?:=1|=true|&|$)/;
const QUIET_MS = 150;

/** Sends a request, and returns the answer. For a watch, returns the events of existing objects. */
export function send({ url, agent, ...connection }: Connection, request: Request): Promise<Response> {
  const { method, path, body, type = "application/json", headers, token = connection.token } = request;
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(new URL(path, url), {
      method,
      agent,
      headers: {
        accept: "application/json",
        ...(payload !== undefined && { "content-length": Buffer.byteLength(payload) }),
        ...(payload !== undefined && type !== "" && { "content-type": type }),
        authorization: `Bearer ${token}`,
        ...headers,
      },
    });
    outgoing.on("error", reject);
    outgoing.on("response", (incoming) => {
      incoming.setEncoding("utf8");
      let text = "";
      let isQuiet = false;
      let quiet: NodeJS.Timeout | undefined;
      const giveUp = () => {
        isQuiet = true;
        outgoing.destroy();
      };
      incoming.on("data", (chunk: string) => {
        text += chunk;
        clearTimeout(quiet);
        if (WATCH.test(path)) quiet = setTimeout(giveUp, QUIET_MS);
      });
      incoming.on("error", (error) => {
        if (!isQuiet) reject(error);
      });
      incoming.on("close", () => {
        clearTimeout(quiet);
        resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, text, body: parsed(text) });
      });
    });
    outgoing.end(payload);
  });
}

function parsed(text: string): Response["body"] {
  if (!text.startsWith("{")) return {};
  try {
    const body: Record<string, unknown> = JSON.parse(text);
    return body;
  } catch {
    return {};
  }
}
