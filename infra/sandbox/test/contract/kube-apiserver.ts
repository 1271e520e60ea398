/** A real kube-apiserver with its etcd, from a folder of binaries. */
import { serverPrograms } from "../../binaries/kubernetes.ts";
import { createPrograms } from "../../binaries/programs.ts";
import { createAuthority } from "../../certificates.ts";
import { freePort } from "../../free-port.ts";
import { createIdentities } from "../../identities.ts";
import { type Endpoint, targetOf } from "./client.ts";

/** Less than the timeout of a hook: everything started is stopped before the test gives up. */
const START_TIMEOUT_MS = 45_000;
const END_TIMEOUT_MS = 3_000;

export interface Patience {
  /** Aborted when the start takes too long. */
  readonly start?: AbortSignal;
  /** How long each program may take to end by itself. */
  readonly endMs?: number;
}

export async function startKubeApiServer(assets: string, patience: Patience = {}): Promise<Endpoint> {
  const { start = AbortSignal.timeout(START_TIMEOUT_MS), endMs = END_TIMEOUT_MS } = patience;
  await using started = new AsyncDisposableStack();
  const programs = await createPrograms("contract-");
  started.defer(() => programs.stop(endMs));
  const authority = await createAuthority("contract");
  const { tokens, tokenOf } = createIdentities();
  const host = "127.0.0.1";
  const ports = { etcd: await freePort(), peers: await freePort(), server: await freePort() };
  const { folder } = programs;
  const serviceRange = "10.0.0.0/24";
  for (const program of await serverPrograms({
    binaries: assets,
    folder,
    authority,
    tokens,
    host,
    ports,
    serviceRange,
  }))
    programs.start(program);
  const url = `https://${host}:${ports.server}`;
  const endpoint = { name: "kube-apiserver", url, ca: authority.caPem, token: tokenOf("admin") };
  const target = targetOf({ ...endpoint, stop: async () => {} });
  started.defer(() => target.stop());
  const isReady = async () => (await target.send({ method: "GET", path: "/readyz" })).code === 200;
  await programs.until("kube-apiserver was ready", isReady, start);
  await target.stop();
  const running = started.move();
  return { ...endpoint, stop: () => running.disposeAsync() };
}
