/** Where Workers reach the API server: one address for each of them. */
import { createServer } from "node:http";
import { Agent } from "node:https";
import { createSecureContext } from "node:tls";
import { listenOnLoopback, stopListening } from "./listen.ts";
import { createLink, type Link, type LinkOptions } from "./link.ts";

export interface Links {
  /** What a Worker of this name takes for the API server: an address of its own, which none that comes after it has. */
  open(name: string, options?: Pick<LinkOptions, "onDeath">): { readonly link: Link; readonly url: string };
  close(link: Link): void;
  /** Closes Workers' idle connections after so long, at first after 5 s. */
  closeIdleAfter(ms?: number): void;
  stop(): Promise<void>;
}

export async function startLinks({ url: server, caPem }: { url: string; caPem: string }): Promise<Links> {
  const agent = new Agent({ keepAlive: true, secureContext: createSecureContext({ ca: caPem }) });
  /** By address. */
  const links = new Map<string, Link>();
  let opened = 0;
  const listener = createServer((request, response) => {
    const [, address = "", path = "/"] = /^\/([^/]+)(\/.*)$/.exec(request.url ?? "") ?? [];
    const link = links.get(address);
    if (link === undefined) response.destroy();
    else link.forward(path, request, response);
  });
  const port = await listenOnLoopback(listener);
  return {
    open(name, options = {}) {
      const link = createLink({ server, agent, ...options });
      const address = `${name}.${++opened}`;
      links.set(address, link);
      return { link, url: `http://127.0.0.1:${port}/${address}` };
    },
    close(link) {
      link.cut();
      for (const [address, one] of links) if (one === link) links.delete(address);
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
