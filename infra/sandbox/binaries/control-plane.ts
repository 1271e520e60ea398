/** Starts a real control plane: Kubernetes without kubelets, and KubeVirt without virt-handler. */
import { writeFile } from "node:fs/promises";
import { get } from "node:https";
import { join } from "node:path";
import { createClient, type KubeClient } from "../actors/client.ts";
import { leases } from "../actors/resources.ts";
import { createAuthority, type Authority } from "../certificates.ts";
import { createIdentities, USERS, type Role } from "../identities.ts";
import { kubeconfigOf, kubeconfigText, type Credentials } from "../kubeconfig.ts";
import { applyManifests } from "../manifests.ts";
import { KUBEVIRT, withGates } from "../kubevirt/manifests.ts";
import { KUBEVIRT_NAMESPACE, kubeVirts } from "../kubevirt/resources.ts";
import { machineRoles } from "../actors/machine-roles.ts";
import { claimAddresses, demandPort443, type Addresses } from "./addresses.ts";
import { remember } from "./etcd.ts";
import { controllerPrograms, serverPrograms } from "./kubernetes.ts";
import {
  installKinds,
  installRoles,
  isAggregated,
  PRINTED,
  registerVirtApi,
  silenceEvictionWebhook,
  VIRT_CONTROLLER_PORT,
  virtApi,
  virtController,
} from "./kubevirt.ts";
import { createPrograms, demandFiles, type Program, type Programs, type RunningProgram } from "./programs.ts";

export interface ControlPlaneOptions {
  /** The folder that contains `bin/` and `gen/`. */
  readonly directory: string;
  /** The API server's port. If it is 0, the API server uses its usual port on a separate address. */
  readonly port: number;
}

export interface Settings {
  readonly evacuationController: boolean;
  readonly evictionWebhook: boolean;
  readonly featureGates: readonly string[];
}

export const PROGRAM_NAMES = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "virt-api",
  "virt-controller",
] as const;
export type ProgramName = (typeof PROGRAM_NAMES)[number];

export interface ProgramKnobs {
  /** Kills the program. The program does not restart by itself. */
  kill(name: ProgramName): Promise<void>;
  start(name: ProgramName): Promise<void>;
  readonly logs: string;
  keepLogs(): Promise<string>;
}

