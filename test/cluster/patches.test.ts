/** JSON patches: what they do to an object that is as observed, and that they do nothing to one that is not. */
import { describe, expect, test } from "vitest";
import { applyJsonPatch, readJsonPatch } from "../../infra/sandbox/apiserver/patch/json.ts";
import * as patches from "../../shared/cluster/patches.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { migration, vmi, without } from "../policy/fixtures.ts";
import { launcher } from "../policy/launchers.ts";

const OURS = "lifeboat.dev/evacuation";

/** As it is stored: like `vmi()`, but JSON. */
const STORED = {
  metadata: { uid: "vmi-uid", resourceVersion: "1", labels: { app: "web" }, annotations: { note: "x" } },
  status: { nodeName: "node01" },
};
const MARKED = {
  metadata: {
    ...STORED.metadata,
    labels: { app: "web", [OURS]: "normal" },
    annotations: { note: "x", [OURS]: "record-1" },
  },
  status: { nodeName: "node01", evacuationNodeName: "node01" },
};
const marked = vmi({ evacuationNodeName: "node01", recordText: "record-1", evacuationLabel: "normal" });

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

function mark(observed: VmiFacts): readonly patches.Operation[] {
  return patches.markPatch(observed, "record-1", "normal");
}

describe("mark", () => {
  test("sets mark, record and label, and leaves the rest", () => {
    expect(apply(STORED, mark(vmi()))).toEqual(MARKED);
  });

  test("replaces a stale mark and its record", () => {
    const stale = vmi({ evacuationNodeName: "node00", recordText: "record-0", evacuationLabel: "urgent" });
    const labels = { app: "web", [OURS]: "urgent" };
    const annotations = { note: "x", [OURS]: "record-0" };
    const stored = metadata({ labels, annotations }, status({ evacuationNodeName: "node00" }));
    expect(apply(stored, mark(stale))).toEqual(MARKED);
  });

  // prettier-ignore
  test.each([
    ["has moved",                       status({ nodeName: "node02" })],
    ["is on no node any more",          { ...STORED, status: {} }],
    ["was marked meanwhile",            status({ evacuationNodeName: "node01" })],
    ["got a record meanwhile",          metadata({ annotations: { [OURS]: "record-0" } })],
    ["is another one of that name",     metadata({ uid: "other" })],
    ["has lost its annotations",        { ...STORED, metadata: without(STORED.metadata, "annotations") }],
  ])("does nothing to a VMI that %s", (_, stored) => {
    expect(apply(stored, mark(vmi()))).toBeUndefined();
  });

  test("does not mind other changes meanwhile", () => {
    const stored = metadata({ resourceVersion: "2", annotations: { note: "y", theirs: "z" } });
    expect(apply(stored, mark(vmi()))).toMatchObject({
      metadata: { annotations: { note: "y", theirs: "z", [OURS]: "record-1" } },
    });
  });

  describe.each([
    ["annotations", vmi({ hasAnnotations: false })],
    ["labels", vmi({ hasLabels: false })],
  ])("on a VMI without %s", (map, observed) => {
    const bare = { ...STORED, metadata: without(STORED.metadata, map === "labels" ? "labels" : "annotations") };

    test("makes them", () => {
      expect(apply(bare, mark(observed))).toMatchObject({ metadata: { [map]: { [OURS]: expect.any(String) } } });
    });

    test("does nothing once anybody has written to the VMI: it would wipe what they put there", () => {
      const written = { ...bare, metadata: { ...bare.metadata, resourceVersion: "2", [map]: { theirs: "z" } } };
      expect(apply(written, mark(observed))).toBeUndefined();
    });
  });
});

describe("record", () => {
  test("writes record and label, and no mark", () => {
    const { metadata: expected } = MARKED;
    expect(apply(STORED, patches.recordPatch(vmi(), "record-1", "normal"))).toEqual({ ...STORED, metadata: expected });
  });

  test("does nothing where the mark has gone", () => {
    expect(apply(STORED, patches.recordPatch(marked, "record-2", "normal"))).toBeUndefined();
  });
});

