/**
 * Custom kinds: what a CustomResourceDefinition says, as ResourceKinds.
 * Owns: that translation, both ways. Does not own: the definition's own kind (extension.ts).
 */
import { type KubeObject, isRecord, stringAt, recordsAt, stringsAt, viewAs } from "../objects.ts";
import { AGE, NAME, ageOf } from "./columns.ts";
import { applySchemaDefaults, schemaOf, validateBySchema } from "../schema/structural.ts";
import { evaluateJsonPath } from "./json-path.ts";
import { type Cell, type Column, type ResourceKind, defineKind } from "./kind.ts";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly priority?: number;
  readonly description?: string;
}

/** A custom kind in short: everything its CustomResourceDefinition needs. */
export interface CustomKind {
  readonly group: string;
  /** The first is the one objects are stored in. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly plural: string;
  readonly singular?: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly hasStatus: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly columns?: readonly PrinterColumn[];
}

export function definitionOf(custom: CustomKind): KubeObject {
  const { group, kind, plural, scope, shortNames = [], categories = [] } = custom;
  const versions = custom.versions.map((name, index) => ({
    name,
    served: true,
    storage: index === 0,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    ...(custom.hasStatus && { subresources: { status: {} } }),
    ...(custom.columns && { additionalPrinterColumns: custom.columns }),
  }));
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind, plural, singular: custom.singular ?? kind.toLowerCase(), shortNames, categories },
      versions,
    },
  };
}

/** One ResourceKind for each served version; all share the stored objects. */
export function kindsOf(definition: KubeObject): readonly ResourceKind[] {
  const group = stringAt(definition, "spec.group");
  const of = (field: string): string => stringAt(definition, `spec.names.${field}`);
  const [kind, plural, singular] = [of("kind"), of("plural"), of("singular")];
  const shortNames = stringsAt(definition, "spec.names.shortNames");
  const categories = stringsAt(definition, "spec.names.categories");
  const versions = recordsAt(definition, "spec.versions");
  const stored = versions.find((version) => version.storage === true) ?? versions[0];
  const storageVersion = `${group}/${stringAt(stored, "name")}`;
  return versions
    .filter((version) => version.served !== false)
    .map((version) => {
      const apiVersion = `${group}/${stringAt(version, "name")}`;
      const schema = schemaOf(version);
      const hasStatus = isRecord(version.subresources) && version.subresources.status !== undefined;
      return defineKind({
        group,
        version: stringAt(version, "name"),
        kind,
        plural,
        ...(singular !== "" && { singular }),
        shortNames,
        categories,
        namespaced: stringAt(definition, "spec.scope") !== "Cluster",
        storageVersion,
        custom: true,
        hasStatus,
        hasGeneration: true,
        unconditionalUpdate: false,
        model: undefined,
        schema,
        applyDefaults: (object) => applySchemaDefaults(object, schema),
        validate: (object) => validateBySchema(object, schema),
        columns: columnsOf(version),
        toServed: (object) => ({ ...object, apiVersion }),
        toStored: (object) => ({ ...object, apiVersion: storageVersion }),
      });
    });
}

function columnsOf(version: Record<string, unknown>): readonly Column[] {
  const columns = recordsAt(version, "additionalPrinterColumns");
  if (columns.length === 0) return [NAME, AGE];
  return [NAME, ...columns.map((column) => printerColumn(viewAs(column)))];
}

function printerColumn({ name, type, jsonPath, priority, description }: PrinterColumn): Column {
  return {
    name,
    type,
    ...(priority !== undefined && { priority }),
    ...(description !== undefined && { description }),
    cell: (object, now) => cellOf(evaluateJsonPath(jsonPath, object), type, now),
  };
}

function cellOf(values: readonly unknown[], type: PrinterColumn["type"], now: Date): Cell {
  const [value] = values;
  if (value === undefined || value === null) return null;
  if (type === "date") return ageOf(value, now);
  if (type === "string") return typeof value === "string" ? value : JSON.stringify(value);
  return viewAs(value);
}
