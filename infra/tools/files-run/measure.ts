/** The files that run for one request of each kind, of a Lifeboat that has answered others before. */
import { setImmediate } from "node:timers/promises";
import { run } from "../../cli/run.ts";
import { quietHost } from "../../lab/stage/host.ts";
import { tickTime } from "../../lab/stage/tick-times.ts";
import { pageToken } from "../../lab/stage/page-invitation.ts";
import { markDisruptionTarget, type Pod, pods, systemClock, USERS } from "../../sandbox/index.ts";
import { type Coverage, startCoverage } from "./coverage.ts";
import { CLUSTER, type Place, startPlace } from "./place.ts";

export const REQUESTS = ["first eviction", "repeat", "deletion", "idle tick", "explain node", "node page"] as const;
export type RequestName = (typeof REQUESTS)[number];

export interface FilesRun {
  /** Until something is put off until after the answer, or until the answer is there. */
  readonly before: ReadonlySet<string>;
  /** And with what follows it. */
  readonly all: ReadonlySet<string>;
}

export async function measureFiles(): Promise<Readonly<Record<RequestName, FilesRun>>> {
  const place = await startPlace();
  const coverage = startCoverage();
  try {
    const count = countIn(place, coverage);
    // What stands still is measured before anything moves, and everything is done once before it is measured.
    const page = await signIn(place);
    await place.tick(tickTime(CLUSTER, "small"));
    const idleTick = await count(() => place.tick(tickTime(CLUSTER, "small")));
    await page("node-2");
    const nodePage = await count(() => page("node-1"));
    await explain(place, "node-2");
    const explainNode = await count(() => explain(place, "node-1"));
    await evict(place, "warm");
    await preempt(place, "warm-too");
    await place.settled();
    const firstEviction = await count(() => evict(place, "first"));
    const repeat = await count(() => evict(place, "first"));
    const deletion = await count(() => preempt(place, "preempted"));
    return {
      "first eviction": firstEviction,
      repeat,
      deletion,
      "idle tick": idleTick,
      "explain node": explainNode,
      "node page": nodePage,
    };
  } finally {
    coverage.stop();
    await place.stop();
  }
}

function countIn(place: Place, coverage: Coverage) {
  return async (request: () => Promise<unknown>): Promise<FilesRun> => {
    let before: ReadonlySet<string> | undefined;
    coverage.take();
    place.onAnswer = () => {
      before ??= coverage.take();
    };
    await request();
    await place.settled();
    await setImmediate();
    const rest = coverage.take();
    place.onAnswer = () => undefined;
    return { before: before ?? rest, all: new Set([...(before ?? []), ...rest]) };
  };
}

async function launcherOf({ sandbox }: Place, vm: string): Promise<Pod> {
  const { items } = await sandbox.client.list(pods, "apps");
  const launcher = items.find(({ metadata }) => metadata.name.startsWith(`virt-launcher-${vm}-`));
  if (launcher === undefined) throw new Error(`${vm} has no launcher`);
  return launcher;
}

/** As a drain does. */
async function evict(place: Place, vm: string): Promise<void> {
  const { metadata } = await launcherOf(place, vm);
  const { namespace, name } = metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  const { code } = await place.sandbox.client.raw({ method: "POST", path, body });
  if (code !== 429) throw new Error(`the eviction of ${vm} was answered ${code}`);
}

/** As the scheduler does. */
async function preempt(place: Place, vm: string): Promise<void> {
  const pod = await launcherOf(place, vm);
  const scheduler = place.sandbox.client.as(USERS.scheduler.user);
  const disruption = {
    reason: "PreemptionByScheduler",
    message: "preempting to accommodate a higher priority pod",
  } as const;
  await markDisruptionTarget(scheduler, systemClock, pod, disruption);
  const isDeleted = await scheduler.delete(pods, pod.metadata).catch(() => false);
  if (isDeleted) throw new Error(`the deletion of ${vm} was allowed`);
}

async function explain(place: Place, node: string): Promise<void> {
  const written: string[] = [];
  const host = quietHost((text) => written.push(text));
  const code = await run(["--kubeconfig", place.kubeconfig, "explain", "node", node], host);
  if (code !== 0) throw new Error(`explain node ${node} ended with ${code}: ${written.join("")}`);
}

/** Resolves to a visit of a node's page. */
async function signIn(place: Place): Promise<(node: string) => Promise<void>> {
  const origin = "https://lifeboat.example";
  const body = new URLSearchParams({ token: await pageToken(place.sandbox.client), cluster: CLUSTER, to: "/" });
  const form = { "content-type": "application/x-www-form-urlencoded", origin, "sec-fetch-site": "same-origin" };
  const { headers } = await place.request(`${origin}/signin`, { method: "POST", headers: form, body: body.toString() });
  const cookie = headers
    .getSetCookie()
    .map((set) => set.split(";")[0])
    .join("; ");
  return async (node) => {
    const answer = await place.request(`${origin}/fleet/${CLUSTER}/nodes/${node}`, {
      headers: { accept: "text/html", cookie },
    });
    const text = await answer.text();
    if (answer.status !== 200)
      throw new Error(`the page of ${node} was answered ${answer.status}: ${text.slice(0, 200)}`);
  };
}
