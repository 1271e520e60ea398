/** The reads of `lifeboat doctor`. Each read happens once, when the first check needs it. */
import * as z from "zod/mini";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { type Client, named } from "../../../shared/kube/client.ts";
import { Conditions, Count, part, Text } from "../../../shared/kube/schemas/fields.ts";
import { KubeVirt } from "../../../shared/kube/schemas/kubevirt.ts";
import { parseAnswer } from "../../../shared/kube/read.ts";
import { isAllowed } from "../../../shared/kube/reviews.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import { mergeSettings, parseConfiguration } from "../../../shared/settings/configuration.ts";
import { loadPolicy } from "../../../shared/descheduling/policy-file.ts";
import * as names from "../../../shared/kube/names.ts";
import type { Settings } from "../../../shared/settings/settings.ts";
import {
  partsOfUrl,
  WEBHOOK_OBJECTS,
  WEBHOOK_RESOURCES,
  type WebhookEndpoint,
} from "../../../shared/settings/webhooks.ts";
import { CLUSTER_VARIABLE, DEFAULT_CLUSTER } from "../../server/names.ts";
import { ServerSecret } from "../../server/secret.ts";
import { inParallel } from "../../in-parallel.ts";
import type { Connection } from "../connection.ts";
import { wordsOfFailure } from "../failed.ts";
import { ifThere, readObject } from "../install/apply.ts";
import { findClock, leaseState } from "../install/hold-clock.ts";
import { findSchedulers } from "../install/schedulers.ts";
import { listTokens } from "../install/token.ts";
import { readable, Unread } from "./check.ts";
import { clockIn, idOf, type Installed, SHIPPED } from "./policies.ts";
import granted from "./permissions.json" with { type: "json" };
import { tryEviction } from "./trial.ts";
import { HOLD_POLICIES } from "../../../shared/settings/holds.ts";

const INSIDE = { namespace: names.LIFEBOAT_NAMESPACE };
const RELAY = { ...INSIDE, name: "lifeboat-relay" };
const SERVER = { ...INSIDE, name: "lifeboat-server" };

export type DoctorReads = ReturnType<typeof readsOf>;

export const KUBEVIRT_WEBHOOK = `KubeVirt's own eviction webhook (${names.KUBEVIRT_WEBHOOKS})`;
const SERVED = "the list of kinds that the API server serves";
const WEBHOOKS = "validatingwebhookconfigurations";

