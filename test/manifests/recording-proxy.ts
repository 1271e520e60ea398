/**
 * Stands between the Worker and the API server and notes what is asked for, in RBAC's terms, and what is forbidden.
 * Owns: that. Does not own: the requests, the answers.
 */
import { once } from "node:events";
import { createServer, request as forward } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readRequest } from "../../infra/sandbox/apiserver/request-info.ts";
import type { Authority } from "../../infra/sandbox/certificates.ts";

export interface RecordingProxy {
  readonly url: string;
  /** `verb group/resource[/name]`, as in the roles; names only where `named` says a role binds to them. */
  readonly used: ReadonlySet<string>;
  /** The same for requests that were answered 403. */
  readonly forbidden: ReadonlySet<string>;
  /** What is used meanwhile does not count. */
  uncounted(work: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export interface RecordingProxyOptions {
  readonly authority: Authority;
  readonly server: string;
  /** Resources whose names matter. */
  readonly named: ReadonlySet<string>;
}

export async function startRecordingProxy(options: RecordingProxyOptions): Promise<RecordingProxy> {
  const used = new Set<string>();
  const forbidden = new Set<string>();
  let counts = true;
  const { certPem, keyPem } = await options.authority.issue(["127.0.0.1", "localhost"]);
  const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    const permissions = permissionsOf(incoming, options.named);
    if (counts) for (const permission of permissions) used.add(permission);
    relay(incoming, outgoing, options).on("response", ({ statusCode }) => {
      if (statusCode === 403) for (const permission of permissions) forbidden.add(permission);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    url: `https://127.0.0.1:${address.port}`,
    used,
    forbidden,
    async uncounted(work) {
      counts = false;
      await work();
      counts = true;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function relay(incoming: IncomingMessage, outgoing: ServerResponse, { server, authority }: RecordingProxyOptions) {
  const { host: _, ...headers } = incoming.headers;
  const onward = forward(new URL(incoming.url ?? "/", server), {
    method: incoming.method,
    headers,
    ca: authority.caPem,
  });
  onward.on("response", (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
  return onward;
}

function permissionsOf({ method = "GET", url = "/", headers }: IncomingMessage, named: ReadonlySet<string>) {
  const info = readRequest(method, url);
  const as = headers["impersonate-user"];
  // Whoever acts as somebody else needs the right to do that, and nothing else of his own.
  if (typeof as === "string") return [`impersonate serviceaccounts/${as.split(":").at(-1)}`];
  if (!info.isResource) return [];
  const resource = [info.group, info.resource, info.subresource].filter(Boolean).join("/");
  const name = named.has(resource) && info.verb !== "create" ? [info.name] : [];
  return [`${info.verb} ${[resource, ...name].join("/")}`];
}
