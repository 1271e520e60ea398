/** Tests the conditions of the LifeboatConfiguration. */
import { expect, test } from "vitest";
import {
  type ConfigurationFindings,
  guardProblem,
  isUndecided,
  reportConditions,
  reportUndecided,
} from "../../shared/settings/conditions.ts";
import type { ConfigurationObserved } from "../../shared/kube/facts.ts";
import { at, NOW } from "../support/fixtures.ts";

const NEW: ConfigurationObserved = { resourceVersion: "7", generation: 3, conditions: [] };
const GOOD: ConfigurationFindings = {
  problems: [],
  notes: [],
  lacking: [],
  credential: { ok: true, reason: "Valid", message: "accepted" },
  webhooks: [],
  called: false,
  holds: undefined,
};
const wrong = (reason: "WebhookMissing" | "WebhookMisconfigured", ...messages: readonly string[]) => ({
  webhooks: messages.map((message) => ({ endpoint: "evictions", problem: { reason, message } }) as const),
});
const WRONG = wrong("WebhookMisconfigured", "lifeboat: a", "lifeboat: b");
const life = (notAfter: Date) => ({
  webhooks: [{ endpoint: "evictions", chain: [{ notBefore: at(0), notAfter }] } as const],
});
const DAY = 86_400;
const lacking = ["list pods", "patch kubevirt.io/virtualmachineinstances"];

function reported(findings: Partial<ConfigurationFindings>, observed = NEW, now = NOW) {
  const [action] = reportConditions(observed, { ...GOOD, ...findings }, now);
  return action?.verb === "WriteConditions" ? action : undefined;
}

// prettier-ignore
test.each<[string, Partial<ConfigurationFindings>, string, string]>([
  ["valid",                            {},                                      "Valid",     "True Valid: The whole configuration applies"],
  ["a valid configuration with a note",               { notes: ["x has no effect"] },          "Valid",     "True Valid: The whole configuration applies; x has no effect"],
  ["a configuration with two problems",                     { problems: ["a: b", "c: d"] },          "Valid",     "False InvalidConfiguration: a: b; c: d. These fields have their defaults, unknown gates are off, and the other fields apply"],
  ["all needed permissions",   {},                                      "Permitted", "True Granted: Lifeboat has the permissions that this configuration needs"],
  ["missing permissions",          { lacking },                            "Permitted", "False Forbidden: the service account is not allowed to list pods, patch kubevirt.io/virtualmachineinstances"],
  ["no call of the webhook yet",      {},                                      "WebhookCalled", "Unknown NotObserved: Lifeboat has no record of an eviction review in this cluster, which is normal after an installation"],
  ["a call of the webhook",              { called: true },                        "WebhookCalled", "True Called: The API server asks Lifeboat about evictions"],
  ["wrong webhooks",             { called: true, ...WRONG },              "WebhookCalled", "False WebhookMisconfigured: lifeboat: a; lifeboat: b"],
  ["a missing webhook",              { called: true, ...wrong("WebhookMissing", "a") }, "WebhookCalled", "False WebhookMissing: a"],
  ["policies that hold",           { holds: { reason: "Holds", message: "m" } }, "GuardHolds", "True Holds: m"],
  ["a missing policy of the guard", { holds: { reason: "PolicyMissing", message: "m", fix: "f" } }, "GuardHolds", "False PolicyMissing: m. To fix this: f"],
  ["no policy of the guard",       {},                                      "GuardHolds", "undefined undefined: undefined"],
  ["an accepted token",            {},                                      "CredentialsValid", "True Valid: accepted"],
  ["a Worker, whose certificate is unknown", {},                                  "CertificateValid", "undefined undefined: undefined"],
  ["a valid certificate",         life(at(3650 * DAY)),                    "CertificateValid", "True Valid: The certificate of Lifeboat's webhooks is valid until 2036-02-27T12:00:00Z"],
  ["an ended certificate",                     life(at(0)),                             "CertificateValid", "False Expired: The certificate of Lifeboat's webhooks expired at 2026-03-01T12:00:00Z, so the API server cannot call Lifeboat: run lifeboat install, or renew the certificate if you made it yourself"],
  ["an ended token",              { credential: { ok: false, reason: "Expired", message: "m" } }, "CredentialsValid", "False Expired: m"],
])("the condition about %s has its status, reason and message", (_, findings, type, expected) => {
  const found = reported(findings)?.conditions.find((one) => one.type === type);
  expect(`${found?.status} ${found?.reason}: ${found?.message}`).toBe(expected);
});

