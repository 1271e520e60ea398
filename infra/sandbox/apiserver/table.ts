/**
 * Tables, the representation kubectl prints.
 * Owns: their shape. Does not own: a kind's columns and cells (kinds/).
 */
import type { Column, ResourceKind } from "./kinds/kind.ts";
import type { KubeObject } from "./objects.ts";

export interface TableOptions {
  readonly now: Date;
  /** How much of each object comes along with its row. */
  readonly includeObject: string;
}

const NAME_DESCRIPTION = "Name must be unique within a namespace.";

export function tableOf(kind: ResourceKind, objects: readonly KubeObject[], options: TableOptions) {
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: {},
    columnDefinitions: kind.columns.length === 0 ? [definitionOf(FALLBACK)] : kind.columns.map(definitionOf),
    rows: objects.map((object) => rowOf(kind, object, options)),
  };
}

const FALLBACK: Column = { name: "Name", type: "string", format: "name", cell: (object) => object.metadata.name ?? "" };

function definitionOf({ name, type, format = "", description, priority = 0 }: Column) {
  return { name, type, format, description: description ?? (name === "Name" ? NAME_DESCRIPTION : name), priority };
}

function rowOf(kind: ResourceKind, object: KubeObject, { now, includeObject }: TableOptions) {
  const columns = kind.columns.length === 0 ? [FALLBACK] : kind.columns;
  const cells = columns.map((column) => column.cell(object, now));
  if (includeObject === "None") return { cells, object: null };
  return { cells, object: includeObject === "Object" ? kind.toServed(object) : metadataOf(object) };
}

export function metadataOf({ metadata }: KubeObject) {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}
