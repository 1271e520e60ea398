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

  // prettier-ignore
  test.each<[string, object | undefined, string]>([
    ["no spec",               undefined,                                                     "spec: Required value"],
    ["a path for a name",     { virtualMachineInstance: { name: "../pods/x" } },             "spec.virtualMachineInstance.name: Invalid value"],
    ["an unknown cause",      { ...VM, cause: "Whim" },                                      'spec.cause: Unsupported value: "Whim"'],
    ["a pod without a UID",   { ...VM, pod: { name: "p" } },                                 "spec.pod.uid: Required value"],
    ["a restart by hand",     { ...VM, by: "Restart" },                                      "expected with the cause NodeEvacuation only"],
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
    ["intent",                FULL,       { intent: "Withdrawn" },                        undefined],
    ["intent, back",          WITHDRAWN,  { intent: "Evacuate" },                         RESUMED],
    ["the VM",                VM,         { virtualMachineInstance: { name: "other" } },  IMMUTABLE],
    ["cause",                 VM,         { cause: "ApiEviction" },                       IMMUTABLE],
    ["requestedBy",           FULL,       { requestedBy: "x" },                           IMMUTABLE],
    ["requestedBy, found marked", MARKED, { requestedBy: "x" },                           undefined],
    ["deadline",              FULL,       { deadline: LATER },                            IMMUTABLE],
    ["inherited attempts",    FULL,       { inherited: { attempts: 0 } },                 IMMUTABLE],
  ])("%s", async (_, from, to, words) => {
    const [code, message] = answerOf(await stage.patch(await stage.created(from), { spec: to }));
    expect([code, message]).toEqual(words === undefined ? [200, ""] : [422, expect.stringContaining(words)]);
  });
});

test.each(["evacuations", "nodeevacuations"])("every field of %s is described, and every value bounded", (plural) => {
  const [definition] = readManifests(`crds/${plural}.yaml`);
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
