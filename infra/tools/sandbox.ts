/** `npm run sandbox`: runs a simulated cluster with Lifeboat until Ctrl-C. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createVirtualMachine, type Sandbox, startSandbox } from "../sandbox/index.ts";
import { resolve } from "node:path";
import { createSecretFile } from "../cli/secret-file.ts";
import { HELP, readFlags, runTool } from "./console/arguments.ts";
import { configureKubeVirt } from "../lab/stage/apply.ts";
import { pageInvitation } from "../lab/stage/page-invitation.ts";
import { createNodes } from "../lab/stage/scene.ts";
import { buildWorker } from "./build-worker.ts";
import { startLifeboat, type Lifeboat } from "../lab/stage/lifeboat.ts";

const USAGE = `Usage: npm run sandbox

Starts a cluster with a few VMs and Lifeboat. Its kubeconfig is ./sandbox.kubeconfig,
or ./sandbox-2.kubeconfig if ./sandbox.kubeconfig exists already.`;

const NODES = ["node-1", "node-2", "node-3"];

// prettier-ignore
const VMS = [
  { name: "web",     node: "node-1", evictionStrategy: "LiveMigrate" },
  { name: "ledger",  node: "node-1", evictionStrategy: "LiveMigrate",           migratable: false },
  { name: "render",  node: "node-1", evictionStrategy: "LiveMigrateIfPossible" },
  { name: "gpu",     node: "node-2", evictionStrategy: "LiveMigrateIfPossible", migratable: false, reason: "HostDeviceNotLiveMigratable" },
  { name: "router",  node: "node-2", evictionStrategy: "External" },
  { name: "scratch", node: "node-3", evictionStrategy: "None" },
];

const MINUTE_MS = 60_000;

async function main(): Promise<void> {
  if (readFlags(process.argv.slice(2), { help: HELP }).help) return console.log(USAGE);
  const interruption = interrupted();
  const sandbox = await startSandbox({ onError: complain });
  const lifeboat = await populate(sandbox);
  const kubeconfig = freeFile();
  await createSecretFile(kubeconfig, sandbox.kubeconfig);
  console.log(await usage(sandbox, lifeboat, kubeconfig));
  // Runs the scheduled handler every minute, because a local Worker has no cron trigger.
  const schedule = setInterval(() => void lifeboat.worker.scheduled().catch(complain), MINUTE_MS);
  await interruption;
  clearInterval(schedule);
  await lifeboat.worker.stop();
  await sandbox.stop();
  await rm(kubeconfig);
}

function freeFile(count = 1): string {
  const file = resolve(count === 1 ? "sandbox.kubeconfig" : `sandbox-${count}.kubeconfig`);
  return existsSync(file) ? freeFile(count + 1) : file;
}

async function populate(sandbox: Sandbox): Promise<Lifeboat> {
  const { client } = sandbox;
  await configureKubeVirt(client, { evictionStrategy: "LiveMigrate" });
  await Promise.all([buildWorker(), createNodes(client, NODES)]);
  await Promise.all(VMS.map((vm) => createVirtualMachine(client, "Always", { namespace: "default", ...vm })));
  const optional = ["optional/maintenance/maintenance.yaml"];
  const lifeboat = await startLifeboat(sandbox, { queue: true, optional, onLog: (line) => console.log(line) });
  const headers = { authorization: `Bearer ${lifeboat.webhookToken}` };
  const answer = await lifeboat.worker.fetch("/clusters/sandbox/reconcile", { method: "POST", headers });
  await answer.text();
  return lifeboat;
}

async function usage(sandbox: Sandbox, lifeboat: Lifeboat, kubeconfig: string): Promise<string> {
  return [
    `The sandbox is up at ${sandbox.url}`,
    "",
    `  export KUBECONFIG=${kubeconfig}`,
    "  npm run lifeboat -- explain node node-1",
    "  npm run lifeboat -- drain node-1",
    "  kubectl get nodes,vms,vmis -o wide",
    "  kubectl drain node-1 --ignore-daemonsets --force --delete-emptydir-data",
    "",
    `Lifeboat answers at ${lifeboat.url}`,
    ...(await pageInvitation(sandbox.client, lifeboat.url)),
    "",
    "Ctrl-C ends the sandbox.",
  ].join("\n");
}

function complain(error: unknown, key = "the scheduled work of the Worker"): void {
  console.error(`${key}: ${error instanceof Error ? error.message : String(error)}`);
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

await runTool(USAGE, main);
