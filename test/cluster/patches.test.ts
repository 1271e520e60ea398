/** JSON patches: what they do to an object that is as observed, and that they do nothing to one that is not. */
import { describe, expect, test } from "vitest";
import { applyJsonPatch, readJsonPatch } from "../../infra/sandbox/apiserver/patch/json.ts";
import * as patches from "../../shared/cluster/patches.ts";
import { budget, marked, migration, vmi, without } from "../policy/fixtures.ts";
import { launcher } from "../policy/launchers.ts";

const LABEL = "lifeboat.dev/evacuation";
const NOW = new Date("2026-01-01T00:00:00Z");

/** As it is stored: like `vmi()`, but JSON. */
const STORED = {
  metadata: { uid: "vmi-uid", resourceVersion: "1", labels: { app: "web" } },
  status: { nodeName: "node01" },
};
const MARKED = { ...STORED, status: { nodeName: "node01", evacuationNodeName: "node01" } };
const URGENT = { ...MARKED, metadata: { ...STORED.metadata, labels: { app: "web", [LABEL]: "urgent" } } };

/** As the API server's library does it. Undefined: a test failed, 422. */
function apply(object: object, operations: readonly patches.Operation[]): object | undefined {
  try {
    return applyJsonPatch(structuredClone(object), readJsonPatch(JSON.parse(JSON.stringify(operations))));
  } catch {
    return undefined;
  }
}

function metadata(change: object, of: Pick<typeof STORED, "metadata"> = STORED) {
  return { ...of, metadata: { ...of.metadata, ...change } };
}

function status(change: object, of: typeof STORED = STORED) {
  return { ...of, status: { ...of.status, ...change } };
}

describe("mark", () => {
  test("sets the mark, and the label of an urgent one; leaves the rest", () => {
    expect(apply(STORED, patches.markPatch(vmi(), "normal"))).toEqual(MARKED);
    expect(apply(STORED, patches.markPatch(vmi(), "urgent"))).toEqual(URGENT);
  });

  test("replaces a stale mark", () => {
    const stale = patches.markPatch(vmi({ evacuationNodeName: "node00" }), "normal");
    expect(apply(status({ evacuationNodeName: "node00" }), stale)).toEqual(MARKED);
  });

  // prettier-ignore
  test.each([
    ["has moved",                       status({ nodeName: "node02" })],
    ["is on no node any more",          { ...STORED, status: {} }],
    ["was marked meanwhile",            status({ evacuationNodeName: "node01" })],
    ["is another one of that name",     metadata({ uid: "other" })],
  ])("does nothing to a VMI that %s", (_, stored) => {
    expect(apply(stored, patches.markPatch(vmi(), "urgent"))).toBeUndefined();
  });

  test("does not mind other changes meanwhile", () => {
    const stored = metadata({ resourceVersion: "2", labels: { theirs: "z" } });
    const marked = apply(stored, patches.markPatch(vmi(), "urgent"));
    expect(marked).toMatchObject({ metadata: { labels: { theirs: "z", [LABEL]: "urgent" } } });
  });

  describe("on a VMI without labels", () => {
    const bare = { ...STORED, metadata: without(STORED.metadata, "labels") };
    const urgent = patches.markPatch(vmi({ hasLabels: false }), "urgent");

    test("makes them", () => {
      expect(apply(bare, urgent)).toMatchObject({ metadata: { labels: { [LABEL]: "urgent" } } });
    });

    test("does nothing once the VMI has been written to: it would wipe the labels that were put there", () => {
      expect(apply(metadata({ resourceVersion: "2", labels: { theirs: "z" } }), urgent)).toBeUndefined();
    });
  });
});

