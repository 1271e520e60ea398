/** Tests LifeboatConfigurations in the API server: invalid specs, and the defaults. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { applyManifests, type Manifest as Applied, type Sandbox, startSandbox } from "../../../infra/sandbox/index.ts";
import { definitions, lifeboatConfigurations } from "../../../infra/lab/stage/apply.ts";
import { defaultConfiguration, parseConfiguration } from "../../../shared/settings/configuration.ts";
import { FEATURE_GATES } from "../../../shared/settings/settings.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

const KEY = { name: "lifeboat" };
const GATES = FEATURE_GATES.slice(0, -1).join(", ");
const UNKNOWN_GATE = `unknown feature gate: expected ${GATES} or ${FEATURE_GATES.at(-1)}`;

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  const manifests: readonly Applied[] = definitions();
  await applyManifests(sandbox.client, manifests);
});
afterAll(() => sandbox.stop());

async function send(spec: unknown, name = KEY.name) {
  const { apiVersion, kind, plural } = lifeboatConfigurations;
  const { code, body } = await sandbox.client.raw({
    method: "POST",
    path: `/apis/${apiVersion}/${plural}?dryRun=All&fieldValidation=Strict`,
    body: { apiVersion, kind, metadata: { name }, spec },
  });
  return { code, ...z.object({ message: z.optional(z.string()), spec: z.optional(z.unknown()) }).parse(body) };
}

describe("the API server refuses a configuration, and names field and expectation, for", () => {
  // prettier-ignore
  test.each<[string, unknown, ...string[]]>([
    // what                          spec                                                                    message
    ["an unknown feature gate",              { featureGates: { Magic: true } },                                      "spec.featureGates", UNKNOWN_GATE],
    ["a setting of release 0.1",             { reconcilers: { evacuation: false } },                                 'unknown field "spec.reconcilers"'],
    ["maxAttempts 0",                   { evacuation: { maxAttempts: 0 } },                                     "spec.evacuation.maxAttempts", "greater than or equal to 1"],
    ["more than a week",             { guard: { deadlineSeconds: { Preemption: 604_801 } } },                "spec.guard.deadlineSeconds.Preemption", "less than or equal to 604800"],
    ["a maximum back-off below the first", { evacuation: { backoffSeconds: 9, maxBackoffSeconds: 5 } },      "spec.evacuation.maxBackoffSeconds", "must not be less than backoffSeconds"],
    ["a requester without a name",  { guard: { nodeTerminators: [""] } },                                   "spec.guard.nodeTerminators[0]", "at least 1"],
  ])("%s", async (_, spec, ...said) => {
    const { code, message } = await send(spec);
    expect(code).toBeGreaterThanOrEqual(400);
    for (const words of said) expect(message).toContain(words);
  });
});

test("the API server refuses a configuration with another name", async () => {
  const message = "metadata.name: expected lifeboat, because Lifeboat reads no other LifeboatConfiguration";
  expect(await send({}, "mine")).toMatchObject({ code: 422, message: expect.stringContaining(message) });
});

describe("the API server accepts a configuration with", () => {
  // prettier-ignore
  test.each([
    ["fractions of seconds", { evacuation: { backoffSeconds: 0.25, maxBackoffSeconds: 0.5, adoptSeconds: 0 } }],
    ["all feature gates",    { featureGates: Object.fromEntries(FEATURE_GATES.map((gate) => [gate, true])) }],
  ])("%s, and Lifeboat parses the same values", async (_, spec) => {
    const answer = await send(spec);
    expect(answer).toMatchObject({ code: 201, spec });
    expect(parseConfiguration(answer.spec)).toEqual(parseConfiguration(spec));
  });
});

test("the example configuration has every field with its default", async () => {
  const [example] = readManifests("optional/configuration/configuration.yaml");
  const featureGates = Object.fromEntries(FEATURE_GATES.map((gate) => [gate, false]));
  expect(example).toMatchObject({ kind: "LifeboatConfiguration", metadata: KEY });
  expect(example?.["spec"]).toEqual({ ...defaultConfiguration(), featureGates });
  expect(await send(example?.["spec"])).toMatchObject({ code: 201 });
});