export interface RealControlPlane {
  readonly url: string;
  readonly authority: Authority;
  readonly tokenOf: (role: Role) => string;
  readonly knobs: ProgramKnobs;
  /**
   * False after a program was killed. Such a control plane is not reused, because the watches of other programs can
   * need half a minute to reconnect.
   */
  readonly isWhole: boolean;
  /** Starts KubeVirt with these settings. Resolves when KubeVirt runs. */
  begin(settings: Settings): Promise<void>;
  /** Reverts all changes since the start. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

const PORTS = { etcd: 2379, peers: 2380, server: 6443 };
/** The last number of virt-api's Service address. */
const VIRT_API_HOST = 10;
const ASK_TIMEOUT_MS = 2_000;

export async function startRealControlPlane(options: ControlPlaneOptions): Promise<RealControlPlane> {
  const { directory } = options;
  await demandFiles(
    directory,
    PRINTED.map((file) => join("gen", file)),
    PROGRAM_NAMES.map((name) => join("bin", name)),
  );
  const addresses = await claimAddresses();
  const programs = await createPrograms();
  try {
    await demandPort443(addresses.service(VIRT_API_HOST));
    return await startAll(options, addresses, programs);
  } catch (error) {
    const logs = await programs.keepLogs();
    await stop(programs, addresses);
    if (!(error instanceof Error)) throw error;
    throw new Error(`${error.message}\nThe logs are in ${logs}.`, { cause: error });
  }
}

async function stop(programs: Programs, addresses: Addresses): Promise<void> {
  await programs.stop();
  await addresses.release();
}

async function startAll({ directory, port }: ControlPlaneOptions, addresses: Addresses, programs: Programs) {
  const { folder } = programs;
  const [binaries, printed] = [join(directory, "bin"), join(directory, "gen")];
  const authority = await createAuthority("kubevirt-sandbox");
  const { tokens, tokenOf } = createIdentities();
  const host = addresses.programs;
  const ports = { ...PORTS, ...(port !== 0 && { server: port }) };
  const url = `https://${host}:${ports.server}`;
  const credentialsOf = (role: Role): Credentials => ({
    url,
    caPem: authority.caPem,
    user: USERS[role].user,
    token: tokenOf(role),
  });
  const kubeconfig = async (role: Role): Promise<string> => {
    const path = join(folder, `${role}.kubeconfig`);
    await writeFile(path, kubeconfigText(credentialsOf(role)), { mode: 0o600 });
    return path;
  };
  const where = { binaries, folder, authority, host, kubeconfigOf: kubeconfig };
  const serviceAddress = addresses.service(VIRT_API_HOST);
  const client = createClient(kubeconfigOf(credentialsOf("admin")));
  const running = new Map<string, RunningProgram>();
  const start = (program: Program) => void running.set(program.name, programs.start(program));
  const isServing = () => isOk(client, "/readyz");

  const { serviceRange } = addresses;
  for (const program of await serverPrograms({ ...where, tokens, ports, serviceRange, names: [addresses.service(1)] }))
    start(program);
  await programs.until("kube-apiserver is ready", isServing);
  await applyManifests(client, machineRoles());
  const kubevirt = { client, authority, printed, serviceAddress };
  await installRoles(kubevirt);
  // virt-api reads this ConfigMap when it starts, but kube-apiserver writes the ConfigMap some time after its own
  // start.
  const authentication = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
  await programs.until("kube-apiserver has written its authentication ConfigMap", () => isOk(client, authentication));
  start(await virtApi({ ...where, serviceAddress }));
  for (const program of await controllerPrograms(where)) start(program);
  await installKinds(kubevirt);
  const metrics = `https://${serviceAddress}/metrics`;
  await programs.until("virt-api listens", async () => (await bodyFrom(metrics, authority)) !== "");
  await registerVirtApi(kubevirt);
  await programs.until("virt-api's subresources are served", () => isAggregated(client));
  const memory = await remember(`http://${host}:${ports.etcd}`);

  const named = (name: ProgramName) => running.get(name) ?? unknown(name);
  let wasKilled = false;
  const knobs: ProgramKnobs = {
    logs: programs.logs,
    keepLogs: () => programs.keepLogs(),
    async kill(name) {
      wasKilled = true;
      await named(name).end(0);
    },
    async start(name) {
      named(name).startAgain();
      if (name === "kube-apiserver") await programs.until("kube-apiserver is ready again", isServing);
    },
  };
  let flags: string | undefined;
  const startVirtController = async (settings: Settings): Promise<void> => {
    const program = await virtController({ ...where, serviceAddress }, settings);
    if (flags === program.args.join(" ")) return;
    await running.get(program.name)?.end(0);
    // Deletes the Lease of the old virt-controller. The new virt-controller would otherwise wait until the Lease
    // expires.
    await client.delete(leases, { namespace: KUBEVIRT_NAMESPACE, name: program.name });
    start(program);
    flags = program.args.join(" ");
    const leader = `https://${host}:${VIRT_CONTROLLER_PORT}/leader`;
    await programs.until("virt-controller leads", async () => (await bodyFrom(leader, authority)).includes('"true"'));
  };
  return {
    url,
    authority,
    tokenOf,
    knobs,
    get isWhole() {
      return !wasKilled && [...running.values()].every((program) => program.isRunning);
    },
    async begin(settings: Settings) {
      await startVirtController(settings);
      if (!settings.evictionWebhook) await silenceEvictionWebhook(client);
      const body = { spec: withGates(settings.featureGates) };
      if (settings.featureGates.length > 0) await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
    },
    clear: () => memory.restore(),
    async stop() {
      client.close();
      await stop(programs, addresses);
    },
  };
}

async function isOk(client: KubeClient, path: string): Promise<boolean> {
  return (await client.raw({ method: "GET", path })).code === 200;
}

function bodyFrom(url: string, { caPem: ca }: Authority): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { ca, agent: false, timeout: ASK_TIMEOUT_MS }, (response) => {
      response.setEncoding("utf8");
      response.toArray().then((chunks) => resolve(response.statusCode === 200 ? chunks.join("") : ""), reject);
    });
    request.on("timeout", () => request.destroy(new Error(`${url} does not answer`)));
    request.on("error", reject);
  });
}

function unknown(name: ProgramName): never {
  throw new Error(`${name} has not been started`);
}
