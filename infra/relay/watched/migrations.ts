/** Migrations and their phases. */
import * as z from "zod/mini";
import { identityOf, Metadata, Text, type WatchedKind } from "./kind.ts";

export interface MigrationFacts {
  readonly vmi: string;
  readonly phase: string | undefined;
  readonly deleting: boolean;
}

const Migration = z.object({
  metadata: Metadata,
  spec: z.object({ vmiName: z.string() }),
  status: z.prefault(z.object({ phase: Text }), {}),
});

export const MIGRATIONS: WatchedKind<MigrationFacts> = {
  name: "virtualmachineinstancemigrations",
  path: "/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
  read: (object) => {
    const { metadata, spec, status } = Migration.parse(object);
    const deleting = metadata.deletionTimestamp !== undefined;
    return { metadata: identityOf(metadata), facts: { vmi: spec.vmiName, phase: status.phase, deleting } };
  },
  notice: ({ object, facts, before, gone }) => {
    // KubeVirt keeps five finished ones of every VMI. Those from before the relay started, and their removal, do not matter.
    const over = facts.phase === "Succeeded" || facts.phase === "Failed";
    if (over && (gone || before === undefined)) return undefined;
    const data = { namespace: object.namespace ?? "", name: facts.vmi, migration: object.name };
    return { type: "dev.lifeboat.migration.changed.v1", data };
  },
};
