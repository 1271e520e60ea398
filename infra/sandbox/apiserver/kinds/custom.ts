/** Creates the ResourceKinds for a CustomResourceDefinition. */
import { type KubeObject, type Tree, recordAt, recordsAt, stringAt, stringsAt, textOf, viewAs } from "../objects.ts";
import { EMBEDDED, type Structural, applySchemaDefaults, joined, prune, schemaOf } from "../schema/structural.ts";
import { validateBySchema } from "../schema/validation.ts";
import { NAME, AGE, ageOf } from "./columns.ts";
import { evaluateJsonPath } from "./json-path.ts";
import { type Cell, type Column, type ResourceKind, SET, defineKind } from "./kind.ts";

/** Returns a ResourceKind for each served version. The versions share the stored objects. */
export function kindsOf(definition: KubeObject): readonly ResourceKind[] {
  const group = stringAt(definition, "spec.group");
  const names = recordAt(definition, "spec.names");
  const versions = recordsAt(definition, "spec.versions");
  const storageVersion = `${group}/${textOf(versions.find(({ storage }) => storage === true)?.name)}`;
  const served = versions.filter((version) => version.served !== false);
  return served.map((version) => {
    const name = textOf(version.name);
    const apiVersion = `${group}/${name}`;
    const schema = { ...schemaOf(version), [EMBEDDED]: true };
    const deprecation = `${apiVersion} ${textOf(names.kind)} is deprecated`;
    return defineKind({
      group,
      version: name,
      kind: textOf(names.kind),
      plural: textOf(names.plural),
      singular: textOf(names.singular) || textOf(names.kind).toLowerCase(),
      shortNames: stringsAt(names, "shortNames"),
      categories: stringsAt(names, "categories"),
      namespaced: stringAt(definition, "spec.scope") !== "Cluster",
      storageVersion,
      custom: true,
      hasStatus: recordAt(version, "subresources").status !== undefined,
      hasGeneration: true,
      unconditionalUpdate: false,
      model: undefined,
      schema,
      ...listsIn(schema),
      ...(version.deprecated === true && { deprecation: textOf(version.deprecationWarning) || deprecation }),
      selectableFields: selectableFields(version),
      applyDefaults: (object) => applySchemaDefaults(object, schema),
      validate: (object, previous) => validateBySchema(object, schema, previous),
      columns: columnsOf(version),
      toServed: (object) => ({ ...object, apiVersion }),
      toStored: (object) => {
        // Removes unknown fields, because a webhook might have added such fields.
        prune(object, schema);
        return { ...object, apiVersion: storageVersion };
      },
    });
  });
}

function selectableFields(version: Tree): Record<string, string> {
  const paths = recordsAt(version, "selectableFields").map(({ jsonPath }) => textOf(jsonPath).replace(/^\./, ""));
  return Object.fromEntries(paths.map((path) => [path, path]));
}

function listsIn(schema: Structural, path = ""): Pick<ResourceKind, "lists" | "atomicMaps"> {
  const type = schema["x-kubernetes-list-type"];
  const keys = type === "map" ? stringsAt(schema, "x-kubernetes-list-map-keys") : type === "set" ? SET : undefined;
  const below = Object.entries(recordAt(schema, "properties")).map(([key, part]) => {
    return listsIn(viewAs(part), joined(path, key));
  });
  if (schema.items !== undefined) below.push(listsIn(recordAt(schema, "items"), path));
  const isAtomic = schema["x-kubernetes-map-type"] === "atomic";
  return {
    lists: Object.assign({}, keys && { [path]: keys }, ...below.map(({ lists }) => lists)),
    atomicMaps: [...(isAtomic ? [path] : []), ...below.flatMap(({ atomicMaps }) => atomicMaps)],
  };
}

interface PrinterColumn extends Omit<Column, "cell"> {
  readonly jsonPath: string;
}

function columnsOf(version: Tree): readonly Column[] {
  const columns = viewAs<readonly PrinterColumn[]>(recordsAt(version, "additionalPrinterColumns"));
  if (columns.length === 0) return [NAME, { ...AGE, type: "date" }];
  return [NAME, ...columns.map(({ jsonPath, ...column }) => printerColumn(column, jsonPath))];
}

function printerColumn(column: Omit<PrinterColumn, "jsonPath">, jsonPath: string): Column {
  const description = `Custom resource definition column (in JSONPath format): ${jsonPath}`;
  const cell = (object: KubeObject, now: Date): Cell => cellOf(evaluateJsonPath(jsonPath, object)[0], column.type, now);
  return { description, ...column, cell };
}

/**
 * Returns the cell for a value. A column of type string shows a value of another type as JSON. A column of type date
 * shows `<invalid>` for a value that is not a date. In all other columns, the cell is empty if the value does not have
 * the column's type.
 */
function cellOf(value: unknown, type: Column["type"], now: Date): Cell {
  if (value === undefined || value === null) return null;
  if (type === "string") return typeof value === "string" ? value : JSON.stringify(value);
  if (type === "date") return Number.isNaN(Date.parse(textOf(value))) ? "<invalid>" : ageOf(value, now);
  if (typeof value === "number" && type === "integer") return Math.trunc(value);
  return typeof value === type ? viewAs(value) : null;
}