test("a condition keeps the time of its last transition", () => {
  const first = reported({});
  const later = reported({ lacking }, { ...NEW, conditions: first?.conditions ?? [] }, at(60));
  const times = later?.conditions.map(({ type, lastTransitionTime }) => [type, Date.parse(lastTransitionTime)]);
  expect(times).toContainEqual(["Valid", NOW.getTime()]);
  expect(times).toContainEqual(["Permitted", at(60).getTime()]);
  const last = reported({ lacking }, { ...NEW, generation: 4, conditions: later?.conditions ?? [] }, at(120));
  expect(last?.conditions.map(({ type, lastTransitionTime }) => [type, Date.parse(lastTransitionTime)])).toEqual(times);
});

test("a long message is shortened, because the API server refuses a longer message", () => {
  const valid = reported({ notes: ["x".repeat(99_999)] })?.conditions.find(({ type }) => type === "Valid");
  expect(valid?.message).toHaveLength(32_768);
});

test.each([
  ["a missing policy", { reason: "PolicyMissing", message: "m" }, "PolicyMissing"],
  ["policies that hold", { reason: "Holds", message: "m" }, undefined],
  ["no guard", undefined, undefined],
] as const)("the problem of the guard with %s: $2", (_, holds, problem) => {
  expect(guardProblem({ conditions: reported({ lacking, holds })?.conditions ?? [] })).toBe(problem);
  expect(guardProblem(undefined)).toBeUndefined();
});

test("unchanged conditions are not written again, except for a new generation", () => {
  const said = { ...NEW, conditions: reported({})?.conditions ?? [] };
  expect(reported({}, said, at(600))).toBeUndefined();
  expect(reported({}, { ...said, generation: 4 }, at(600))).toMatchObject({ generation: 4, resourceVersion: "7" });
});

test("once the webhook was called, WebhookCalled stays True for scans of other functions", () => {
  const said = { ...NEW, conditions: reported({ called: true })?.conditions ?? [] };
  expect(reported({ called: false }, said, at(600))).toBeUndefined();
});

test("after the webhook was wrong, WebhookCalled is Unknown until the next call", () => {
  const said = { ...NEW, conditions: reported({ called: true })?.conditions ?? [] };
  const wrong = { ...NEW, conditions: reported(WRONG, said)?.conditions ?? [] };
  expect(reported({}, wrong)?.conditions).toContainEqual(
    expect.objectContaining({ type: "WebhookCalled", status: "Unknown", reason: "NotObserved" }),
  );
});

function undecided(observed: ConfigurationObserved, seconds: number): ConfigurationObserved {
  const [action] = reportUndecided(observed, "403 Forbidden", at(seconds));
  return action?.verb === "WriteConditions" ? { ...observed, conditions: action.conditions } : observed;
}

test("after an eviction was answered without facts, ReviewsDecided is False for ten minutes", () => {
  const good = { ...NEW, conditions: reported({})?.conditions ?? [] };
  const bad = undecided(good, 0);
  expect([isUndecided(undefined), isUndecided(good), isUndecided(bad)]).toEqual([false, false, true]);
  expect(isUndecided({ conditions: reported({ lacking })?.conditions ?? [] })).toBe(false);
  expect(bad.conditions).toHaveLength(good.conditions.length);
  expect(bad.conditions.at(-1)?.message).toBe(
    "Lifeboat answered an eviction although it could not read what it needed: 403 Forbidden",
  );
  // Lifeboat writes this condition at most once a minute. The condition has the time of the last eviction that Lifeboat
  // could not decide.
  expect(undecided(bad, 59)).toBe(bad);
  expect(undecided(bad, 60)).not.toBe(bad);
  const again = undecided(bad, 300);
  expect(reported({}, bad, at(599))).toBeUndefined();
  expect(reported({}, again, at(600))).toBeUndefined();
  const cleared = reported({}, again, at(900))?.conditions.find(({ type }) => type === "ReviewsDecided");
  expect(cleared).toMatchObject({ status: "True", reason: "Decided" });
});
