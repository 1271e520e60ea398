/** Tests that the sandbox's controllers finish their work although the API server fails often. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { pods } from "../actors/resources.ts";
import { waitFor } from "../actors/wait-for.ts";
import type { Fault } from "../apiserver/server.ts";
import { createNode, createVirtualMachineInstance } from "../fleet.ts";
import { USERS } from "../identities.ts";
import * as kubevirt from "../kubevirt/resources.ts";
import { startSandbox, type SimulatedSandbox } from "../sandbox.ts";

const NAMESPACE = "guests";
const TIMEOUT_MS = 40_000;

let sandbox: SimulatedSandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ migrationSeconds: 0.1, terminationSeconds: 0 });
  await Promise.all(["node-1", "node-2"].map((name) => createNode(sandbox.client, name)));
});
afterEach(() => sandbox.apiServer.faults.clear());
afterAll(() => sandbox.stop());

/**
 * The users whose requests fail: all users of the sandbox except the administrator and virt-api. virt-api is excluded
 * because it denies a request if it cannot read an object.
 */
const ACTORS = Object.values(USERS)
  .map(({ user }) => user)
  .filter((user) => user !== USERS.admin.user && user !== USERS.virtApi.user);

/** Starts, migrates and deletes a guest. */
async function live(name: string) {
  const { client } = sandbox;
  const key = { namespace: NAMESPACE, name };
  await createVirtualMachineInstance(client, { ...key, evictionStrategy: "LiveMigrate", node: "node-1" });
  const { metadata } = await client.create(kubevirt.migrations, {
    metadata: { generateName: `${name}-`, namespace: NAMESPACE },
    spec: { vmiName: name },
  });
  await waitFor(client, {
    resource: kubevirt.migrations,
    key: metadata,
    what: "done",
    until: ({ status }) => status?.phase === "Succeeded",
    timeoutMs: TIMEOUT_MS,
  });
  await client.delete(kubevirt.virtualMachineInstances, key);
  const left = async () =>
    (await client.list(pods, NAMESPACE)).items.filter(
      ({ metadata }) => metadata.annotations?.[kubevirt.ANNOTATION.domain] === name,
    ).length;
  await expect.poll(left, { timeout: TIMEOUT_MS, interval: 50 }).toBe(0);
}

type Row = readonly [what: string, fault: Pick<Fault, "effect" | "probability">, verbs: readonly string[] | undefined];

// prettier-ignore
const rows: readonly Row[] = [
  ["errors",             { effect: { type: "Error", code: 500 },                     probability: 0.2  }, undefined],
  ["conflicts",          { effect: { type: "Error", code: 409 },                     probability: 0.2  }, undefined],
  ["throttling",         { effect: { type: "Error", code: 429, retryAfterSeconds: 1 }, probability: 0.2 }, undefined],
  ["broken-connections", { effect: { type: "ConnectionReset" },                      probability: 0.2  }, undefined],
  ["lost-answers",       { effect: { type: "LostAnswer" },                           probability: 0.1  }, undefined],
  ["truncated-answers",  { effect: { type: "TruncatedBody" },                        probability: 0.1  }, undefined],
  ["dropped-watches",    { effect: { type: "DroppedWatch", afterEvents: 3 },         probability: 1    }, ["watch"]],
  ["a-slow-network",     { effect: { type: "Latency", milliseconds: 30 },            probability: 1    }, undefined],
];
test.each(rows)("a guest starts, migrates and ends despite %s", async (what, fault, verbs) => {
  const { faults } = sandbox.apiServer;
  faults.inject({ ...fault, match: { users: ACTORS, ...(verbs && { verbs }) } });
  await live(what);
  expect(faults.injected.length).toBeGreaterThan(0);
});

test("a guest starts, migrates and ends despite an outage of the API server", async () => {
  const key = { namespace: NAMESPACE, name: "outage" };
  await createVirtualMachineInstance(sandbox.client, key);
  await sandbox.apiServer.suspend();
  await expect(sandbox.client.get(kubevirt.virtualMachineInstances, key)).rejects.toThrow("ECONNREFUSED");
  await sandbox.apiServer.resume();
  const vmi = await sandbox.client.get(kubevirt.virtualMachineInstances, key);
  expect(vmi?.status?.phase).toBe("Running");
  await live("after-the-outage");
});

test("watchers list again after a compaction", async () => {
  sandbox.apiServer.faults.inject({
    effect: { type: "DroppedWatch", afterEvents: 1 },
    match: { users: ACTORS, verbs: ["watch"] },
  });
  const living = live("compacted");
  sandbox.apiServer.compact();
  await living;
});

test("a sandbox whose port is in use does not start", async () => {
  const port = Number(new URL(sandbox.url).port);
  await expect(startSandbox({ port, empty: true })).rejects.toThrow("EADDRINUSE");
});
