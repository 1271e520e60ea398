/**
 * A real kube-apiserver with its etcd, from a folder of binaries.
 * Owns: starting and stopping them. Does not own: installing them (`setup-envtest use`), the questions.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createAuthority } from "../../certificates.ts";
import { type Endpoint, type Target, targetOf } from "./client.ts";
import { type Program, run } from "./program.ts";

const TOKEN = "contract-admin";
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
  // Stopped in reverse order: without etcd a kube-apiserver hangs for a minute before it ends.
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "contract-"));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  const file = (name: string): string => join(folder, name);
  const authority = await createAuthority("contract");
  const { certPem, keyPem } = await authority.issue(["127.0.0.1", "localhost"]);
  const accounts = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  await writeFile(file("serving.crt"), certPem);
  await writeFile(file("serving.key"), keyPem);
  await writeFile(file("accounts.key"), accounts.export({ type: "pkcs1", format: "pem" }));
  await writeFile(file("tokens.csv"), `${TOKEN},kubernetes-admin,kubernetes-admin,"system:masters"\n`);
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const etcd = run(join(assets, "etcd"), [
    `--data-dir=${file("etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
    `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    "--unsafe-no-fsync",
  ]);
  started.defer(() => etcd.end(endMs));
  const server = run(join(assets, "kube-apiserver"), [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    `--tls-cert-file=${file("serving.crt")}`,
    `--tls-private-key-file=${file("serving.key")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    `--service-account-key-file=${file("accounts.key")}`,
    `--service-account-signing-key-file=${file("accounts.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=RBAC",
    // There is no controller to create the default ServiceAccount.
    "--disable-admission-plugins=ServiceAccount",
  ]);
  started.defer(() => server.end(endMs));
  const url = `https://127.0.0.1:${port}`;
  const endpoint = { name: "kube-apiserver", url, ca: authority.caPem, token: TOKEN };
  await ready(endpoint, [etcd, server], start);
  const running = started.move();
  return { ...endpoint, stop: () => running.disposeAsync() };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address: AddressInfo | string | null = probe.address();
      probe.close(() =>
        address !== null && typeof address === "object" ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

/** Rejects if one of the programs has ended, or the start takes too long. */
async function ready(
  endpoint: Omit<Endpoint, "stop">,
  programs: readonly Program[],
  start: AbortSignal,
): Promise<void> {
  start.throwIfAborted();
  const target = targetOf({ ...endpoint, stop: async () => {} });
  const over = new AbortController();
  const tooLate = new Promise<never>((_, reject) => {
    start.addEventListener("abort", () => reject(new Error("kube-apiserver did not become ready")));
  });
  const dead = programs.map(async ({ ended }) => {
    throw new Error(`${await ended} before kube-apiserver was ready`);
  });
  try {
    await Promise.race([untilReady(target, over.signal), tooLate, ...dead]);
  } finally {
    over.abort();
    await target.stop();
  }
}

async function untilReady(target: Target, signal: AbortSignal): Promise<void> {
  const look = () => target.send({ method: "GET", path: "/readyz" }).catch(() => ({ code: 0 }));
  while ((await look()).code !== 200) await delay(100, undefined, { signal });
}
