/**
 * What the descheduler reads on launcher pods: asked only, on every one; in progress, on the one that the guest leaves.
 */
import { describe, expect, test } from "vitest";
import { type Pod, pods } from "../../infra/sandbox/index.ts";
import { NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

const ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";
const SUPPORT = ["optional/descheduler-support/descheduler-support.yaml"];
const QUICK = { backoffSeconds: 0.2, maxBackoffSeconds: 600, adoptSeconds: 0 };

function configurationOf(evacuation: Readonly<Record<string, number>> = {}) {
  return {
    featureGates: { DeschedulerSupport: true },
    evacuation: { ...QUICK, ...evacuation },
  };
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

describe("beside KubeVirt's own", () => {
  test("each says it once, nothing is left after the move, and both are at rest", async () => {
    stage = await startStage({
      configuration: configurationOf({ adoptSeconds: 0.3 }),
      optional: SUPPORT,
      deschedulerAnnotations: true,
      migrationSeconds: 4,
    });
    const vm = await createVm(stage, "shared");
    const { node } = vm;
    await expect.poll(() => said("shared")).toEqual({ [node]: QUIET });
    await vm.evict();
    await expect.poll(async () => (await said("shared"))[node]).toEqual(GOING);
    const { status } = await vm.untilMoved();
    const after = async () => {
      await stage.reconcile();
      return await said("shared");
    };
    await expect.poll(after).toEqual({ [node]: QUIET, [status?.nodeName ?? ""]: QUIET });
    expect(await stage.reconcile()).toEqual({});
  });
});
