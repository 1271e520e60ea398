/** Tests which node the scheduler chooses for a pod. The scores are those of kube-scheduler's default profile. */
import { describe, expect, test } from "vitest";
import { bestOf, type Lots, type Scoring, seededLots } from "../../actors/node-score.ts";
import type { Node, Pod } from "../../actors/resources.ts";

type Spec = Partial<NonNullable<Pod["spec"]>>;

const requests = (cpu: string, memory: string) => [{ name: "c", image: "i", resources: { requests: { cpu, memory } } }];

function node(
  name: string,
  labels: Record<string, string> = {},
  taints: NonNullable<Node["spec"]>["taints"] = [],
): Node {
  const metadata = {
    name,
    uid: name,
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { "kubernetes.io/hostname": name, ...labels },
  };
  return { metadata, spec: { taints }, status: { allocatable: { cpu: "10", memory: "100Gi", pods: "110" } } };
}

function pod(name: string, labels: Record<string, string> = {}, spec: Spec = {}, owner?: string): Pod {
  const controlled = owner && [
    { apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true },
  ];
  const metadata = { namespace: "ns", name, uid: name, labels, ...(controlled && { ownerReferences: controlled }) };
  return { metadata, spec: { containers: requests("1", "10Gi"), ...spec } } as Pod;
}

interface Given {
  readonly pod: Pod;
  readonly nodes: readonly Node[];
  readonly on?: Readonly<Record<string, readonly Pod[]>>;
  readonly scoring?: Scoring;
  readonly lots?: Lots;
}

function chosen({ pod: wanted, nodes, on = {}, scoring = "LeastAllocated", lots }: Given): string | undefined {
  const candidates = nodes.map((one) => ({ node: one, neighbours: on[one.metadata.name] ?? [] }));
  const placed = candidates.flatMap((one) => one.neighbours.map((other) => ({ pod: other, node: one.node })));
  return bestOf({ pod: wanted, candidates, placed, scoring, lots })?.node.metadata.name;
}

const [a, b] = [node("a"), node("b")];
const near = (app: string) => ({
  weight: 100,
  podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app } } },
});
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
const soft = (key: string) => [{ key, value: "", effect: "PreferNoSchedule" }] as const;
const spread = {
  topologyKey: "zone",
  maxSkew: 1,
  whenUnsatisfiable: "ScheduleAnyway",
  labelSelector: { matchLabels: { app: "web" } },
} as const;

function drawn(seed: number): string {
  const lots = seededLots(seed);
  return Array.from({ length: 20 }, () => chosen({ pod: pod("p"), nodes: [a, b], lots })).join("");
}

describe("the best node", () => {
  const rows: readonly [title: string, Given, expected: string][] = [
    ["is the first by name among equal nodes", { pod: pod("p"), nodes: [b, a] }, "a"],
    [
      "has more free resources",
      {
        pod: pod("p"),
        nodes: [a, b],
        on: { a: [pod("x", {}, { containers: requests("3", "30Gi") })], b: [pod("y"), pod("z")] },
      },
      "b",
    ],
    [
      "has fewer free resources with MostAllocated",
      { pod: pod("p"), nodes: [a, b], on: { b: [pod("x")] }, scoring: "MostAllocated" },
      "b",
    ],
    [
      "uses CPU and memory more evenly than the other node after the pod is placed",
      {
        pod: pod("p", {}, { containers: requests("0", "20Gi") }),
        nodes: [a, b],
        on: {
          a: [pod("x", {}, { containers: requests("3", "20Gi") })],
          b: [pod("y", {}, { containers: requests("5", "0") })],
        },
      },
      "b",
    ],
    [
      "has no soft taint, even if it is fuller",
      { pod: pod("p"), nodes: [node("a", {}, [...soft("t")]), b], on: { b: [pod("x"), pod("y")] } },
      "b",
    ],
    [
      "may have a soft taint that the pod tolerates",
      {
        pod: pod("p", {}, { tolerations: [{ key: "t", operator: "Exists" }] }),
        nodes: [node("a", {}, [...soft("t")]), b],
        on: { b: [pod("x")] },
      },
      "a",
    ],
    [
      "matches the preferred node affinity, even if it is fuller",
      {
        pod: pod(
          "p",
          {},
          {
            affinity: {
              nodeAffinity: {
                [preferred]: [
                  { weight: 1, preference: { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] } },
                ],
              },
            },
          },
        ),
        nodes: [a, node("b", { disk: "ssd" })],
        on: { b: [pod("x"), pod("y")] },
      },
      "b",
    ],
    [
      "has a pod that the preferred affinity selects",
      {
        pod: pod("p", {}, { affinity: { podAffinity: { [preferred]: [near("db")] } } }),
        nodes: [a, b],
        on: { b: [pod("x", { app: "db" })] },
      },
      "b",
    ],
    [
      "has no pod that the preferred anti-affinity selects",
      {
        pod: pod("p", { app: "web" }),
        nodes: [a, b],
        on: {
          a: [pod("x", {}, { affinity: { podAntiAffinity: { [preferred]: [near("web")] } } })],
          b: [pod("y"), pod("z")],
        },
      },
      "b",
    ],
    [
      "has fewer pods of the same ReplicaSet",
      {
        pod: pod("p", {}, {}, "rs"),
        nodes: [a, b],
        on: { a: [pod("x", {}, {}, "rs"), pod("y", {}, {}, "rs")], b: [pod("u"), pod("v"), pod("w")] },
      },
      "b",
    ],
    [
      "is in the domain with fewer matching pods, by a constraint with ScheduleAnyway",
      {
        pod: pod("p", { app: "web" }, { topologySpreadConstraints: [spread] }),
        nodes: [node("a", { zone: "1" }), node("b", { zone: "2" })],
        on: { a: [pod("x", { app: "web" })], b: [pod("y"), pod("z")] },
      },
      "b",
    ],
  ];
  test.each(rows)("%s", (_, given, expected) => expect(chosen(given)).toBe(expected));

  test("is random among equal nodes, and is the same for the same seed", () => {
    expect(drawn(1)).toMatch(/a.*b|b.*a/);
    expect(drawn(1)).toBe(drawn(1));
    expect(drawn(1)).not.toBe(drawn(2));
  });

  test("does not exist if the pod fits no node", () => expect(chosen({ pod: pod("p"), nodes: [] })).toBeUndefined());
});
