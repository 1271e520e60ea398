/** Adapts the guard's policies to a cluster: usernames, feature gates, and the duration of refusals. */
import * as z from "zod";
import { named } from "../../../shared/kube/client.ts";
import { CONFIGURATION, HOLD_PREEMPTION } from "../../../shared/kube/names.ts";
import { parseConfiguration } from "../../../shared/settings/configuration.ts";
import { HOLD_POLICIES, type HoldPolicy, isPolicyWanted } from "../../../shared/settings/holds.ts";
import { FEATURE_GATES, type FeatureGate } from "../../../shared/settings/settings.ts";
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";
import { findClock, type HoldClock } from "./hold-clock.ts";
import type { Manifest } from "./manifests.ts";

export interface GuardSite {
  readonly kubevirtNamespace: string;
  readonly featureGates: readonly FeatureGate[];
  readonly requesters: readonly string[];
  readonly nodeTerminators: readonly string[];
  /** The Lease that the policy for preemptions uses as a clock. Undefined if the cluster has no suitable Lease. */
  readonly clock: HoldClock | undefined;
}

interface Asked {
  readonly connection: Connection;
  readonly host: Host;
  readonly kubevirtNamespace: string;
  /** The feature gates that are already on, and the gates that this installation switches on. */
  readonly gates: readonly string[];
}

export async function readGuardSite({ connection, host, kubevirtNamespace, gates }: Asked): Promise<GuardSite> {
  const cluster = connection.cluster();
  const found = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
  const { guard, featureGates } = parseConfiguration(found?.spec ?? {}).value;
  const isOn = (gate: FeatureGate) => featureGates[gate] === true || gates.includes(gate);
  const { requesters, nodeTerminators } = guard;
  const clock = await findClock(connection.send, host);
  return { kubevirtNamespace, featureGates: FEATURE_GATES.filter(isOn), requesters, nodeTerminators, clock };
}

function policyOf({ kind, metadata: { name } }: Manifest): HoldPolicy | undefined {
  return kind.startsWith("ValidatingAdmissionPolicy") ? HOLD_POLICIES.find((policy) => policy === name) : undefined;
}

export function isGuardPolicy(manifest: Manifest): boolean {
  return policyOf(manifest) !== undefined;
}

/**
 * Returns whether the object belongs to a policy whose feature gate is on. The policy for preemptions also needs a
 * Lease as a clock.
 */
export function isPolicyPlanned(manifest: Manifest, site: GuardSite): boolean {
  const policy = policyOf(manifest);
  if (policy === undefined || (policy === HOLD_PREEMPTION && site.clock === undefined)) return false;
  return isPolicyWanted(policy, site);
}

const Expressions = z.array(z.looseObject({ name: z.string(), expression: z.string() }));
const Policy = z.looseObject({
  matchConditions: Expressions.optional(),
  validations: z.array(z.looseObject({ expression: z.string() })).optional(),
  paramRef: z.looseObject({}).optional(),
});

/** Returns the policy or binding with the usernames, the duration of refusals and the Lease of this cluster. */
export function fitPolicy(manifest: Manifest, site: GuardSite): Manifest {
  const spec = Policy.parse(manifest["spec"]);
  const { matchConditions, validations, paramRef } = spec;
  const { clock } = site;
  return {
    ...manifest,
    spec: {
      ...spec,
      ...(matchConditions && { matchConditions: matchConditions.map((one) => fitCondition(one, site)) }),
      ...(validations &&
        clock && { validations: validations.map((one) => ({ ...one, expression: held(one.expression, clock) })) }),
      ...(paramRef && clock && { paramRef: { ...paramRef, namespace: clock.namespace, name: clock.name } }),
    },
  };
}

function held(expression: string, { holdSeconds }: HoldClock): string {
  return expression.replace("duration('90s')", `duration('${holdSeconds}s')`);
}

type Condition = z.output<typeof Expressions>[number];

export function fitCondition(condition: Condition, site: GuardSite): Condition {
  const expression = expressionOf(condition.name, site);
  return expression === undefined ? condition : { ...condition, expression };
}

function expressionOf(name: string, site: GuardSite): string | undefined {
  const { requesters, nodeTerminators, kubevirtNamespace } = site;
  switch (name) {
    case "deletions-that-do-not-ask":
      return oneOf(requesters);
    case "deletions-by-requesters-and-node-terminators":
      return oneOf([...requesters, ...nodeTerminators]);
    case "node-terminators":
      return oneOf(nodeTerminators);
    case "not-kubevirt":
      return `request.userInfo.username != ${quoted(`system:serviceaccount:${kubevirtNamespace}:kubevirt-controller`)}`;
    default:
      return undefined;
  }
}

function oneOf(usernames: readonly string[]): string {
  return `request.userInfo.username in [${usernames.map(quoted).join(", ")}]`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
