/**
 * What holds for any VMs and any pods: nothing twice, nothing on a target, and no quarrel with KubeVirt, whichever acts first.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnnotationWorld, planAnnotations } from "../../../shared/annotations/descheduler-annotations.ts";
import type { LauncherFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { at, newborn, only, vmi } from "../fixtures.ts";
import { annotated, annotating, IN_PROGRESS, launcher, ONLY, REQUESTED } from "../launchers.ts";

const node = fc.constantFrom("node01", "node02", "node03");
const given = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });

const anyPod = fc.record({
  nodeName: given(node),
  phase: fc.constantFrom("Pending", "Running", "Running", "Running", "Succeeded", "Failed"),
  deleting: fc.boolean(),
  age: fc.integer({ min: -2, max: 8 }),
  listed: fc.boolean(),
  carries: fc.subarray([ONLY, IN_PROGRESS, REQUESTED]),
});

const anyVm = fc.record({
  nodeName: given(node),
  mark: given(node),
  deleting: fc.boolean(),
  begun: given(fc.integer({ min: -2, max: 8 })),
  pods: fc.array(anyPod, { maxLength: 4 }),
});

type AnyVm = typeof anyVm extends fc.Arbitrary<infer T> ? T : never;

function podsOf(vm: AnyVm, of: number): readonly LauncherFacts[] {
  return vm.pods.map(({ nodeName, phase, deleting, age, carries }, i) => {
    const { nodeName: _, ...base } = launcher({ uid: `pod-${of}-${i}`, vmiUID: `vm-${of}`, phase, deleting });
    const annotations = Object.fromEntries(carries.map((key) => [key, "true"]));
    return { ...base, createdAt: at(-age).getTime(), annotations, ...(nodeName === undefined ? {} : { nodeName }) };
  });
}

function vmiOf({ nodeName, mark, deleting, pods }: AnyVm, of: number): VmiFacts {
  const { nodeName: _, ...base } = vmi({ uid: `vm-${of}`, name: `vm-${of}`, deleting });
  const listed = pods.flatMap((pod, i) => (pod.listed ? [[`pod-${of}-${i}`, pod.nodeName ?? ""]] : []));
  return {
    ...base,
    activePods: Object.fromEntries(listed),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(mark === undefined ? {} : { evacuationNodeName: mark }),
  };
}

function evacuationsOf({ begun }: AnyVm, of: number): readonly EvacuationFacts[] {
  if (begun === undefined) return [];
  const { pod: _, ...spec } = newborn().spec;
  return [{ ...newborn({ createdAt: at(-begun).getTime() }), spec: { ...spec, vmiName: `vm-${of}` } }];
}

/** Pods that change, and how often each of their annotations has. */
class Pods {
  readonly vmis: readonly VmiFacts[];
  readonly evacuations: readonly EvacuationFacts[];
  readonly found: Map<string, LauncherFacts>;
  readonly changes = new Map<string, number>();
  seconds = 0;

  constructor(vms: readonly AnyVm[]) {
    this.vmis = vms.map(vmiOf);
    this.evacuations = vms.flatMap(evacuationsOf);
    this.found = new Map(vms.flatMap(podsOf).map((pod) => [pod.uid, pod]));
  }

  look(): AnnotationWorld {
    const launchers = [...this.found.values()];
    const { vmis, evacuations } = this;
    return { vmis, evacuations, launchers, settings: annotating(5), now: at(this.seconds) };
  }

  put(pod: LauncherFacts): void {
    const before = this.found.get(pod.uid)?.annotations ?? {};
    for (const key of new Set([...Object.keys(before), ...Object.keys(pod.annotations)])) {
      const id = `${pod.uid} ${key}`;
      if (before[key] !== pod.annotations[key]) this.changes.set(id, (this.changes.get(id) ?? 0) + 1);
    }
    this.found.set(pod.uid, pod);
  }

