/** The descheduling Lease: reading it, taking it, giving it back. */
import * as z from "zod/mini";
import { kind, Meta, part, Text } from "../../cluster/kinds/fields.ts";
import { collection, object } from "../../cluster/paths.ts";
import { parseAnswer, readOne } from "../../cluster/read.ts";
import type { Send } from "../../cluster/transport.ts";
import { type ActResult, patch } from "../../cluster/write.ts";
import { DESCHEDULING, LIFEBOAT_NAMESPACE, MANAGED_BY, MANAGED_BY_LABEL } from "../../policy/names.ts";
import { LEASE_SECONDS, type LeaseFacts } from "../cycle/lease.ts";

const KEY = { namespace: LIFEBOAT_NAMESPACE, name: DESCHEDULING };

const Lease = kind(
  () => ({
    metadata: Meta,
    spec: part({ holderIdentity: Text, acquireTime: Text, leaseDurationSeconds: z.nullish(z.number()) }),
  }),
  ({ metadata: { resourceVersion }, spec }): LeaseFacts => ({
    resourceVersion,
    holder: spec.holderIdentity,
    acquiredAt: spec.acquireTime,
    seconds: spec.leaseDurationSeconds ?? undefined,
  }),
);

export async function readLease(send: Send): Promise<LeaseFacts> {
  return (await readOne(send, "leases", KEY, Lease)) ?? {};
}

/** As it is once taken. Conflict: another cycle was first. */
export async function takeLease(
  send: Send,
  { resourceVersion }: LeaseFacts,
  now: Date,
): Promise<LeaseFacts | "Conflict"> {
  const time = microTime(now);
  const spec = {
    holderIdentity: MANAGED_BY,
    leaseDurationSeconds: LEASE_SECONDS,
    acquireTime: time,
    renewTime: time,
  };
  const isNew = resourceVersion === undefined;
  const path = isNew ? collection("leases", LIFEBOAT_NAMESPACE) : object("leases", KEY);
  const metadata = isNew ? { ...KEY, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } } : { resourceVersion };
  const head = isNew ? { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } : {};
  const answer = await send({
    method: isNew ? "POST" : "PATCH",
    path,
    body: { ...head, metadata, spec },
    expect: [404, 409],
  });
  return answer.code >= 400 ? "Conflict" : parseAnswer(Lease, answer.body, `write of ${path}`);
}

/** When the last cycle began stays in it. Conflict: it had expired, and another cycle has it. */
export async function giveLeaseBack(send: Send, { resourceVersion }: LeaseFacts): Promise<ActResult> {
  return await patch(send, object("leases", KEY), { metadata: { resourceVersion }, spec: { holderIdentity: "" } });
}

/** Kubernetes' MicroTime takes six digits, and no fewer. */
function microTime(now: Date): string {
  return now.toISOString().replace("Z", "000Z");
}
