/**
 * A real kube-apiserver with its etcd, from a folder of binaries.
 * Owns: starting and stopping them. Does not own: getting them (`setup-envtest use`), what is asked of them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "../../infra/sandbox/certificates.ts";
import { type Endpoint, targetOf } from "./client.ts";

const TOKEN = "contract-admin";
const START_TIMEOUT_MS = 60_000;

export async function startKubeApiServer(assets: string): Promise<Endpoint> {
  const folder = await mkdtemp(join(tmpdir(), "contract-"));
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
    // There is no controller that would make the default ServiceAccount.
    "--disable-admission-plugins=ServiceAccount",
  ]);
  const stop = async (): Promise<void> => {
    await Promise.all([end(server), end(etcd)]);
    await rm(folder, { recursive: true, force: true });
  };
  const url = `https://127.0.0.1:${port}`;
  const endpoint = { name: "kube-apiserver", url, ca: authority.caPem, token: TOKEN, stop };
  await ready(endpoint);
  return endpoint;
}

function run(command: string, args: readonly string[]): ChildProcess {
  return spawn(command, args, { stdio: "ignore" });
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill();
  });
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

async function ready(endpoint: Endpoint): Promise<void> {
  const target = targetOf({ ...endpoint, stop: async () => {} });
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const code = await target.send({ method: "GET", path: "/readyz" }).then(
      (response) => response.code,
      () => 0,
    );
    if (code === 200) return target.stop();
    if (Date.now() > deadline) throw new Error("kube-apiserver did not become ready");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
