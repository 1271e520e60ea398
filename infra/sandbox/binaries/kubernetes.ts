/** Certificates, accounts and command lines of Kubernetes' programs. */
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Authority, Certificate } from "../certificates.ts";
import type { TokenFile } from "../identities.ts";
import type { Program } from "./programs.ts";

export interface ServerOptions {
  /** The folder that contains etcd and kube-apiserver. */
  readonly binaries: string;
  readonly folder: string;
  readonly authority: Authority;
  readonly tokens: TokenFile;
  readonly host: string;
  readonly ports: { readonly etcd: number; readonly peers: number; readonly server: number };
  readonly serviceRange: string;
  readonly names?: readonly string[];
}

const FRONT_PROXY = "front-proxy";

export async function serverPrograms(options: ServerOptions): Promise<readonly [etcd: Program, server: Program]> {
  const { binaries, folder, authority, host, ports, serviceRange, names = [] } = options;
  const file = (name: string): string => join(folder, name);
  const etcdUrl = `http://${host}:${ports.etcd}`;
  await writeCertificate(
    file("serving"),
    await authority.issue([host, "localhost", "kubernetes.default.svc", ...names]),
  );
  await writeCertificate(file(FRONT_PROXY), await authority.issueClient(FRONT_PROXY));
  const accounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
  await writeFile(file("ca.crt"), authority.caPem);
  await writeFile(file("accounts.key"), accounts.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  await writeFile(file("accounts.pub"), accounts.publicKey.export({ type: "spki", format: "pem" }));
  await writeFile(file("tokens.csv"), tokenLines(options.tokens), { mode: 0o600 });
  const etcd = [
    `--data-dir=${file("etcd")}`,
    `--listen-client-urls=${etcdUrl}`,
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-peer-urls=http://${host}:${ports.peers}`,
    "--unsafe-no-fsync",
  ];
  const server = [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${ports.server}`,
    `--bind-address=${host}`,
    `--advertise-address=${host}`,
    `--tls-cert-file=${file("serving.crt")}`,
    `--tls-private-key-file=${file("serving.key")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    `--service-account-key-file=${file("accounts.pub")}`,
    `--service-account-signing-key-file=${file("accounts.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-cluster-ip-range=${serviceRange}`,
    "--authorization-mode=RBAC",
    "--allow-privileged=true",
    // The ServiceAccount plugin would refuse pods until the default ServiceAccount exists.
    "--disable-admission-plugins=ServiceAccount",
    `--requestheader-client-ca-file=${file("ca.crt")}`,
    `--requestheader-allowed-names=${FRONT_PROXY}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${file(`${FRONT_PROXY}.crt`)}`,
    `--proxy-client-key-file=${file(`${FRONT_PROXY}.key`)}`,
  ];
  return [
    { name: "etcd", command: join(binaries, "etcd"), args: etcd },
    { name: "kube-apiserver", command: join(binaries, "kube-apiserver"), args: server },
  ];
}

export interface ControllerOptions {
  readonly binaries: string;
  readonly folder: string;
  readonly kubeconfigOf: (user: "controllerManager" | "scheduler") => Promise<string>;
}

/**
 * Returns how to start kube-controller-manager and kube-scheduler. The controller
 * service-ca-certificate-publisher-controller is off, because it is for OpenShift.
 */
export async function controllerPrograms(options: ControllerOptions): Promise<readonly Program[]> {
  const { binaries, folder, kubeconfigOf } = options;
  const manager = [
    `--kubeconfig=${await kubeconfigOf("controllerManager")}`,
    "--leader-elect=false",
    "--secure-port=0",
    `--service-account-private-key-file=${join(folder, "accounts.key")}`,
    `--root-ca-file=${join(folder, "ca.crt")}`,
    "--use-service-account-credentials=true",
    "--controllers=*,-service-ca-certificate-publisher-controller",
  ];
  const scheduler = [`--kubeconfig=${await kubeconfigOf("scheduler")}`, "--leader-elect=false", "--secure-port=0"];
  return [
    {
      name: "kube-controller-manager",
      command: join(binaries, "kube-controller-manager"),
      args: manager,
      comesBack: true,
    },
    { name: "kube-scheduler", command: join(binaries, "kube-scheduler"), args: scheduler, comesBack: true },
  ];
}

export async function writeCertificate(path: string, { certPem, keyPem }: Certificate): Promise<void> {
  await writeFile(`${path}.crt`, certPem);
  await writeFile(`${path}.key`, keyPem, { mode: 0o600 });
}

function tokenLines(tokens: TokenFile): string {
  const lines = Object.entries(tokens).map(
    ([token, { user, groups = [] }]) => `${token},${user},${user},"${groups.join(",")}"\n`,
  );
  return lines.join("");
}
