/** The form of the contract: rows of a question (a request) and its answer, asked one after another in a namespace of their own. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Request, Response, Target } from "./client.ts";
import { connect } from "./target.ts";
import { valueAt } from "./value-at.ts";

/** Dotted paths into the answer with their expected values; undefined: there must be none. */
export interface Answer {
  readonly code: number;
  readonly reason?: string | undefined;
  readonly message?: string | RegExp;
  readonly [path: string]: unknown;
}

export interface Scenario {
  readonly target: () => Target;
  readonly namespace: string;
  /** A step that later rows depend on. */
  readonly given: (title: string, request: Request) => void;
  readonly asks: (title: string, request: Request | (() => Request), answer: Answer) => void;
  /** For checks that do not fit into one row. */
  readonly checks: (title: string, check: (send: Target["send"]) => Promise<void>) => void;
}

let scenarios = 0;

export function contract(title: string, write: (scenario: Scenario) => void): void {
  describe(title, () => {
    const namespace = `contract-${process.pid}-${scenarios++}`;
    let target: Target;
    beforeAll(async () => {
      target = await connect();
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      await succeed(target, { method: "POST", path: "/api/v1/namespaces", body });
      for (const definition of DEFINITIONS) await install(target, definition);
    });
    afterAll(async () => {
      try {
        await target.send({ method: "DELETE", path: `/api/v1/namespaces/${namespace}` });
      } finally {
        await target.stop();
      }
    });
    const placed = (request: Request): Request => ({ ...request, path: request.path.replaceAll("{ns}", namespace) });
    write({
      target: () => target,
      namespace,
      given: (step, request) => test(step, () => succeed(target, placed(request))),
      asks: (question, request, answer) =>
        test(question, async () => {
          const response = await target.send(placed(typeof request === "function" ? request() : request));
          compare(response, answer);
        }),
      checks: (question, check) => test(question, () => check((request) => target.send(placed(request)))),
    });
  });
}

async function succeed(target: Target, request: Request): Promise<void> {
  const response = await target.send(request);
  expect(response.code, response.text).toBeLessThan(300);
}

export function compare(response: Response, { code, message, ...fields }: Answer): void {
  const seen: Record<string, unknown> = { code: response.code };
  for (const path of Object.keys(fields)) seen[path] = valueAt(response.body, path);
  expect(seen, response.text).toEqual({ code, ...fields });
  if (typeof message === "string") expect(response.body.message).toBe(message);
  if (message instanceof RegExp) expect(response.body.message).toMatch(message);
}

const EXAMPLE = "contract.example.com";

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

const GIZMO = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1 },
        colour: { type: "string", enum: ["red", "blue"], default: "red" },
        name: { type: "string", pattern: "^[a-z]+$" },
        free: ANYTHING,
        labels: { type: "object", additionalProperties: { type: "string" } },
        parts: { type: "array", maxItems: 2, items: { type: "object", properties: { id: { type: "string" } } } },
      },
    },
  },
};

/** Widgets have a status subresource, gadgets have none; gizmos have a schema. */
const DEFINITIONS = [
  definition("Widget", "widgets", { subresources: { status: {} } }),
  definition("Gadget", "gadgets", {}),
  definition("Gizmo", "gizmos", { schema: { openAPIV3Schema: GIZMO } }),
];

function definition(kind: string, plural: string, more: object): Record<string, unknown> {
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: ANYTHING }, ...more };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${EXAMPLE}` },
    spec: { group: EXAMPLE, scope: "Namespaced", names: { kind, plural }, versions: [version] },
  };
}

async function install(target: Target, body: Record<string, unknown>): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const { code, text } = await target.send({ method: "POST", path, body });
  expect([201, 409], text).toContain(code);
  const plural = String(valueAt(body, "spec.names.plural"));
  const list: Request = { method: "GET", path: `/apis/${EXAMPLE}/v1/${plural}` };
  await vi.waitFor(async () => expect((await target.send(list)).code).toBe(200), { timeout: 10_000 });
}
