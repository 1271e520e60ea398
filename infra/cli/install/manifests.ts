/** The manifests of Lifeboat and its optional features, as objects. */
import { FEATURES } from "../../../shared/features.ts";
import type { Feature } from "../../../shared/settings/feature.ts";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { loadAll } from "js-yaml";
import { readFileSync } from "node:fs";
import * as z from "zod";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";

export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().exactOptional(),
    labels: z.record(z.string(), z.string()).exactOptional(),
  }),
});
export type Manifest = z.output<typeof Manifest>;

/** The bundled manifests, keyed by their path below `infra` (infra/tools/build-command.ts). */
declare const BUNDLED_MANIFESTS: Readonly<Record<string, string>> | undefined;

/** Reads the manifests of a file. The path is relative to `infra`, such as `kubernetes/rbac.yaml`. */
export function manifestsIn(path: string): readonly Manifest[] {
  return z.array(Manifest).parse(documentsIn(path));
}

/** Reads a file whose objects have no names, because the API server generates the names. */
export function documentsIn(path: string): readonly unknown[] {
  return loadAll(shippedText(path));
}

function shippedText(path: string): string {
  if (typeof BUNDLED_MANIFESTS === "undefined") return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const text = BUNDLED_MANIFESTS[path];
  if (text === undefined) throw new Error(MESSAGES.notBundled(path));
  return text;
}

/** Returns the name of an object as in kubectl: `rolebinding.rbac.authorization.k8s.io/lifeboat -n kubevirt`. */
export function nameOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string {
  const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  const suffix = group ? `.${group}` : "";
  return `${kind.toLowerCase()}${suffix}/${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

/** An optional feature for `--with`. `gates` lists the feature gates that this installation switches on. */
export interface Part extends Feature {
  readonly files: readonly string[];
}

export const PARTS: readonly Part[] = FEATURES.map((feature) => ({ ...feature, files: filesOf(feature) }));

export function filesOf({ name, manifests }: Feature): readonly string[] {
  return manifests.map((one) => `kubernetes/optional/${name}/${one}.yaml`);
}

/** Parses the value of `--with`, such as `guard,shield`. A person can repeat the option. */
export function partsNamed(list: string, before: readonly Part[] = []): readonly Part[] {
  const named = list
    .split(",")
    .filter(Boolean)
    .map((name) => {
      const part = PARTS.find((one) => one.name === name);
      if (part !== undefined) return part;
      throw new InvalidArgumentError(MESSAGES.expectedParts(PARTS.map((one) => one.name)));
    });
  return [...new Set([...before, ...named])];
}
