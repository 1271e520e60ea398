/**
 * Where Workers reach the API server: one address for each of them.
 * Owns: the listener, which link a request belongs to. Does not own: a link's life (link.ts).
 */
import { createServer } from "node:http";
import { Agent } from "node:https";
import { createSecureContext } from "node:tls";
import { listenOnLoopback, stopListening } from "./listen.ts";
import { createLink, type Link, type LinkOptions } from "./link.ts";

export interface Links {
  /** Resolves to what a Worker of this name takes for the API server. */
  open(name: string, options?: Pick<LinkOptions, "onDeath">): { readonly link: Link; readonly url: string };
  /** Unless there is another one of this name by now. */
  close(name: string, link?: Link): void;
  /** Closes Workers' idle connections after so long, at first after 5 s. */
  closeIdleAfter(ms?: number): void;
  stop(): Promise<void>;
}

export async function startLinks({ url: server, caPem }: { url: string; caPem: string }): Promise<Links> {
  const agent = new Agent({ keepAlive: true, secureContext: createSecureContext({ ca: caPem }) });
  const links = new Map<string, Link>();
  const listener = createServer((request, response) => {
    const [, name = "", path = "/"] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? "") ?? [];
    const link = links.get(name);
    if (link === undefined) response.destroy();
    else link.forward(path, request, response);
  });
  const port = await listenOnLoopback(listener);
  return {
    open(name, options = {}) {
      const link = createLink({ server, agent, ...options });
      links.set(name, link);
      return { link, url: `http://127.0.0.1:${port}/${name}` };
    },
    close(name, link = links.get(name)) {
      link?.cut();
      if (links.get(name) === link) links.delete(name);
    },
    closeIdleAfter(ms = 5000) {
      Object.assign(listener, { keepAliveTimeout: ms, keepAliveTimeoutBuffer: 0 });
    },
    async stop() {
      await stopListening(listener);
      agent.destroy();
    },
  };
}
