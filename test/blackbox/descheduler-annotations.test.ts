/**
 * What the descheduler reads on launcher pods: asked only, on every one; in progress, on the one that the guest leaves.
 */
import { afterEach, describe, expect, test } from "vitest";
import { pods, type Pod } from "../../infra/sandbox/actors/resources.ts";
import type { SandboxOptions } from "../../infra/sandbox/sandbox.ts";
import { createFastClock } from "./fast-clock.ts";
import {
  evacuationsOf,
  evict,
  hasSettledAwayFrom,
  launcherOf,
  migrationsOf,
  NAMESPACE,
  phasesOf,
  type Stage,
  startStage,
  untilVmi,
} from "./stage.ts";

let stage: Stage;
afterEach(() => stage.stop());

const ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
const SUPPORT = ["optional/descheduler-support.yaml"];
const QUICK = { backoffSeconds: 0.2, maxBackoffSeconds: 600, adoptSeconds: 0 };

interface Start extends SandboxOptions {
  readonly annotations?: "Enabled" | "Auto";
  readonly evacuation?: Readonly<Record<string, number>>;
  readonly optional?: readonly string[];
  readonly nodes?: readonly string[];
}

async function start({
  annotations = "Enabled",
  evacuation = {},
  optional = SUPPORT,
  ...rest
}: Start = {}): Promise<void> {
  const configuration = {
    featureGates: { DeschedulerSupport: true },
    reconcilers: { annotations },
    evacuation: { ...QUICK, ...evacuation },
  };
  stage = await startStage({ configuration, optional, ...rest });
}

async function createVm(name: string): Promise<{ readonly source: Pod; readonly node: string }> {
  const { status } = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  return { source: await launcherOf(stage.client, name), node: status?.nodeName ?? "" };
}

function says({ metadata: { annotations = {} } }: Pod): readonly string[] {
  return [
    ...(annotations[ONLY] === "" ? ["only"] : []),
    ...(annotations[IN_PROGRESS] === undefined ? [] : [`in progress: ${annotations[IN_PROGRESS]}`]),
  ];
}

/** The VM's pods, ended ones included: node to what each says. */
async function said(name: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const { items } = await stage.client.list(pods, NAMESPACE);
  const own = items.filter(({ metadata }) => metadata.annotations?.["kubevirt.io/domain"] === name);
  return Object.fromEntries(own.map((pod) => [pod.spec?.nodeName ?? "", says(pod)]));
}

const QUIET = ["only"];
const GOING = ["only", "in progress: true"];
const eventually = { timeout: 20_000, interval: 50 };

