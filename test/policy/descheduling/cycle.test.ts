/**
 * One descheduling cycle after another over a simulated cluster: what is requested, what is not, and what is left behind.
 */
import { describe, expect, test } from "vitest";
import { type CycleReport, runCycle } from "../../../shared/policy/descheduling/cycle.ts";
import type { DeschedulerPolicy } from "../../../shared/policy/descheduling/descheduler-policy.ts";
import type { DeschedulerPod } from "../../../shared/policy/descheduling/facts.ts";
import type { Step, StepResult } from "../../../shared/policy/descheduling/step.ts";
import { keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { at, NOW, time } from "../fixtures.ts";
import { SimulatedPods } from "./simulation/cluster.ts";
import { type Heard, IN_PROGRESS, node, plainPod, policy, REQUESTED, scripted, vmiOf, vmPod } from "./worlds.ts";

interface Options {
  readonly order: readonly string[];
  readonly policy?: Partial<DeschedulerPolicy>;
  readonly inBackground?: boolean;
  readonly claimed?: boolean;
  readonly vmis?: readonly VmiFacts[];
  readonly nodes?: readonly string[];
  readonly until?: Date;
  /** Instead of what the cluster does. */
  readonly perform?: (step: Step) => Omit<StepResult, "now"> | undefined;
}

interface Done extends CycleReport {
  readonly heard: Heard;
  readonly steps: readonly Step[];
}

function cycle(cluster: SimulatedPods, o: Options): Done {
  const pods = [...cluster.pods.values()];
  const heard: Heard = [];
  const steps: Step[] = [];
  const vmis = o.vmis ?? pods.map((pod) => vmiOf(pod));
  const running = runCycle({
    policy: policy([scripted(o.order, pods, heard)], o.policy),
    nodes: (o.nodes ?? ["node01", "node02"]).map((name) => node(name)),
    pods,
    vmis: new Map(vmis.map((vmi) => [keyOf(vmi), vmi])),
    namespaces: new Map(),
    budgets: new Map(),
    storageClasses: new Map(),
    priorityClasses: new Map(),
    register: cluster.register,
    inBackground: o.inBackground ?? true,
    claimed: o.claimed ?? false,
    until: o.until ?? at(200),
    now: cluster.now,
  });
  let next = running.next();
  while (next.done !== true) {
    steps.push(next.value);
    const result = { ...(o.perform?.(next.value) ?? cluster.perform(next.value)), now: cluster.now };
    next = running.next(result as StepResult);
  }
  return { ...next.value, heard, steps };
}

function results({ nominations }: CycleReport): readonly string[] {
  return nominations.map(({ result }) => result);
}

function clusterOf(...pods: readonly DeschedulerPod[]): SimulatedPods {
  return new SimulatedPods(pods, NOW);
}

function annotationsOf(cluster: SimulatedPods, uid: string): Readonly<Record<string, string>> {
  return cluster.pods.get(uid)?.annotations ?? {};
}

/** What upstream's cache test goes through, (evacuations in progress, pods evicted) after each step. */
test("requested, confirmed, cancelled and ended evacuations, cycle after cycle", () => {
  const cluster = clusterOf(vmPod("p1"), vmPod("p2"), plainPod("p3"), plainPod("p4"));
  const all = ["p1", "p2", "p3", "p4", "p5"];
  const counts = () => [cycle(cluster, { order: all }).inProgress, cluster.evicted];
  expect(counts()).toEqual([2, 2]);
  expect(counts()).toEqual([2, 2]);
  cluster.confirm("pod-p2");
  expect(counts()).toEqual([2, 2]);
  cluster.confirm("pod-p1");
  expect(counts()).toEqual([2, 2]);
  cluster.finish("pod-p1");
  expect(counts()).toEqual([1, 2]);
  const p5 = plainPod("p5");
  cluster.pods.set(p5.uid, p5);
  expect(counts()).toEqual([1, 3]);
  cluster.cancel("pod-p2");
  expect(cycle(cluster, { order: [] }).inProgress).toBe(0);
  expect(counts()).toEqual([1, 3]);
  expect(cluster.requests.map(({ pod }) => pod.uid)).toEqual(["pod-p1", "pod-p2", "pod-p2"]);
  const p2 = cluster.pods.get("pod-p2");
  if (p2 !== undefined) cluster.pods.set(p2.uid, { ...p2, phase: "Succeeded" });
  expect(cycle(cluster, { order: [] }).inProgress).toBe(0);
});

describe("the protocol of a request", () => {
  const verbs = ({ steps }: Done) => steps.map((s) => (s.step === "Act" ? s.action.verb : s.step));

  // prettier-ignore
  test.each([
    ["a VM",                "vm",  true,  ["WriteRegister", "AnnotatePod", "Evict", "Event", "WriteRegister"]],
    ["an ordinary pod",     "pod", true,  ["WriteRegister", "Evict", "Event", "WriteRegister"]],
    ["a VM, gate off",      "vm",  false, ["WriteRegister", "Evict", "WriteRegister"]],
    ["nothing to request",  "",    true,  []],
  ])("%s", (_, name, inBackground, expected) => {
    const cluster = clusterOf(vmPod("vm"), plainPod("pod"));
    expect(verbs(cycle(cluster, { order: [name], inBackground }))).toEqual(expected);
  });

  test("the time is on the pod before the request, and the reservation before that", () => {
    const cluster = clusterOf(vmPod("vm"));
    cycle(cluster, {
      order: ["vm"],
      perform: (step) => {
        if (step.step === "Evict") {
          expect(annotationsOf(cluster, "pod-vm")[REQUESTED]).toBe(time(0));
          expect(cluster.register.reservations.map(({ uid }) => uid)).toEqual(["pod-vm"]);
        }
        return undefined;
      },
    });
    expect(annotationsOf(cluster, "pod-vm")[REQUESTED]).toBe(time(0));
    expect(cluster.register.reservations).toEqual([]);
  });

  // prettier-ignore
  test.each([
    // Outcome of the eviction, time kept on the pod, counted as in progress, verdict for the plugin.
    ["Background", true,  1, "Accepted"],
    ["Refused",    false, 0, "Skipped" ],
    ["Unknown",    true,  1, "Skipped" ],
    ["Evicted",    true,  0, "Accepted"],
    ["Gone",       true,  0, "Skipped" ],
  ] as const)("answered %s: time kept=%s, in progress %s, the plugin hears %s", (outcome, kept, inProgress, verdict) => {
    const cluster = clusterOf(vmPod("vm"));
    const perform = (step: Step) => (step.step === "Evict" ? { step: "Evict" as const, outcome } : undefined);
    const done = cycle(cluster, { order: ["vm"], perform });
    expect(REQUESTED in annotationsOf(cluster, "pod-vm")).toBe(kept);
    expect(done.inProgress).toBe(inProgress);
    expect(done.heard).toEqual([["vm", verdict]]);
    expect(cluster.register.counts).toEqual([{ profile: "vms", plugin: "Scripted", result: outcome, count: 1 }]);
    expect(cluster.register.reservations).toEqual([]);
  });

  test("a confirmed request needs its time no more", () => {
    const cluster = clusterOf(vmPod("vm", { annotations: { [REQUESTED]: time(-30), [IN_PROGRESS]: "true" } }));
    cycle(cluster, { order: [] });
    expect(annotationsOf(cluster, "pod-vm")).not.toHaveProperty([REQUESTED]);
    expect(annotationsOf(cluster, "pod-vm")).toHaveProperty([IN_PROGRESS]);
  });

  test("a pod that somebody wrote to is passed over, and its reservation given back", () => {
    const cluster = clusterOf(vmPod("vm"), vmPod("other"));
    const perform = (step: Step) =>
      step.step === "Act" && step.action.verb === "AnnotatePod" && step.action.pod.uid === "pod-vm"
        ? { step: "Act" as const, outcome: "Conflict" as const }
        : undefined;
    const done = cycle(cluster, { order: ["vm", "other"], perform });
    expect(results(done)).toEqual(["PodChanged", "Background"]);
    expect(cluster.requests.map(({ pod }) => pod.uid)).toEqual(["pod-other"]);
    expect(cluster.register.reservations).toEqual([]);
  });
});

describe("what is not requested", () => {
  test("the target of a migration, nor a launcher pod whose VMI is not known", () => {
    const source = vmPod("web");
    const target = vmPod("web", { name: "target", uid: "pod-target", nodeName: "node02" });
    const cluster = clusterOf(source, target, vmPod("orphan"));
    const done = cycle(cluster, { order: ["target", "orphan"], vmis: [vmiOf(source)] });
    expect(done.nominations).toEqual([]);
    expect(cluster.requests).toEqual([]);
  });

  test("what is in progress; whoever nominates it is content", () => {
    const cluster = clusterOf(vmPod("vm", { annotations: { [IN_PROGRESS]: "true" } }));
    const done = cycle(cluster, { order: ["vm"] });
    expect([results(done), done.heard]).toEqual([["InProgress"], [["vm", "Accepted"]]]);
    expect(cluster.requests).toEqual([]);
  });

  test("what was refused or requested in the same cycle, by another plugin", () => {
    const cluster = clusterOf(vmPod("vm"), vmPod("pinned"));
    const perform = (step: Step) =>
      step.step === "Evict" && step.nominated.pod.uid === "pod-pinned"
        ? { step: "Evict" as const, outcome: "Refused" as const }
        : undefined;
    const done = cycle(cluster, { order: ["vm", "pinned", "vm", "pinned"], perform });
    expect(results(done)).toEqual(["Background", "Refused", "InProgress", "Refused"]);
    expect(done.steps.filter(({ step }) => step === "Evict")).toHaveLength(2);
  });

  test("anything, where there is only one node to be on", () => {
    const cluster = clusterOf(vmPod("vm"));
    expect(cycle(cluster, { order: ["vm"], nodes: ["node01"] })).toMatchObject({ ended: "Finished", nominations: [] });
  });
});

describe("limits", () => {
  const three = [vmPod("a"), vmPod("b"), vmPod("c", { nodeName: "node02", namespace: "shop" })];

  // prettier-ignore
  test.each([
    ["evictionsTotal",          [["a", "Accepted"], ["b", "TotalLimit"]]],
    ["evictionsPerNode",        [["a", "Accepted"], ["b", "NodeLimit"], ["c", "Accepted"]]],
    ["evictionsPerNamespace",   [["a", "Accepted"], ["b", "Skipped"], ["c", "Accepted"]]],
    ["evacuationsPerNode",      [["a", "Accepted"], ["b", "Skipped"], ["c", "Accepted"]]],
    ["evacuationsPerNamespace", [["a", "Accepted"], ["b", "Skipped"], ["c", "Accepted"]]],
  ] as const)("%s of 1", (limit, expected) => {
    const done = cycle(clusterOf(...three), { order: ["a", "b", "c"], policy: { limits: { [limit]: 1 } } });
    expect(done.heard).toEqual(expected);
  });

  test("what is in progress at the start of a cycle counts", () => {
    const cluster = clusterOf(vmPod("a", { annotations: { [REQUESTED]: time(-599) } }), vmPod("b"));
    const limits = { evictionsTotal: 1 };
    expect(results(cycle(cluster, { order: ["b", "a"], policy: { limits } }))).toEqual(["evictionsTotal"]);
    cluster.now = at(2);
    expect(results(cycle(cluster, { order: ["b"], policy: { limits } }))).toEqual(["Background"]);
  });

  test("gate off: nothing is in progress, each 429 is a failure, and the whole node is asked for: the storm", () => {
    const cluster = clusterOf(vmPod("a"), vmPod("b"));
    const off = { order: ["a", "b"], inBackground: false, policy: { limits: { evictionsTotal: 1 } } };
    expect(results(cycle(cluster, off))).toEqual(["Refused", "Refused"]);
    expect(cluster.evacuating.size).toBe(2);
    expect(annotationsOf(cluster, "pod-a")).not.toHaveProperty([REQUESTED]);
  });
});

describe("how a cycle ends", () => {
  const failing = (verb: string, outcome: "Conflict" | "Failed") => (step: Step) =>
    step.step === "Act" && step.action.verb === verb ? { step: "Act" as const, outcome } : undefined;

  // prettier-ignore
  test.each([
    ["WriteRegister", "Conflict", "AnotherCycle"],
    ["WriteRegister", "Failed",   "ClusterUnavailable"],
    ["AnnotatePod",   "Failed",   "ClusterUnavailable"],
    ["Event",         "Failed",   "Finished"],
  ] as const)("%s %s: %s", (verb, outcome, ended) => {
    const cluster = clusterOf(vmPod("vm"));
    const done = cycle(cluster, { order: ["vm"], perform: failing(verb, outcome) });
    expect(done.ended).toBe(ended);
    expect(cluster.requests.length).toBe(ended === "Finished" ? 1 : 0);
  });

  test("claimed: gives way to a cycle that has begun meanwhile, though there is nothing to request", () => {
    const cluster = clusterOf();
    expect(cycle(cluster, { order: [], claimed: true })).toMatchObject({ ended: "Finished" });
    expect(cluster.register.lastCycle).toBe(time(0));
    expect(cycle(cluster, { order: [], claimed: true, perform: failing("WriteRegister", "Conflict") }).ended).toBe(
      "AnotherCycle",
    );
  });

  test("when its time is over nothing more is requested", () => {
    const cluster = clusterOf(vmPod("vm"));
    expect(cycle(cluster, { order: ["vm"], until: at(-1) })).toMatchObject({ ended: "OutOfTime", nominations: [] });
    expect(cluster.requests).toEqual([]);
  });

  test("what somebody else has written to the register meanwhile is kept", () => {
    const cluster = clusterOf(vmPod("vm"));
    const theirs = { profile: "p", plugin: "Other", result: "Evicted", count: 7 } as const;
    const done = cycle(cluster, {
      order: ["vm"],
      perform: (step) => {
        if (step.step === "Evict") {
          cluster.register = { ...cluster.register, counts: [theirs], found: { found: "Text", text: "theirs" } };
        }
        return undefined;
      },
    });
    expect(done.steps.at(-1)).toMatchObject({ step: "Act", action: { verb: "WriteRegister" } });
    expect(cluster.register.counts).toEqual([
      theirs,
      { profile: "vms", plugin: "Scripted", result: "Background", count: 1 },
    ]);
  });
});

describe("Events", () => {
  // prettier-ignore
  test.each([
    ["Background", false, ["Descheduled"]],
    ["Refused",    false, []],
    ["Refused",    true,  ["EvictionFailed"]],
    ["Unknown",    true,  ["EvictionFailed"]],
    ["Gone",       true,  []],
  ] as const)("%s, failures told=%s: %s", (outcome, notifyFailures, expected) => {
    const cluster = clusterOf(vmPod("vm"));
    const perform = (step: Step) => (step.step === "Evict" ? { step: "Evict" as const, outcome } : undefined);
    const { steps } = cycle(cluster, { order: ["vm"], policy: { notifyFailures }, perform });
    const told = steps.flatMap((s) => (s.step === "Act" && s.action.verb === "Event" ? [s.action] : []));
    expect(told.map(({ reason }) => reason)).toEqual(expected);
    for (const { about, message } of told) {
      expect(about).toMatchObject({ kind: "Pod", uid: "pod-vm" });
      expect(message).toContain("nominated on node node01 by vms/Scripted (told to)");
    }
  });
});
