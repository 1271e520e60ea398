/** `lifeboat uninstall`: removes Lifeboat from a cluster, and lists the objects and fields that remain. */
import { type Client, meaningOf } from "../../../shared/kube/client.ts";
import { actOnNode } from "../../../shared/act/nodes.ts";
import type { Resource } from "../../../shared/kube/resources.ts";
import { planSteering } from "../../../shared/maintenance/rolling/steering.ts";
import * as names from "../../../shared/kube/names.ts";
import { type Add, agree, EXIT, type With, YES } from "../command.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { ifServed, readObject, removeObject } from "./apply.ts";
import { type Manifest, manifestsIn, nameOf, PARTS } from "./manifests.ts";
import { isDeployment, isWebhook, LEFT_BY_0_3, plan } from "./plan.ts";
import { cordonedNodes, ownersKeys } from "./left.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { type LinesUnderWay, linesUnderWay, withdrawAll } from "./under-way.ts";
import * as z from "zod/mini";
import { LAUNCHER, OURS } from "../../../shared/kube/requests.ts";

/** Objects of earlier versions, and objects that people create by hand. */
const FURTHER = [
  "kubernetes/optional/configuration/configuration.yaml",
  "relay/kubernetes/serviceaccount.yaml",
  "relay/kubernetes/rbac.yaml",
  "relay/kubernetes/site.yaml",
  "relay/kubernetes/deployment.yaml",
] as const;
const IF_THERE = { 404: "Done" } as const;

export const uninstall: Add = (program, { host, connect, ends }) => {
  program
    .command("uninstall")
    .description(
      `Deletes the webhooks, withdraws work in progress, waits until this work has ended, and then deletes everything else: deployments,
permissions, custom resource definitions with all Evacuations, the namespace and disruption budgets. It also removes Lifeboat's
labels and annotations from VMs, pods and migrations.`,
    )
    .option(...YES)
    .option("--dry-run", "print what would be withdrawn and deleted")
    .action(
      ends(async ({ yes, dryRun }) => {
        const connection = connect();
        const found = {
          present: await presentIn(connection),
          ...(await linesUnderWay(connection)),
          cordoned: await cordonedNodes(connection.cluster),
          owners: await ownersKeys(connection.cluster),
        };
        if (dryRun) printDryRun(found, host);
        else await removeFound(found, { yes }, { connection, host });
        return EXIT.done;
      }),
    );
};

interface Found extends LinesUnderWay {
  readonly present: readonly Manifest[];
  /** Nodes that will remain cordoned, unless maintenance in progress uncordons them. */
  readonly cordoned: readonly string[];
  /** Labels and annotations of owners, which are not removed. */
  readonly owners: readonly string[];
}

async function presentIn(connection: Connection): Promise<readonly Manifest[]> {
  const present: Manifest[] = [];
  for (const manifest of everything()) {
    if ((await readObject(manifest, connection.send())) !== undefined) present.push(manifest);
  }
  return present;
}

function printDryRun({ present, underWay, unread, cordoned, owners }: Found, { stdout }: Host): void {
  for (const line of underWay) stdout.write(MESSAGES.wouldWithdraw(line));
  for (const object of unread) stdout.write(MESSAGES.wouldNotWithdraw(object));
  for (const manifest of present) stdout.write(MESSAGES.wouldDelete(nameOf(manifest)));
  for (const node of cordoned) stdout.write(MESSAGES.wouldStayCordoned(node));
  for (const line of owners) stdout.write(MESSAGES.wouldStay(line));
}

async function removeFound(
  { present, underWay, unread, cordoned, owners }: Found,
  options: { readonly yes: true | undefined },
  { connection, host }: With,
): Promise<void> {
  if (underWay.length > 0) host.stderr.write(MESSAGES.underWay(underWay));
  if (unread.length > 0) host.stderr.write(MESSAGES.unreadWork(unread));
  const isInstalled = present.length > 0;
  if (!isInstalled) host.stderr.write(MESSAGES.notInstalled);
  await agree(isInstalled ? MESSAGES.questionOfRemoval : MESSAGES.questionOfRest, options, { connection, host });
  await removeAll(present, connection, host);
  if (isInstalled) for (const line of MESSAGES.left) host.stderr.write(`${line}\n`);
  for (const node of await cordonedNodes(connection.cluster, cordoned)) {
    host.stderr.write(MESSAGES.leftCordoned(node));
  }
  if (owners.length > 0) host.stderr.write(MESSAGES.leftOfOwners(owners));
}

/** Removes the webhooks first, and then withdraws work in progress while Lifeboat still runs. */
async function removeAll(present: readonly Manifest[], connection: Connection, host: Host): Promise<void> {
  const remove = async (manifests: readonly Manifest[]) => {
    for (const manifest of manifests) {
      if (await removeObject(manifest, connection.send()))
        host.stdout.write(MESSAGES.changed(nameOf(manifest), "deleted"));
    }
  };
  await remove(present.filter(isWebhook));
  await withdrawAll(connection, host);
  await remove(present.filter(isDeployment));
  await remove(present.filter((manifest) => !isWebhook(manifest) && !isDeployment(manifest)));
  // Removes labels and PodDisruptionBudgets last, because a running Lifeboat could write them again.
  for (const [what, count] of Object.entries(await cleanObjects(connection.cluster))) {
    if (count > 0) host.stdout.write(MESSAGES.cleaned(what, count));
  }
}

