/** Runs a scenario. A terminal shows a table that is redrawn. A log gets a line for each change. */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../sandbox/index.ts";
import { aligned } from "../../cli/table.ts";
import type { Screen } from "../../tools/console/screen.ts";
import { startTimeLine } from "../../tools/console/time-line.ts";
import { endingOf, type Evacuation, evacuations } from "../stage/evacuations.ts";
import { IMAGE } from "../stage/in-cluster.ts";
import { pageInvitation } from "../stage/page-invitation.ts";
import { readWorld, watchWorld } from "../stage/watch.ts";
import type { World } from "../stage/world.ts";
import { both, type Cluster, lifeboatOf, type Pair, startClusters } from "./clusters.ts";
import { isAtRest, type Row, rowsOf } from "./rows.ts";
import type { Act } from "./scenario.ts";
import { cut, NAME, outcomeOf, painter, renderChanges, renderFrame, renderOutcome } from "./view.ts";

const FRAME_MS = 100;
/** The maximum time of each part of the scenario. Every part is much shorter. */
const PATIENCE_MS = 120_000;
/** The maximum time until all evacuations have ended. Only a broken cluster takes this long. */
const ENDED_WITHIN_MS = 60_000;

export interface PlayOptions {
  readonly acts: readonly Act[];
  readonly inCluster: boolean;
  readonly screen: Screen;
  /** Whether the clusters run until a signal arrives. */
  readonly stayUp: boolean;
  /**
   * Called at the end. `well` is true if each disruption had its expected effect, if no VM was lost in the cluster that
   * has the shown part of Lifeboat, and if the other cluster lost at least `lostWithout` VMs.
   */
  readonly onEnd: (well: boolean) => void;
}

export async function play({ acts, inCluster, screen, stayUp, onEnd }: PlayOptions): Promise<void> {
  let isWell = true;
  for (const [index, act] of acts.entries()) {
    if (index > 0) screen.print("", "The next part of the scenario, in two new clusters:");
    const clusters = await startClusters(act, inCluster);
    try {
      isWell = (await perform(act, clusters, screen)) && isWell;
      if (index < acts.length - 1) continue;
      onEnd(isWell);
      if (!stayUp) return;
      // Lifeboat's pod may have moved. A request for a full scan also finds the pod's current address.
      if (inCluster) await lifeboatOf(clusters.withIt).reconcile();
      screen.print(...(await invitation(clusters, act)), ...(inCluster ? INSTALL : []));
      await new Promise<never>(() => undefined);
    } finally {
      await both(clusters, (cluster) => cluster.stop());
    }
  }
}

async function perform(act: Act, clusters: Pair<Cluster>, screen: Screen): Promise<boolean> {
  const { withIt: scene } = await both(clusters, ({ client }) => act.setScene(client));
  await both(clusters, async ({ lifeboat }) => lifeboat?.reconcile());
  const others = scene.pods === 0 ? "" : `, beside ${scene.pods} other ${scene.pods === 1 ? "pod" : "pods"}`;
  screen.print(
    `Lifeboat protects ${scene.vms} virtual machines on ${scene.nodes} nodes${others}.`,
    `A second cluster is the same, but without ${act.about}.`,
    ...((await act.prologue?.(clusters.withIt)) ?? []),
    "",
    ...act.headline,
    "",
  );
  const before = await both(clusters, ({ client }) => readWorld(client));
  const hasHappened = await watch(act, { clusters, before, screen });
  const after = await both(clusters, ({ client }) => readWorld(client));
  const outcome = {
    without: outcomeOf(before.without, after.without, act.nodes),
    withIt: outcomeOf(before.withIt, after.withIt, act.nodes),
  };
  if (!hasHappened)
    screen.print(
      "",
      "The scenario ends here: the expected effect did not happen in time, or the RollingMaintenance has stopped.",
    );
  screen.print("", ...(await evacuationsOf(clusters.withIt, screen)));
  screen.print("", ...(act.epilogue ?? []), ...renderOutcome(outcome, act.about, screen));
  return hasHappened && outcome.withIt.lost.length === 0 && outcome.without.lost.length >= act.lostWithout;
}

interface Watching {
  readonly clusters: Pair<Cluster>;
  readonly before: Pair<World>;
  readonly screen: Screen;
}

