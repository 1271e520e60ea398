/** Lists the work in progress when Lifeboat is removed, and withdraws this work. */
import { withdrawEvacuation } from "../../../shared/act/evacuate-vm.ts";
import { type Client, meaningOf, named } from "../../../shared/kube/client.ts";
import { isActive, isHeldOff, isUnfinished } from "../../../shared/kube/evacuation.ts";
import { hasEnded } from "../../../shared/kube/node-evacuation.ts";
import { NOT_SURELY_FINISHED } from "../../../shared/kube/requests.ts";
import { hasRollingEnded } from "../../../shared/kube/rolling-maintenance.ts";
import type { With } from "../command.ts";
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";
import { listAll, type UnreadObject } from "../unread.ts";
import { ifServed } from "./apply.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";

interface UnderWay {
  readonly uid: string;
  /** The name as in kubectl: `nodeevacuation.lifeboat.dev/kernel`. */
  readonly name: string;
  readonly about: string;
  /** Withdraws the object. Undefined if there is nothing to withdraw. */
  readonly withdraw: ((cluster: Client) => Promise<unknown>) | undefined;
}

interface Listed {
  readonly found: readonly UnderWay[];
  /** The objects that cannot be parsed. Each can be work in progress. */
  readonly unread: readonly UnreadObject[];
}

type List = (cluster: Client) => Promise<Listed>;

const NONE = { items: [], unread: [] };

/**
 * RollingMaintenances are withdrawn before NodeEvacuations, because a RollingMaintenance could create further
 * NodeEvacuations.
 */
const rollingMaintenances: List = async (cluster) => {
  const { items, unread } = (await ifServed(listAll(cluster, "rollingmaintenances"))) ?? NONE;
  const found = items
    .filter((one) => !hasRollingEnded(one))
    .map(({ name, uid, status: { phase = MESSAGES.isNew, nodeCounts } }) => ({
      uid,
      name: `rollingmaintenance.lifeboat.dev/${name}`,
      about: nodeCounts === undefined ? phase : MESSAGES.nodesDone(phase, nodeCounts.evacuated, nodeCounts.total),
      withdraw: (client: Client) => withdrawObject("rollingmaintenances", { name, uid }, client),
    }));
  return { found, unread };
};

const nodeEvacuations: List = async (cluster) => {
  const { items, unread } = (await ifServed(listAll(cluster, "nodeevacuations"))) ?? NONE;
  const found = items
    .filter((one) => !hasEnded(one))
    .map(({ name, uid, spec, status: { phase = MESSAGES.isNew } }) => ({
      uid,
      name: `nodeevacuation.lifeboat.dev/${name}`,
      about: MESSAGES.ofNode(phase, spec.nodeName),
      withdraw: (client: Client) => withdrawObject("nodeevacuations", { name, uid }, client),
    }));
  return { found, unread };
};

const evacuations: List = async (cluster) => {
  const { items, unread } = (await ifServed(listAll(cluster, "evacuations", NOT_SURELY_FINISHED))) ?? NONE;
  const found = items.filter(isUnfinished).map((evacuation) => ({
    uid: evacuation.uid,
    name: `evacuation.lifeboat.dev/${evacuation.name} -n ${evacuation.namespace}`,
    about: MESSAGES.ofVm(evacuation.status.phase ?? MESSAGES.isNew, evacuation.spec.vmiName),
    // Also withdraws an ended Evacuation whose VM Lifeboat has stopped and not started again.
    withdraw:
      isActive(evacuation) || isHeldOff(evacuation)
        ? (client: Client) => withdrawEvacuation(evacuation, client)
        : undefined,
  }));
  return { found, unread };
};

/** Withdraws an object. The API server answers 409 if another party has created a new object with the same name. */
async function withdrawObject(
  resource: "rollingmaintenances" | "nodeevacuations",
  { name, uid }: Pick<UnderWay, "name" | "uid">,
  cluster: Client,
): Promise<void> {
  const body = { metadata: { uid }, spec: { intent: "Withdrawn" } };
  meaningOf(await cluster.patch(resource, named(name), body), { 404: "Done", 409: "Done" } as const);
}

interface Stage {
  readonly lists: readonly List[];
  readonly otherwise: string;
}

/**
 * The steps of the withdrawal. Nodes come first, because the end of a node's maintenance also ends the evacuations of
 * its VMs.
 */
const STAGES: readonly Stage[] = [
  {
    lists: [rollingMaintenances, nodeEvacuations],
    otherwise: "Lifeboat has not reacted to the withdrawal, so nodes stay cordoned, and VMs that were stopped stay off",
  },
  {
    lists: [evacuations],
    otherwise: "Lifeboat has not ended these evacuations (check with lifeboat doctor whether Lifeboat runs)",
  },
];

async function listedBy(lists: readonly List[], cluster: Client): Promise<Listed> {
  const all = await Promise.all(lists.map((list) => list(cluster)));
  return { found: all.flatMap(({ found }) => found), unread: all.flatMap(({ unread }) => unread) };
}

export interface LinesUnderWay {
  readonly underWay: readonly string[];
  readonly unread: readonly string[];
}

/** Lists the work in progress, and the objects that might be work in progress but cannot be parsed. */
export async function linesUnderWay({ cluster }: Connection): Promise<LinesUnderWay> {
  const { found, unread } = await listedBy(
    STAGES.flatMap(({ lists }) => lists),
    cluster(),
  );
  return {
    underWay: found.map(({ name, about }) => MESSAGES.inProgress(name, about)),
    unread: unread.map(({ object }) => object),
  };
}

const POLL_MS = 1000;
const WITHDRAWN_SECONDS = 90;

/**
 * Withdraws all work and waits until it is finished. Lifeboat must still run, so that it clears evacuationNodeName on
 * VMIs.
 */
export async function withdrawAll(connection: Connection, host: Host): Promise<void> {
  const until = host.now().getTime() + WITHDRAWN_SECONDS * 1000;
  for (const stage of STAGES) await withdrawStage(stage, until, { connection, host });
}

async function withdrawStage({ lists, otherwise }: Stage, until: number, { connection, host }: With): Promise<void> {
  const { cluster } = connection;
  const asked = new Set<string>();
  while (!host.interrupted.aborted) {
    const { found: left } = await listedBy(lists, cluster());
    if (left.length === 0) return;
    for (const one of left) {
      if (one.withdraw === undefined || asked.has(one.uid)) continue;
      asked.add(one.uid);
      await one.withdraw(cluster());
      host.stdout.write(MESSAGES.changed(one.name, "withdrawn"));
    }
    if (host.now().getTime() > until) {
      const lines = left.map(({ name, about }) => MESSAGES.inProgress(name, about));
      host.stderr.write(MESSAGES.notWithdrawn(WITHDRAWN_SECONDS, otherwise, lines));
      return;
    }
    await host.wait(POLL_MS);
  }
}