describe("by Lifeboat alone", () => {
  test("pods that were there before the gate, and new ones, are to be asked only", async () => {
    stage = await startStage({ optional: SUPPORT });
    const { node } = await createVm("old");
    expect(await said("old")).toEqual({ [node]: [] });
    await stage.configure({ featureGates: { DeschedulerSupport: true }, reconcilers: { annotations: "Enabled" } });
    // Reads the configuration anew.
    expect(await stage.ask("GET", "/readyz")).toMatchObject({ code: 200 });
    await stage.reconcile();
    expect(await said("old")).toEqual({ [node]: QUIET });
    const fresh = await createVm("new");
    expect(await said("new")).toEqual({ [fresh.node]: QUIET });
    expect(await stage.reconcile()).toEqual({});
  });

  test("the source says so while it is left, the target never; after the move nobody, ended or not", async () => {
    await start({ migrationSeconds: 6 });
    const { source, node } = await createVm("moving");
    expect(await evict(stage.client, source)).toMatchObject({ code: 429 });
    const saidWhere = async () => {
      const { [node]: there, ...elsewhere } = await said("moving");
      return { there, elsewhere: Object.values(elsewhere) };
    };
    await expect.poll(saidWhere, eventually).toEqual({ there: GOING, elsewhere: [QUIET] });
    const again = await evict(stage.client, source);
    expect(again.code).toBe(429);
    expect(again.message).toContain("Eviction triggered evacuation");

    const { status } = await untilVmi(stage.client, "moving", "moved", hasSettledAwayFrom(node));
    expect((await said("moving"))[status?.nodeName ?? ""]).toEqual(QUIET);
    // By the next look.
    const everybody = async () => Object.values(await said("moving")).flat();
    await expect.poll(everybody, eventually).not.toContain("in progress: true");
  });

  test("one failed attempt is not the end of it; when it is abandoned it goes", async () => {
    // KubeVirt's controller would try again on its own, before anybody has seen the first attempt fail.
    const evacuation = { maxAttempts: 2, backoffSeconds: 3 };
    await start({ clock: createFastClock(50), evacuationController: false, evacuation });
    stage.sandbox.migrations.configure({ outcome: () => "Failed" });
    const { source, node } = await createVm("stuck");
    await evict(stage.client, source);
    const between = async () => {
      const [evacuation] = await evacuationsOf(stage.client, "stuck");
      const { attempts, phase } = evacuation?.status ?? {};
      return { attempts, phase, said: (await said("stuck"))[node] };
    };
    await expect.poll(between, eventually).toEqual({ attempts: 1, phase: "BackingOff", said: GOING });
    await expect.poll(between, eventually).toEqual({ attempts: 2, phase: "Abandoned", said: QUIET });
  });

  test("when it is cancelled it goes", async () => {
    await start({ nodes: ["node01"], evacuation: { backoffSeconds: 60 } });
    const { source } = await createVm("kept");
    await evict(stage.client, source);
    await expect.poll(() => migrationsOf(stage.client, "kept"), eventually).toHaveLength(1);
    await expect.poll(async () => (await said("kept"))["node01"], eventually).toEqual(GOING);
    expect(await stage.ask("DELETE", "/evacuations/vms/kept")).toMatchObject({ code: 200 });
    await expect.poll(async () => (await said("kept"))["node01"], eventually).toEqual(QUIET);
    expect(await phasesOf(stage.client, "kept")).toEqual(["Withdrawn"]);
  });

  test("Auto adds what KubeVirt does not, when its time is over", async () => {
    await start({ annotations: "Auto", migrationSeconds: 6, evacuation: { adoptSeconds: 0.3 } });
    const { source, node } = await createVm("silent");
    const patiently = async () => {
      await stage.reconcile();
      return (await said("silent"))[node];
    };
    await expect.poll(patiently, eventually).toEqual(QUIET);
    await evict(stage.client, source);
    await expect.poll(async () => (await said("silent"))[node], eventually).toEqual(GOING);
  });
});

describe("beside KubeVirt's own, with Auto", () => {
  test("each says it once, nothing is left after the move, and both are at rest", async () => {
    await start({
      annotations: "Auto",
      deschedulerAnnotations: true,
      evacuationController: true,
      migrationSeconds: 2,
      evacuation: { adoptSeconds: 0.3 },
    });
    const { source, node } = await createVm("shared");
    await expect.poll(() => said("shared"), eventually).toEqual({ [node]: QUIET });
    await evict(stage.client, source);
    await expect.poll(async () => (await said("shared"))[node], eventually).toEqual(GOING);
    const { status } = await untilVmi(stage.client, "shared", "moved", hasSettledAwayFrom(node));
    const after = async () => {
      await stage.reconcile();
      return await said("shared");
    };
    await expect.poll(after, eventually).toEqual({ [node]: QUIET, [status?.nodeName ?? ""]: QUIET });
    expect(await stage.reconcile()).toEqual({});
  });

  test("without the permission VMs move as ever, and what KubeVirt has left on a pod that has ended keeps no label", async () => {
    await start({ annotations: "Auto", deschedulerAnnotations: true, optional: [] });
    const { source, node } = await createVm("forbidden");
    expect(await stage.ask("GET", "/readyz")).toMatchObject({ code: 503 });
    await evict(stage.client, source);
    await untilVmi(stage.client, "forbidden", "moved", hasSettledAwayFrom(node));
    await expect.poll(async () => (await said("forbidden"))[node], eventually).toEqual(GOING);
  });
});

test("without the gate nothing is said", async () => {
  stage = await startStage({ optional: SUPPORT });
  const { source, node } = await createVm("plain");
  await evict(stage.client, source);
  await untilVmi(stage.client, "plain", "moved", hasSettledAwayFrom(node));
  expect(Object.values(await said("plain")).flat()).toEqual([]);
});
