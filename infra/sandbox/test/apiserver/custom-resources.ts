/** Two definitions like those that a controller ships, and the paths of their objects. */
import { expect } from "vitest";
import type { Request, Response } from "./client.ts";
import { type Started, start } from "./started.ts";

const text = { type: "string" };
const rule = (expression: string, message: string) => ({ rule: expression, message });

const version = (schema: object, more: object = {}) => ({
  name: "v1alpha1",
  served: true,
  storage: true,
  subresources: { status: {} },
  schema: { openAPIV3Schema: schema },
  ...more,
});

export const definition = (kind: string, spec: object) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${kind.toLowerCase()}s.example.com` },
  spec: { group: "example.com", scope: "Namespaced", names: { kind, plural: `${kind.toLowerCase()}s` }, ...spec },
});

const MOVE_SPEC = {
  type: "object",
  required: ["machine"],
  properties: {
    machine: { type: "object", required: ["name"], properties: { name: { ...text, minLength: 1 } } },
    cause: { ...text, enum: ["Operator", "Eviction", "Preemption"], default: "Operator" },
    intent: { ...text, enum: ["Move", "Withdrawn"], default: "Move" },
    deadline: { ...text, format: "date-time" },
  },
  "x-kubernetes-validations": [
    rule("self.machine == oldSelf.machine", "machine is immutable"),
    rule("self.cause == oldSelf.cause", "cause is immutable"),
    rule("has(self.deadline) == has(oldSelf.deadline)", "deadline is immutable"),
    {
      ...rule("!(oldSelf.intent == 'Withdrawn' && self.intent == 'Move')", "x"),
      messageExpression: "'from ' + oldSelf.intent + ' to ' + self.intent",
      reason: "FieldValueForbidden",
      fieldPath: ".intent",
    },
  ],
};

const CONDITION = {
  type: "object",
  required: ["type", "status"],
  properties: { type: text, status: { ...text, enum: ["True", "False", "Unknown"] }, reason: text, message: text },
};

/** Namespaced; its spec is immutable except for one field. */
export const MOVES = definition("Move", {
  names: { kind: "Move", plural: "moves", shortNames: ["mv"], categories: ["machines"] },
  versions: [
    version(
      {
        type: "object",
        required: ["spec"],
        properties: {
          spec: MOVE_SPEC,
          status: {
            type: "object",
            default: { phase: "Pending" },
            properties: {
              phase: { ...text, default: "Pending" },
              node: text,
              attempts: { type: "integer", minimum: 0 },
              completionTime: { ...text, format: "date-time" },
              conditions: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
                items: CONDITION,
              },
            },
          },
        },
      },
      {
        selectableFields: [{ jsonPath: ".spec.machine.name" }, { jsonPath: ".status.phase" }],
        additionalPrinterColumns: [
          { name: "Machine", type: "string", jsonPath: ".spec.machine.name" },
          { name: "Phase", type: "string", jsonPath: ".status.phase", description: "How far it is" },
          { name: "Attempts", type: "integer", jsonPath: ".status.attempts" },
          { name: "Moved", type: "string", jsonPath: '.status.conditions[?(@.type=="Moved")].status', priority: 1 },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
      },
    ),
  ],
});

/** Cluster-scoped, with a single object. */
export const SETTINGS = definition("Setting", {
  scope: "Cluster",
  versions: [
    version({
      type: "object",
      properties: {
        spec: {
          type: "object",
          default: {},
          properties: {
            attempts: { type: "integer", format: "int32", minimum: 1, maximum: 10, default: 3 },
            wait: { type: "object", default: {}, properties: { seconds: { type: "integer", default: 60 } } },
            gates: {
              type: "object",
              maxProperties: 2,
              additionalProperties: { type: "boolean" },
              "x-kubernetes-validations": [
                rule("self.all(gate, gate in ['Alpha', 'Beta', 'Gamma'])", "known gates are Alpha, Beta, Gamma"),
              ],
            },
            zones: { type: "array", "x-kubernetes-list-type": "set", items: text },
            port: { "x-kubernetes-int-or-string": true },
            free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            template: {
              type: "object",
              "x-kubernetes-embedded-resource": true,
              "x-kubernetes-preserve-unknown-fields": true,
            },
            note: { ...text, nullable: true, default: "none" },
            on: { type: "boolean" },
          },
        },
        status: { type: "object", properties: { ready: { type: "boolean" } } },
      },
      "x-kubernetes-validations": [rule("self.metadata.name == 'the'", "there is one, and its name is the")],
    }),
  ],
});

export const DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const MOVES_PATH = "/apis/example.com/v1alpha1/namespaces/default/moves";
export const SETTINGS_PATH = "/apis/example.com/v1alpha1/settings";

const API_VERSION = "example.com/v1alpha1";

export const move = (spec: object, more: object = {}) => ({
  apiVersion: API_VERSION,
  kind: "Move",
  metadata: { name: "m" },
  spec: { machine: { name: "web" }, ...spec },
  ...more,
});

export const setting = (spec: object, name = "the") => ({
  apiVersion: API_VERSION,
  kind: "Setting",
  metadata: { name },
  spec,
});

export interface Asked extends Started {
  post(path: string, body: object): Promise<Response>;
  put(path: string, body: object): Promise<Response>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  merge(path: string, body: object): Promise<Response>;
  /** Removes the objects of both kinds. */
  tidy(): Promise<void>;
}

export const NOW = "2026-11-22T12:00:00Z";

/** A server with the definitions installed. */
export async function startWith(...definitions: readonly object[]): Promise<Asked> {
  const started = await start({ now: () => new Date(NOW) });
  const send = (request: Request) => started.admin.send(request);
  const post = (path: string, body: object) => send({ method: "POST", path, body });
  for (const body of definitions) expect(await post(DEFINITIONS_PATH, body)).toMatchObject({ code: 201 });
  return {
    ...started,
    post,
    put: (path, body) => send({ method: "PUT", path, body }),
    get: (path, headers = {}) => send({ method: "GET", path, headers }),
    merge: (path, body) => send({ method: "PATCH", path, body, type: "application/merge-patch+json" }),
    tidy: async () => {
      for (const path of [MOVES_PATH, SETTINGS_PATH]) await send({ method: "DELETE", path });
    },
  };
}
