/** A command's connection to an API server of canned answers. */
import type { Connection } from "../../../infra/cli/connection.ts";
import { createClient } from "../../../shared/kube/client.ts";
import { sender } from "../../../shared/kube/transport.ts";

export interface CannedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface CannedAnswer {
  readonly code?: number;
  readonly body?: object;
}

export function connectionOver(answer: (request: CannedRequest) => CannedAnswer): Connection {
  const server = "https://api.prod";
  const fetchCanned = (at: string, { method = "GET", body }: RequestInit): Promise<Response> => {
    const { pathname: path, searchParams } = new URL(at);
    const query = Object.fromEntries(searchParams);
    const asked = { method, path, query, body: typeof body === "string" ? JSON.parse(body) : undefined };
    const { code = 200, body: said = {} } = answer(asked);
    const status = code < 400 ? {} : { kind: "Status", code };
    return Promise.resolve(new Response(JSON.stringify({ ...status, ...said }), { status: code }));
  };
  const endpoint = { server, token: "t", headers: {}, fetch: fetchCanned };
  const { signal } = new AbortController();
  return {
    context: "jane@prod",
    server,
    namespace: "default",
    cluster: () => createClient({ endpoint, signal, timeout: () => signal, onOddItem: () => undefined }),
    send: () => sender(endpoint, signal),
    settings: () => Promise.reject(new Error("not asked")),
    refusals: new Map(),
    warnings: new Map(),
    trouble: () => undefined,
  };
}
