/**
 * The border: which fields of an API server's JSON we read, and of what type they must be.
 * Owns: the schemas; Go's absent, null and empty become one. Does not own: what the fields become (projections.ts).
 *
 * The schema of an object is `z.lazy`, everywhere in the Worker: it is built when something is first parsed with it. Building
 * all of them would be a third of a fresh isolate's start-up. Leaves are not: that would be one step more for each value.
 */
import * as z from "zod/mini";
import { ObjectName, ObjectNamespace } from "./object-name.ts";

/** A list that Go may have left out or written as null. */
export function listOf<S extends z.ZodMiniType>(item: S) {
  return z.pipe(
    z.nullish(z.array(item)),
    z.transform((list) => list ?? []),
  );
}

/** A text that Go may have left out, or written empty, to mean absent. */
export const Text = z.pipe(
  z.nullish(z.string()),
  z.transform((text) => text || undefined),
);

export const Count = z._default(z.number(), 0);
const Strings = z.record(z.string(), z.string());
export const StringsOrNone = z.pipe(
  z.nullish(Strings),
  z.transform((map) => map ?? {}),
);

export const Owner = z.lazy(() =>
  z.object({
    kind: z.string(),
    name: z.string(),
    uid: z.string(),
    controller: z._default(z.boolean(), false),
  }),
);

export const Meta = z.lazy(() =>
  z.object({
    namespace: z._default(ObjectNamespace, ""),
    name: ObjectName,
    uid: z.string(),
    resourceVersion: z.string(),
    generation: Count,
    creationTimestamp: Text,
    deletionTimestamp: Text,
    // Whether these exist at all matters: JSON patch cannot add below a missing map.
    labels: z.nullish(Strings),
    annotations: z.nullish(Strings),
    ownerReferences: listOf(Owner),
  }),
);

export const Conditions = z.lazy(() =>
  listOf(z.object({ type: z.string(), status: z.string(), reason: Text, message: Text, lastTransitionTime: Text })),
);

export const Toleration = z.lazy(() =>
  z.object({
    key: Text,
    operator: Text,
    value: Text,
    effect: Text,
    tolerationSeconds: z.nullish(z.number()),
  }),
);
const Requests = z.lazy(() => z.object({ resources: z.nullish(z.object({ requests: StringsOrNone })) }));

export const Pod = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({
      nodeName: Text,
      priority: z.nullish(z.number()),
      tolerations: listOf(Toleration),
      containers: listOf(Requests),
    }),
    status: z.prefault(z.object({ phase: z._default(z.string(), ""), conditions: Conditions }), {}),
  }),
);

/** A pod, as far as annotating it goes. */
export const Launcher = z.object({
  metadata: Meta,
  spec: z.object({ nodeName: Text }),
  status: z.prefault(z.object({ phase: z._default(z.string(), "") }), {}),
});

export const Vmi = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({
      evictionStrategy: Text,
      domain: z.nullish(z.object({ memory: z.nullish(z.object({ guest: Text })) })),
    }),
    status: z.prefault(
      z.object({
        phase: z._default(z.string(), ""),
        nodeName: Text,
        evacuationNodeName: Text,
        activePods: StringsOrNone,
        conditions: Conditions,
        migrationState: z.nullish(
          z.object({
            migrationUid: Text,
            failureReason: Text,
            mode: Text,
            targetNodeDomainReadyTimestamp: Text,
            endTimestamp: Text,
            startTimestamp: Text,
            completed: z.nullish(z.boolean()),
            failed: z.nullish(z.boolean()),
          }),
        ),
      }),
      {},
    ),
  }),
);

export const Requirement = z.lazy(() =>
  z.object({ key: z.string(), operator: z.string(), values: listOf(z.string()) }),
);

export const Budget = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({
      minAvailable: z.optional(z.union([z.number(), z.string()])),
      selector: z.nullish(z.object({ matchLabels: StringsOrNone, matchExpressions: listOf(Requirement) })),
      unhealthyPodEvictionPolicy: Text,
    }),
    status: z.prefault(
      z.object({
        // No status yet: nothing has been observed, not even generation 0.
        observedGeneration: z._default(z.number(), -1),
        disruptionsAllowed: Count,
        currentHealthy: Count,
        desiredHealthy: Count,
        expectedPods: Count,
      }),
      {},
    ),
  }),
);

export const Node = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({
      unschedulable: z.nullish(z.boolean()),
      taints: listOf(z.object({ key: z.string(), value: Text, effect: z.string() })),
    }),
    status: z.prefault(z.object({ conditions: Conditions, allocatable: StringsOrNone, capacity: StringsOrNone }), {}),
  }),
);

export const ConfigMap = z.lazy(() => z.object({ metadata: Meta, data: StringsOrNone }));

export const LifeboatConfiguration = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.unknown(),
    status: z.prefault(
      z.object({
        conditions: listOf(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string(),
            message: z.string(),
            observedGeneration: Count,
            lastTransitionTime: z.string(),
          }),
        ),
      }),
      {},
    ),
  }),
);

const Migrations = z.lazy(() =>
  z.object({
    nodeDrainTaintKey: Text,
    parallelMigrationsPerCluster: z.optional(z.number()),
    parallelOutboundMigrationsPerNode: z.optional(z.number()),
  }),
);

export const KubeVirt = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.prefault(
      z.object({
        configuration: z.prefault(
          z.object({
            evictionStrategy: Text,
            developerConfiguration: z.prefault(z.object({ featureGates: listOf(z.string()) }), {}),
            migrations: z.prefault(Migrations, {}),
          }),
          {},
        ),
      }),
      {},
    ),
    status: z.prefault(z.object({ observedKubeVirtVersion: Text }), {}),
  }),
);

const Selector = z.lazy(() =>
  z.nullish(z.object({ matchLabels: StringsOrNone, matchExpressions: listOf(z.unknown()) })),
);

export const WebhookConfiguration = z.lazy(() =>
  z.object({
    webhooks: listOf(
      z.object({
        failurePolicy: z._default(z.string(), "Fail"),
        rules: listOf(z.object({ operations: listOf(z.string()), resources: listOf(z.string()) })),
        matchConditions: listOf(z.object({ expression: z.string() })),
        namespaceSelector: Selector,
        objectSelector: Selector,
      }),
    ),
  }),
);

/** A page of a list; items are parsed one by one, so that one odd object never hides the rest. */
export const Page = z.lazy(() =>
  z.object({
    // Without this any JSON object would be an empty list: no VMIs, no budgets, no KubeVirt.
    kind: z.string("expected a list").check(z.endsWith("List", "expected a list")),
    metadata: z.prefault(z.object({ continue: Text }), {}),
    items: listOf(z.unknown()),
  }),
);

/** Of the API server; `minor` may end in a plus. */
export const Version = z.lazy(() => z.object({ major: z.string(), minor: z.string() }));
