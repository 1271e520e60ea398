/** Annotating launcher pods, against a real API server: what is left in the world, twice, and when it has changed. */
import { afterAll, describe, expect, test } from "vitest";
import { core } from "../../../infra/sandbox/index.ts";
import { Launcher } from "../../../shared/kube/schemas/kubernetes.ts";
import type { Action } from "../../../shared/kube/action.ts";
import type { LauncherFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import { CREATED_BY_LABEL } from "../../../shared/kube/names.ts";
import { NAMESPACE, startTestCluster } from "../../support/test-cluster.ts";
import { IN_PROGRESS, ONLY } from "../../support/launchers.ts";
import { connectTo, present } from "../../support/kube/connected.ts";
import { LAUNCHER } from "../../../shared/kube/requests.ts";
import { act as performAction } from "../../../shared/evacuation/perform.ts";

const world = await startTestCluster(["optional/descheduler-support/descheduler-support.yaml"]);
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

const act = (action: Action) => performAction(action, { cluster, now: () => new Date() });

async function vmiCalled(name: string): Promise<VmiFacts> {
  return present(await cluster.get("virtualmachineinstances", { namespace: NAMESPACE, name }));
}

const launchers = (vmi?: VmiFacts) =>
  cluster.list("pods", { labels: { ...LAUNCHER, ...(vmi && { [CREATED_BY_LABEL]: vmi.uid }) }, as: Launcher });

async function launcherOf(name: string): Promise<LauncherFacts> {
  return present((await launchers(await vmiCalled(name)))[0]);
}

function add(pod: LauncherFacts, annotations: Readonly<Record<string, string>> = { [ONLY]: "" }): Action {
  return { verb: "AnnotatePod", pod, add: annotations, remove: [] };
}

describe("AnnotatePod", () => {
  test("adds once, takes away once, and leaves the rest", async () => {
    await world.createVm({ name: "annotated" });
    const bare = await launcherOf("annotated");
    const both = add(bare, { [ONLY]: "", [IN_PROGRESS]: "true" });
    expect([await act(both), await act(both)]).toEqual(["Done", "Conflict"]);
    const pod = await launcherOf("annotated");
    expect(pod.annotations).toEqual({ [ONLY]: "", [IN_PROGRESS]: "true" });
    const remove: Action = { verb: "AnnotatePod", pod, add: {}, remove: [IN_PROGRESS] };
    expect([await act(remove), await act(remove)]).toEqual(["Done", "Conflict"]);
    const { metadata } = present(await world.client.get(core.pods, bare));
    expect(metadata.annotations).toEqual({ "kubevirt.io/domain": "annotated", [ONLY]: "" });
  });

  test.each([
    ["another one of that name", { uid: "another" }],
    ["one that is gone", { name: "nobody" }],
  ])("%s: nothing", async (_, tweak) => {
    const name = Object.keys(tweak).join();
    await world.createVm({ name });
    const pod = await launcherOf(name);
    expect(await act(add({ ...pod, ...tweak }))).toBe("Conflict");
    expect((await launcherOf(name)).annotations).toEqual({});
  });
});
