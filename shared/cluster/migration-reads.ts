/** Reading migrations: of a VM, or of many at once. */
import { keyOf, type MigrationFacts, type NamespacedName } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import { Migration } from "./kinds/kubevirt.ts";
import { isVmiKey } from "./paths.ts";
import { type OnOddItem, readAll } from "./read.ts";
import type { Send } from "./transport.ts";

/** KubeVirt shortens longer names in the label: there the namespace is read. */
const LONGEST_LABEL = 63;
/** Names in a selector: it is part of a URL. */
const MOST_NAMES = 50;

export function migrationReads(send: Send, onOddItem: OnOddItem) {
  const list = { resource: "virtualmachineinstancemigrations", schema: Migration, onOddItem } as const;
  /** Finished ones included. A request for each fifty VMs of a namespace. */
  const listMigrationsOf = async (vmis: readonly NamespacedName[]): Promise<readonly MigrationFacts[]> => {
    const selections = [...Map.groupBy(vmis.filter(isVmiKey), ({ namespace }) => namespace)].flatMap(
      ([namespace, own]) => selectorsOf(own.map(({ name }) => name)).map((selector) => ({ namespace, ...selector })),
    );
    const lists = await Promise.all(selections.map((selection) => readAll(send, { ...list, ...selection })));
    const wanted = new Set(vmis.map(keyOf));
    return lists.flat().filter(({ namespace, vmiName }) => wanted.has(keyOf({ namespace, name: vmiName })));
  };
  return { listMigrationsOf, listMigrations: (vmi: NamespacedName) => listMigrationsOf([vmi]) };
}

function selectorsOf(vmis: readonly string[]): readonly { readonly labelSelector?: string }[] {
  if (vmis.some((name) => name.length > LONGEST_LABEL)) return [{}];
  const [first = "", ...others] = vmis;
  if (others.length === 0) return [{ labelSelector: `${names.VMI_NAME_LABEL}=${first}` }];
  const chunks = Array.from({ length: Math.ceil(vmis.length / MOST_NAMES) }, (_, i) =>
    vmis.slice(i * MOST_NAMES, (i + 1) * MOST_NAMES),
  );
  return chunks.map((chunk) => ({ labelSelector: `${names.VMI_NAME_LABEL} in (${chunk.join(",")})` }));
}
