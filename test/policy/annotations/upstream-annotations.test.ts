/**
 * KubeVirt's unit tests of its descheduler annotations, in our words. Upstream: pkg/virt-controller/watch/vmi (1.7) and,
 * for what was given up, pkg/virt-controller/watch/migration (1.3 to 1.6).
 */
import { describe, expect, test } from "vitest";
import type { AnnotationWorld } from "../../../shared/policy/annotations/descheduler-annotations.ts";
import { evacuation, marked, NODE, POD_UID, time, vmi, without } from "../fixtures.ts";
import { annotations, IN_PROGRESS, launcher, ONLY, target } from "../launchers.ts";

const asked = { [ONLY]: "" };
const source = launcher({ annotations: asked });
const moving = target({ annotations: asked });
const both = { activePods: { [POD_UID]: NODE, [moving.uid]: "node02" } };
const going = launcher({ annotations: { ...asked, [IN_PROGRESS]: "kubevirt" } });

/** Pod to what is added and taken away. */
type Changes = Readonly<Record<string, readonly [added: object, removed: readonly string[]]>>;

// prettier-ignore
const VECTORS: readonly (readonly [string, Partial<AnnotationWorld>, Changes])[] = [
  ["a pending VMI's new pod has request-evict-only",
    { vmis: [without(vmi({ phase: "Pending", activePods: {} }), "nodeName")], launchers: [without(launcher({ phase: "Pending" }), "nodeName")] },
    { [source.name]: [asked, []] }],
  ["a running VMI's ready pod without it gets it",
    { launchers: [launcher()] },
    { [source.name]: [asked, []] }],
  ["a VMI marked for its node: eviction-in-progress on the source pod, not on the target",
    { vmis: [marked(both)], launchers: [source, moving] },
    { [source.name]: [{ [IN_PROGRESS]: "true" }, []] }],
  ["a VMI that is not marked: what its pod has from an older KubeVirt is removed",
    { launchers: [going] },
    { [source.name]: [{}, [IN_PROGRESS]] }],
  ["a pod that has what it needs is left alone",
    { launchers: [source] },
    {}],
];

test.each(VECTORS)("%s", (_, world, expected) => {
  const found = annotations(world).map(({ pod, add, remove }) => [pod.name, [add, remove]] as const);
  expect(Object.fromEntries(found)).toEqual(expected);
});

describe("what KubeVirt did until 1.6, and gave up", () => {
  test("a migration that is no evacuation: nothing", () => {
    expect(annotations({ vmis: [vmi(both)], launchers: [source, moving] })).toEqual([]);
  });

  test("one failed migration: it stays, for the descheduler would evict the next VM", () => {
    const evacuations = [evacuation({ status: { phase: "BackingOff", attempts: 1, nextAttemptTime: time(20) } })];
    expect(annotations({ vmis: [marked(both)], evacuations, launchers: [going] })).toEqual([]);
  });

  test("before a migration has a target: already there, with the mark", () => {
    expect(annotations({ vmis: [marked()], launchers: [source] })).toMatchObject([{ add: { [IN_PROGRESS]: "true" } }]);
  });
});
