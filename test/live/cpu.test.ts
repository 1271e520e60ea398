/** CPUs of several generations: a VM moves only to a node that knows its CPU, and the command says so before. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode } from "../../infra/sandbox/index.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { type Stage, startStage } from "./stage.ts";
import { createVm } from "./vm.ts";

const label = (kind: string, name: string) => ({ [`${kind}.node.kubevirt.io/${name}`]: "true" });
const cpu = (model: string, ...older: readonly string[]) => ({
  ...label("host-model-cpu", model),
  ...label("cpu-vendor", "Intel"),
  ...Object.assign({}, ...[model, ...older].map((name) => label("cpu-model-migration", name))),
});

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ nodes: ["node01"], relay: true });
  await createNode(stage.client, "old", {}, cpu("Haswell"));
  await createNode(stage.client, "new", {}, cpu("Icelake", "Haswell"));
});
afterAll(() => stage.stop());

const call = (line: string) => lifeboat(line, { kubeconfig: stage.sandbox.kubeconfig, isPatient: true });

test("given a VM of an older node, it moves to the newer one and back: its CPU stays that of its start", async () => {
  const vm = await createVm(stage, "moves", { node: "old" });
  for (const [from, to] of [["old", "new"] as const, ["new", "old"] as const]) {
    const { code, out } = await call(`explain node ${from}`);
    expect({ code, last: out.at(-1) }).toEqual({ code: 0, last: expect.stringMatching(`^vms +moves +Moves +${to} `) });
    expect((await call("evacuate moves -n vms --wait")).code).toBe(0);
    expect((await vm.vmi())?.status?.nodeName).toBe(to);
  }
});
