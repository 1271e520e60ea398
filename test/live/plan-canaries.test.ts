/**
 * Tests that a plan selects one VM as a canary for each class of VMs (canary-clusters.ts) without a known migration.
 * After the evacuation of the canaries, the plan reports each class whose migrations fail. KubeVirt reports the VMs of
 * these classes as live-migratable.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import * as z from "zod/mini";
import { kubevirt } from "../../infra/sandbox/index.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { type CanaryCluster, canaryClusterFor, classText, createNodes, reasonOf, setUp } from "./canary-clusters.ts";
import { NAMESPACE, type SimulatedStage, startSimulatedStage } from "./stage.ts";

const CLUSTERS = Number(process.env["CANARY_CLUSTERS"] ?? (process.env["LIFEBOAT_NIGHTLY"] === undefined ? 3 : 50));
const SEED = Number(process.env["CANARY_SEED"] ?? 20_261_129);

const Plan = z.object({
  evidence: z.object({
    classes: z.array(
      z.object({
        launcher: z.string(),
        machine: z.string(),
        cpu: z.string(),
        storage: z.string(),
        architecture: z.string(),
        proof: z.enum(["Proven", "Unproven", "Failing"]),
        vms: z.array(z.string()),
        canary: z.optional(z.string()),
        failed: z.optional(z.object({ reason: z.string() })),
      }),
    ),
  }),
  nodes: z.array(z.object({ node: z.string(), verdict: z.string() })),
});
type Plan = z.output<typeof Plan>;

let stage: SimulatedStage;
beforeAll(async () => {
  const configuration = { evacuation: { maxAttempts: 1, backoffSeconds: 0.2, maxBackoffSeconds: 60 } };
  stage = await startSimulatedStage({ nodes: [], relay: true, configuration });
  await createNodes(stage);
});
afterAll(() => stage.stop());

async function planned(): Promise<Plan> {
  const { out } = await lifeboat("plan -o json", { kubeconfig: stage.sandbox.kubeconfig });
  return Plan.parse(JSON.parse(out.join("\n")));
}

async function evacuated(vm: string): Promise<void> {
  const [namespace = "", name = ""] = vm.split("/");
  const person = { kubeconfig: stage.sandbox.kubeconfig, isPatient: true };
  await lifeboat(`evacuate ${name} -n ${namespace} --yes --wait`, person);
}

/**
 * Evacuates the canaries of a plan and plans again, until a plan has no canary. Returns the plan and the number of
 * canaries of each class.
 */
async function afterCanaries() {
  const canaries = new Map<string, number>();
  for (;;) {
    const plan = await planned();
    const unproven = plan.evidence.classes.filter(({ proof }) => proof === "Unproven");
    if (unproven.length === 0) return { plan, canaries };
    for (const one of unproven) canaries.set(classText(one), 1 + (canaries.get(classText(one)) ?? 0));
    expect(Math.max(...canaries.values())).toBe(1);
    await Promise.all(unproven.map(({ canary = "" }) => evacuated(canary)));
  }
}

function expected({ evidence: { classes } }: Plan, { points }: CanaryCluster) {
  return classes.map((one) => {
    const point = points.get(classText(one));
    return point === undefined
      ? { class: classText(one), proof: "Proven" }
      : { class: classText(one), proof: "Failing", reason: reasonOf(point) };
  });
}

const seeds = Array.from({ length: CLUSTERS }, (_, at) => SEED + at);

test.for(seeds)("one canary per class finds the failing classes of cluster %i", { timeout: 300_000 }, async (seed) => {
  const cluster = canaryClusterFor(seed);
  onTestFinished(await setUp(stage, cluster));
  const { plan, canaries } = await afterCanaries();
  const { classes } = plan.evidence;
  const said = classes.map((one) => ({
    class: classText(one),
    proof: one.proof,
    ...(one.failed && { reason: one.failed.reason }),
  }));
  expect(said).toEqual(expected(plan, cluster));
  const names = classes.map(classText);
  expect([...cluster.points.keys()].filter((one) => !names.includes(one))).toEqual([]);
  expect([...canaries.values()].filter((count) => count > 1)).toEqual([]);
  const failing = new Set(classes.filter(({ proof }) => proof === "Failing").flatMap(({ vms }) => vms));
  const { items: vmis } = await stage.client.list(kubevirt.virtualMachineInstances, NAMESPACE);
  const nodes = new Set(
    vmis.filter(({ metadata: { name } }) => failing.has(`${NAMESPACE}/${name}`)).map(({ status }) => status?.nodeName),
  );
  const promised = plan.nodes.filter(({ verdict }) => verdict.startsWith("WillSucceed"));
  expect(promised.filter(({ node }) => nodes.has(node))).toEqual([]);
});
