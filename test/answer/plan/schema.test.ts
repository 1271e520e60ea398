/** Tests that the JSON of plans of random clusters matches the JSON schema. The plans contain every kind of verdict. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod";
import { jsonOf } from "../../../infra/cli/plan/data.ts";
import { planOf } from "../../../shared/plan/plan.ts";
import { asJson } from "../../support/json.ts";
import { cluster, options, vm } from "../../support/plan/clusters.ts";
import { fleetFor, objectsOf } from "../../support/plan/fleet.ts";
import { planFor } from "../../support/plan/promises.ts";

const FILE = new URL("../../../infra/cli/plan/plan.schema.json", import.meta.url);
const Schema = z.fromJSONSchema(JSON.parse(readFileSync(FILE, "utf8")));

const small = cluster({ node01: [vm("a")], node02: [] });

test.each([
  ["of one node, with a time to end", async () => planOf(small, options(small, { until: new Date(8.64e15) }))],
  ["in a planned order", async () => planOf(small, options(small, { order: "planned" }))],
  ["of a fleet, where nodes block", async () => ofFleet(20_261_128)],
  ["of a fleet without pinned VMs", async () => ofFleet(20_261_129)],
])("a plan %s", async (_, make) => {
  const { error } = Schema.safeParse(asJson(jsonOf(await make())));
  expect(error).toBeUndefined();
});

async function ofFleet(seed: number) {
  const fleet = fleetFor(seed);
  return await planFor(
    objectsOf(fleet),
    fleet.nodes.map(({ metadata }) => metadata.name),
  );
}

test("a field that the schema does not have is found", () => {
  const plan = planOf(small, options(small));
  expect(Schema.safeParse({ ...jsonOf(plan), extra: 1 }).success).toBe(false);
});
