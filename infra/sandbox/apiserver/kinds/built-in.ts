/** The built-in kinds. kinds.yaml describes them, and rules.yaml contains their defaults and validation rules. */
import { readFileSync } from "node:fs";
import { CORE_SCHEMA, load, mergeTag } from "js-yaml";
import { fieldAt, stringAt, viewAs } from "../objects.ts";
import { applySchemaDefaults, type Structural } from "../schema/structural.ts";
import { validateBySchema } from "../schema/validation.ts";
import { SHARED_COLUMNS } from "./columns.ts";
import { type Cell, type Column, type KindDefinition, type ResourceKind, defineKind } from "./kind.ts";

interface Shown extends Partial<Omit<Column, "cell">> {
  readonly name: string;
  readonly path?: string;
  readonly absent?: string;
}

type Kind = Partial<Omit<KindDefinition, "columns">> & { readonly columns: readonly (Shown | string)[] };

const KINDS = read<Kind>("kinds.yaml");
const RULES = read<Structural>("rules.yaml");

function read<T>(file: string): Readonly<Record<string, T | undefined>> {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return viewAs(load(text, { schema: CORE_SCHEMA.withTags(mergeTag) }));
}

/**
 * The parts of a kind that need code. `applyDefaults` runs after the defaults in rules.yaml. If `validate` is set, the
 * rules in rules.yaml are not used.
 */
interface Behaviour extends Partial<KindDefinition> {
  readonly cells?: Readonly<Record<string, Column["cell"]>>;
}

export function builtIn(kind: string, { cells = {}, applyDefaults, ...more }: Behaviour = {}): ResourceKind {
  const { columns = [], ...data } = KINDS[kind] ?? {};
  return defineKind({
    version: "v1",
    kind,
    plural: `${kind.toLowerCase()}s`,
    validate: (object, previous) => ruleErrors(kind, object, previous),
    ...data,
    ...more,
    columns: columns.map((column) => columnOf(column, cells)),
    applyDefaults: (object) => {
      applySchemaDefaults(object, RULES[kind] ?? {});
      applyDefaults?.(object);
    },
  });
}

export const ruleErrors = (kind: string, ...[object, previous]: Parameters<ResourceKind["validate"]>) =>
  validateBySchema(viewAs(withoutEmpty(object)), RULES[kind] ?? {}, previous).filter(({ field }) => field !== "<nil>");

/** Removes empty lists, because Go treats an empty list like a missing list. */
function withoutEmpty(object: unknown): unknown {
  return JSON.parse(
    JSON.stringify(object, (_, value: unknown) => (Array.isArray(value) && value.length === 0 ? undefined : value)),
  );
}

function columnOf(column: Shown | string, cells: Behaviour["cells"] = {}): Column {
  if (typeof column === "string") return SHARED_COLUMNS[column] ?? columnOf({ name: column }, cells);
  const { path = "", absent = "<none>", type = "string", ...rest } = column;
  const shown = (object: object): Cell =>
    type === "integer" ? amountOf(fieldAt(object, path)) : stringAt(object, path) || absent;
  return { ...rest, type, cell: cells[column.name] ?? shown };
}

/** Returns a number unchanged. For a list or map, returns its size. */
export function amountOf(value: unknown = 0): number {
  return typeof value === "object" && value !== null ? Object.keys(value).length : Number(value);
}
