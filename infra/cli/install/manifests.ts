/** The manifests that Lifeboat ships, as objects, and the optional parts of Lifeboat that they are of. */
import { type FeatureGate } from "../../../shared/settings/settings.ts";
import { type VersionRow, VERSIONS, versionText } from "../../../shared/settings/versions.ts";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { loadAll } from "js-yaml";
import { readFileSync } from "node:fs";
import * as z from "zod";

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

/** By path below `infra`: the bundle carries them (infra/tools/build-command.ts). */
declare const BUNDLED_MANIFESTS: Readonly<Record<string, string>> | undefined;

/** A path below `infra`, `kubernetes/rbac.yaml` for example. */
export function manifestsIn(path: string): readonly Manifest[] {
  return z.array(Manifest).parse(documentsIn(path));
}

/** Of a file whose objects the API server is to name. */
export function documentsIn(path: string): readonly unknown[] {
  return loadAll(textOf(path));
}

function textOf(path: string): string {
  if (typeof BUNDLED_MANIFESTS === "undefined") return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const text = BUNDLED_MANIFESTS[path];
  if (text === undefined) throw new Error(`${path} is not in the bundle`);
  return text;
}

/** As kubectl writes it: `rolebinding.rbac.authorization.k8s.io/lifeboat -n kubevirt`. */
export function nameOf({ apiVersion, kind, metadata: { name, namespace } }: Manifest): string {
  const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  const suffix = group ? `.${group}` : "";
  return `${kind.toLowerCase()}${suffix}/${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

export interface Part {
  readonly name: string;
  readonly about: string;
  readonly gates: readonly FeatureGate[];
  readonly files: readonly string[];
  readonly needs?: VersionRow;
}

const PRESSURE = "NodePressureEvictionLiveMigration";
const GUARD = [
  "PreemptionEvictionLiveMigration",
  "NoExecuteTaintEvictionLiveMigration",
  "NodeTerminationEvictionLiveMigration",
] as const;

export const PARTS: readonly Part[] = [
  {
    ...part(
      "guard",
      "refuses deletions by the scheduler, the taint manager and Karpenter until the VM has moved",
      GUARD,
    ),
    files: ["launchers", "hold-preemption", "hold-taints", "hold-node-end", "guard"].map(
      (name) => `kubernetes/optional/guard/${name}.yaml`,
    ),
  },
  { ...part("pressure", "moves VMs off nodes under memory, disk or PID pressure", [PRESSURE]), files: [] },
  needing(
    VERSIONS.plugins,
    part("shield", "experimental: launchers wait after a SIGTERM under node pressure (gate Plugins)", [PRESSURE]),
  ),
  part("maintenance", "carries out NodeEvacuations: cordons nodes, restarts and stops VMs where that is asked for"),
  part("migration-policy", "makes urgent migrations converge"),
  part("descheduling", "Lifeboat's own descheduler may evict; you apply its policy (ConfigMap lifeboat-descheduler)", [
    "EvictionsInBackground",
  ]),
  part("descheduler-support", "annotates launcher pods for another descheduler", ["DeschedulerSupport"]),
  part("restriction", "limits what Lifeboat's account may change on pods and nodes"),
];

function part(name: string, about: string, gates: readonly FeatureGate[] = []): Part {
  return { name, about, gates, files: [`kubernetes/optional/${name}/${name}.yaml`] };
}

function needing(needs: VersionRow, { about, ...rest }: Part): Part {
  return { ...rest, needs, about: about.replace("(", `(${versionText(needs.of, needs.since)}, `) };
}

/** `guard,shield`, as `--with` takes it; may be given more than once. */
export function partsNamed(list: string, before: readonly Part[] = []): readonly Part[] {
  const named = list
    .split(",")
    .filter(Boolean)
    .map((name) => {
      const part = PARTS.find((one) => one.name === name);
      if (part !== undefined) return part;
      throw new InvalidArgumentError(`There are ${PARTS.map((one) => one.name).join(", ")}.`);
    });
  return [...new Set([...before, ...named])];
}
