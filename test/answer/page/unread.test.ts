/** Tests that a page never shows a list as empty if Lifeboat could not read the list. */
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { status } from "../../support/answers.ts";
import { vmiObject } from "../../support/cluster/objects.ts";
import { podObject } from "../../support/cluster/pods-and-nodes.ts";
import { evacuation, migration, pod, vmi } from "../../support/fixtures.ts";
import type { JsonObject } from "../../support/json.ts";
import { clusterOf, UNDER_WAY, WEEKEND } from "./support/scene.ts";
import { arriveAt, mainOf, words } from "./support/visitor.ts";

const FLEET = "/";
const CLUSTER = "/fleet/prod";
const NODE = `${CLUSTER}/nodes/node01`;
const VM = `${CLUSTER}/vms/apps/web`;

async function shown(path: string, resource: string, code: number): Promise<string> {
  const cluster = clusterOf({ vms: [vmi()] });
  const there = await arriveAt({ prod: cluster, quiet: clusterOf({}) });
  cluster.api.instead = (asked) => (asked.resource === resource ? status(code, "Refused") : undefined);
  return words(mainOf(await there.get(path)));
}

// prettier-ignore
test.each([
  [CLUSTER, "nodeevacuations",                  "NodeEvacuations could not be read"],
  [CLUSTER, "rollingmaintenances",              "RollingMaintenances could not be read"],
  [FLEET,   "lifeboatconfigurations",           "The conditions of Lifeboat could not be read"],
  [NODE,    "nodeevacuations",                  "The node's maintenance could not be read"],
  [VM,      "virtualmachineinstancemigrations", "The VM's migrations could not be read"],
])("%s without a readable list of %s says: %s", async (...row) => {
  const [path, resource, says] = row;
  expect(await shown(path, resource, 500)).toContain(says);
  expect(await shown(path, resource, 404)).not.toContain("could not be read");
});

test("a node whose maintenance could not be read has no command to drain it", async () => {
  expect(await shown(NODE, "nothing", 500)).toContain("Drain");
  expect(await shown(NODE, "nodeevacuations", 500)).not.toContain("lifeboat drain");
});

interface Objects {
  readonly pod?: JsonObject;
  readonly vmi: JsonObject;
}

async function shownWith(path: string, objects: Objects): Promise<string> {
  const cluster = clusterOf({ cordoned: true });
  cluster.api.put("virtualmachineinstances", objects.vmi);
  if (objects.pod !== undefined) cluster.api.put("pods", objects.pod);
  const there = await arriveAt({ prod: cluster });
  return words(mainOf(await there.get(path)));
}

interface State {
  readonly isOff?: boolean;
  readonly is?: Partial<VmiFacts>;
}

/** Makes the objects of a kind unreadable, and returns the answer to a request for a page. */
async function pageWithout(path: string, resource: string, { isOff = false, is = {} }: State = {}) {
  const isAboutEvacuations = resource === "evacuations" || path === VM;
  const cluster = clusterOf({
    cordoned: path === NODE,
    vms: isOff ? [] : [vmi(is)],
    evacuations: isAboutEvacuations ? [evacuation({ status: { phase: "Migrating", sourceNode: "node01" } })] : [],
    migrations: [migration({ phase: "Succeeded" })],
    nodeEvacuation: { status: UNDER_WAY },
    rolling: WEEKEND,
  });
  if (!isOff) cluster.api.put("pods", podObject(pod()));
  // The field selectors of the requests must still select the objects.
  const part = path === NODE ? "spec" : "status";
  for (const one of cluster.api.objects(resource)) cluster.api.put(resource, { ...one, [part]: "none" });
  const there = await arriveAt({ prod: cluster, quiet: clusterOf({}) });
  const answer = await there.get(path);
  return { code: answer.code, text: words(mainOf(answer)) };
}

