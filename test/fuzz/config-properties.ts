/**
 * What every parser keeps to, whatever the text: it has an answer, what is wrong has a field and an expectation, the
 * secret that stands there is not repeated, and what is accepted can be used.
 * Owns: that, of CLUSTERS, the registry, LifeboatConfiguration, the descheduler policy, what we keep in
 * ConfigMaps, and Standard Webhooks headers. Does not own: what is right (test/config).
 */
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { timeoutSeconds } from "../../functions/admission-review.ts";
import { isSigned } from "../../functions/webhook-signature.ts";
import { quantity } from "../../shared/cluster/quantity.ts";
import { deschedulingRegisterOf } from "../../shared/descheduling/reads/register-schema.ts";
import { parseClusters, parseRegistryEntry, problemsOf } from "../../shared/config/clusters.ts";
import { parseDeschedulerPolicy } from "../../shared/descheduling/policy-file/parse-descheduler-policy.ts";
import { parseConfiguration } from "../../shared/config/lifeboat-configuration.ts";
import type { ConfigProblem, Parsed } from "../../shared/config/problem.ts";
import { countsOf } from "../../shared/policy/counters.ts";
import { expectForeseen, expectUsable } from "./accepted.ts";
import { canaryIn, SECRETS } from "./canaries.ts";
import { DESCHEDULER_POLICY } from "./corpus.ts";
import { type Json, mutated } from "./json-mutations.ts";
import { edgeConfiguration, edgeEntry } from "./edge-configurations.ts";
import { expect } from "./expectations.ts";
import { settings, unforeseen } from "./policy-settings.ts";
import { asyncProperty, type Property, property } from "./property.ts";
import { Random } from "./random.ts";
import { signatureOf } from "./requests/credentials.ts";
import { mutatedText } from "./text-mutations.ts";

const { token, webhookToken, operatorToken, relaySecret, oldRelaySecret, header } = SECRETS;
const ENTRY: Json = {
  server: "https://api.example.com",
  token,
  webhookToken,
  operatorToken,
  relaySecret: [relaySecret, oldRelaySecret],
  headers: { "x-access": header },
};
const CONFIGURATION: Json = {
  featureGates: { DeschedulerSupport: true },
  marking: "Auto",
  reconcilers: { evacuation: true, budget: "Auto" },
  evacuation: { maxAttempts: 5, backoffSeconds: 20, maxBackoffSeconds: 320, adoptSeconds: 60 },
  guard: { mode: "Hold", deadlineSeconds: { Preemption: 120 }, maxHolds: 8, requesters: [token] },
  descheduling: { intervalSeconds: 0 },
};

/** Valid, a little changed, in its structure and then in its text. */
function almost(valid: Json, render: (value: Json) => string): fc.Arbitrary<string> {
  return fc.record({ seed: fc.nat(), times: fc.constantFrom(0, 1, 1, 2, 8), text: fc.boolean() }).map((how) => {
    const random = new Random(how.seed);
    const text = render(mutated(valid, random, how.times));
    return how.text ? mutatedText(text, random) : text;
  });
}

function almostAnyOf(valid: Json): fc.Arbitrary<Json> {
  return fc
    .record({ seed: fc.nat(), times: fc.constantFrom(0, 1, 1, 2, 8) })
    .map(({ seed, times }) => mutated(valid, new Random(seed), times));
}

function texts(valid: Json, render: (value: Json) => string): fc.Arbitrary<string> {
  return fc.oneof({ weight: 6, arbitrary: almost(valid, render) }, fc.json(), fc.string({ unit: "binary" }));
}

/** As people write it. What YAML has no words for stays JSON, which it also is. */
function yaml(value: unknown): string {
  try {
    return dump(value);
  } catch {
    return JSON.stringify(value);
  }
}

function expectProblems(problems: readonly ConfigProblem[], root: string): void {
  for (const { field, message } of problems) {
    expect(field.startsWith(root), `a problem with ${field}`);
    expect(message !== "", "a problem without a word");
    expect(canaryIn(`${field} ${message}`) === undefined, `a problem that tells a secret: ${field}: ${message}`);
  }
}

function expectParsed(parsed: Parsed<unknown>, root: string): void {
  if (parsed.ok) return;
  expect(parsed.problems.length > 0, "no, but why?");
  expectProblems(parsed.problems, root);
}

const registerText = JSON.stringify({ revision: 1, lastCycle: "2026-11-20T12:00:00Z", reservations: [], counts: [] });
const kept = texts(JSON.parse(registerText), JSON.stringify);

