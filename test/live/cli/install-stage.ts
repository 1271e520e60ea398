/**
 * A stage for `lifeboat install`: a KubeVirt cluster without Lifeboat, and a Worker. The Worker does not have the entry
 * with the cluster's address and tokens yet.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import * as z from "zod";
import { Manifest } from "../../../infra/cli/install/manifests.ts";
import {
  createNode,
  createVirtualMachineInstance,
  type Sandbox,
  type SandboxOptions,
  secrets,
} from "../../../infra/sandbox/index.ts";
import { startSandboxAsChosen } from "../../../infra/lab/stage/control-plane.ts";
import { type RunningWorker, startWorker } from "../../../infra/lab/stage/worker.ts";
import { build } from "../../support/manifests/kustomize.ts";
import { lifeboat, type Person, type Said } from "../../support/cli/lifeboat.ts";

const Entry = z.object({ server: z.string(), token: z.string(), webhookToken: z.string(), operatorToken: z.string() });
export type Entry = z.output<typeof Entry>;

export interface InstallStage {
  readonly sandbox: Sandbox;
  worker: RunningWorker;
  readonly entryFile: string;
  readEntry(): Promise<Entry>;
  giveEntry(): Promise<void>;
  /** Installs Lifeboat as a Worker. Gives the Worker its entry when the command waits for the entry. */
  install(flags?: string, tweak?: Partial<Person>): Promise<Said>;
  call(line: string, tweak?: Partial<Person>): Promise<Said>;
  codeOf(token: string): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a cluster with a VM on the first node. The environment sets the kind of control plane. */
export async function startInstallStage(options: SandboxOptions = {}): Promise<InstallStage> {
  const sandbox = await startSandboxAsChosen({ migrationSeconds: 0.1, terminationSeconds: 0.05, ...options });
  const { client, authority, kubeconfig } = sandbox;
  const folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  const entryFile = join(folder, "entry.json");
  await writeFile(join(folder, "ca.pem"), authority.caPem);
  for (const name of ["node01", "node02"]) await createNode(client, name);
  await createVirtualMachineInstance(client, {
    namespace: "vms",
    name: "web",
    node: "node01",
    evictionStrategy: "LiveMigrate",
  });
  const call: InstallStage["call"] = (line, tweak) => lifeboat(line, { kubeconfig, ...tweak });
  const readEntry = async () => Entry.parse(JSON.parse(await readFile(entryFile, "utf8")));
  let given: string | undefined;
  const stage: InstallStage = {
    sandbox,
    worker: await startWorker({ authority, clusters: {} }),
    entryFile,
    readEntry,
    async giveEntry() {
      const entry = await readEntry();
      given = JSON.stringify(entry);
      await stage.worker.stop();
      stage.worker = await startWorker({ authority, clusters: { prod: entry }, port: stage.worker.port });
    },
    install(flags = "", tweak = {}) {
      const worker = `--worker ${stage.worker.url} --cluster prod --entry ${entryFile}`;
      const meanwhile = async () => {
        const entry = await readEntry().catch(() => undefined);
        if (entry === undefined) await untilFilled(sandbox);
        else if (JSON.stringify(entry) !== given) await stage.giveEntry();
      };
      return call(`install --yes ${worker} --ca-bundle ${join(folder, "ca.pem")} ${flags}`, { meanwhile, ...tweak });
    },
    call,
    async codeOf(token) {
      const headers = { authorization: `Bearer ${token}` };
      return (await client.raw({ method: "GET", path: "/api/v1/nodes", headers })).code;
    },
    async stop() {
      await stage.worker.stop();
      await sandbox.stop();
      await rm(folder, { recursive: true });
    },
  };
  return stage;
}

export function kustomized(): readonly Manifest[] {
  return z.array(Manifest).parse(build(fileURLToPath(new URL("../../../infra/kubernetes", import.meta.url))));
}

/** Waits in real time until the token controller has written a token into each Secret. */
export async function untilFilled({ client }: Sandbox): Promise<void> {
  const isFilled = async () => (await client.list(secrets)).items.every(({ data }) => data?.["token"] !== undefined);
  await expect.poll(isFilled, { timeout: 10_000 }).toBe(true);
}
