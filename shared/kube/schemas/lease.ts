/** Defines the schema of a Lease, with the annotations in which Lifeboat stores data. */
import * as z from "zod/mini";
import { LARGE_FACTS } from "./bounds.ts";
import { kind, Meta, part, Text } from "./fields.ts";

export interface LeaseFacts {
  readonly resourceVersion?: string;
  readonly holder?: string | undefined;
  /** The time at which the last holder acquired the Lease (RFC 3339). */
  readonly acquiredAt?: string | undefined;
  readonly seconds?: number | undefined;
  readonly transitions?: number | undefined;
  readonly annotations?: Readonly<Record<string, string>>;
}

export const Lease = kind(
  () => ({
    metadata: Meta,
    spec: part({
      holderIdentity: Text,
      acquireTime: Text,
      leaseDurationSeconds: z.nullish(z.number()),
      leaseTransitions: z.nullish(z.number()),
    }),
  }),
  ({ metadata: { resourceVersion, annotations }, spec }): LeaseFacts => ({
    resourceVersion,
    holder: spec.holderIdentity,
    acquiredAt: spec.acquireTime,
    seconds: spec.leaseDurationSeconds ?? undefined,
    transitions: spec.leaseTransitions ?? undefined,
    ...(annotations && { annotations: ownOf(annotations) }),
  }),
  LARGE_FACTS,
);

function ownOf(annotations: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => /^(?:[^/]+\.)?lifeboat\.dev\//.test(key)));
}
