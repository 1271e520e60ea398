/**
 * Nodes, pods and registers of every kind that a descheduling cycle may find.
 * Owns: generating them. Does not own: the other facts (policy-facts.ts), what must hold.
 */
import * as fc from "fast-check";
import type {
  DeschedulerNode,
  DeschedulerPod,
  NodeRequirement,
  NodeSelectorTerm,
} from "../../shared/descheduling/plugins/facts.ts";
import { COUNTED_RESULTS, type DeschedulingRegister } from "../../shared/descheduling/cycle/register.ts";
import { selector } from "./policy-budgets.ts";
import * as any from "./policy-facts.ts";
import { facts, few, key, namespace, number, uid } from "./policy-words.ts";

const list = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 2 });
const nodeName = few("node01", "node02", "node03");
const resources = fc.dictionary(few("cpu", "memory", "pods", "constructor"), number, { maxKeys: 3 });

const requirement: fc.Arbitrary<NodeRequirement> = fc.record({
  key,
  operator: few("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
  values: list(few("1", "-1", "9007199254740993", "x")),
});
const term: fc.Arbitrary<NodeSelectorTerm> = fc.record({
  matchExpressions: list(requirement),
  matchFields: list(requirement),
});

export const node: fc.Arbitrary<DeschedulerNode> = fc
  .tuple(
    any.node,
    fc.record({
      name: nodeName,
      ready: fc.constantFrom(true, true, true, false),
      labels: any.labels,
      allocatable: resources,
    }),
  )
  .map(([plain, more]) => ({ ...plain, ...more }));

const annotations = fc.dictionary(
  fc.constantFrom(
    "kubevirt.io/domain",
    "lifeboat.dev/evacuation-requested",
    "descheduler.alpha.kubernetes.io/request-evict-only",
    "descheduler.alpha.kubernetes.io/eviction-in-progress",
    "descheduler.alpha.kubernetes.io/evict",
    "descheduler.alpha.kubernetes.io/prefer-no-eviction",
    "kubernetes.io/config.mirror",
  ),
  fc.oneof(fc.constantFrom("web", "", "true", "2026-11-20T11:59:00.000Z"), fc.string()),
  { maxKeys: 4 },
);

const condition = facts(
  { type: few("Ready", "DisruptionTarget"), status: few("True", "False"), reason: fc.string() },
  { since: number },
);
const state = facts(
  {
    of: fc.constantFrom("Pod" as const, "Container" as const, "InitContainer" as const, "EphemeralContainer" as const),
  },
  { reason: few("CrashLoopBackOff"), exitCode: fc.integer() },
);

const ofADeschedulerPod = facts(
  {
    nodeName,
    annotations,
    resourceVersion: fc.string(),
    hasAnnotations: fc.boolean(),
    createdAt: number,
    qosClass: fc.constantFrom("BestEffort" as const, "Burstable" as const, "Guaranteed" as const),
    requests: resources,
    placement: facts(
      { nodeSelector: any.labels, preferred: list(fc.record({ weight: number, preference: term })) },
      { required: list(term) },
    ),
    antiAffinity: list(fc.record({ topologyKey: key, namespaces: list(namespace), selector })),
    localStorage: fc.boolean(),
    claims: list(few("disk")),
    hasResourceClaims: fc.boolean(),
    states: list(state),
    conditions: list(condition),
  },
  { startedAt: number },
);

export const pod: fc.Arbitrary<DeschedulerPod> = fc
  .tuple(any.pod, ofADeschedulerPod)
  .map(([plain, more]) => ({ ...plain, ...more }));

const time = few("2026-11-20T11:59:00.000Z", "2026-11-20T12:00:00.000Z", "");

export const register: fc.Arbitrary<DeschedulingRegister> = facts(
  {
    found: fc.constantFrom({ found: "Nothing" as const }, { found: "Text" as const, text: "{}" }),
    revision: fc.maxSafeNat(),
    reservations: list(fc.record({ namespace, name: few("web"), uid, node: nodeName, at: time })),
    counts: list(
      fc.record({
        profile: fc.string(),
        plugin: fc.string(),
        result: fc.constantFrom(...COUNTED_RESULTS),
        count: fc.nat(),
      }),
    ),
  },
  { lastCycle: time },
);
