/** Tests that a JSON patch succeeds on the object that Lifeboat read, and fails if the object has changed. */
import { describe, expect, test } from "vitest";
import { applyJsonPatch, readJsonPatch } from "../../../infra/sandbox/index.ts";
import * as patches from "../../../shared/act/manifests.ts";
import { budget, marked, vmi, without } from "../../support/fixtures.ts";

const OURS = "lifeboat.dev/evacuation";

/** Applies a patch as the API server does. Returns undefined if a `test` operation fails (422). */
function apply(object: object, operations: readonly patches.Operation[]): object | undefined {
  try {
    return applyJsonPatch(structuredClone(object), readJsonPatch(JSON.parse(JSON.stringify(operations))));
  } catch {
    return undefined;
  }
}

const METADATA = { uid: "vmi-uid", resourceVersion: "1", labels: { app: "web" } };
const STATUS = { nodeName: "node01" };
const MARK = { evacuationNodeName: "node01" };

function stored(status: object = {}, metadata: object = {}) {
  return { metadata: { ...METADATA, ...metadata }, status: { ...STATUS, ...status } };
}
const labels = (label: object) => ({ labels: { app: "web", ...label } });
const BARE = { metadata: without(METADATA, "labels"), status: STATUS };
const CHANGED = { resourceVersion: "2", labels: { theirs: "z" } };

const URGENT = patches.label({ verb: "Label", vmi: vmi(), urgency: "urgent" });
const FIRST_LABEL = patches.label({ verb: "Label", vmi: vmi({ hasLabels: false }), urgency: "urgent" });
const SOURCE = { annotations: { "kubevirt.io/eviction-source": "descheduler" } };
const UNLABEL = patches.unlabel(marked({ evacuationLabel: "urgent" }));
const IS_URGENT = labels({ [OURS]: "urgent" });

describe("a VMI", () => {
  // prettier-ignore
  test.each<[string, readonly patches.Operation[], object, object | undefined]>([
    ["gets the label of an urgent evacuation",                     URGENT,      stored(),                                        stored({}, IS_URGENT)],
    ["gets the label instead of another",                          URGENT,      stored({}, labels({ [OURS]: "soon" })),          stored({}, IS_URGENT)],
    ["gets the label beside a later change",                       URGENT,      stored({}, CHANGED),                             stored({}, { resourceVersion: "2", labels: { theirs: "z", [OURS]: "urgent" } })],
    ["gets no label if it has moved",                              URGENT,      stored({ nodeName: "node02" }),                  undefined],
    ["gets no label if it was recreated",                          URGENT,      stored({}, { uid: "other" }),                    undefined],
    ["gets no label if its labels were removed",                   URGENT,      BARE,                                            undefined],
    ["gets its first label",                                       FIRST_LABEL, BARE,                                            { ...BARE, metadata: { ...BARE.metadata, labels: { [OURS]: "urgent" } } }],
    ["gets no first label if another party has written meanwhile", FIRST_LABEL, stored({}, CHANGED),                             undefined],
    ["loses the descheduler's source",                             patches.unlabel(marked({ evictionSource: "descheduler" })), stored(MARK, SOURCE), stored(MARK, { annotations: {} })],
    ["loses the label",                                            UNLABEL,     stored(MARK, IS_URGENT),                         stored(MARK)],
    ["keeps the label of another mark",                            UNLABEL,     stored({ evacuationNodeName: "node02" }, IS_URGENT), undefined],
    ["keeps the label if it has moved",                            UNLABEL,     stored({ ...MARK, nodeName: "node02" }, IS_URGENT), undefined],
  ])("%s", (_, operations, before, after) => {
    expect(apply(before, operations)).toEqual(after);
  });
});

describe("a budget", () => {
  const made = patches.budget(vmi());
  const ours = (metadata: object = {}) => ({ ...made, metadata: { ...made.metadata, uid: "budget-uid", ...metadata } });
  const changed = { spec: { maxUnavailable: 1 } };

  // prettier-ignore
  test.each<[string, object, object | undefined]>([
    ["is repaired to its original form",             { ...ours({ ownerReferences: [] }), ...changed }, ours()],
    ["is not changed if it is no longer Lifeboat's", { ...ours({ labels: {} }), ...changed },          undefined],
    ["is not changed if it was recreated",           { ...ours({ uid: "anew" }), ...changed },         undefined],
  ])("%s", (_, before, after) => {
    expect(apply(before, patches.repair({ verb: "RepairBudget", budget: budget(), vmi: vmi() }))).toEqual(after);
  });
});
