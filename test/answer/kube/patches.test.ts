/** JSON patches: what they do to an object that is as observed, and that they do nothing to one that is not. */
import { describe, expect, test } from "vitest";
import { applyJsonPatch, readJsonPatch } from "../../../infra/sandbox/index.ts";
import * as patches from "../../../shared/act/manifests.ts";
import { budget, marked, vmi, without } from "../../support/fixtures.ts";

const OURS = "lifeboat.dev/evacuation";

/** As the API server's library does it. Undefined: a test failed, 422. */
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

/** As it is stored: like `vmi()`, but JSON. */
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
    ["gets the label where that is urgent",          URGENT,      stored(),                                        stored({}, IS_URGENT)],
    ["gets it instead of another",                   URGENT,      stored({}, labels({ [OURS]: "soon" })),          stored({}, IS_URGENT)],
    ["gets it beside what came meanwhile",           URGENT,      stored({}, CHANGED),                             stored({}, { resourceVersion: "2", labels: { theirs: "z", [OURS]: "urgent" } })],
    ["does not, if it has moved",                    URGENT,      stored({ nodeName: "node02" }),                  undefined],
    ["… if it is another one of that name",          URGENT,      stored({}, { uid: "other" }),                    undefined],
    ["… if it has lost its labels",                  URGENT,      BARE,                                            undefined],
    ["gets labels where there are none",             FIRST_LABEL, BARE,                                            { ...BARE, metadata: { ...BARE.metadata, labels: { [OURS]: "urgent" } } }],
    ["… unless another party has written meanwhile", FIRST_LABEL, stored({}, CHANGED),                             undefined],
    ["says no more that a descheduler asked",        patches.unlabel(marked({ evictionSource: "descheduler" })), stored(MARK, SOURCE), stored(MARK, { annotations: {} })],
    ["is as before without label",                   UNLABEL,     stored(MARK, IS_URGENT),                         stored(MARK)],
    ["keeps the label of another mark",              UNLABEL,     stored({ evacuationNodeName: "node02" }, IS_URGENT), undefined],
    ["keeps it if it has moved",                     UNLABEL,     stored({ ...MARK, nodeName: "node02" }, IS_URGENT), undefined],
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
    ["is as it was made",             { ...ours({ ownerReferences: [] }), ...changed }, ours()],
    ["stays if it is no longer ours", { ...ours({ labels: {} }), ...changed },          undefined],
    ["… if it was made anew",         { ...ours({ uid: "anew" }), ...changed },         undefined],
  ])("%s", (_, before, after) => {
    expect(apply(before, patches.repair({ verb: "RepairBudget", budget: budget(), vmi: vmi() }))).toEqual(after);
  });
});