export function readsOf(connection: Connection, now: Date) {
  const { context, server, send, cluster } = connection;
  /** Wraps a read so that it runs only once. `about` is the name of the read in messages. */
  const once = <T>(about: string, ask: (cluster: Client) => Promise<T>) => {
    let asked: Promise<T> | undefined;
    return () => (asked ??= attempt(connection, about, () => ask(cluster())));
  };
  const kubevirt = once("the KubeVirt object", readKubeVirt);
  const configuration = once("the LifeboatConfiguration", (to) =>
    to.get("lifeboatconfigurations", named(names.CONFIGURATION)),
  );
  const policyObjects = once("the guard's policies", () => readPolicies(send()));
  return {
    now,
    context,
    server,
    version: once("the API server's version", readVersion),
    kubevirtKinds: once(SERVED, () => readKinds(send(), "kubevirt.io/v1")),
    lifeboatKinds: once(SERVED, () => readKinds(send(), "lifeboat.dev/v1alpha1")),
    kubevirt,
    reviewers: once(KUBEVIRT_WEBHOOK, async (to) => {
      return (await to.get(WEBHOOKS, named(names.KUBEVIRT_WEBHOOKS)))?.webhooks;
    }),
    configuration,
    evictionWebhook: once("webhook lifeboat", (to) => readAddress(to, "evictions")),
    guardWebhook: once("webhook lifeboat-guard", (to) => readAddress(to, "deletions")),
    /** Lists the guard's policies that have a binding in this cluster. */
    holdPolicies: once("the guard's policies", async (to) => {
      const there = await Promise.all(
        HOLD_POLICIES.map((name) => to.get("validatingadmissionpolicybindings", named(name))),
      );
      return new Set(HOLD_POLICIES.filter((_, at) => there[at] !== undefined));
    }),
    policyObjects,
    /** The Lease that the policy for preemptions uses as a clock. Undefined if the policy has no binding. */
    holdLease: once("the Lease of policy lifeboat-hold-preemption", async () => {
      const key = clockIn(await policyObjects());
      return key && { ...key, state: await leaseState(key, send(), { now: () => now }) };
    }),
    schedulers: once("the accounts that schedule pods", () => findSchedulers(withoutForbidden(send()))),
    /** The values that the guard's policies need in this cluster. Fails if the settings cannot be read. */
    guardSite: once("the values for the guard's policies", async () => {
      const [{ facts } = {}] = [await kubevirt()];
      const { guard, featureGates } = mergeSettings(
        facts,
        parseConfiguration((await configuration())?.spec ?? {}).value,
      );
      const { requesters, nodeTerminators } = guard;
      const clock = await findClock(send, { now: () => now });
      return { kubevirtNamespace: facts?.namespace ?? "kubevirt", featureGates, requesters, nodeTerminators, clock };
    }),
    /** Reads pods before VMIs, so that the VMIs already list every pod that was read. */
    launcherPods: once("launcher pods and their VMIs", async (to) => {
      const labels = { [names.COMPONENT_LABEL]: [names.LAUNCHER_COMPONENT, names.HOTPLUG_COMPONENT] };
      const pods = await to.list("pods", { labels });
      return { pods, vmis: await to.list("virtualmachineinstances") };
    }),
    /** Returns no NodeEvacuations if the API server does not serve the kind. */
    nodeEvacuations: once("NodeEvacuations", async (to) => {
      const kinds = await readKinds(send(), "lifeboat.dev/v1alpha1");
      return kinds.includes("nodeevacuations") ? await to.list("nodeevacuations") : [];
    }),
    granted: once("the permissions of Lifeboat's account", readGranted),
    trial: once("the answer to a dry-run eviction", async () => {
      return tryEviction(connection, (await kubevirt())?.facts.evictionStrategy);
    }),
    relay: once("the relay's Deployment", () => readDeployment(send(), RELAY)),
    /** Lifeboat's Deployment in the cluster. Undefined if Lifeboat is a Worker. */
    inside: once("Lifeboat's Deployment", () => readDeployment(send(), SERVER)),
    identity: once("Secret lifeboat-server with Lifeboat's certificate", (to) => readIdentity(to, send())),
    /** The data of the relay's ConfigMap: Lifeboat's address and the name of the cluster. */
    site: once("the relay's ConfigMap", async (to) => (await to.get("configmaps", RELAY))?.data),
    policy: once("the descheduling policy", loadPolicy),
    tokens: once("the Secrets with tokens of Lifeboat's account", () => listTokens(send())),
  };
}

async function attempt<T>(connection: Connection, about: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    throw new Unread(about, wordsOfFailure(error.failure, connection), { cause: error });
  }
}

/**
 * Merges KubeVirt's configuration and the LifeboatConfiguration into settings, as Lifeboat itself does. Uses defaults
 * for settings that cannot be read.
 */
export async function settingsOf({ kubevirt, configuration }: DoctorReads): Promise<Settings> {
  const { value } = parseConfiguration((await readable(configuration))?.spec ?? {});
  return mergeSettings((await readable(kubevirt))?.facts, value);
}

/** Returns whether Lifeboat runs in the cluster. Returns false if the webhook for evictions has the URL of a Worker. */
export async function isInCluster({ inside, evictionWebhook }: DoctorReads): Promise<boolean> {
  const isThere = (await readable(inside)) !== undefined;
  return isThere && (await readable(evictionWebhook))?.base === undefined;
}

async function readPolicies(send: Send): Promise<Installed> {
  const found = await Promise.all(SHIPPED.map(async (one) => [idOf(one), await readObject(one, send)] as const));
  return new Map(found);
}

/** Makes a forbidden read fail, so that no check reports a forbidden object as missing. */
function withoutForbidden(send: Send): Send {
  return (request) => send({ ...request, expect: (request.expect ?? []).filter((code) => code !== 403) });
}

const FullVersion = z.object({ gitVersion: z.string(), minor: z.string() });

async function readVersion(cluster: Client) {
  const { gitVersion = "", minor = "" } = (await cluster.get("version", named("version"), { as: FullVersion })) ?? {};
  return { text: gitVersion.replace(/^v/, ""), minor: Number.parseInt(minor, 10) || undefined };
}

