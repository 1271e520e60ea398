/** `lifeboat drain` on the stage: the command in this process, over HTTPS against the sandbox with Lifeboat in it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as moment } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";
import type { Host } from "../../../infra/cli/host.ts";
import { run } from "../../../infra/cli/run.ts";
import {
  type Capacity,
  createNode,
  isTrue,
  type KubeClient,
  kubeVirts,
  nodes,
  type Pod,
  pods,
  waitFor,
} from "../../../infra/sandbox/index.ts";
import { type Stage, type StageOptions, startStage } from "../stage.ts";
import { getVmi } from "../vm.ts";

/** What the cluster gets to do something between two looks of the drain, which are two seconds of its own time apart. */
const MOMENT_MS = 40;

export interface Person {
  /** To every question; without an answer there is no terminal. */
  readonly answer?: string;
  /** Called while the drain waits, with how many waits there were before, and what was said. */
  readonly meanwhile?: (waits: number, said: string) => Promise<void> | void;
  /** At this wait the person presses Ctrl-C. */
  readonly interruptAt?: (said: string) => boolean;
  readonly kubeconfig?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Told {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function lifeboat(stage: Stage, words: readonly string[], person: Person = {}): Promise<Told> {
  const { answer, meanwhile, interruptAt, kubeconfig = stage.sandbox.kubeconfig, env = {} } = person;
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  const file = join(folder, "kubeconfig");
  await writeFile(file, kubeconfig);
  const interrupt = new AbortController();
  let [out, err, passed, waits] = ["", "", 0, 0];
  const begun = Date.now();
  const isTTY = answer !== undefined;
  const host: Host = {
    stdout: { write: (text) => void (out += text) },
    stderr: { write: (text) => void (err += text), isTTY, columns: 100 },
    env,
    now: () => new Date(begun + passed),
    async wait(milliseconds) {
      passed += milliseconds;
      await meanwhile?.(waits, err);
      waits += 1;
      if (interruptAt?.(err) === true) interrupt.abort();
      await moment(MOMENT_MS);
    },
    interrupted: interrupt.signal,
    ask: () => Promise.resolve(answer),
  };
  try {
    const code = await run([...words, "--kubeconfig", file], host);
    return { code, out, err };
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface PodOptions {
  readonly node: string;
  readonly name: string;
  /** Kind of its controller; none: unmanaged. */
  readonly controller?: string;
  readonly emptyDir?: boolean;
}

/** No VM's. Its controller is of a group that the cluster does not serve, so that nothing makes it anew or collects it. */
async function createOtherPod(client: KubeClient, { node, name, controller, emptyDir }: PodOptions): Promise<void> {
  const owner = { apiVersion: "example.com/v1", kind: controller ?? "", name: "owner", uid: crypto.randomUUID() };
  await client.create(pods, {
    metadata: {
      namespace: "default",
      name,
      labels: { app: name },
      ...(controller !== undefined && { ownerReferences: [{ ...owner, controller: true }] }),
    },
    spec: {
      nodeName: node,
      containers: [{ name: "main", image: "registry.k8s.io/pause:3.10" }],
      tolerations: [{ operator: "Exists" }],
      terminationGracePeriodSeconds: 1,
      ...(emptyDir === true && { volumes: [{ name: "scratch", emptyDir: {} }] }),
    },
  });
  await waitFor(client, {
    resource: pods,
    key: { namespace: "default", name },
    what: "ready",
    until: ({ status }) => isTrue(status?.conditions, "Ready"),
  });
}

/** A stage for a test file. Each test drains a node of its own: the others are there to move to. */
export function useDrains(options: StageOptions = {}) {
  let started: Stage | undefined;
  let made = 0;
  beforeAll(async () => {
    started = await startStage({ nodes: ["spare-1", "spare-2"], ...options });
  });
  afterAll(() => started?.stop());
  const stage = () => {
    if (started === undefined) throw new Error("the stage is not set yet");
    return started;
  };
  const named = (prefix: string) => `${prefix}-${(made += 1)}`;
  const vmi = (name: string) => getVmi(stage().client, name);
  const vmOn = async (node: string, more: Partial<Parameters<Stage["createVm"]>[0]> = {}) => {
    const name = named("vm");
    await stage().createVm({ name, node, evictionStrategy: "LiveMigrate", ...more });
    return name;
  };
  return {
    get stage() {
      return stage();
    },
    lifeboat: (words: readonly string[], person?: Person) => lifeboat(stage(), words, person),
    async freshNode(capacity: Capacity = {}) {
      const name = named("drained");
      await createNode(stage().client, name, capacity);
      return name;
    },
    isCordoned: async (name: string) => (await stage().client.get(nodes, { name }))?.spec?.unschedulable === true,
    podsOn: async (node: string): Promise<readonly Pod[]> =>
      (await stage().client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` })).items,
    createOtherPod: (pod: PodOptions) => createOtherPod(stage().client, pod),
    vmi,
    vmOn,
    pinnedOn: (node: string) => vmOn(node, { migratable: false }),
    nodeOf: async (name: string) => (await vmi(name)).status?.nodeName,
    async limitMigrations(parallelMigrationsPerCluster: number) {
      const body = { spec: { configuration: { migrations: { parallelMigrationsPerCluster } } } };
      await stage().client.patch(kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
    },
  };
}

export function timesSaid(text: string, what: string): number {
  return text.split(what).length - 1;
}