describe("clear", () => {
  test("keeps record and label where told to", () => {
    const cleared = apply(MARKED, patches.clearPatch(marked, { record: "record-2", label: true }));
    const annotations = { note: "x", [OURS]: "record-2" };
    expect(cleared).toEqual({ ...metadata({ annotations }, MARKED), status: { nodeName: "node01" } });
  });

  test.each([
    ["beside others", vmi()],
    ["where there are none", vmi({ hasLabels: false })],
  ])("puts a label that is missing where one is kept, %s", (_, observed) => {
    const stored = observed.hasLabels ? STORED : metadata({ labels: undefined }, STORED);
    const cleared = apply(stored, patches.clearPatch(observed, { record: "record-2", label: true }));
    expect(cleared).toMatchObject({ metadata: { labels: { [OURS]: "normal" }, annotations: { [OURS]: "record-2" } } });
  });

  test("leaves nothing of ours else", () => {
    expect(apply(MARKED, patches.clearPatch(marked, { record: undefined, label: false }))).toEqual(STORED);
  });

  test("of what is not there does nothing, and does not fail", () => {
    expect(apply(STORED, patches.clearPatch(vmi(), { record: undefined, label: false }))).toEqual(STORED);
  });

  // prettier-ignore
  test.each([
    ["was marked for another node",  status({ evacuationNodeName: "node02" }, MARKED)],
    ["has moved",                    status({ nodeName: "node02" }, MARKED)],
    ["has another record",           metadata({ annotations: { [OURS]: "record-9" } }, MARKED)],
    ["has another label",            metadata({ labels: { [OURS]: "urgent" } }, MARKED)],
  ])("does nothing to a VMI that %s meanwhile", (_, stored) => {
    expect(apply(stored, patches.clearPatch(marked, { record: undefined, label: false }))).toBeUndefined();
  });
});

describe("adopt", () => {
  const found = migration();
  const annotations = { "lifeboat.dev/evacuation-id": "0000000a", "lifeboat.dev/attempt": "1" };
  const stored = { metadata: { uid: found.uid, resourceVersion: found.resourceVersion, annotations: { theirs: "z" } } };

  test("annotates", () => {
    const adopted = apply(stored, patches.adoptPatch({ ...found, hasAnnotations: true }, annotations));
    expect(adopted).toMatchObject({ metadata: { annotations: { theirs: "z", ...annotations } } });
  });

  test("does nothing to one that another evacuation has adopted meanwhile", () => {
    const taken = { metadata: { ...stored.metadata, annotations: { "lifeboat.dev/evacuation-id": "0000000b" } } };
    const operations = patches.adoptPatch({ ...without(found, "evacuationId"), hasAnnotations: true }, annotations);
    expect(apply(taken, operations)).toBeUndefined();
  });

  test("does nothing to one whose first annotations came meanwhile", () => {
    const operations = patches.adoptPatch({ ...found, hasAnnotations: false }, annotations);
    const later = { metadata: { ...stored.metadata, resourceVersion: "99" } };
    expect(apply(later, operations)).toBeUndefined();
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

  test("where there are none, makes them, unless anybody has written to the pod", () => {
    const first = patches.annotatePatch(bare, { "x/new": "" }, []);
    expect(apply(storedPod(undefined), first)).toEqual(storedPod({ "x/new": "" }));
    expect(apply(storedPod({ theirs: "z" }, { resourceVersion: "2" }), first)).toBeUndefined();
  });
});

const grown = (uid: string, grownFor: string) => ({
  metadata: { uid, labels: { "lifeboat.dev/grown-for": grownFor } },
  spec: { minAvailable: 2 },
});

describe("resize", () => {
  // prettier-ignore
  test.each([
    ["as observed",              1,         1,          { spec: { minAvailable: 2 } }],
    ["as observed, in percent",  "50%",     "50%",      { spec: { minAvailable: 2 } }],
    ["resized meanwhile",        2,         1,          undefined],
    ["without, as observed",     undefined, undefined,  { spec: { minAvailable: 2 } }],
    ["without, got one",         1,         undefined,  undefined],
  ])("a budget %s", (...[, stored, observed, expected]) => {
    const spec = stored === undefined ? {} : { minAvailable: stored };
    const patched = apply({ metadata: { uid: "u", labels: {} }, spec }, patches.resizePatch({ uid: "u", ...(observed !== undefined && { minAvailable: observed }) }, 2));
    if (expected === undefined) expect(patched).toBeUndefined();
    else expect(patched).toMatchObject(expected);
  });

  test("not another budget of that name, nor one that was grown anew since", () => {
    const shrink = patches.resizePatch({ uid: "u", minAvailable: 2, grownFor: "a.1" }, 1);
    const stored = (uid: string, grownFor: string) => apply(grown(uid, grownFor), shrink);
    expect([stored("u", "a.1") === undefined, stored("v", "a.1"), stored("u", "b.2")]).toEqual([
      false,
      undefined,
      undefined,
    ]);
  });
});

test("keys are escaped as in RFC 6901", () => {
  const paths = patches.recordPatch(vmi(), "r", "normal").map(({ path }) => path);
  expect(paths).toContain("/metadata/annotations/lifeboat.dev~1evacuation");
  const [operation] = patches.adoptPatch({ ...migration(), hasAnnotations: true }, { "a~b/c": "x" }).slice(-1);
  expect(operation).toEqual({ op: "add", path: "/metadata/annotations/a~0b~1c", value: "x" });
});
