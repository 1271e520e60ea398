/** Renders objects in the format of the answer. */
import { type ListMeta, isStored } from "./context.ts";
import type { Column, ResourceKind } from "./kinds/kind.ts";
import type { Representation } from "./negotiation.ts";
import { type KubeObject, apiVersionOf } from "./objects.ts";
import { type StoredObject, parse } from "./store.ts";

export interface RenderingOptions {
  readonly kind: ResourceKind;
  readonly as: Representation;
  readonly now: () => Date;
  /** The part of the object that each table row contains: None, Metadata or Object. */
  readonly includeObject: string;
}

export class Renderer {
  readonly #how: RenderingOptions;
  readonly #as: Representation;
  readonly #apiVersion: string;
  #describesColumns = true;

  constructor(how: RenderingOptions) {
    this.#how = how;
    this.#as = how.as;
    this.#apiVersion = apiVersionOf(how.kind.group, how.kind.version);
  }

  object(object: KubeObject | StoredObject): string {
    if (this.#as === "Object") return this.#text(object);
    const tree = isStored(object) ? parse(object) : object;
    if (this.#as === "PartialObjectMetadata") return JSON.stringify(metadataOf(tree));
    return JSON.stringify({ ...this.#table([tree]), metadata: { resourceVersion: tree.metadata.resourceVersion } });
  }

  *list(items: readonly StoredObject[], metadata: ListMeta): Generator<string> {
    if (this.#as === "Table") {
      yield JSON.stringify({ ...this.#table(items.map(parse)), metadata });
      return;
    }
    const { kind } = this.#how;
    const partial = this.#as === "PartialObjectMetadata";
    const head = partial
      ? { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata }
      : { kind: `${kind.kind}List`, apiVersion: this.#apiVersion, metadata };
    yield `${JSON.stringify(head).slice(0, -1)},"items":[`;
    for (const [index, item] of items.entries()) {
      yield `${index === 0 ? "" : ","}${partial ? JSON.stringify(metadataOf(parse(item))) : this.#text(item)}`;
    }
    yield "]}\n";
  }

  event(type: string, stored: StoredObject): string {
    return `{"type":"${type}","object":${this.#eventObject(stored)}}\n`;
  }

  #eventObject(stored: StoredObject): string {
    if (this.#as !== "Table") return this.object(stored);
    const table = this.#table([parse(stored)]);
    // Only the first event of a watch describes the columns.
    const columnDefinitions = this.#describesColumns ? table.columnDefinitions : null;
    this.#describesColumns = false;
    return JSON.stringify({ ...table, columnDefinitions, metadata: { resourceVersion: String(stored.revision) } });
  }

  #text(object: KubeObject | StoredObject): string {
    const { kind } = this.#how;
    if (isStored(object)) {
      return kind.storageVersion === this.#apiVersion ? object.json : JSON.stringify(kind.toServed(parse(object)));
    }
    return JSON.stringify(kind.toServed(object));
  }

  #table(objects: readonly KubeObject[]) {
    const { columns } = this.#how.kind;
    return {
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      metadata: {},
      columnDefinitions: (columns.length === 0 ? FALLBACK : columns).map(definitionOf),
      rows: objects.map((object) => this.#row(object)),
    };
  }

  #row(object: KubeObject) {
    const { kind, now, includeObject } = this.#how;
    const cells = (kind.columns.length === 0 ? FALLBACK : kind.columns).map((column) => column.cell(object, now()));
    if (includeObject === "None") return { cells, object: null };
    return { cells, object: includeObject === "Object" ? kind.toServed(object) : metadataOf(object) };
  }
}

const FALLBACK: readonly Column[] = [
  { name: "Name", type: "string", format: "name", cell: (object) => object.metadata.name ?? "" },
];
const NAME_DESCRIPTION = "Name must be unique within a namespace.";

function definitionOf({ name, type, format = "", description, priority = 0 }: Column) {
  return { name, type, format, description: description ?? (name === "Name" ? NAME_DESCRIPTION : name), priority };
}

function metadataOf({ metadata }: KubeObject) {
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}
