/** What explain says is what an eviction then gets, whatever the cluster looks like, if nothing changes in between. */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { CANNED_POD, CANNED_VMI, list, notFound, POD, type Question, questionOf } from "./support/canned-cluster.ts";
import { asOperator, type Doors, entry, openDoors } from "./support/doors.ts";
import { Explained } from "./support/explained.ts";
import { allowance, evictionOf, refusal, review } from "./support/reviews.ts";
import { type Behaviour, json, startStubServer, type StubRequest, type StubServer } from "./support/stub-server.ts";

type Json = Readonly<Record<string, unknown>>;

const node = fc.constantFrom("node01", "node01", "node01", "node02");
const mark: fc.Arbitrary<string | undefined> = fc.option(node, { nil: undefined });

const anyRecord = fc.record({
  id: fc.constant("0000000a"),
  cause: fc.constantFrom("ApiEviction", "DrainTaint", "Preemption"),
  requestedBy: fc.constant("admin"),
  node,
  since: fc.constant("2026-11-20T11:59:00.000Z"),
  attempts: fc.nat(4),
  notBefore: fc.constantFrom(undefined, "2026-11-20T12:01:00.000Z", "2026-11-20T11:00:00.000Z"),
  outcome: fc.constantFrom(undefined, undefined, "Abandoned", "Cancelled"),
});

const anyVmi = fc.record({
  strategy: fc.constantFrom(
    "LiveMigrate",
    "LiveMigrate",
    "LiveMigrateIfPossible",
    "External",
    "None",
    "Odd",
    undefined,
  ),
  migratable: fc.constantFrom("True", "True", "False"),
  phase: fc.constantFrom("Running", "Running", "Running", "Succeeded"),
  nodeName: fc.constantFrom("node01", "node01", "node01", "node02", undefined),
  mark,
  record: fc.option(anyRecord, { nil: undefined }),
  deleting: fc.constantFrom(...Array<boolean>(7).fill(false), true),
  isThere: fc.constantFrom(...Array<boolean>(7).fill(true), false),
});

const anyPod = fc.record({
  phase: fc.constantFrom("Running", "Running", "Running", "Pending", "Failed"),
  ready: fc.constantFrom("True", "True", "False"),
  createdBy: fc.constantFrom("uid-of-web", "uid-of-web", "uid-of-web", "uid-of-another"),
});

const anyBudget = fc.record({
  minAvailable: fc.constantFrom(1, 2),
  selects: fc.constantFrom("uid-of-web", "uid-of-web", "uid-of-another"),
  allowed: fc.constantFrom(0, 0, 1),
  observedGeneration: fc.constantFrom(1, 1, 0),
});

const anyCluster = fc.record({
  vmi: anyVmi,
  pod: anyPod,
  budgets: fc.array(anyBudget, { maxLength: 2 }),
  migrating: fc.boolean(),
  gates: fc.subarray(["DeschedulerSupport"]),
  clusterStrategy: fc.constantFrom(undefined, "LiveMigrate", "External"),
});

type Facts = typeof anyCluster extends fc.Arbitrary<infer T> ? T : never;

function vmiOf({ vmi: v }: Facts): Json {
  const deleting = v.deleting ? { deletionTimestamp: "2026-11-20T11:59:59Z" } : {};
  const record = v.record && { "lifeboat.dev/evacuation": JSON.stringify(v.record) };
  return {
    ...CANNED_VMI,
    metadata: { ...CANNED_VMI.metadata, ...deleting, annotations: { note: "x", ...record } },
    spec: v.strategy === undefined ? {} : { evictionStrategy: v.strategy },
    status: {
      ...CANNED_VMI.status,
      phase: v.phase,
      nodeName: v.nodeName,
      evacuationNodeName: v.mark,
      conditions: [{ type: "LiveMigratable", status: v.migratable, reason: "BecauseOfThis" }],
    },
  };
}