describe("an object that cannot be parsed is named, and not taken for absent", () => {
  // prettier-ignore
  test.each<[path: string, resource: string, says: string, not: string]>([
    [FLEET,   "evacuations",                      "1 Evacuation could not be read. This page is incomplete. Lifeboat cannot parse apps/", "prod Nothing to do"],
    [CLUSTER, "evacuations",                      "1 Evacuation could not be read. This page is incomplete. Lifeboat cannot parse apps/", "All is quiet"],
    [CLUSTER, "nodes",                            "2 nodes could not be read. This page is incomplete. Lifeboat cannot parse node01: ",  "All is quiet"],
    [CLUSTER, "nodeevacuations",                  "1 NodeEvacuation could not be read. This page is incomplete. Lifeboat cannot parse kernel: ", "All is quiet"],
    [CLUSTER, "rollingmaintenances",              "1 RollingMaintenance could not be read. This page is incomplete. Lifeboat cannot parse weekend: ", "All is quiet"],
    [NODE,    "nodeevacuations",                  "1 NodeEvacuation could not be read, and might be for this node. Lifeboat cannot parse kernel: ", "lifeboat drain"],
    [NODE,    "evacuations",                      "Lifeboat could not read every Evacuation of its VMs", "Nothing evacuates"],
    [VM,      "evacuations",                      "The VM's evacuations could not be read. Lifeboat cannot parse apps/", "lifeboat evacuate"],
    [VM,      "virtualmachineinstancemigrations", "The VM's migrations could not be read. Lifeboat cannot parse apps/",  "cannot say what an eviction"],
  ])("%s with an unreadable object among the %s says: %s", async (...[path, resource, says, not]) => {
    expect((await pageWithout(path, "nothing")).text).not.toContain("could not be read");
    const { text } = await pageWithout(path, resource);
    expect(text).toContain(says);
    expect(text).not.toContain(not);
  });

  test("a VM whose answer to an eviction depends on unreadable migrations has no answer", async () => {
    const is = { liveMigratable: { migratable: false }, evacuationNodeName: "node01" };
    const kind = "virtualmachineinstancemigrations";
    expect((await pageWithout(VM, "nothing", { is })).text).not.toContain("cannot say what an eviction would do");
    expect((await pageWithout(VM, kind, { is })).text).toContain("cannot say what an eviction would do");
  });

  test("the page of a NodeEvacuation does not depend on its Node", async () => {
    const { code, text } = await pageWithout(`${CLUSTER}/nodeevacuations/kernel`, "nodes");
    expect([code, text]).toEqual([200, expect.stringContaining("2 of 4 VMs are left")]);
  });

  test.each(["evacuations", "virtualmachineinstancemigrations"])(
    "a VM that is off with unreadable %s",
    async (kind) => {
      const { code, text } = await pageWithout(VM, kind, { isOff: true });
      expect([code, text]).toEqual([200, expect.stringContaining("could not be read. Lifeboat cannot parse apps/")]);
    },
  );

  // prettier-ignore
  test.each([
    [`${CLUSTER}/nodeevacuations/kernel`,      "nodeevacuations"],
    [`${CLUSTER}/rollingmaintenances/weekend`, "rollingmaintenances"],
    [VM,                                       "virtualmachineinstances"],
  ])("its own page %s says that the object has to be corrected", async (...[path, resource]) => {
    expect((await pageWithout(path, "nothing")).code).toBe(200);
    const { code, text } = await pageWithout(path, resource);
    expect([code, text]).toEqual([502, expect.stringMatching(/^The object cannot be read Lifeboat cannot parse .* Correct the object, then reload this page\./u)]);
  });
});

/** More annotations than Lifeboat reads. */
const large = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`example.com/${i}`, "x".repeat(90)]));

describe("an object that cannot be parsed is not taken for absent", () => {
  const own = vmiObject(vmi());
  const oddVmi = { ...own, spec: { ...Object(own["spec"]), nodeSelector: large } };
  const plain = podObject(pod());
  const oddPod = { ...plain, metadata: { ...Object(plain["metadata"]), annotations: large } };

  // prettier-ignore
  test.each<[string, path: string, Objects, says: string]>([
    ["the page of a node with an unreadable VMI",               NODE,    { vmi: oddVmi, pod: plain }, "this page might not show every VM that runs here"],
    ["the page of a node with an unreadable VMI without a pod", NODE,    { vmi: oddVmi },             "this page might not show every VM that runs here"],
    ["the page of a node with an unreadable pod",               NODE,    { vmi: own, pod: oddPod },   "this page might not show every VM that runs here"],
    ["the page of a cluster with an unreadable VMI",            CLUSTER, { vmi: oddVmi, pod: plain }, "1 VM could not be read"],
    ["the page of a VM with an unreadable pod",                 VM,      { vmi: own, pod: oddPod },   "The VM's pod could not be read"],
  ])("%s says that it is incomplete", async (_, path, objects, says) => {
    const text = await shownWith(path, objects);
    expect(text).toContain(says);
    expect(text).not.toMatch(/Empty of VMs|No VM is left|No VM to move|Every VM has left|no pod that could/);
  });
});