/** Watches both clusters. Resolves to true if the disruption took effect in both clusters. */
async function watch(act: Act, { clusters, before, screen }: Watching): Promise<boolean> {
  const watched = await both(clusters, ({ client }) => watchWorld(client, systemClock));
  const worlds = { without: watched.without.world, withIt: watched.withIt.world };
  const timeLine = startTimeLine();
  const narrate = narrator(act, screen, timeLine);
  const over = new AbortController();
  const lines: Record<keyof Pair<unknown>, string[]> = { without: [], withIt: [] };
  const sides = ["without", "withIt"] as const;
  const results: (boolean | void)[] = [];
  const disrupted = Promise.all(
    sides.map(async (side) => {
      const result = await act.disrupt(clusters[side], over.signal, (line) => void lines[side].push(line));
      results.push(side === "without" || result);
    }),
  );
  const failed = new Promise<never>((_, reject) => void disrupted.catch(reject));
  try {
    while (!results.includes(false) && timeLine.milliseconds() < PATIENCE_MS) {
      const rows = rowsOf(before, worlds, act);
      const said = (side: keyof Pair<unknown>) => [...lines[side], ...noteworthy(before[side], worlds[side])];
      narrate(rows, worlds, { without: said("without"), withIt: said("withIt") });
      if (
        results.length === 2 &&
        (act.isEndless || isAtRest(rows)) &&
        sides.every((side) => act.hasHappened(before[side], worlds[side]))
      )
        return true;
      await Promise.race([delay(FRAME_MS), failed]);
    }
    return false;
  } finally {
    over.abort();
    await disrupted.catch(() => undefined);
    await both(watched, (one) => one.stop());
    screen.keep();
  }
}

function narrator(act: Act, screen: Screen, { milliseconds, stamp }: ReturnType<typeof startTimeLine>) {
  let previous: readonly Row[] = [];
  const repeated = new Set<string>();
  return (rows: readonly Row[], worlds: Pair<World>, said: Pair<readonly string[]>): void => {
    const last = { without: said.without.at(-1) ?? "", withIt: said.withIt.at(-1) ?? "" };
    const seconds = milliseconds() / 1000;
    if (screen.live) return screen.draw(renderFrame({ seconds, rows, worlds, said: last, about: act.about }, screen));
    const news = (["without", "withIt"] as const)
      .flatMap((side) => said[side].map((line) => `${NAME[side]}    ${line.trimEnd()}`))
      .filter((line) => !repeated.has(line) && repeated.add(line));
    screen.print(...[...news, ...renderChanges(previous, rows)].map((line) => stamp() + line));
    previous = rows;
  };
}

const NOTEWORTHY: ReadonlySet<string> = new Set([
  "Preempted",
  "TaintManagerEviction",
  "Evicted",
  "EvictionThresholdMet",
  "NodeHasMemoryPressure",
  "NodeHasInsufficientMemory",
  "NodeHasSufficientMemory",
  "DeletionRefused",
  "DisruptionSeen",
  "DeletionAllowed",
  "NodeUnderPressure",
]);

function noteworthy(before: World, { events }: World): readonly string[] {
  return [...events].flatMap(([uid, { reason, message }]) =>
    NOTEWORTHY.has(reason) && !before.events.has(uid) ? [message] : [],
  );
}

const COLUMNS: readonly (readonly [string, (evacuation: Evacuation) => string | number | undefined])[] = [
  ["NAMESPACE", ({ metadata }) => metadata.namespace],
  ["VM", ({ spec }) => spec.virtualMachineInstance.name],
  ["FROM", ({ status }) => status?.sourceNode],
  ["TO", ({ status }) => status?.targetNode],
  ["CAUSE", ({ spec }) => spec.cause],
  ["PHASE", ({ status }) => status?.phase],
  ["ATTEMPTS", ({ status }) => status?.attempts],
];

/** Waits until all evacuations have ended. Returns the output of `kubectl get evacuations --all-namespaces`. */
async function evacuationsOf({ client }: Cluster, screen: Screen): Promise<readonly string[]> {
  const deadline = performance.now() + ENDED_WITHIN_MS;
  let { items } = await client.list(evacuations);
  while (items.some((one) => endingOf(one) === undefined) && performance.now() < deadline) {
    await delay(FRAME_MS);
    ({ items } = await client.list(evacuations));
  }
  const rows = items.map((one) => COLUMNS.map(([, cell]) => String(cell(one) ?? "")));
  const sorted = rows.toSorted((a, b) => a.join(" ").localeCompare(b.join(" ")));
  const table = aligned([COLUMNS.map(([heading]) => heading), ...sorted], { gap: "   " });
  const [headings = "", ...lines] = table.map((line) => cut(line, screen.width));
  return ["$ kubectl get evacuations --all-namespaces", painter(screen)("bold", headings), ...lines];
}

/** The command that installs Lifeboat in the second cluster, from an image of this working tree. */
const INSTALL = [`To install Lifeboat  npm run lifeboat -- install --in-cluster --image ${IMAGE}`];

async function invitation({ withIt, without }: Pair<Cluster>, { encore }: Act): Promise<readonly string[]> {
  const { url } = lifeboatOf(withIt);
  return [
    "",
    "The clusters stay up until Ctrl-C. In another terminal:",
    "",
    `  export KUBECONFIG=${withIt.kubeconfig}`,
    "  kubectl get evacuations,virtualmachineinstances --all-namespaces",
    "  kubectl get events --all-namespaces",
    `  ${encore}`,
    "",
    `API server           ${withIt.server}`,
    `Lifeboat             ${url}`,
    ...(await pageInvitation(withIt.client, url)),
    `The other cluster    KUBECONFIG=${without.kubeconfig}`,
  ];
}
