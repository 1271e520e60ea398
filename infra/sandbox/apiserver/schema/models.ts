/** The fields of the built-in kinds, from the models of the Kubernetes client library. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { INT_OR_STRING, type Structural } from "./structural.ts";
import { LAYOUTS } from "./time.ts";

export type FieldType =
  | { readonly of: "string" | "number" | "boolean" | "intOrString" | "any" }
  | { readonly of: "list" | "map"; readonly items: FieldType }
  | { readonly of: "model"; readonly name: string };

export interface ModelField {
  readonly name: string;
  readonly type: FieldType;
  readonly format: string;
  readonly layout?: string | undefined;
}

export type Model = ReadonlyMap<string, ModelField>;
export type Models = ReadonlyMap<string, Model>;

const FOLDER = "@kubernetes/client-node/dist/gen/models";

const loaded = new Map<string, Promise<Model>>();

export async function loadModels(root: string, into = new Map<string, Model>()): Promise<Models> {
  if (into.has(root)) return into;
  const model = loaded.get(root) ?? loadModel(root);
  loaded.set(root, model);
  const fields = await model;
  into.set(root, fields);
  for (const { type } of fields.values()) for (const name of modelsIn(type)) await loadModels(name, into);
  return into;
}

function modelsIn(type: FieldType): readonly string[] {
  if (type.of === "model") return [type.name];
  return type.of === "list" || type.of === "map" ? modelsIn(type.items) : [];
}

/** Converts a model to the structural schema of a CRD. Recursive fields may contain anything. */
export async function structureOf(root: string): Promise<Structural> {
  const models = await loadModels(root);
  const of = (type: FieldType, format: string, above: readonly string[]): Structural => {
    if (type.of === "list") return { type: "array", items: of(type.items, format, above) };
    if (type.of === "map") return { type: "object", additionalProperties: of(type.items, format, above) };
    if (type.of === "any") return { [INT_OR_STRING]: true };
    if (type.of === "number") return { type: format === "double" ? "number" : "integer" };
    if (type.of !== "model") return { type: type.of, format };
    const fields = above.includes(type.name) ? [] : [...(models.get(type.name)?.values() ?? [])];
    const properties = fields.map((field) => [field.name, of(field.type, field.format, [...above, type.name])]);
    return { type: "object", properties: Object.fromEntries(properties) };
  };
  return of({ of: "model", name: root }, "", []);
}

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

async function loadModel(name: string): Promise<Model> {
  const module: Record<string, unknown> = await import(`${FOLDER}/${name}.js`);
  const declared: unknown = module[name];
  const attributes: readonly Attribute[] =
    typeof declared === "function" ? Reflect.get(declared, "attributeTypeMap") : [];
  return new Map(
    attributes.map(({ baseName: name, type, format }) => [
      name,
      { name, type: parseType(type), format, layout: LAYOUTS[type] },
    ]),
  );
}

const SCALARS: Readonly<Record<string, FieldType>> = {
  string: { of: "string" },
  number: { of: "number" },
  boolean: { of: "boolean" },
  any: { of: "any" },
  Date: { of: "string" },
  V1MicroTime: { of: "string" },
  IntOrString: { of: "intOrString" },
};

function parseType(text: string): FieldType {
  const list = /^(?:Array|Set)<(.+)>$/.exec(text)?.[1];
  if (list !== undefined) return { of: "list", items: parseType(list) };
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(text)?.[1];
  if (map !== undefined) return { of: "map", items: parseType(map) };
  return SCALARS[text] ?? { of: "model", name: text };
}

export interface Documentation {
  readonly description: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Reads the descriptions of a model's fields from its type declaration. */
export async function loadDocumentation(name: string): Promise<Documentation> {
  const text = await readFile(fileURLToPath(import.meta.resolve(`${FOLDER}/${name}.d.ts`)), "utf8");
  const comments = [
    ...text.matchAll(/\/\*\*\n\s*\* ((?:(?!\*\/).)+?)\n\s*\*\/\n\s*(export declare class|'([^']+)')/gs),
  ];
  const fields = comments.map(([, comment = "", , field]) => [field ?? "", comment.replaceAll("\\'", "'")]);
  const { "": description = "", ...rest }: Record<string, string> = Object.fromEntries(fields);
  return { description, fields: rest };
}