describe("clear", () => {
  const urgent = patches.clearPatch(marked({ evacuationLabel: "urgent" }));

  test("leaves nothing of ours", () => {
    expect(apply(URGENT, urgent)).toEqual(STORED);
    expect(apply(MARKED, patches.clearPatch(marked()))).toEqual(STORED);
  });

  test("of what is not there does nothing, and does not fail", () => {
    expect(apply(STORED, patches.clearPatch(vmi()))).toEqual(STORED);
  });

  // prettier-ignore
  test.each([
    ["was marked for another node",  status({ evacuationNodeName: "node02" }, URGENT)],
    ["has moved",                    status({ nodeName: "node02" }, URGENT)],
    ["has another label",            metadata({ labels: { [LABEL]: "normal" } }, URGENT)],
  ])("does nothing to a VMI that %s meanwhile", (_, stored) => {
    expect(apply(stored, urgent)).toBeUndefined();
  });
});

describe("adopt", () => {
  const found = migration();
  const annotations = { "lifeboat.dev/cause": "Preemption", "lifeboat.dev/evacuation": "web-1" };
  const stored = { metadata: { uid: found.uid, resourceVersion: found.resourceVersion, annotations: { theirs: "z" } } };

  test("annotates", () => {
    const adopted = apply(stored, patches.adoptPatch(found, annotations));
    expect(adopted).toMatchObject({ metadata: { annotations: { theirs: "z", ...annotations } } });
  });

  test("does nothing to another one of that name, nor to one whose first annotations came meanwhile", () => {
    expect(apply(stored, patches.adoptPatch({ ...found, uid: "other" }, annotations))).toBeUndefined();
    const later = { metadata: { ...stored.metadata, resourceVersion: "99" } };
    expect(apply(later, patches.adoptPatch({ ...found, hasAnnotations: false }, annotations))).toBeUndefined();
  });
});

function storedPod(annotations: object | undefined, tweak: object = {}) {
  return { metadata: { uid: "pod-uid", resourceVersion: "1", ...(annotations && { annotations }), ...tweak } };
}

describe("annotate a pod", () => {
  const observed = launcher({ annotations: { "x/gone": "true", "x/gone-too": "" } });
  const bare = launcher({ hasAnnotations: false });
  const operations = patches.annotatePatch(observed, { "x/new": "" }, ["x/gone", "x/gone-too"]);

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

  test("where there are none, makes them, unless the pod has been written to", () => {
    const first = patches.annotatePatch(bare, { "x/new": "" }, []);
    expect(apply(storedPod(undefined), first)).toEqual(storedPod({ "x/new": "" }));
    expect(apply(storedPod({ theirs: "z" }, { resourceVersion: "2" }), first)).toBeUndefined();
  });
});

describe("on budgets", () => {
  const ours = { uid: "budget-uid", resourceVersion: "1", labels: { "app.kubernetes.io/managed-by": "lifeboat" } };
  const sized = (minAvailable: unknown, more: object = {}) => ({
    metadata: { ...ours, ...more },
    spec: { minAvailable },
  });
  const touched = { labels: { ...ours.labels, "lifeboat.dev/touched": "1767225600" } };

  test.each([1, 2, "50%"])("grow: of %j to 2, and when that was", (minAvailable) => {
    expect(apply(sized(minAvailable), patches.growPatch(NOW))).toEqual(sized(2, touched));
  });

  test("grow: of ours only", () => {
    expect(apply(sized(1, { labels: { theirs: "z" } }), patches.growPatch(NOW))).toBeUndefined();
  });

  test("resize: to 2 says when that was, to 1 does not", () => {
    expect(apply(sized(1), patches.resizePatch(budget(), 2, NOW))).toEqual(sized(2, touched));
    expect(apply(sized(2, touched), patches.resizePatch(budget(), 1, NOW))).toEqual(sized(1, touched));
  });

  test.each([
    ["another one of that name", { uid: "other" }],
    ["one that has changed since", { resourceVersion: "2" }],
  ])("resize: nothing happens to %s", (_, more) => {
    expect(apply(sized(2, more), patches.resizePatch(budget(), 1, NOW))).toBeUndefined();
  });
});

test("keys are escaped as in RFC 6901", () => {
  const [operation] = patches.adoptPatch(migration(), { "a~b/c": "x" }).slice(-1);
  expect(operation).toEqual({ op: "add", path: "/metadata/annotations/a~0b~1c", value: "x" });
});
