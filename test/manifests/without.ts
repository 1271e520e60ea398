/**
 * Taking a single permission away from a role.
 * Owns: that, on manifests. Does not own: which one, or what then fails (least-privilege.ts).
 */
import type { Manifest, Rule } from "./shipped.ts";

/** Every single permission as a rule of its own. */
function atoms({ apiGroups, resources, resourceNames, verbs }: Rule): readonly Rule[] {
  const names = resourceNames?.map((name) => [name]) ?? [undefined];
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      names.flatMap((name) =>
        verbs.map((verb) => ({
          apiGroups: [group],
          resources: [resource],
          ...(name === undefined ? {} : { resourceNames: name }),
          verbs: [verb],
        })),
      ),
    ),
  );
}

/** The same manifest without that permission; unchanged if it grants none such. */
export function without(manifest: Manifest, permission: string): Manifest {
  if (manifest.rules === undefined) return manifest;
  const rules = manifest.rules.flatMap(atoms).filter((rule) => nameOf(rule) !== permission);
  return { ...manifest, rules };
}

function nameOf({
  apiGroups: [group],
  resources: [resource],
  resourceNames: [name] = [],
  verbs: [verb],
}: Rule): string {
  return `${verb} ${[group, resource, name].filter(Boolean).join("/")}`;
}