  /** On what was seen, which may be out of date. How many patches went through. */
  performOn(world: AnnotationWorld): number {
    const actions = only("AnnotatePod", planAnnotations(world).chains.flat());
    return actions.filter((action) => {
      const pod = this.found.get(action.pod.uid);
      const next = pod && annotated(pod, action);
      if (next !== undefined) this.put(next);
      return next !== undefined;
    }).length;
  }
}

/** The pod that KubeVirt's VMI controller takes for the current one. */
function currentPod(vm: VmiFacts, pods: Pods): LauncherFacts | undefined {
  const listed = Object.keys(vm.activePods);
  return [...pods.found.values()].find((pod) => {
    const isIts = pod.vmiUID === vm.uid && pod.nodeName !== undefined && pod.nodeName === vm.nodeName;
    return isIts && pod.phase === "Running" && !pod.deleting && (listed.length === 0 || listed.includes(pod.uid));
  });
}

/** KubeVirt 1.7: whatever node the mark is for, and only on the current pod. */
function writeAsKubeVirt(vm: VmiFacts, pods: Pods): void {
  const pod = vm.deleting ? undefined : currentPod(vm, pods);
  if (pod === undefined) return;
  const { [IN_PROGRESS]: inProgress, ...rest } = pod.annotations;
  const isMarked = vm.evacuationNodeName !== undefined;
  pods.put({ ...pod, annotations: { ...rest, [ONLY]: "", ...(isMarked && { [IN_PROGRESS]: inProgress ?? "true" }) } });
}

const anyVms = fc.array(anyVm, { minLength: 1, maxLength: 3 });

function always<T>(facts: fc.Arbitrary<T>, holds: (given: T) => void): void {
  fc.assert(fc.property(facts, holds), { seed: 20_260_301, numRuns: 1000 });
}

describe("whatever there is", () => {
  test("a plan carried out leaves nothing to do, and carried out again does nothing", () => {
    always(anyVms, (vms) => {
      const pods = new Pods(vms);
      const world = pods.look();
      const planned = planAnnotations(world).chains.length;
      expect(pods.performOn(world)).toBe(planned);
      expect(pods.performOn(world)).toBe(0);
      expect(planAnnotations(pods.look()).chains).toEqual([]);
      // What KubeVirt has time left for comes about when that is over.
      pods.seconds += 7;
      pods.performOn(pods.look());
      pods.seconds += 1000;
      expect(planAnnotations(pods.look()).chains).toEqual([]);
    });
  });
});

describe("beside KubeVirt", () => {
  type Step = "kubevirt" | "look" | "act" | "second";
  const steps = fc.array(fc.constantFrom<Step>("kubevirt", "look", "act", "second"), { maxLength: 60 });

  test("no annotation changes more than once, in whatever order both act, on however old a look", () => {
    always(fc.tuple(anyVms, steps), ([vms, story]) => {
      const pods = new Pods(vms);
      let seen = pods.look();
      for (const step of story) {
        if (step === "kubevirt") for (const vm of pods.vmis) writeAsKubeVirt(vm, pods);
        if (step === "look") seen = pods.look();
        if (step === "act") pods.performOn(seen);
        if (step === "second") pods.seconds += 1;
      }
      expect([...pods.changes.values()].filter((times) => times > 1)).toEqual([]);
    });
  });

  test("both come to rest, and KubeVirt's word stands", () => {
    always(anyVms, (vms) => {
      const pods = new Pods(vms);
      for (let round = 0; round < 8; round++, pods.seconds += 2) {
        for (const vm of pods.vmis) writeAsKubeVirt(vm, pods);
        pods.performOn(pods.look());
      }
      const before = [...pods.found.values()];
      for (const vm of pods.vmis) writeAsKubeVirt(vm, pods);
      expect([...pods.found.values()]).toEqual(before);
      expect(planAnnotations(pods.look())).toEqual({ chains: [] });
    });
  });
});
