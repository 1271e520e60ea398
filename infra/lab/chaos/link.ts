/**
 * The way from one Worker to the API server, which can end between any two writes.
 *
 * To a cluster, a Worker that cannot reach it any more is a Worker that has been killed: nothing that it has in mind happens, and nothing
 * of what it knows comes back.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Agent, request as httpsRequest } from "node:https";

export interface LinkOptions {
  readonly server: string;
  readonly agent: Agent;
  readonly onDeath?: () => void;
}

export interface Link {
  readonly isDead: boolean;
  /** Writes that went through. */
  readonly writes: number;
  /** `path`: as the API server is to see it. */
  forward(path: string, request: IncomingMessage, response: ServerResponse): void;
  /** For good. */
  cut(): void;
  /** From now on so many more writes go through, and the next one finds the Worker dead; at first, any number. */
  limit(writes: number): void;
}

export function createLink({ server, agent, onDeath }: LinkOptions): Link {
  const open = new Set<ServerResponse>();
  let allowed = Infinity;
  let dead = false;
  let writes = 0;

  const cut = (): void => {
    if (dead) return;
    dead = true;
    for (const response of open) response.destroy();
    onDeath?.();
  };

  const forward: Link["forward"] = (path, request, response) => {
    const { method = "GET", headers } = request;
    if (!dead && isWrite(method, path)) {
      if (writes >= allowed) cut();
      else writes += 1;
    }
    if (dead) return void response.destroy();
    open.add(response);
    response.on("close", () => open.delete(response));
    const { host: _, connection: __, ...rest } = headers;
    const outgoing = httpsRequest(`${server}${path}`, { method, headers: rest, agent });
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("error", () => response.destroy()).on("aborted", () => response.destroy());
      answer.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    request.on("error", () => outgoing.destroy());
    request.pipe(outgoing);
  };

  return {
    get isDead() {
      return dead;
    },
    get writes() {
      return writes;
    },
    forward,
    cut,
    limit(more) {
      allowed = writes + more;
    },
  };
}

/** What asks for leave or pretends changes nothing. */
function isWrite(method: string, path: string): boolean {
  return method !== "GET" && !path.includes("dryRun=All") && !path.startsWith("/apis/authorization.k8s.io/");
}
