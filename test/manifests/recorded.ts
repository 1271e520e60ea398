/**
 * The shipped manifests in a sandbox with two nodes, the bundled Worker under the shipped account, and a proxy between them
 * that notes what is asked for.
 * Owns: starting these, VMs on node-1, asking the Worker. Does not own: what is expected to be asked for.
 */
import { expect } from "vitest";
import { type Pod, pods } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat, configureLifeboat } from "../../infra/tools/apply.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { startWorker } from "../../infra/tools/worker.ts";
import { type RecordingProxy, startRecordingProxy } from "./recording-proxy.ts";

export const NAMESPACE = "vms";
const TOKEN = "the-webhook-token";
/** What roles grant by name. */
const NAMED = new Set([
  "configmaps",
  "admissionregistration.k8s.io/validatingwebhookconfigurations",
  "lifeboat.dev/lifeboatconfigurations",
  "lifeboat.dev/lifeboatconfigurations/status",
]);

export interface Answered {
  readonly path: string;
  readonly code: number;
  /** Parsed JSON, else the text. */
  readonly body: unknown;
}

export interface Recorded {
  readonly sandbox: Sandbox;
  readonly proxy: RecordingProxy;
  /** All that `kubectl apply -k` applies, and these files. */
  install(...optional: readonly string[]): Promise<void>;
  fetch(method: string, path: string): Promise<Answered>;
  /** Expects a 200. */
  ask(method: string, path: string): Promise<void>;
  /** On node-1, and looked at once. */
  createVm(name: string, evictionStrategy: string, more?: { readonly migratable: boolean }): Promise<void>;
  launcherOf(vm: string): Promise<Pod>;
  stop(): Promise<void>;
}

export async function startRecorded(configuration: Readonly<Record<string, unknown>>): Promise<Recorded> {
  const sandbox = await startSandbox({ migrationSeconds: 0.1, terminationSeconds: 0 });
  const { client, authority, caPem, url: server } = sandbox;
  const { token } = await applyLifeboat(client, { url: "https://127.0.0.1:1/", caPem });
  const proxy = await startRecordingProxy({ authority, server, named: NAMED });
  const clusters = { sandbox: { server: proxy.url, token, webhookToken: TOKEN } };
  const worker = await startWorker({ authority, clusters });
  const install = async (...optional: readonly string[]) => {
    const url = `${worker.url}/clusters/sandbox/admission/evictions/${TOKEN}`;
    await applyLifeboat(client, { url, caPem, optional });
  };
  await install();
  await configureLifeboat(client, configuration);
  for (const node of ["node-1", "node-2"]) await createNode(client, node);

  const fetch = async (method: string, path: string): Promise<Answered> => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await worker.fetch(`/clusters/sandbox${path}`, { method, headers });
    const isJson = answer.headers.get("content-type")?.startsWith("application/json") ?? false;
    return { path, code: answer.status, body: isJson ? await answer.json() : await answer.text() };
  };
  const ask = async (method: string, path: string) => {
    expect(await fetch(method, path)).toMatchObject({ code: 200 });
  };
  return {
    sandbox,
    proxy,
    install,
    fetch,
    ask,
    async createVm(name, evictionStrategy, more) {
      const vm = { namespace: NAMESPACE, name, evictionStrategy, node: "node-1", ...more };
      await createVirtualMachineInstance(client, vm);
      await ask("POST", "/reconcile");
    },
    async launcherOf(vm) {
      const { items } = await client.list(pods, NAMESPACE);
      const launcher = items.find((pod) => pod.metadata.annotations?.["kubevirt.io/domain"] === vm);
      if (launcher === undefined) throw new Error(`no launcher of ${vm}`);
      return launcher;
    },
    async stop() {
      await worker.stop();
      await proxy.stop();
      await sandbox.stop();
    },
  };
}