const NOW = new Date("2026-11-20T12:00:00.000Z");
const SECONDS = String(NOW.getTime() / 1000);
const delivery = fc.record({
  payload: fc.string({ unit: "grapheme" }),
  id: fc.oneof(fc.constant("msg_1"), fc.string()),
  timestamp: fc.oneof(
    fc.constant(SECONDS),
    fc.integer({ min: -301, max: 301 }).map((s) => String(Number(SECONDS) + s)),
    fc.string(),
  ),
  secret: fc.constantFrom(relaySecret, oldRelaySecret, `whsec_${btoa("of nobody")}`),
  around: fc.tuple(fc.constantFrom("", "v1,AAAA ", "v1a,x ", " "), fc.constantFrom("", " v1,", " v2,AAAA", "x")),
});

const BOTH = ["accepted", "refused"];

function outcomeOf({ ok }: { readonly ok: boolean }): string {
  return ok ? "accepted" : "refused";
}

export const CONFIG_PROPERTIES: readonly Property[] = [
  asyncProperty(
    "CLUSTERS",
    texts({ prod: ENTRY, lab: ENTRY }, JSON.stringify),
    async (text) => {
      const clusters = parseClusters(text);
      expectProblems(problemsOf(clusters), "CLUSTERS");
      const entries = clusters.ok ? [...clusters.value.values()] : [];
      for (const entry of entries) if (entry.ok) await expectUsable(entry.value);
      return entries.map(outcomeOf);
    },
    BOTH,
  ),
  asyncProperty(
    "a registry entry",
    fc.oneof(
      texts(ENTRY, JSON.stringify),
      edgeEntry.map((entry) => JSON.stringify(entry)),
    ),
    async (text) => {
      const parsed = parseRegistryEntry(text, "kv");
      expectParsed(parsed, "CLUSTER_REGISTRY.kv");
      if (parsed.ok) await expectUsable(parsed.value);
      return outcomeOf(parsed);
    },
    BOTH,
  ),
  property(
    "LifeboatConfiguration",
    fc.oneof(almostAnyOf(CONFIGURATION), fc.jsonValue(), edgeConfiguration),
    (spec) => {
      const parsed = parseConfiguration(spec);
      expectParsed(parsed, "spec");
      if (parsed.ok) expectForeseen(parsed.value);
      return outcomeOf(parsed);
    },
    BOTH,
  ),
  property("settings that the policy is tried with could be configured", settings, (drawn) => {
    const fields = unforeseen(drawn);
    expect(fields.length === 0, fields.join(", "));
  }),
  asyncProperty("the descheduler policy", texts(DESCHEDULER_POLICY, yaml), async (text) => {
    expectParsed(await parseDeschedulerPolicy(text), "policy.yaml");
  }),
  property("what is kept in the cluster: a register, counters", kept, (text) => {
    const map = { uid: "u", resourceVersion: "1", data: { "register.json": text } };
    expect(Number.isSafeInteger(deschedulingRegisterOf(map).revision), "no revision");
    const counts = countsOf({ "Preemption.Moved": text });
    expect(
      counts.every(({ count }) => Number.isInteger(count) && count >= 0),
      "a count that is no number",
    );
  }),
  property(
    "a quantity",
    fc.oneof(fc.string(), fc.stringMatching(/^[+-]?[0-9.]{1,400}([eE][+-]?[0-9]{1,4})?[a-zA-Z]{0,2}$/)),
    (text) => {
      expect(Number.isFinite(quantity(text)), `${text} is ${quantity(text)}`);
    },
  ),
  property(
    "a timeout",
    fc.oneof(fc.string(), fc.stringMatching(/^([0-9.]{1,400}(ns|us|µs|ms|s|m|h)){1,3}$/)),
    (text) => {
      const seconds = timeoutSeconds(text);
      expect(seconds > 0 && seconds <= 30, `${text} is ${seconds} s`);
    },
  ),
  asyncProperty("Standard Webhooks headers", delivery, async ({ payload, id, timestamp, secret, around }) => {
    const right = signatureOf(payload, id, timestamp, secret);
    const signature = around.join(right);
    const fresh = /^\d{1,12}$/.test(timestamp) && Math.abs(Number(timestamp) - Number(SECONDS)) <= 300;
    const known = secret === relaySecret || secret === oldRelaySecret;
    const expected = id !== "" && fresh && known && signature.split(" ").includes(right);
    const headers = { id, timestamp, signature };
    expect((await isSigned(payload, headers, [relaySecret, oldRelaySecret], NOW)) === expected, `expected ${expected}`);
  }),
  asyncProperty(
    "any headers at all are no signature",
    fc.tuple(fc.string(), fc.string(), fc.string()),
    async ([id, timestamp, signature]) => {
      expect(!(await isSigned("[]", { id, timestamp, signature }, [relaySecret], NOW)), "signed by chance");
    },
  ),
];
