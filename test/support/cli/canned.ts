/** Runs the command against prepared answers of an API server. */
import type { Connection } from "../../../infra/cli/connection.ts";
import { createClient } from "../../../shared/kube/client.ts";
import { type Fetch, sender } from "../../../shared/kube/transport.ts";

export function connectionTo(fetch: Fetch): Connection {
  const endpoint = { server: "https://api.prod", token: "t", headers: {}, fetch };
  const { signal } = new AbortController();
  return {
    context: "jane@prod",
    server: endpoint.server,
    namespace: "default",
    cluster: () => createClient({ endpoint, signal, timeout: () => signal, onOddItem: () => undefined }),
    send: () => sender(endpoint, signal),
    settings: () => Promise.reject(new Error("not asked")),
    refusals: new Map(),
    warnings: new Map(),
    trouble: () => undefined,
  };
}
