/** A Lease, which one holder has at a time: reading it, taking or renewing it, giving it back. */
import * as z from "zod/mini";
import type { NamespacedName } from "../policy/facts.ts";
import { MANAGED_BY, MANAGED_BY_LABEL } from "../policy/names.ts";
import { kind, Meta, part, Text } from "./kinds/fields.ts";
import { collection, object } from "./paths.ts";
import { parseAnswer, readOne } from "./read.ts";
import type { Send } from "./transport.ts";
import { type ActResult, patch } from "./write.ts";

export interface LeaseFacts {
  /** Absent: there is no Lease yet. */
  readonly resourceVersion?: string;
  readonly holder?: string | undefined;
  /** RFC 3339: since when its last holder has had it. */
  readonly acquiredAt?: string | undefined;
  readonly seconds?: number | undefined;
  readonly transitions?: number | undefined;
}

const Lease = kind(
  () => ({
    metadata: Meta,
    spec: part({
      holderIdentity: Text,
      acquireTime: Text,
      leaseDurationSeconds: z.nullish(z.number()),
      leaseTransitions: z.nullish(z.number()),
    }),
  }),
  ({ metadata: { resourceVersion }, spec }): LeaseFacts => ({
    resourceVersion,
    holder: spec.holderIdentity,
    acquiredAt: spec.acquireTime,
    seconds: spec.leaseDurationSeconds ?? undefined,
    transitions: spec.leaseTransitions ?? undefined,
  }),
);

/** For holders that take it once, by both clocks. `longest`: where it does not say for how long. A time far ahead is not Lifeboat's. */
export function isHeld({ holder = "", acquiredAt, seconds }: LeaseFacts, longest: number, now: Date): boolean {
  const age = now.getTime() - Date.parse(acquiredAt ?? "");
  return holder !== "" && Math.abs(age) < (seconds ?? longest) * 1000;
}

export async function readLease(send: Send, key: NamespacedName): Promise<LeaseFacts> {
  return (await readOne(send, "leases", key, Lease)) ?? {};
}

export interface Holding {
  readonly holder: string;
  readonly seconds: number;
  readonly now: Date;
  /** Keeps the time since when it is held. */
  readonly renewal?: boolean;
}

/** As it is once taken. Conflict: another holder was first. */
export async function takeLease(
  send: Send,
  key: NamespacedName,
  { resourceVersion, transitions = 0 }: LeaseFacts,
  { holder, seconds, now, renewal = false }: Holding,
): Promise<LeaseFacts | "Conflict"> {
  const isNew = resourceVersion === undefined;
  const path = isNew ? collection("leases", key.namespace) : object("leases", key);
  const spec = {
    holderIdentity: holder,
    leaseDurationSeconds: seconds,
    renewTime: microTime(now),
    ...(!renewal && { acquireTime: microTime(now), leaseTransitions: transitions + 1 }),
  };
  const metadata = { ...key, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } };
  const answer = await send({
    method: isNew ? "POST" : "PATCH",
    path,
    body: isNew
      ? { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec }
      : { metadata: { resourceVersion }, spec },
    expect: [404, 409],
  });
  return answer.code >= 400 ? "Conflict" : parseAnswer(Lease, answer.body, `write of ${path}`);
}

/** Since when it was held stays in it. Conflict: it had expired, and another holder has it. */
export async function giveLeaseBack(
  send: Send,
  key: NamespacedName,
  { resourceVersion }: LeaseFacts,
): Promise<ActResult> {
  return await patch(send, object("leases", key), { metadata: { resourceVersion }, spec: { holderIdentity: "" } });
}

/** Kubernetes' MicroTime takes six digits, and no fewer. */
function microTime(now: Date): string {
  return now.toISOString().replace("Z", "000Z");
}