function podOf({ pod: p }: Facts): Json {
  const labels = { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": p.createdBy };
  const status = { phase: p.phase, conditions: [{ type: "Ready", status: p.ready }] };
  return { ...CANNED_POD, metadata: { ...CANNED_POD.metadata, labels }, status };
}

function budgetsOf({ budgets }: Facts): readonly Json[] {
  return budgets.map(({ minAvailable, selects, allowed, observedGeneration }, i) => ({
    metadata: { namespace: "apps", name: `b${i}`, uid: `b${i}`, resourceVersion: "7", generation: 1 },
    spec: { minAvailable, selector: { matchLabels: { "kubevirt.io/created-by": selects } } },
    status: {
      observedGeneration,
      disruptionsAllowed: allowed,
      currentHealthy: 1,
      desiredHealthy: minAvailable,
      expectedPods: 1,
    },
  }));
}

function kubevirtOf({ gates, clusterStrategy }: Facts): Json {
  const configuration = { developerConfiguration: { featureGates: gates }, evictionStrategy: clusterStrategy };
  return {
    metadata: { namespace: "kubevirt", name: "kubevirt", uid: "k", resourceVersion: "7" },
    spec: { configuration },
  };
}

const MIGRATION = {
  metadata: { namespace: "apps", name: "by-hand", uid: "m", resourceVersion: "7" },
  spec: { vmiName: "web" },
  status: { phase: "Running" },
};

/** Nothing but the doors. */
const CONFIGURATION = {
  metadata: { namespace: "lifeboat-system", name: "lifeboat", uid: "c", resourceVersion: "7" },
  data: {
    "config.yaml": `apiVersion: lifeboat.dev/v1alpha1
kind: LifeboatConfiguration
reconcilers: {evacuation: false, budget: false, annotations: false, disruption: false, pressure: false}
`,
  },
};

/** A patch is taken as it is: what matters is which one is sent. */
function patched(facts: Facts, { body }: StubRequest): Json {
  const operations = z
    .array(z.object({ op: z.string(), path: z.string(), value: z.optional(z.unknown()) }))
    .parse(body);
  const marks = operations.find(({ op, path }) => op === "add" && path === "/status/evacuationNodeName");
  const clears = operations.some(({ op, path }) => op === "remove" && path === "/status/evacuationNodeName");
  const evacuationNodeName = clears ? undefined : (marks?.value ?? facts.vmi.mark);
  return vmiOf({ ...facts, vmi: { ...facts.vmi, mark: z.optional(z.string()).parse(evacuationNodeName) } });
}

function answerFor(facts: Facts, request: StubRequest): Behaviour {
  const answers: Partial<Record<Question, () => Behaviour>> = {
    pod: () => json(podOf(facts)),
    vmi: () => (facts.vmi.isThere ? json(vmiOf(facts)) : notFound),
    configuration: () => json(CONFIGURATION),
    kubevirt: () => list(kubevirtOf(facts)),
    mark: () => json(patched(facts, request)),
    event: () => json({}, 201),
    list: () => {
      if (request.path.endsWith("/poddisruptionbudgets")) return list(...budgetsOf(facts));
      return request.path.endsWith("migrations") && facts.migrating ? list(MIGRATION) : list();
    },
  };
  return answers[questionOf(request)]?.() ?? notFound;
}

let server: StubServer;
let facts: Facts;
beforeAll(async () => {
  server = await startStubServer((request) => answerFor(facts, request));
});
afterAll(() => server.stop());

async function explained(doors: Doors) {
  const path = `/clusters/prod/explain/pods/${POD.namespace}/${POD.name}`;
  const answer = await doors.request(path, { headers: asOperator });
  expect(answer.code).toBe(200);
  return Explained.parse(answer.body);
}

function writesSince(before: number): readonly Question[] {
  return server.requests.slice(before).flatMap((r) => (r.method === "GET" ? [] : [questionOf(r)]));
}

test("verdict, words and actions", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyCluster, async (given) => {
      facts = given;
      const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
      const before = server.requests.length;
      const { decision, actions } = await explained(doors);
      await doors.settle();
      expect(writesSince(before)).toEqual([]);
      const { allowed, message, reason, warnings } = decision;
      const expected = allowed ? allowance(warnings.length > 0 ? { warnings } : {}) : refusal(message);
      const then = server.requests.length;
      expect((await review(doors, evictionOf(POD))).body).toEqual(expected);
      await doors.settle();
      // Each action of an eviction is one patch of the VMI.
      expect(writesSince(then).filter((write) => write === "mark")).toHaveLength(actions.length);
      expect(doors.log.find(({ door }) => door === "admission/evictions")).toMatchObject({ reason });
      seen.add([reason, ...actions].join(" "));
    }),
    { seed: 20_260_305, numRuns: 150 },
  );
  expect([...seen].toSorted()).toMatchInlineSnapshot(`
    [
      "BackingOff",
      "EvacuationInProgress",
      "EvacuationTriggered Mark",
      "MigrationTarget",
      "NotMigratable",
      "NotScheduled",
      "PodCompleted",
      "ProtectedByBudget",
      "ShutdownByStrategy",
      "StrategyNone",
      "UnknownStrategy",
      "VmiDeleting",
      "VmiFinal",
      "VmiGone",
    ]
  `);
});
