/** Tests what a preflight reads about a node, and that the preflight names each list that cannot be read. */
import { expect, test } from "vitest";
import { type Kind, textOf } from "../../../shared/facts/facts.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import type { PreflightFacts } from "../../../shared/preflight/facts.ts";
import { preflightOf } from "../../../shared/preflight/of-node.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { QUOTAS, VOLUMES } from "../../../shared/preflight/views.ts";
import type { FactMap } from "../../support/facts.ts";
import { NODE, owner } from "../../support/fixtures.ts";
import { asked, nodeWorld } from "../../support/maintenance/worlds.ts";
import { facts, foreignBudget, launcher, plainPod } from "../../support/preflight/fixtures.ts";

function judged(tweak: Partial<PreflightFacts>, more: FactMap = {}) {
  const f = facts(tweak);
  const found = preflightOf(NODE, f.flags, nodeWorld({ ne: asked(), preflight: f, more }));
  return found && preflight(found);
}

const agent = plainPod("agent", { owners: [owner({ kind: "DaemonSet", name: "agent" })] });
const web = launcher("web", { claims: ["disk"] });
const volumes = [{ namespace: "apps", claim: "disk", reachedFrom: [] }];
const marks = { labels: {}, annotations: {}, managers: [] };
const one = { pods: 1 };
const quotas = [{ namespace: "apps", name: "team", hard: one, used: one, scopes: [], marks, counted: true }];
const members = ["a", "b"].map((name) => plainPod(name, { labels: { app: "db" }, claims: ["disk"] }));
const status = { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 };
const budgets = [foreignBudget("db", "db", { status })];

test.each<[string, Partial<PreflightFacts>, verdict: string]>([
  ["a quota, although not every pod is a VM's", { pods: [launcher("web"), agent], quotas }, "WillBlock"],
  ["the volumes of a VM, although another pod has none", { pods: [web, agent], volumes }, "NoRoom"],
  ["the volumes of pods that a budget replaces", { pods: members, vmis: [], budgets, volumes }, "NoRoom"],
])("a preflight reads %s: $2", (_, f, verdict) => {
  expect(judged(f)?.verdict).toBe(verdict);
});

const unreachable = new ClusterError({ reason: "Unreachable" });

test.each<[what: string, Kind]>([
  ["which VMs leave other nodes and need room elsewhere", "nodeevacuations"],
  ["the KubeVirt object", "kubevirts"],
  ["persistent volumes", VOLUMES],
  ["resource quotas", QUOTAS],
])("a preflight names what it could not read: %s", (what, kind) => {
  const found = judged({ pods: [web] }, { [textOf({ kind, selection: {} })]: unreachable });
  expect(found).toMatchObject({ verdict: "Unknown", unknown: [what] });
});

test("a VMI that could not be read is not taken for gone", () => {
  expect(() => judged({ vmis: [] }, { "virtualmachineinstances apps/web": unreachable })).toThrow(ClusterError);
});
