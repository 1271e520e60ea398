/** Builds Lifeboat's kustomizations as `kubectl kustomize` does, because a test's machine might have no kubectl. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import * as z from "zod/mini";

const Reference = z.strictObject({ kind: z.exactOptional(z.string()), name: z.string() });
const Target = z.strictObject({ kind: z.exactOptional(z.string()), name: z.exactOptional(z.string()) });
const Deletion = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  $patch: z.literal("delete"),
});
const Operations = z.array(z.strictObject({ op: z.literal("replace"), path: z.string(), value: z.unknown() }));
const Replacement = z.strictObject({
  source: z.strictObject({ kind: z.string(), name: z.string(), fieldPath: z.string() }),
  targets: z.array(
    z.strictObject({
      select: Reference,
      fieldPaths: z.array(z.string()),
      options: z.exactOptional(z.strictObject({ delimiter: z.string(), index: z.number() })),
    }),
  ),
});
const Paths = z._default(z.array(z.string()), []);
const Kustomization = z.strictObject({
  apiVersion: z.string(),
  kind: z.enum(["Kustomization", "Component"]),
  resources: Paths,
  components: Paths,
  configMapGenerator: z._default(
    z.array(z.looseObject({ name: z.string(), literals: Paths, files: Paths, options: z.looseObject({}) })),
    [],
  ),
  patches: z._default(z.array(z.strictObject({ target: z.exactOptional(Target), patch: z.string() })), []),
  replacements: z._default(z.array(Replacement), []),
});
type Kustomization = z.infer<typeof Kustomization>;

const KubeObject = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });
export type KubeObject = z.infer<typeof KubeObject>;

export function build(folder: string, expected: Kustomization["kind"] = "Kustomization"): readonly KubeObject[] {
  return buildFrom(read(folder, expected), folder, []);
}

function read(folder: string, expected: Kustomization["kind"]): Kustomization {
  const kustomization = Kustomization.parse(load(readFileSync(join(folder, "kustomization.yaml"), "utf8")));
  if (kustomization.kind !== expected) throw new Error(`${folder}: expected a ${expected}`);
  return kustomization;
}

/** Builds in kustomize's order: resources, generated objects, components, changes. */
function buildFrom(of: Kustomization, folder: string, given: readonly KubeObject[]): readonly KubeObject[] {
  const resources = of.resources.flatMap((path) => resource(folder, path));
  const generated = of.configMapGenerator.map((one) => configMap(one, folder));
  let objects = [...given, ...resources, ...generated];
  for (const path of of.components) {
    const component = join(folder, path);
    objects = [...buildFrom(read(component, "Component"), component, objects)];
  }
  for (const one of of.patches) objects = [...patched(objects, one)];
  return of.replacements.reduce(replaced, objects);
}

function patched(objects: readonly KubeObject[], { target, patch }: Kustomization["patches"][number]) {
  const found = load(patch);
  if (!Array.isArray(found)) {
    const { kind, metadata } = Deletion.parse(found);
    return objects.filter((object) => !isSelected(object, target ?? { kind, name: metadata.name }));
  }
  const operations = Operations.parse(found);
  return objects.map((object) => {
    if (target === undefined || !isSelected(object, target)) return object;
    const changed = (next: unknown, { path, value }: (typeof operations)[number]) =>
      changedAt(next, path.split("/").slice(1), () => value);
    return KubeObject.parse(operations.reduce<unknown>(changed, object));
  });
}

/**
 * Reads a kustomization or a file. Throws if the file is outside of the folder, because `kubectl apply -k` refuses such
 * files.
 */
function resource(folder: string, path: string): readonly KubeObject[] {
  const whole = join(folder, path);
  if (existsSync(join(whole, "kustomization.yaml"))) return build(whole);
  if (path.startsWith("..")) throw new Error(`${whole}: not below ${folder}`);
  return z.array(KubeObject).parse(loadAll(readFileSync(whole, "utf8")));
}

function configMap(
  { name, literals, files, options, ...more }: Kustomization["configMapGenerator"][number],
  folder: string,
) {
  const given = literals.map((literal) => literal.split("=", 2));
  const read = files.map((file) => [file, readFileSync(join(folder, file), "utf8")]);
  const { disableNameSuffixHash, ...metadata } = options;
  if (disableNameSuffixHash !== true) throw new Error(`${name}: kustomize would add a suffix to this name`);
  return { kind: "ConfigMap", metadata: { name, ...more, ...metadata }, data: Object.fromEntries([...given, ...read]) };
}

function isSelected({ kind, metadata }: KubeObject, target: z.infer<typeof Target>): boolean {
  return (target.kind ?? kind) === kind && (target.name ?? metadata.name) === metadata.name;
}

function replaced(objects: readonly KubeObject[], { source, targets }: z.infer<typeof Replacement>): KubeObject[] {
  const from = objects.find((object) => isSelected(object, source));
  const values = valuesAt(from, source.fieldPath.split("."));
  if (values.length !== 1) throw new Error(`${source.kind} ${source.name} has no ${source.fieldPath}`);
  return objects.map((object) => {
    const meant = targets.filter(({ select }) => isSelected(object, select));
    return meant.reduce((changed, { fieldPaths, options }) => {
      const change = (old: unknown) => partReplaced(String(old), String(values[0]), options);
      return fieldPaths.reduce((next, path) => KubeObject.parse(changedAt(next, path.split("."), change)), changed);
    }, object);
  });
}

function partReplaced(old: string, value: string, options: { delimiter: string; index: number } | undefined): string {
  return options === undefined
    ? value
    : old.split(options.delimiter).with(options.index, value).join(options.delimiter);
}

function valuesAt(value: unknown, [key, ...rest]: readonly string[]): readonly unknown[] {
  if (key === undefined) return value === undefined ? [] : [value];
  return typeof value === "object" && value !== null ? valuesAt(new Map(Object.entries(value)).get(key), rest) : [];
}

/** Changes the value at a path. `*` selects every item of a list. Throws if the path does not exist. */
function changedAt(value: unknown, [key, ...rest]: readonly string[], change: (old: unknown) => unknown): unknown {
  if (key === undefined) return change(value);
  if (Array.isArray(value))
    return value.map((item, i) => (key === "*" || key === String(i) ? changedAt(item, rest, change) : item));
  const fields = new Map(typeof value === "object" && value !== null ? Object.entries(value) : []);
  if (!fields.has(key)) throw new Error(`a patch's path has the key ${key}, which does not exist`);
  return Object.fromEntries(fields.set(key, changedAt(fields.get(key), rest, change)));
}
