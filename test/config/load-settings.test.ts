/** Reading a cluster's settings: the cache, and what stays in force while something is wrong. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { SettingsCache } from "../../shared/config/load-settings.ts";
import { DEFAULT_SETTINGS } from "../../shared/policy/settings.ts";
import { connectTo } from "../cluster/connected.ts";
import { configured, list, notFound, startCannedCluster } from "../functions/support/canned-cluster.ts";
import { type Behaviour, html, json, status, type StubServer } from "../functions/support/stub-server.ts";

const GATES = { featureGates: { DeschedulerSupport: true } };
const metadata = { name: "kubevirt", uid: "uid-of-kubevirt", resourceVersion: "9" };

function kubevirt(configuration: Readonly<Record<string, unknown>>, namespace = "kubevirt"): Behaviour {
  return list({ metadata: { ...metadata, namespace }, spec: { configuration } });
}

/** What the cluster says may change while the test runs. */
let says: { kubevirt: Behaviour; configuration: Behaviour; webhooks: Behaviour };
let server: StubServer;
let cluster: Cluster;
let cache: SettingsCache;

beforeEach(async () => {
  says = { kubevirt: kubevirt({}), configuration: notFound, webhooks: notFound };
  server = await startCannedCluster({
    kubevirt: (response, request) => says.kubevirt(response, request),
    configuration: (response, request) => says.configuration(response, request),
    other: (response, request) => says.webhooks(response, request),
  });
  cluster = connectTo({ server: server.url });
  cache = new SettingsCache();
});
afterEach(() => server.stop());

function at(seconds: number): Date {
  return new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
}

describe("the cache", () => {
  test("is cold at first, and asks both questions once", async () => {
    await cache.load("prod", cluster, at(0));
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    ["after 29 s nothing is read", 29, false, 2],
    ["after 30 s it is read again", 30, false, 4],
    ["whoever wants it fresh gets it", 1, true, 4],
  ])("%s", async (_, seconds, fresh, requests) => {
    await cache.load("prod", cluster, at(0));
    await cache.load("prod", cluster, at(seconds), fresh);
    expect(server.requests).toHaveLength(requests);
  });

  test("belongs to one cluster", async () => {
    const other = await startCannedCluster({ kubevirt: kubevirt({ evictionStrategy: "External" }) });
    const first = await cache.load("prod", cluster, at(0));
    const second = await cache.load("other", connectTo({ server: other.url }), at(0));
    expect(first.settings.clusterStrategy).toBeUndefined();
    expect(second.settings.clusterStrategy).toBe("External");
    expect((await cache.load("prod", cluster, at(1))).settings).toEqual(first.settings);
    expect(server.requests).toHaveLength(2);
    await other.stop();
  });

  test("is not filled by a failure", async () => {
    says.kubevirt = status(500, "InternalError");
    await expect(cache.load("prod", cluster, at(0))).rejects.toThrow("with 500");
    says.kubevirt = kubevirt({ evictionStrategy: "LiveMigrate" });
    expect((await cache.load("prod", cluster, at(0))).settings.clusterStrategy).toBe("LiveMigrate");
  });
});

describe("the LifeboatConfiguration is wrong", () => {
  // prettier-ignore
  const WRONG: readonly (readonly [string, Behaviour, string, string])[] = [
    ["an unknown gate",        configured({ featureGates: { Magic: true } }), "spec.featureGates.Magic", "unknown key"],
    ["a wrong value",          configured({ marking: "x" }),                  "spec.marking",            "expected one of Auto, Impersonate, Evict"],
    ["no object",              configured([]),                                "spec",                    "expected object"],
  ];

  test.each(WRONG)("%s, from the beginning: the defaults are in force", async (_, behaviour, field, message) => {
    says.configuration = behaviour;
    const loaded = await cache.load("prod", cluster, at(0));
    expect(loaded.settings).toMatchObject(DEFAULT_SETTINGS);
    expect(loaded.problems).toEqual([{ field, message: expect.stringContaining(message) }]);
  });

  test.each(WRONG)("%s, later on: the last valid one stays in force", async (_, behaviour) => {
    says.configuration = configured(GATES);
    await cache.load("prod", cluster, at(0));
    says.configuration = behaviour;
    for (const seconds of [30, 60, 90]) {
      const loaded = await cache.load("prod", cluster, at(seconds));
      expect(loaded.settings.featureGates).toEqual(["DeschedulerSupport"]);
      expect(loaded.problems).toHaveLength(1);
    }
  });

  test("and right again: in force, and no problem", async () => {
    says.configuration = configured({ marking: "x" });
    await cache.load("prod", cluster, at(0));
    says.configuration = configured(GATES);
    const loaded = await cache.load("prod", cluster, at(30));
    expect(loaded).toMatchObject({ problems: [], settings: { featureGates: ["DeschedulerSupport"] } });
  });

  test("what this version does not know is left aside", async () => {
    says.configuration = configured({ ...GATES, ofTheNextVersion: { a: 1 } });
    const loaded = await cache.load("prod", cluster, at(0));
    expect(loaded).toMatchObject({ problems: [], settings: { featureGates: ["DeschedulerSupport"] } });
  });

  test("and gone: the defaults", async () => {
    says.configuration = configured(GATES);
    await cache.load("prod", cluster, at(0));
    says.configuration = notFound;
    expect((await cache.load("prod", cluster, at(30))).settings).toMatchObject(DEFAULT_SETTINGS);
  });
});

