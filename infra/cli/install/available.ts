/** Waits until every pod of Lifeboat is ready, and explains why pods are not ready. */
import * as z from "zod/mini";
import type { Send } from "../../../shared/kube/transport.ts";
import type { Host } from "../host.ts";
import { printable } from "../print.ts";
import { readObject, until } from "./apply.ts";
import { type Manifest, nameOf } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";

const Text = z._default(z.string(), "");
const Condition = z.object({ type: z.string(), status: z.string(), reason: Text, message: Text });
const Conditions = z._default(z.array(Condition), []);

const Deployment = z.object({
  metadata: z.object({ generation: z.number() }),
  spec: z.object({ replicas: z._default(z.number(), 1) }),
  status: z._default(
    z.object({
      observedGeneration: z._default(z.number(), 0),
      replicas: z._default(z.number(), 0),
      updatedReplicas: z._default(z.number(), 0),
      availableReplicas: z._default(z.number(), 0),
      conditions: Conditions,
    }),
    { observedGeneration: 0, replicas: 0, updatedReplicas: 0, availableReplicas: 0, conditions: [] },
  ),
});
export type DeploymentFacts = z.output<typeof Deployment>;

const Ended = z.optional(z.object({ exitCode: z.number(), reason: Text, message: Text }));
const Waiting = z.optional(z.object({ reason: Text, message: Text }));
const Container = z.object({
  image: Text,
  state: z._default(z.object({ waiting: Waiting, terminated: Ended }), {}),
  lastState: z._default(z.object({ terminated: Ended }), {}),
});
const Pod = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string(), deletionTimestamp: z.optional(z.string()) }),
  status: z._default(z.object({ conditions: Conditions, containerStatuses: z._default(z.array(Container), []) }), {
    conditions: [],
    containerStatuses: [],
  }),
});
export type ServerPodFacts = z.output<typeof Pod>;
const Pods = z.object({ items: z.array(Pod) });

export interface Trouble {
  readonly what: string;
  readonly fix: string;
}

interface Checking {
  readonly send: () => Send;
  readonly host: Host;
  readonly seconds: number;
}

export async function untilAvailable(deployments: readonly Manifest[], checking: Checking): Promise<void> {
  for (const deployment of deployments) await untilReady(deployment, checking);
}

async function untilReady(manifest: Manifest, { send, host, seconds }: Checking): Promise<void> {
  const said = new Set<string>();
  let last: readonly Trouble[] = [];
  const unavailable = () => MESSAGES.notAvailable(nameOf(manifest), last.map(textOf));
  await until(unavailable, { host, seconds }, async () => {
    const found = Deployment.safeParse(await readObject(manifest, send()));
    if (found.success && isAvailable(found.data)) return true;
    const pods = await podsOf(manifest, send());
    last = found.success ? troublesOf(found.data, pods) : [];
    for (const text of last.filter(isLasting).map(textOf)) {
      if (!said.has(text)) host.stderr.write(`‼ ${text}\n`);
      said.add(text);
    }
    return undefined;
  });
}

function isAvailable({ metadata: { generation }, spec, status }: DeploymentFacts): boolean {
  const { observedGeneration, replicas, updatedReplicas, availableReplicas } = status;
  const counts = [replicas, updatedReplicas, availableReplicas];
  return observedGeneration >= generation && counts.every((count) => count === spec.replicas);
}

async function podsOf({ metadata: { namespace, name } }: Manifest, send: Send): Promise<readonly ServerPodFacts[]> {
  const query = { labelSelector: `app.kubernetes.io/name=${name}` };
  const answer = await send({ method: "GET", path: `/api/v1/namespaces/${namespace}/pods`, query, expect: [403, 404] });
  return Pods.safeParse(answer.body).data?.items ?? [];
}

function textOf({ what, fix }: Trouble): string {
  return `${printable(what).slice(0, LONGEST)}\n    ${fix}`;
}

const LONGEST = 600;

function isLasting({ fix }: Trouble): boolean {
  return fix !== LOGS;
}

