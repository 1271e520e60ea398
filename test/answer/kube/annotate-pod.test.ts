/** Annotating launcher pods, against a real API server: what is left in the world, twice, and when it has changed. */
import { act as performAction } from "../../../shared/evacuation/act.ts";
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

  test("where there are no annotations at all, makes them: not over what another party has written meanwhile", async () => {
    const key = await world.createVm({ name: "plain" });
    await world.client.patch(core.pods, key, { type: "merge", body: { metadata: { annotations: null } } });
    const pod = await launcherOf("plain");
    expect(pod.hasAnnotations).toBe(false);
    const theirs = { metadata: { annotations: { theirs: "x" } } };
    await world.client.patch(core.pods, key, { type: "merge", body: theirs });
    expect(await act(add(pod))).toBe("Conflict");
    expect(await act(add(await launcherOf("plain")))).toBe("Done");
    expect((await world.client.get(core.pods, key))?.metadata.annotations).toEqual({ theirs: "x", [ONLY]: "" });
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

describe("listing launchers", () => {
  test("no other pods, even if they say that they belong to the VM", async () => {
    await world.createVm({ name: "mine" });
    const mine = await vmiCalled("mine");
    const labels = { "kubevirt.io/created-by": mine.uid, "kubevirt.io": "hotplug-disk" };
    await world.client.create(core.pods, {
      metadata: { namespace: NAMESPACE, name: "hp-volume-x", labels },
      spec: { containers: [{ name: "disk", image: "disk" }] },
    });
    expect((await launchers(mine)).map(({ name }) => name)).toEqual(["virt-launcher-mine-abcde"]);
    expect((await launchers()).map(({ name }) => name)).not.toContain("hp-volume-x");
  });
});