describe("the LifeboatConfiguration cannot be read", () => {
  // prettier-ignore
  const UNREADABLE: readonly (readonly [string, Behaviour, string])[] = [
    ["403",               status(403, "Forbidden"),     "403 Forbidden"],
    ["500",               status(500, "InternalError"), "with 500"],
    ["a page of a proxy", html(404),                    "not JSON"],
    ["something else",    json({ kind: "Pod" }),        "metadata"],
  ];

  test.each(UNREADABLE)("%s, from the beginning: nothing is known about gates", async (_, behaviour, message) => {
    says.configuration = behaviour;
    await expect(cache.load("prod", cluster, at(0))).rejects.toThrow(message);
    says.configuration = configured(GATES);
    expect((await cache.load("prod", cluster, at(0))).settings.featureGates).toEqual(["DeschedulerSupport"]);
  });

  test.each(UNREADABLE)("%s, later on: the last one seen counts", async (_, behaviour, message) => {
    says.configuration = configured(GATES);
    await cache.load("prod", cluster, at(0));
    says.configuration = behaviour;
    const loaded = await cache.load("prod", cluster, at(30));
    expect(loaded.settings.featureGates).toEqual(["DeschedulerSupport"]);
    expect(loaded.problems).toEqual([{ field: "LifeboatConfiguration", message: expect.stringContaining(message) }]);
  });
});

describe("the KubeVirt CR cannot be read", () => {
  // prettier-ignore
  const UNREADABLE: readonly (readonly [string, Behaviour, string])[] = [
    ["403",                         status(403, "Forbidden"),                 "403 Forbidden"],
    ["500",                         status(500, "InternalError"),             "with 500"],
    ["the kind is unknown",         notFound,                                 "with 404"],
    ["a page of a proxy",           html(200),                                "not JSON"],
    ["JSON, but no list",           json({}),                                 "kind: expected a list"],
    ["one that does not parse",     kubevirt({ evictionStrategy: 7 }),        "spec.configuration.evictionStrategy"],
  ];

  test.each(UNREADABLE)("%s, from the beginning: nothing is known about strategies", async (_, behaviour, message) => {
    says.kubevirt = behaviour;
    await expect(cache.load("prod", cluster, at(0))).rejects.toThrow(message);
  });

  test.each(UNREADABLE)("%s, later on: the last one seen counts", async (_, behaviour, message) => {
    says.kubevirt = kubevirt({ evictionStrategy: "LiveMigrate" }, "virt");
    await cache.load("prod", cluster, at(0));
    says.kubevirt = behaviour;
    const loaded = await cache.load("prod", cluster, at(30));
    expect(loaded.settings).toMatchObject({ clusterStrategy: "LiveMigrate", kubevirtNamespace: "virt" });
    expect(loaded.problems).toEqual([{ field: "KubeVirt CR", message: expect.stringContaining(message) }]);
  });

  test("there is none: defaults", async () => {
    says.kubevirt = list();
    expect((await cache.load("prod", cluster, at(0))).settings).toMatchObject(DEFAULT_SETTINGS);
  });
});

describe("whether KubeVirt's webhook and the guard make budgets unnecessary", () => {
  const GUARDED = { featureGates: { PreemptionEvictionLiveMigration: true } };
  const rules = [{ operations: ["CREATE"], resources: ["pods/eviction"] }];
  const CLOSED = json({ kind: "ValidatingWebhookConfiguration", webhooks: [{ failurePolicy: "Fail", rules }] });

  // prettier-ignore
  test.each<[string, object, Behaviour, boolean, number]>([
    ["both are there",                       GUARDED,                                              CLOSED,                   true,  4],
    ["neither is there",                     GUARDED,                                              notFound,                 false, 4],
    ["they may not be read",                 GUARDED,                                              status(403, "Forbidden"), false, 4],
    ["the guard is off: nothing to ask",     {},                                                   CLOSED,                   false, 2],
    ["budgets are wanted: nothing to ask",   { ...GUARDED, reconcilers: { budget: "Enabled" } },   CLOSED,                   false, 2],
    ["none are wanted: nothing to ask",      { ...GUARDED, reconcilers: { budget: "Disabled" } },  CLOSED,                   false, 2],
  ])("%s", async (...[, spec, webhooks, evictionsCovered, requests]) => {
    says = { ...says, configuration: configured(spec), webhooks };
    expect((await cache.load("prod", cluster, at(0))).settings).toMatchObject({ evictionsCovered });
    expect(server.requests).toHaveLength(requests);
  });

  // prettier-ignore
  test.each<[string, Behaviour, string]>([
    ["500",               status(500, "InternalError"), "with 500"],
    ["a page of a proxy", html(404),                    "not JSON"],
  ])("%s: unknown at first, later on the last one seen counts", async (_, behaviour, message) => {
    says = { ...says, configuration: configured(GUARDED), webhooks: behaviour };
    await expect(cache.load("prod", cluster, at(0))).rejects.toThrow(message);
    says.webhooks = CLOSED;
    await cache.load("prod", cluster, at(0));
    says.webhooks = behaviour;
    const { settings, problems } = await cache.load("prod", cluster, at(30));
    expect(settings.evictionsCovered).toBe(true);
    expect(problems).toEqual([{ field: "ValidatingWebhookConfigurations", message: expect.stringContaining(message) }]);
  });
});