/** Explains why pods are not ready. The reasons are in the order in which they can occur in a pod's life. */
export function troublesOf({ status }: DeploymentFacts, pods: readonly ServerPodFacts[]): readonly Trouble[] {
  const refused = status.conditions.filter(({ type, status: is }) => type === "ReplicaFailure" && is === "True");
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return [...refused.map(ofRefusal), ...living.flatMap((pod) => RULES.map((rule) => rule(pod)).find(Boolean) ?? [])];
}

/** The API server refuses the pod, because of a quota, OpenShift's constraints or another admission plugin. */
function ofRefusal({ message }: z.output<typeof Condition>): Trouble {
  const [, fix = "kubectl -n lifeboat-system describe replicasets"] =
    REFUSALS.find(([said]) => said.test(message)) ?? [];
  return { what: `pods are refused: ${message}`, fix };
}

// prettier-ignore
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/exceeded quota|failed quota/i,          "raise the quota of namespace lifeboat-system: kubectl -n lifeboat-system describe quota"],
  [/security context constraint/i,          "let the account use restricted-v2: oc adm policy add-scc-to-user restricted-v2 -z lifeboat -n lifeboat-system"],
  [/violates PodSecurity/i,                 "Lifeboat's pods meet the restricted Pod Security Standard, so a patch or a webhook must have changed these pods"],
];

type Rule = (pod: ServerPodFacts) => Trouble | undefined;

/** No node fits the pod. */
const hasNoNode: Rule = (pod) => {
  const found = pod.status.conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (found === undefined) return undefined;
  const fix = "Lifeboat's two pods need two nodes without NoSchedule taints, each with 100m CPU and 256Mi memory free";
  return { what: `no node takes pod ${pod.metadata.name}: ${found.message}`, fix };
};

const IMAGE_REASONS = [
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "RegistryUnavailable",
];

/** The node cannot get the image. */
const hasNoImage: Rule = (pod) => {
  const found = waitingIn(pod, ({ reason }) => IMAGE_REASONS.includes(reason));
  if (found === undefined) return undefined;
  const fix =
    'pass --image with a name that the nodes can pull; for a private registry: kubectl -n lifeboat-system patch serviceaccount lifeboat -p \'{"imagePullSecrets":[{"name":"SECRET"}]}\'';
  return {
    what: `pod ${pod.metadata.name}: image ${found.image} cannot be pulled: ${found.reason}: ${found.message}`,
    fix,
  };
};

/** The container stops soon after each start. */
const ends: Rule = (pod) => {
  for (const { state, lastState } of pod.status.containerStatuses) {
    const ended = state.terminated ?? lastState.terminated;
    if (ended === undefined) continue;
    const what = `pod ${pod.metadata.name} has ended with code ${ended.exitCode}${ended.reason && ` (${ended.reason})`}`;
    return { what, fix: `kubectl -n ${pod.metadata.namespace} logs ${pod.metadata.name} --previous` };
  }
  return undefined;
};

/** The node cannot start the container. */
const cannotStart: Rule = (pod) => {
  const found = waitingIn(pod, ({ reason }) => reason.endsWith("Error"));
  if (found === undefined) return undefined;
  const what = `pod ${pod.metadata.name} cannot start: ${found.reason}: ${found.message}`;
  return { what, fix: `kubectl -n ${pod.metadata.namespace} describe pod ${pod.metadata.name}` };
};

const LOGS = "kubectl -n lifeboat-system logs -l app.kubernetes.io/name=lifeboat-server";

/** The container is starting, or does not answer its probe. */
const isNotReady: Rule = (pod) => {
  const isReady = pod.status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? undefined : { what: `pod ${pod.metadata.name} is not ready`, fix: LOGS };
};

const RULES: readonly Rule[] = [hasNoNode, hasNoImage, ends, cannotStart, isNotReady];

function waitingIn(pod: ServerPodFacts, isWanted: (waiting: { readonly reason: string }) => boolean) {
  for (const { image, state } of pod.status.containerStatuses) {
    if (state.waiting !== undefined && isWanted(state.waiting)) return { image, ...state.waiting };
  }
  return undefined;
}
