/** The label goes after the annotation, but does not wait for what nobody can take off. */
import { expect, test } from "vitest";
import { type EvacuationWorld, planEvacuations } from "../../shared/policy/evacuation.ts";
import type { LauncherFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { marked, NODE, POD_UID, record, time, verbs, vmi, without } from "./fixtures.ts";
import { annotating, IN_PROGRESS, launcher, ONLY, target } from "./launchers.ts";
import { smallFor, world } from "./worlds.ts";

const inProgress = { annotations: { [ONLY]: "", [IN_PROGRESS]: "true" } };
const source = launcher(inProgress);

function leftover(tweak: Partial<VmiFacts>): VmiFacts {
  return vmi({ recordText: "{}", evacuationLabel: "normal", ...tweak });
}

/** From node01 to node02; both pods are known to KubeVirt. */
const moved = leftover({
  record: record(),
  nodeName: "node02",
  activePods: { [POD_UID]: NODE, "target-uid": "node02" },
});
const cancelled = (notBefore: string) => leftover({ record: record({ outcome: "Cancelled", notBefore }) });

// prettier-ignore
const rows: readonly (readonly [string, VmiFacts, readonly LauncherFacts[], "stays" | "goes"])[] = [
  // the VMI and its pods                                     VMI                      launcher pods                                          the label
  ["moved, and its old pod still says so",                    moved,                   [source],                                              "stays"],
  ["moved, and the old pod says nothing any more",            moved,                   [launcher({ annotations: { [ONLY]: "" } })],            "goes"],
  ["moved, and the old pod has ended saying so",              moved,                   [launcher({ ...inProgress, phase: "Succeeded" })],      "goes"],
  ["moved, and the old pod is terminating",                   moved,                   [launcher({ ...inProgress, deleting: true })],          "goes"],
  ["moved, and the new pod says so, whoever wrote that",      moved,                   [target(inProgress)],                                   "goes"],
  ["moved, stale mark: KubeVirt's, on the new pod",           { ...moved, evacuationNodeName: NODE }, [target(inProgress)],                    "goes"],
  ["moved, and somebody else's pod says so",                  moved,                   [{ ...source, vmiUID: "another" }],                     "goes"],
  ["cancelled, in its back-off",                              cancelled(time(20)),     [source],                                              "stays"],
  ["cancelled, and the back-off is over",                     cancelled(time(-1)),     [source],                                              "goes"],
  ["cancelled, and only the target says so",                  cancelled(time(-1)),     [target(inProgress)],                                   "goes"],
  ["abandoned, in its back-off",                              leftover({ record: record({ outcome: "Abandoned", notBefore: time(20) }) }), [source], "stays"],
  ["its record has been removed",                             without(leftover({}), "recordText"), [source],                                   "goes"],
  ["the drain taint is gone",                                 leftover({ record: record({ cause: "DrainTaint", outcome: "Withdrawn" }) }), [source], "goes"],
];

function plan(subject: VmiFacts, tweak: Partial<EvacuationWorld>) {
  return planEvacuations(
    world({ vmis: [subject], budgets: [smallFor(subject)], settings: annotating("Enabled"), ...tweak }),
  );
}

const named = rows.map(([what, subject, launchers, label]) => [what, label, { subject, launchers }] as const);

test.each(named)("%s: the label %s", (_, label, { subject, launchers }) => {
  const { chains, requeueAfterSeconds } = plan(subject, { launchers });
  expect(verbs(chains.flat()).filter((verb) => verb !== "Event")).toEqual(label === "goes" ? ["Forget"] : []);
  expect(requeueAfterSeconds).toBeLessThanOrEqual(0.5);
});

test("nothing else waits for the annotation: what is to move moves", () => {
  const subject = marked();
  const reserved = verbs(plan(subject, { launchers: [source] }).chains.flat());
  expect(reserved).toEqual(verbs(plan(subject, { launchers: [] }).chains.flat()));
  expect(reserved).toContain("WriteSlots");
});
