/** Reads and parses the shipped manifests. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load, loadAll } from "js-yaml";
import * as z from "zod/mini";

const folder = fileURLToPath(new URL("../../../infra/kubernetes/", import.meta.url));

const Rule = z.object({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  resourceNames: z.exactOptional(z.array(z.string())),
  verbs: z.array(z.string()),
});

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.exactOptional(z.string()) }),
  rules: z.exactOptional(z.array(Rule)),
});

export type Rule = z.infer<typeof Rule>;
export type Manifest = z.infer<typeof Manifest>;

/** The file of a Secret with a generated name. Such a file can only be created, not applied. */
export const TOKEN = "worker/token.yaml";

export function readYaml(path: string): unknown {
  return load(readFileSync(`${folder}${path}`, "utf8"));
}

export function readManifests(path: string): readonly Manifest[] {
  return z.array(Manifest).parse(loadAll(readFileSync(`${folder}${path}`, "utf8")));
}

/** Returns the files that `kubectl apply -k infra/kubernetes` applies, in the kustomization's order. */
export function applied(): readonly string[] {
  return z.object({ resources: z.array(z.string()) }).parse(readYaml("kustomization.yaml")).resources;
}

export function shipped(): readonly Manifest[] {
  return applied().flatMap(readManifests);
}

/**
 * Returns the roles that a binding in the manifests refers to. These roles belong to Lifeboat. Other roles are for
 * people.
 */
export function granted(manifests: readonly Manifest[]): readonly Manifest[] {
  const isBound = ({ kind, metadata }: Manifest): boolean =>
    manifests.some((other) => other.kind === `${kind}Binding` && other.metadata.name === metadata.name);
  return manifests.filter((manifest) => manifest.rules !== undefined && isBound(manifest));
}

export function atoms({ rules = [] }: Manifest): readonly Rule[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        (resourceNames?.map((name) => ({ resourceNames: [name] })) ?? [{}]).flatMap((named) =>
          verbs.map((verb) => ({ apiGroups: [group], resources: [resource], ...named, verbs: [verb] })),
        ),
      ),
    ),
  );
}

export function nameOf({ apiGroups, resources, resourceNames = [], verbs }: Rule): string {
  return `${verbs.join()} ${[...apiGroups, ...resources, ...resourceNames].filter(Boolean).join("/")}`;
}

/** Returns every permission of a manifest as `verb group/resource[/name]`. */
export function permissions(manifest: Manifest): readonly string[] {
  return atoms(manifest).map(nameOf);
}

export function without(manifest: Manifest, permission: string): Manifest {
  if (manifest.rules === undefined) return manifest;
  return { ...manifest, rules: atoms(manifest).filter((rule) => nameOf(rule) !== permission) };
}
