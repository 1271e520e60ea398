/** A page never shows a list that could not be read as an empty one. */
import { expect, test } from "vitest";
import { status } from "../../support/answers.ts";
import { vmi } from "../../support/fixtures.ts";
import { clusterOf } from "./support/scene.ts";
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
  [VM,      "virtualmachineinstancemigrations", "Its migrations could not be read"],
])("%s without a readable list of %s says: %s", async (...row) => {
  const [path, resource, says] = row;
  expect(await shown(path, resource, 500)).toContain(says);
  expect(await shown(path, resource, 404)).not.toContain("could not be read");
});

test("a node whose maintenance could not be read has no command to drain it", async () => {
  expect(await shown(NODE, "nothing", 500)).toContain("Drain");
  expect(await shown(NODE, "nodeevacuations", 500)).not.toContain("lifeboat drain");
});