const Kinds = z.object({ kind: z.literal("APIResourceList"), resources: z.array(z.object({ name: z.string() })) });

async function readKinds(send: Send, groupVersion: string): Promise<readonly string[]> {
  const path = `/apis/${groupVersion}`;
  const answer = await ifThere(send({ method: "GET", path }));
  return answer === undefined ? [] : parseAnswer(Kinds, answer.body, `GET ${path}`).resources.map(({ name }) => name);
}

const Seen = z.object({
  metadata: z.object({ name: z.string() }),
  status: part({ observedKubeVirtVersion: Text }),
});

async function readKubeVirt(cluster: Client) {
  const [first] = await cluster.list("kubevirts", { as: z.unknown() });
  if (first === undefined) return undefined;
  const { metadata, status } = parseAnswer(Seen, first, "GET of KubeVirt");
  const facts = parseAnswer(KubeVirt, first, "GET of KubeVirt");
  return { facts, name: metadata.name, version: status.observedKubeVirtVersion ?? "" };
}

/**
 * Reads the Worker's URL from a webhook. `base` is undefined if the webhook does not call a Worker. Returns undefined
 * if the webhook is missing.
 */
async function readAddress(to: Client, endpoint: WebhookEndpoint) {
  const found = await to.get(WEBHOOK_RESOURCES[endpoint], named(WEBHOOK_OBJECTS[endpoint]));
  if (found === undefined) return undefined;
  return { base: partsOfUrl(found.webhooks[0]?.url ?? "")?.base || undefined };
}

const Variable = z.object({ name: z.string(), value: z.optional(z.string()) });
const Named = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ containers: z.array(z.object({ env: z._default(z.array(Variable), []) })) }),
    }),
  }),
});

/** Reads the Secret, the webhook objects, and the cluster's name in their paths. */
async function readIdentity(to: Client, send: Send) {
  const found = await readObject({ apiVersion: "apps/v1", kind: "Deployment", metadata: SERVER }, send);
  const { containers } = parseAnswer(Named, found, `GET deployment ${SERVER.name}`).spec.template.spec;
  const variable = containers.flatMap(({ env }) => env).find(({ name }) => name === CLUSTER_VARIABLE);
  return {
    cluster: variable?.value ?? DEFAULT_CLUSTER,
    secret: await to.get("secrets", SERVER, { as: ServerSecret }),
    webhooks: {
      evictions: await to.get(WEBHOOKS, named(names.OWN_WEBHOOKS)),
      deletions: await to.get(WEBHOOKS, named(names.GUARD_WEBHOOKS)),
    },
  };
}

const Deployment = z.object({
  spec: z.object({ replicas: z._default(z.number(), 1) }),
  status: part({ availableReplicas: Count, conditions: Conditions }),
});

async function readDeployment(send: Send, metadata: { readonly namespace: string; readonly name: string }) {
  const found = await readObject({ apiVersion: "apps/v1", kind: "Deployment", metadata }, send);
  if (found === undefined) return undefined;
  const { spec, status } = parseAnswer(Deployment, found, `GET deployment ${metadata.name}`);
  const wrong = status.conditions.filter((one) => one.status === "False").flatMap(({ message }) => message ?? []);
  return { wanted: spec.replicas, available: status.availableReplicas, message: wrong.join("; ") };
}

/**
 * A granted permission. `resource` includes the subresource. An empty name or namespace means any name or namespace.
 */
export type Permission = (typeof granted)[number];
export const GRANTED: readonly Permission[] = granted;

const AT_A_TIME = 10;
const GROUPS = ["system:serviceaccounts", `system:serviceaccounts:${names.LIFEBOAT_NAMESPACE}`, "system:authenticated"];

async function readGranted(cluster: Client) {
  return await inParallel(GRANTED, AT_A_TIME, async (one) => {
    const { file, verb, group, resource: whole, name, namespace } = one;
    const [resource = "", ...within] = whole.split("/");
    const right = { verb, group, resource, subresource: within.join("/"), name, namespace };
    const account = file.startsWith("relay/") ? "lifeboat-relay" : "lifeboat";
    const username = `system:serviceaccount:${names.LIFEBOAT_NAMESPACE}:${account}`;
    return { ...one, allowed: await isAllowed({ username, groups: GROUPS }, right, cluster) };
  });
}
