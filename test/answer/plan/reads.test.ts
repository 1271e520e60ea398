/** A plan reads only lists. If a list cannot be read, the plan says what it cannot judge. */
import { expect, test } from "vitest";
import { observePlan } from "../../../shared/plan/read.ts";
import { NOW, settings } from "../../support/fixtures.ts";
import { connectToOneVm } from "../../support/client.ts";
import { status } from "../../support/answers.ts";
import type { Answers } from "../../support/cluster/one-vm.ts";

const forbidden = status(403, "Forbidden");

async function read(answers: Answers = {}) {
  const { cluster, requests } = connectToOneVm(answers, () => undefined);
  const facts = await observePlan({ cluster, settings: settings(), now: NOW });
  return { facts, requests };
}

/** The only pod here has no creation time. */
const ODD = "1 pods that cannot be understood";

test("a plan reads one list of each kind, writes nothing, and counts objects that cannot be parsed", async () => {
  const { facts, requests } = await read();
  expect(facts.unread).toEqual([ODD]);
  expect(requests.every((request) => JSON.stringify(request).includes("list"))).toBe(true);
  expect(new Set(requests.map((request) => JSON.stringify(request))).size).toBe(requests.length);
});

// prettier-ignore
test.each([
  ["poddisruptionbudgets",            "whether disruption budgets hold pods"],
  ["resourcequotas",                  "whether quotas refuse target pods"],
  ["persistentvolumes",               "which nodes reach the volumes"],
  ["virtualmachines",                 "the wishes of owners, and whether VMs start again"],
  ["virtualmachineinstancemigrations","which migrations have succeeded or failed"],
  ["evacuations",                     "which evacuations have failed"],
])("a plan without permission to list %s names what is not judged", async (kind, what) => {
  const { facts } = await read({ [`list ${kind}`]: forbidden });
  expect(facts.unread).toEqual([ODD, `${what}: you may not list ${kind}`]);
  // A fact that was not read is not taken for absent.
  if (kind === "virtualmachines") expect(facts.vms).toEqual(new Map());
});

test.each(["nodes", "pods", "virtualmachineinstances"])("a plan without permission to list %s fails", async (kind) => {
  await expect(read({ [`list ${kind}`]: forbidden })).rejects.toThrow();
});
