/** The steps of `lifeboat install` for the guard feature. */
import { guard } from "../../../shared/guard/feature.ts";
import { GUARD_WEBHOOKS } from "../../../shared/kube/names.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";
import { removeObject } from "./apply.ts";
import { type GuardSite, isGuardPolicy, readGuardSite } from "./guard.ts";
import { handlerAdvice } from "./handler-advice.ts";
import { type Manifest, nameOf, type Part } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { plan, type Site } from "./plan.ts";
import type { ClusterFacts } from "./present.ts";
import { adviseOnSchedulers } from "./schedulers.ts";

interface Wanted {
  readonly facts: ClusterFacts;
  readonly parts: readonly Part[];
}

/** Reads the values for the guard's policies. Returns undefined if the guard is not installed. */
export async function guardOf(
  connection: Connection,
  host: Host,
  { facts, parts }: Wanted,
): Promise<GuardSite | undefined> {
  if (!parts.some(({ name }) => name === guard.name)) return undefined;
  const gates = [...facts.featureGates, ...parts.flatMap((part) => part.gates)];
  const site = await readGuardSite({ connection, host, kubevirtNamespace: facts.kubevirtNamespace, gates });
  if (site.clock === undefined) host.stderr.write(MESSAGES.noClock);
  host.stderr.write(await adviseOnSchedulers(connection.send(), site.requesters));
  if (!facts.toleratesNoExecute) host.stderr.write(handlerAdvice(facts.kubevirtNamespace));
  return site;
}

interface Removing extends Site {
  readonly send: () => Send;
  readonly host: Host;
}

/**
 * Removes the guard's policies whose feature gate is off, and the validating webhook of Lifeboat 0.3. Removes the
 * policy for preemptions if the cluster has no Lease that the policy can use as a clock.
 */
export async function removeUnwanted({ parts, home, guard, send, host }: Removing): Promise<void> {
  if (guard === undefined) return;
  const wanted = new Set(plan({ parts, home, guard }).map(nameOf));
  const policies = plan({ parts, home }).filter((one) => isGuardPolicy(one) && !wanted.has(nameOf(one)));
  for (const manifest of [...policies.toReversed(), VALIDATING_GUARD]) {
    if (await removeObject(manifest, send())) host.stdout.write(MESSAGES.changed(nameOf(manifest), "deleted"));
  }
}

const VALIDATING_GUARD: Manifest = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: GUARD_WEBHOOKS },
};