/** Lists all objects in the order of their deletion. The namespace and the CRDs are last. */
function everything(): readonly Manifest[] {
  const inCluster = plan({ parts: PARTS, home: { in: "Cluster", image: "" } });
  const byWorker = plan({ parts: PARTS, home: { in: "Worker", url: "", webhookToken: "" } });
  const further = [...FURTHER.flatMap(manifestsIn), ...LEFT_BY_0_3];
  const all = new Map([...inCluster, ...byWorker, ...further].map((manifest) => [nameOf(manifest), manifest]));
  return [...all.values()].toReversed().toSorted((a, b) => lateness(a) - lateness(b));
}

function lateness({ kind }: Manifest): number {
  // The policy that protects Evacuations must be deleted before the CRD, because the policy would prevent the CRD's
  // deletion.
  return ["CustomResourceDefinition", "Namespace"].indexOf(kind);
}

const LABELS = [names.EVACUATION_LABEL, names.SHIELD_LABEL] as const;
const POD_ANNOTATIONS = [names.REQUEST_EVICT_ONLY_ANNOTATION, names.EVICTION_IN_PROGRESS_ANNOTATION] as const;
const MIGRATION_ANNOTATIONS = [names.CAUSE_ANNOTATION, names.EVACUATION_ANNOTATION] as const;

const Keys = z._default(z.record(z.string(), z.string()), {});
const Meta = z.object({ namespace: z._default(z.string(), ""), name: z.string(), labels: Keys, annotations: Keys });
const Item = z.object({ metadata: Meta });

/** Removes Lifeboat's labels and annotations. Returns the number of changed objects for each kind. */
export async function cleanObjects(connect: () => Client): Promise<Readonly<Record<string, number>>> {
  return {
    "virtual machines": await clean(connect, "virtualmachineinstances", LABELS),
    pods: await clean(connect, "pods", [...LABELS, ...POD_ANNOTATIONS], LAUNCHER),
    migrations: await clean(connect, "virtualmachineinstancemigrations", MIGRATION_ANNOTATIONS),
    nodes: await clean(connect, "nodes", [names.CORDONED_BY_ANNOTATION]),
    "taints of nodes": await untaint(connect),
    "disruption budgets": await deleteBudgets(connect),
  };
}

async function clean(
  connect: () => Client,
  resource: Resource,
  keys: readonly string[],
  selected: Readonly<Record<string, string>> = {},
) {
  let count = 0;
  for (const { metadata } of (await ifServed(connect().list(resource, { labels: selected, as: Item }))) ?? []) {
    const [labels, annotations] = [removals(metadata.labels, keys), removals(metadata.annotations, keys)];
    if (Object.keys({ ...labels, ...annotations }).length === 0) continue;
    meaningOf(await connect().patch(resource, metadata, { metadata: { labels, annotations } }), IF_THERE);
    count++;
  }
  return count;
}

function removals(present: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, null> {
  return Object.fromEntries(keys.flatMap((key) => (key in present ? [[key, null]] : [])));
}

const MOST_TRIES = 5;

/** Removes the taints that Lifeboat could not remove when a RollingMaintenance was withdrawn. */
async function untaint(connect: () => Client): Promise<number> {
  const { chains } = planSteering(await connect().list("nodes"), [], new Date());
  const actions = chains.flat().flatMap((action) => (action.verb === "Steer" ? [action] : []));
  for (const action of actions) {
    if (await isDone(() => actOnNode(action, connect()))) continue;
    throw new Failed(MESSAGES.taintStays(action.node, names.PENDING_TAINT.key));
  }
  return actions.length;
}

/** Repeats an action, because another party can change the node at the same time. */
async function isDone(act: () => ReturnType<typeof actOnNode>): Promise<boolean> {
  for (let i = 0; i < MOST_TRIES; i++) if ((await act()) === "Done") return true;
  return false;
}

/**
 * Deletes Lifeboat's PodDisruptionBudgets. Checks not only the label but also the name, because other products can use
 * the same label.
 */
async function deleteBudgets(connect: () => Client): Promise<number> {
  const found = await connect().list("poddisruptionbudgets", { labels: OURS });
  const ours = found.filter(({ managedByUs }) => managedByUs);
  for (const budget of ours) {
    const { namespace, name, uid } = budget;
    // The API server answers 409 if a pod of Lifeboat that is still terminating has recreated the PodDisruptionBudget.
    const deleted = await connect().delete("poddisruptionbudgets", { namespace, name, uid });
    meaningOf(deleted, { ...IF_THERE, 409: "Done" });
  }
  return ours.length;
}
