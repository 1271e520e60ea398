/**
 * VMIs: the fields on which Lifeboat decides.
 */
import * as z from "zod/mini";
import { Conditions, identityOf, Metadata, Text, type WatchedKind } from "./kind.ts";

export interface VmiFacts {
  readonly phase: string | undefined;
  readonly nodeName: string | undefined;
  readonly evacuationNodeName: string | undefined;
  readonly evictionStrategy: string | undefined;
  readonly liveMigratable: string | undefined;
  readonly deleting: boolean;
}

const Vmi = z.object({
  metadata: Metadata,
  spec: z.object({ evictionStrategy: Text }),
  status: z.prefault(z.object({ phase: Text, nodeName: Text, evacuationNodeName: Text, conditions: Conditions }), {}),
});

export const VIRTUAL_MACHINE_INSTANCES: WatchedKind<VmiFacts> = {
  name: "virtualmachineinstances",
  path: "/apis/kubevirt.io/v1/virtualmachineinstances",
  read: (object) => {
    const { metadata, spec, status } = Vmi.parse(object);
    const facts = {
      phase: status.phase,
      nodeName: status.nodeName,
      evacuationNodeName: status.evacuationNodeName,
      evictionStrategy: spec.evictionStrategy,
      liveMigratable: status.conditions.find(({ type }) => type === "LiveMigratable")?.status,
      deleting: metadata.deletionTimestamp !== undefined,
    };
    return { metadata: identityOf(metadata), facts };
  },
  notice: ({ object: { namespace = "", name, uid } }) => ({
    type: "dev.lifeboat.vmi.changed.v1",
    data: { namespace, name, uid },
  }),
};
