/**
 * Generates objects of Lifeboat's kinds from their CRDs. Some objects contain fields that the API server would refuse.
 */
import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { load } from "js-yaml";
import * as z from "zod";
import { asJson, isObject, type Json, type JsonObject } from "../json.ts";
import { VMS } from "./clusters.ts";
import { oddJson, oddString } from "./json.ts";
import { maybeMoment, NAMESPACE, NODES, object, uidOf } from "./objects.ts";
import { usually } from "./often.ts";

interface Schema {
  readonly type?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly format?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly required?: readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    enum: z.array(z.string()).optional(),
    format: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), Schema).optional(),
    items: Schema.optional(),
  }),
);
const Definition = z.object({
  spec: z.object({
    names: z.object({ kind: z.string() }),
    versions: z.tuple([z.object({ schema: z.object({ openAPIV3Schema: Schema }) })]),
  }),
});

/** The names of a NodeEvacuation and of a RollingMaintenance that requests use. */
export const KERNEL = "kernel";
export const WEEKEND = "weekend";

/** Values for fields that contain the name of another object, keyed by field name. */
const REFERENCES: Readonly<Record<string, readonly string[]>> = {
  nodeName: NODES,
  sourceNode: NODES,
  targetNode: NODES,
  names: NODES,
  nodeEvacuation: [KERNEL],
  after: [KERNEL, "other"],
  namespace: [NAMESPACE],
  virtualMachineInstanceUID: VMS.map(uidOf),
  uid: [...VMS.map(uidOf), uidOf(KERNEL), uidOf(WEEKEND)],
  name: [...VMS, ...NODES, KERNEL],
  gatesOn: ["NodePressureEvictionLiveMigration"],
};

function valueOf(schema: Schema, key: string): fc.Arbitrary<Json> {
  return usually(admitted(schema, key), oddJson, 200);
}

function admitted(schema: Schema, key: string): fc.Arbitrary<Json> {
  const { enum: words, minimum = -5, maximum = 5000 } = schema;
  if (words !== undefined) return fc.constantFrom<Json>(...words);
  const { type = "" } = schema;
  switch (type) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.oneof(fc.constantFrom(minimum, maximum), fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31) }));
    case "number":
      return fc.constantFrom(minimum, maximum, minimum + 0.5);
    case "array":
      return fc.array(valueOf(schema.items ?? {}, key), { maxLength: 4 });
    case "object":
      return schema.properties === undefined ? fc.dictionary(oddString, oddString, { maxKeys: 2 }) : recordOf(schema);
    case "string":
      return schema.format === "date-time" ? moment : textOf(key);
    default:
      return oddJson;
  }
}

const moment: fc.Arbitrary<Json> = maybeMoment.map((time) => time ?? "9999-12-31T23:59:59Z");

function textOf(key: string): fc.Arbitrary<Json> {
  const known = REFERENCES[key];
  return known === undefined ? oddString : usually(fc.constantFrom(...known), oddString, 40);
}

/** Generates an object with all required fields. Each optional field is present in half of the cases. */
function recordOf({ properties = {}, required = [] }: Schema): fc.Arbitrary<JsonObject> {
  const fields = Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, valueOf(schema, key)]));
  const drawn = fc.record(fields, { requiredKeys: Object.keys(fields).filter((key) => required.includes(key)) });
  return drawn.map((value) => {
    const made = asJson(value);
    return isObject(made) ? made : {};
  });
}

interface Kind {
  readonly kind: string;
  readonly body: fc.Arbitrary<JsonObject>;
}

function kindIn(file: string): Kind {
  const text = readFileSync(new URL(`../../../infra/kubernetes/crds/${file}.yaml`, import.meta.url), "utf8");
  const { names, versions } = Definition.parse(load(text)).spec;
  const { properties = {} } = versions[0].schema.openAPIV3Schema;
  const { spec = {}, status = {} } = properties;
  return { kind: names.kind, body: recordOf({ properties: { spec, status }, required: ["spec", "status"] }) };
}

const nameOf = (at: number, first: string) => (at === 0 ? first : `${first}-${at}`);

const CONTROLLER = { kind: "RollingMaintenance", controller: true };
const OWNERS = [{ ...CONTROLLER, apiVersion: "lifeboat.dev/v1alpha1", name: WEEKEND, uid: uidOf(WEEKEND) }];

export const kinds: fc.Arbitrary<Readonly<Record<string, readonly JsonObject[]>>> = fc
  .record({
    nodeEvacuations: fc.array(kindIn("nodeevacuations").body, { minLength: 1, maxLength: 3 }),
    owned: fc.boolean(),
    commands: fc.boolean(),
    rolling: fc.array(kindIn("rollingmaintenances").body, { minLength: 1, maxLength: 2 }),
    evacuations: fc.array(kindIn("evacuations").body, { maxLength: 3 }),
    configuration: fc.array(kindIn("lifeboatconfigurations").body, { maxLength: 1 }),
  })
  .map(({ nodeEvacuations, owned, commands, rolling, evacuations, configuration }) => {
    const labels = commands ? { "app.kubernetes.io/managed-by": "lifeboat" } : {};
    const ownerReferences = owned ? OWNERS : [];
    const group = "/apis/lifeboat.dev/v1alpha1";
    return {
      [`${group}/nodeevacuations`]: nodeEvacuations.map((body, at) =>
        object("NodeEvacuation", { name: nameOf(at, KERNEL), labels, ownerReferences }, body),
      ),
      [`${group}/rollingmaintenances`]: rolling.map((body, at) =>
        object("RollingMaintenance", { name: nameOf(at, WEEKEND), labels }, body),
      ),
      [`${group}/evacuations`]: evacuations.map((body, at) =>
        object("Evacuation", { namespace: NAMESPACE, name: `${VMS[at] ?? "vm"}-1`, labels }, body),
      ),
      ...(configuration.length > 0 && {
        [`${group}/lifeboatconfigurations`]: configuration.map((body) =>
          object("LifeboatConfiguration", { name: "lifeboat" }, body),
        ),
      }),
    };
  });
