/** The shipped CustomResourceDefinition in an API server: what an Evacuation may ask for, and what of that may change. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { answerOf, type Stage, startStage, VM } from "./evacuation-stage.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

let stage: Stage;
beforeAll(async () => void (stage = await startStage()));
afterAll(() => stage.sandbox.stop());

const TIME = "2026-11-22T12:00:00Z";
const LATER = "2026-11-22T13:00:00Z";
const FULL = {
  ...VM,
  cause: "Preemption",
  requestedBy: "system:kube-scheduler",
  deadline: TIME,
  pod: { name: "virt-launcher-web-1-abcde", uid: "9f3c2a71" },
  inherited: { attempts: 2, notBefore: TIME },
};

describe("an Evacuation as it is created", () => {
  test("needs the name of a VM only", async () => {
    const { body } = await stage.post(VM);
    expect(body).toHaveProperty("spec", { ...VM, cause: "Operator", intent: "Evacuate" });
  });

  test("keeps what it says", async () => {
    const spec = { ...FULL, intent: "Withdrawn" };
    expect((await stage.post(spec)).body).toHaveProperty("spec", spec);
  });

  test("loses what the kind does not have, with a warning", async () => {
    const answer = await stage.post({ ...VM, node: "n" }, { urgency: "high" });
    expect(answer.body).not.toHaveProperty("urgency");
    expect(answer.body).not.toHaveProperty("spec.node");
    expect(answer.headers["warning"]).toContain('unknown field \\"spec.node\\"');
  });

  test("has no status", async () => {
    const answer = await stage.post(VM, { status: { phase: "Moved" } });
    expect(answer).toMatchObject({ code: 201, body: { spec: VM } });
    expect(answer.body).not.toHaveProperty("status");
  });

  // prettier-ignore
  test.each<[string, object | undefined, string]>([
    ["no spec",               undefined,                                                     "spec: Required value"],
    ["no VM",                 {},                                                            "spec.virtualMachineInstance: Required value"],
    ["a VM without a name",   { virtualMachineInstance: {} },                                "spec.virtualMachineInstance.name: Required value"],
    ["an empty name",         { virtualMachineInstance: { name: "" } },                      "spec.virtualMachineInstance.name: Invalid value"],
    ["a path for a name",     { virtualMachineInstance: { name: "../pods/x" } },             "spec.virtualMachineInstance.name: Invalid value"],
    ["a name that is no name", { virtualMachineInstance: { name: "Web" } },                  "spec.virtualMachineInstance.name: Invalid value"],
    ["a long name",           { virtualMachineInstance: { name: "x".repeat(254) } },         "may not be more than 253"],
    ["an unknown cause",      { ...VM, cause: "Whim" },                                      'spec.cause: Unsupported value: "Whim"'],
    ["an unknown intent",     { ...VM, intent: "Stop" },                                     'spec.intent: Unsupported value: "Stop"'],
    ["a long requester",      { ...VM, requestedBy: "x".repeat(1025) },                      "may not be more than 1024"],
    ["a deadline, some day",  { ...VM, deadline: "tomorrow" },                               "spec.deadline: Invalid value"],
    ["a pod without a UID",   { ...VM, pod: { name: "p" } },                                 "spec.pod.uid: Required value"],
    ["attempts below none",   { ...VM, inherited: { attempts: -1 } },                        "spec.inherited.attempts: Invalid value"],
    ["too many attempts",     { ...VM, inherited: { attempts: 1001 } },                      "spec.inherited.attempts: Invalid value"],
  ])("with %s is refused", async (_, spec, words) => {
    expect(answerOf(await stage.post(spec))).toEqual([422, expect.stringContaining(words)]);
  });
});

describe("a change of the spec", () => {
  const IMMUTABLE = "only intent and retryAt can change: create another Evacuation for anything else";
  const RESUMED = "a withdrawn Evacuation cannot be resumed: create another one";
  const WITHDRAWN = { ...VM, intent: "Withdrawn" };
  const MARKED = { ...VM, requestedBy: "KubeVirt" };

  // prettier-ignore
  test.each<[string, object, object, string | undefined]>([
    // of                     from        to                                              is refused with
    ["nothing",               FULL,       FULL,                                           undefined],
    ["intent",                FULL,       { intent: "Withdrawn" },                        undefined],
    ["intent, again",         WITHDRAWN,  { intent: "Withdrawn" },                        undefined],
    ["intent, back",          WITHDRAWN,  { intent: "Evacuate" },                         RESUMED],
    ["intent, to its default", WITHDRAWN, { intent: null },                               RESUMED],
    ["the VM",                VM,         { virtualMachineInstance: { name: "other" } },  IMMUTABLE],
    ["cause",                 VM,         { cause: "ApiEviction" },                       IMMUTABLE],
    ["cause, to its default", FULL,       { cause: null },                                IMMUTABLE],
    ["requestedBy",           FULL,       { requestedBy: "x" },                           IMMUTABLE],
    ["requestedBy, new",      VM,         { requestedBy: "x" },                           IMMUTABLE],
    ["requestedBy, found marked", MARKED, { requestedBy: "x" },                           undefined],
    ["… gone",                MARKED,     { requestedBy: null },                          IMMUTABLE],
    ["requestedBy, gone",     FULL,       { requestedBy: null },                          IMMUTABLE],
    ["deadline",              FULL,       { deadline: LATER },                            IMMUTABLE],
    ["deadline, new",         VM,         { deadline: TIME },                             IMMUTABLE],
    ["deadline, gone",        FULL,       { deadline: null },                             IMMUTABLE],
    ["the pod's name",        FULL,       { pod: { name: "x" } },                         IMMUTABLE],
    ["the pod's UID",         FULL,       { pod: { uid: "x" } },                          IMMUTABLE],
    ["pod, new",              VM,         { pod: FULL.pod },                              IMMUTABLE],
    ["pod, gone",             FULL,       { pod: null },                                  IMMUTABLE],
    ["inherited attempts",    FULL,       { inherited: { attempts: 0 } },                 IMMUTABLE],
    ["inherited back-off",    FULL,       { inherited: { notBefore: null } },             IMMUTABLE],
    ["inherited, new",        VM,         { inherited: {} },                              IMMUTABLE],
    ["inherited, gone",       FULL,       { inherited: null },                            IMMUTABLE],
    ["intent and cause",      VM,         { intent: "Withdrawn", cause: "NodePressure" }, IMMUTABLE],
  ])("%s", async (_, from, to, words) => {
    const [code, message] = answerOf(await stage.patch(await stage.created(from), { spec: to }));
    expect([code, message]).toEqual(words === undefined ? [200, ""] : [422, expect.stringContaining(words)]);
  });
});

test("every field is described, and every text, list and number is bounded", () => {
  const [definition] = readManifests("crds/evacuations.yaml");
  const [version] = Spec.parse(definition?.["spec"]).versions;
  expect(version && incompleteIn(version.schema.openAPIV3Schema, "")).toEqual([]);
});

const Schema = z.looseObject({
  type: z.string(),
  get properties() {
    return z.optional(z.record(z.string(), Schema));
  },
  get items() {
    return z.optional(Schema);
  },
});
type Schema = z.infer<typeof Schema>;
const Spec = z.object({ versions: z.array(z.object({ schema: z.object({ openAPIV3Schema: Schema }) })) });

const BOUNDS: Readonly<Record<string, readonly string[]>> = {
  string: ["maxLength", "enum", "format"],
  array: ["maxItems"],
  integer: ["minimum"],
};

function incompleteIn(schema: Schema, path: string, isItem = false): readonly string[] {
  const bounds = BOUNDS[schema.type] ?? [];
  const isBounded = bounds.length === 0 || bounds.some((bound) => schema[bound] !== undefined);
  const isComplete = isBounded && (isItem || schema["description"] !== undefined);
  const fields = Object.entries(schema.properties ?? {});
  return [
    ...(isComplete ? [] : [path]),
    ...fields.flatMap(([name, field]) => incompleteIn(field, `${path}.${name}`)),
    ...(schema.items ? incompleteIn(schema.items, `${path}[]`, true) : []),
  ];
}
