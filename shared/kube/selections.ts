/** Contains selections that several decisions use. */
import { END_PHASES } from "./evacuation.ts";
import type { NamespacedName, VmiFacts } from "./facts.ts";
import * as names from "./names.ts";
import { isVmiKey } from "./objects.ts";
import type { Selection } from "./selection.ts";

export const selectEvacuationsOf = ({ namespace, name }: NamespacedName): Selection => {
  return { namespace, fields: { "spec.virtualMachineInstance.name": name } };
};

export const selectEvacuationsFrom = (node: string): Selection => ({ fields: { "status.sourceNode": node } });

export const ACTIVE_EVACUATIONS: Selection = { unlike: { "status.phase": END_PHASES } };

export const selectVmisOn = (node: string): Selection => ({ labels: { [names.NODE_NAME_LABEL]: node } });

export const selectEvacuationsFor = (nodeEvacuation: string): Selection => {
  return { fields: { "spec.nodeEvacuation.name": nodeEvacuation } };
};

export const selectPodsOn = (node: string): Selection => ({ fields: { "spec.nodeName": node } });

export const selectLaunchersOn = (node: string): Selection => {
  return { labels: { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT }, ...selectPodsOn(node) };
};

/** VMIs whose migration has a target pod. */
export const MIGRATING_VMIS: Selection = { labels: { [names.TARGET_NODE_LABEL]: true } };

export const selectPodsOf = ({ namespace, uid }: VmiFacts): Selection => {
  return { namespace, labels: { [names.CREATED_BY_LABEL]: uid } };
};

/** Selects the launcher pods of a VMI in all namespaces. A user can give these labels to any other pod. */
export const selectLaunchersOf = ({ uid }: Pick<VmiFacts, "uid">): Selection => {
  return { labels: { [names.COMPONENT_LABEL]: names.LAUNCHER_COMPONENT, [names.CREATED_BY_LABEL]: uid } };
};

export const SOME: Selection = { limit: 250 };

/** The maximum length of all names in a selector together, in URL-encoded characters. Some proxies accept only 8 KB. */
const LONGEST_NAMES = 4000;
const COMMA = "%2C".length;

/**
 * Selects all migrations of these VMIs, including finished migrations. Returns one selection for each namespace, or
 * more if the names are too long for a URL.
 */
export function selectMigrationsOf(vmis: readonly NamespacedName[]): readonly Selection[] {
  return [...Map.groupBy(vmis.filter(isVmiKey), ({ namespace }) => namespace)].flatMap(([namespace, own]) =>
    labelsOf(own.map(({ name }) => name)).map((labels) => ({ namespace, labels })),
  );
}

/**
 * Returns the labels to select by. If a name is too long for a label, selects all migrations of the namespace, because
 * KubeVirt might have shortened the name in the label.
 */
function labelsOf(vmis: readonly string[]): readonly NonNullable<Selection["labels"]>[] {
  if (vmis.some((name) => name.length > names.LONGEST_LABEL)) return [{}];
  const [first = "", ...others] = vmis;
  if (others.length === 0) return [{ [names.VMI_NAME_LABEL]: first }];
  const chunks: string[][] = [];
  let room = 0;
  for (const name of vmis) {
    room -= name.length + COMMA;
    if (room >= 0) chunks.at(-1)?.push(name);
    else {
      chunks.push([name]);
      room = LONGEST_NAMES - name.length - COMMA;
    }
  }
  return chunks.map((chunk) => ({ [names.VMI_NAME_LABEL]: chunk }));
}
