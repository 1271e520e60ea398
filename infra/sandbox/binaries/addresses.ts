/** Assigns loopback addresses to a control plane, so that several control planes can run at the same time. */
import { once } from "node:events";
import { createServer, type Server } from "node:net";

export interface Addresses {
  /** The range of Service addresses. A program that serves a Service listens on the Service's address. */
  readonly serviceRange: string;
  service(host: number): string;
  /** The address on which the programs listen on their usual ports. */
  readonly programs: string;
  release(): Promise<void>;
}

/** The lowest N in the ranges 127.N.0.0/24. N is not 0, because this machine uses 127.0.0.0/24. */
const FIRST = 1;
const LAST = 254;
/** A process reserves a range by listening on this port of an unused Service address. */
const CLAIM_PORT = 61_443;

export async function claimAddresses(): Promise<Addresses> {
  const begin = FIRST + Math.floor(Math.random() * LAST);
  for (let i = 0; i < LAST; i += 1) {
    const n = FIRST + ((begin - FIRST + i) % LAST);
    const claim = await listening(`127.${n}.1.2`, CLAIM_PORT);
    if (claim === undefined) continue;
    claim.unref();
    return {
      serviceRange: `127.${n}.0.0/24`,
      service: (host) => `127.${n}.0.${host}`,
      programs: `127.${n}.1.1`,
      release: () => closed(claim),
    };
  }
  throw new Error("other control planes use all ranges 127.N.0.0/24: stop one of these control planes");
}

/** Throws if this process cannot listen on port 443 of a Service's address. */
export async function demandPort443(host: string): Promise<void> {
  const server = createServer().listen(443, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const isForbidden = error instanceof Error && "code" in error && error.code === "EACCES";
    if (!isForbidden) throw error;
    throw new Error(
      `cannot use port 443 of ${host}: run as root, or set sysctl net.ipv4.ip_unprivileged_port_start=443`,
      { cause: error },
    );
  }
  await closed(server);
}

async function listening(host: string, port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen({ port, host, exclusive: true });
  try {
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}

async function closed(server: Server): Promise<void> {
  server.ref().close();
  await once(server, "close");
}
