/**
 * What every parser keeps to, whatever the text: it has an answer, what is wrong has a field and an expectation, the secret that stands
 * there is not repeated, and what is accepted can be used.
 */
import * as fc from "fast-check";
import { dump } from "js-yaml";
import { timeoutSeconds } from "../../../functions/review.ts";
import { quantity } from "../../../shared/kube/schemas/fields.ts";
import { parseClusters, parseRegistryEntry, problemsOf } from "../../../shared/settings/clusters.ts";
import { parseConfiguration } from "../../../shared/settings/configuration.ts";
import type { ConfigProblem, Parsed } from "../../../shared/settings/problem.ts";
import { parseDeschedulerPolicy } from "../../../shared/descheduling/policy-file.ts";
import { DESCHEDULER_POLICY } from "../../support/generators/clusters.ts";
import { almostText, mutated } from "../../support/generators/json.ts";
import { configuration, edgeConfiguration } from "../../support/generators/settings.ts";
import { expectForeseen, expectUsable } from "./accepted.ts";
import { canaryIn, ENTRY } from "./canaries.ts";
import { entry } from "./entries.ts";
import { expect } from "./expectations.ts";
import { type Property, property } from "./property.ts";

const VALID = { server: "https://api.example.com", ...ENTRY };

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

function expectParsed(parsed: Parsed<unknown>, root: string): string {
  if (parsed.ok) return "accepted";
  expect(parsed.problems.length > 0, "no, but why?");
  expectProblems(parsed.problems, root);
  return "refused";
}

const BOTH = ["accepted", "refused"];

export const CONFIG_PROPERTIES: readonly Property[] = [
  property(
    "CLUSTERS",
    almostText({ prod: VALID, lab: VALID }),
    async (text) => {
      const clusters = parseClusters(text);
      expectProblems(problemsOf(clusters), "CLUSTERS");
      const entries = clusters.ok ? [...clusters.value.values()] : [];
      for (const one of entries) if (one.ok) await expectUsable(one.value);
      return entries.map(({ ok }) => (ok ? "accepted" : "refused"));
    },
    BOTH,
  ),
  property(
    "a registry entry",
    fc.oneof(
      almostText(VALID),
      entry.map((one) => JSON.stringify(one)),
    ),
    async (text) => {
      const parsed = parseRegistryEntry(text, "kv");
      if (parsed.ok) await expectUsable(parsed.value);
      return expectParsed(parsed, "CLUSTER_REGISTRY.kv");
    },
    BOTH,
  ),
  property(
    "LifeboatConfiguration",
    fc.oneof(mutated(configuration), fc.jsonValue(), edgeConfiguration),
    (spec) => {
      const parsed = parseConfiguration(spec);
      if (parsed.ok) expectForeseen(parsed.value);
      return expectParsed(parsed, "spec");
    },
    BOTH,
  ),
  property(
    "the descheduler policy",
    almostText(DESCHEDULER_POLICY, yaml),
    async (text) => expectParsed(await parseDeschedulerPolicy(text), "policy.yaml"),
    BOTH,
  ),
  property(
    "a quantity",
    fc.oneof(fc.string(), fc.stringMatching(/^[+-]?[0-9.]{1,400}([eE][+-]?[0-9]{1,4})?[a-zA-Z]{0,2}$/)),
    (text) => expect(Number.isFinite(quantity(text)), `${text} is ${quantity(text)}`),
  ),
  property(
    "a timeout",
    fc.oneof(fc.string(), fc.stringMatching(/^([0-9.]{1,400}(ns|us|µs|ms|s|m|h)){1,3}$/)),
    (text) => {
      const seconds = timeoutSeconds(text);
      expect(seconds > 0 && seconds <= 30, `${text} is ${seconds} s`);
    },
  ),
];
