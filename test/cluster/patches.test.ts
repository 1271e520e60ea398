/** JSON patches: what they do to an object that is as observed, and that they do nothing to one that is not. */
import { describe, expect, test } from "vitest";
import { applyJsonPatch, readJsonPatch } from "../../infra/sandbox/apiserver/patch/json.ts";
import * as patches from "../../shared/cluster/patches.ts";
import { marked, vmi, without } from "../policy/fixtures.ts";
import { launcher } from "../policy/launchers.ts";

const OURS = "lifeboat.dev/evacuation";

/** As it is stored: like `vmi()`, but JSON. */
const STORED = {
  metadata: { uid: "vmi-uid", resourceVersion: "1", labels: { app: "web" } },
  status: { nodeName: "node01" },
};
const STATUS = { nodeName: "node01", evacuationNodeName: "node01" };
const MARKED = { ...STORED, status: STATUS };
const URGENT = metadata({ labels: { app: "web", [OURS]: "urgent" } }, MARKED);

/** As the API server's library does it. Undefined: a test failed, 422. */
function apply(object: object, operations: readonly patches.Operation[]): object | undefined {
  try {
    return applyJsonPatch(structuredClone(object), readJsonPatch(JSON.parse(JSON.stringify(operations))));
  } catch {
    return undefined;
  }
}

function metadata(change: object, of: Pick<typeof STORED, "metadata" | "status"> = STORED) {
  return { ...of, metadata: { ...of.metadata, ...change } };
}

describe("mark", () => {
  test("sets the mark, and the label only where it is urgent", () => {
    expect(apply(STORED, patches.mark(vmi(), "normal"))).toEqual(MARKED);
    expect(apply(STORED, patches.mark(vmi(), "urgent"))).toEqual(URGENT);
  });

  test("replaces a mark for another node, and another label", () => {
    const stale = {
      ...metadata({ labels: { app: "web", [OURS]: "soon" } }),
      status: { ...STATUS, evacuationNodeName: "node00" },
    };
    expect(apply(stale, patches.mark(marked({ evacuationNodeName: "node00" }), "urgent"))).toEqual(URGENT);
  });

  // prettier-ignore
  test.each([
    ["has moved",                       { ...STORED, status: { nodeName: "node02" } }],
    ["is on no node any more",          { ...STORED, status: {} }],
    ["was marked meanwhile",            MARKED],
    ["is another one of that name",     metadata({ uid: "other" })],
    ["has lost its labels",             { ...STORED, metadata: without(STORED.metadata, "labels") }],
  ])("does nothing to a VMI that %s", (_, stored) => {
    expect(apply(stored, patches.mark(vmi(), "urgent"))).toBeUndefined();
  });

  test("does not mind other changes meanwhile", () => {
    const later = metadata({ resourceVersion: "2", labels: { theirs: "z" } });
    const expected = { labels: { theirs: "z", [OURS]: "urgent" } };
    expect(apply(later, patches.mark(vmi(), "urgent"))).toMatchObject({ metadata: expected });
  });

  test("makes labels where there are none, unless another party has written meanwhile", () => {
    const bare = { ...STORED, metadata: without(STORED.metadata, "labels") };
    const operations = patches.mark(vmi({ hasLabels: false }), "urgent");
    expect(apply(bare, operations)).toMatchObject({ metadata: { labels: { [OURS]: "urgent" } } });
    expect(apply(metadata({ resourceVersion: "2", labels: { theirs: "z" } }), operations)).toBeUndefined();
  });
});

describe("clear", () => {
  const urgent = marked({ evacuationLabel: "urgent" });

  test("leaves nothing of ours, and does not fail where there is nothing", () => {
    expect(apply(URGENT, patches.unmark(urgent))).toEqual(STORED);
    expect(apply(STORED, patches.unmark(vmi()))).toEqual(STORED);
  });

  // prettier-ignore
  test.each([
    ["was marked for another node",  { ...URGENT, status: { ...STATUS, evacuationNodeName: "node02" } }],
    ["has moved",                    { ...URGENT, status: { ...STATUS, nodeName: "node02" } }],
    ["has another label",            metadata({ labels: { [OURS]: "normal" } }, MARKED)],
  ])("does nothing to a VMI that %s meanwhile", (_, stored) => {
    expect(apply(stored, patches.unmark(urgent))).toBeUndefined();
  });
});

function storedPod(annotations: object | undefined, tweak: object = {}) {
  return { metadata: { uid: "pod-uid", resourceVersion: "1", ...(annotations && { annotations }), ...tweak } };
}

describe("annotate a pod", () => {
  const observed = launcher({ annotations: { "x/gone": "true", "x/gone-too": "" } });
  const bare = launcher({ hasAnnotations: false });
  const operations = patches.annotate({
    verb: "AnnotatePod",
    pod: observed,
    add: { "x/new": "" },
    remove: ["x/gone", "x/gone-too"],
  });

  test("adds, takes away, and leaves the rest", () => {
    const before = { theirs: "z", "x/gone": "true", "x/gone-too": "" };
    expect(apply(storedPod(before), operations)).toEqual(storedPod({ theirs: "z", "x/new": "" }));
  });

  test("carries a test of all it touches, and of nothing else", () => {
    const tests = operations.filter(({ op }) => op === "test").map(({ path, value }) => [path, value]);
    expect(tests).toEqual([
      ["/metadata/uid", "pod-uid"],
      ["/metadata/annotations/x~1new", null],
      ["/metadata/annotations/x~1gone", "true"],
      ["/metadata/annotations/x~1gone-too", ""],
    ]);
  });

  // prettier-ignore
  test.each([
    ["is another one of that name",       storedPod({ "x/gone": "true", "x/gone-too": "" }, { uid: "other" })],
    ["has the new one meanwhile",         storedPod({ "x/gone": "true", "x/gone-too": "", "x/new": "" })],
    ["says something else meanwhile",     storedPod({ "x/gone": "false", "x/gone-too": "" })],
    ["has lost one of them meanwhile",    storedPod({ "x/gone": "true" })],
    ["has lost all annotations",          storedPod(undefined)],
  ])("does nothing to a pod that %s", (_, found) => {
    expect(apply(found, operations)).toBeUndefined();
  });

  test("does not mind what others write meanwhile", () => {
    const later = storedPod({ theirs: "new", "x/gone": "true", "x/gone-too": "" }, { resourceVersion: "2" });
    expect(apply(later, operations)).toMatchObject({ metadata: { annotations: { theirs: "new", "x/new": "" } } });
  });

  test("where there are none, makes them, unless anybody has written to the pod", () => {
    const first = patches.annotate({ verb: "AnnotatePod", pod: bare, add: { "x/new": "" }, remove: [] });
    expect(apply(storedPod(undefined), first)).toEqual(storedPod({ "x/new": "" }));
    expect(apply(storedPod({ theirs: "z" }, { resourceVersion: "2" }), first)).toBeUndefined();
  });
});
