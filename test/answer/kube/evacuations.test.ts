/** Tests how Lifeboat creates, finds, changes, withdraws and deletes Evacuations in an API server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { core } from "../../../infra/sandbox/index.ts";
import type { NewEvacuation } from "../../../shared/kube/action.ts";
import type { EvacuationFacts, EvacuationSpec, EvacuationStatus } from "../../../shared/kube/evacuation.ts";
import { NAMESPACE, startSandboxCluster } from "../../support/installed/worker.ts";
import { MARK_SEEN, newborn, NOW, time } from "../../support/fixtures.ts";
import { connectTo, present } from "../../support/client.ts";
import {
  readActiveEvacuations,
  readEvacuationsFrom,
  readEvacuationsOf,
  unfinishedEvacuations,
} from "../../../shared/kube/requests.ts";
import { createEvacuation } from "../../../shared/act/create.ts";
import { act } from "../../../shared/act/perform.ts";
import { withdrawEvacuation } from "../../../shared/act/evacuate-vm.ts";

const evacuations: core.Resource = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "Evacuation",
  plural: "evacuations",
  namespaced: true,
};

const world = await startSandboxCluster();
afterAll(() => world.stop());
const cluster = connectTo(world.entry);
const acting = { cluster, now: () => NOW };

const stored = (name: string) => world.client.get(evacuations, { namespace: NAMESPACE, name });

function planned(name: string, spec: Partial<EvacuationSpec> = {}): NewEvacuation {
  return { namespace: NAMESPACE, name, spec: { ...newborn().spec, ...spec } };
}

async function started(name: string, spec: Partial<EvacuationSpec> = {}): Promise<EvacuationFacts> {
  const created = await createEvacuation(planned(name, spec), cluster);
  if (created === "Conflict") throw new Error(`${name} is there already`);
  return created;
}

async function write(evacuation: EvacuationFacts, status: Partial<EvacuationStatus>) {
  const whole = { attempts: 0, conditions: [], ...status };
  return await act({ verb: "WriteStatus", evacuation, status: whole }, acting);
}

async function readEvacuation(name: string): Promise<EvacuationFacts> {
  return present((await cluster.list("evacuations")).find((one) => one.name === name));
}

describe("the creation of an Evacuation", () => {
  test("writes the spec and no status", async () => {
    const inherited = { attempts: 2, notBefore: time(40) };
    const spec = { cause: "Preemption", deadline: time(120), inherited } as const;
    const created = await started("whole", spec);
    expect(created).toMatchObject({ ...planned("whole", spec), status: { attempts: 0, conditions: [] } });
    expect(await readEvacuation("whole")).toEqual(created);
    const object = await stored("whole");
    expect(object?.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "lifeboat" });
    expect(object?.metadata).not.toHaveProperty("ownerReferences");
    expect(object).not.toHaveProperty("status");
  });

  // prettier-ignore
  test.each<[string, Partial<EvacuationSpec>, Partial<EvacuationStatus> | undefined, Partial<EvacuationSpec>, boolean]>([
    ["active-same-pod",      {},                               { phase: "Pending" },   {},                               true],
    ["new-same-pod",         {},                               undefined,              {},                               true],
    ["another-pod",          {},                               { phase: "Pending" },   { pod: { uid: "another" } },      false],
    ["a-person-named-none",  { pod: undefined },               undefined,              {},                               false],
    ["moved",                {},                               { phase: "Moved" },     {},                               false],
  ])("with a name that exists already joins or not: %s", async (...[name, first, status, second, isJoined]) => {
    const there = await started(name, first);
    if (status !== undefined) expect(await write(there, status)).toBe("Done");
    const found = await createEvacuation(planned(name, second), cluster);
    expect(found).toEqual(isJoined ? await readEvacuation(name) : "Conflict");
    expect(await act({ verb: "CreateEvacuation", evacuation: planned(name, second) }, acting)).toBe(
      isJoined ? "Done" : "Conflict",
    );
  });

  test("with a name of another VM's Evacuation ends without an error", async () => {
    await started("taken-1", { vmiName: "nobodys" });
    const found = await started("taken-1");
    expect([found.spec.vmiName, found.name]).toEqual([newborn().spec.vmiName, expect.stringMatching(/^taken-1-\w+$/)]);
  });

  test("for a mark records the first requester that joins, and adds later requesters", async () => {
    const found = await started("found-marked", { requestedBy: "KubeVirt" });
    const named = await createEvacuation(planned("found-marked", { requestedBy: "jane" }), cluster);
    expect(named).toMatchObject({ uid: found.uid, spec: { requestedBy: "jane" } });
    const joe = planned("found-marked", { requestedBy: "joe" });
    const both = { uid: found.uid, spec: { requestedBy: "jane" }, status: { requesters: ["joe"] } };
    expect(await createEvacuation(joe, cluster)).toMatchObject(both);
    const before = await readEvacuation("found-marked");
    expect(before).toMatchObject(both);
    expect(await createEvacuation(joe, cluster)).toEqual(before);
    expect(await readEvacuation("found-marked")).toEqual(before);
  });
});

describe("the status of an Evacuation", () => {
  test("is written completely, and is final after an end", async () => {
    const status: EvacuationStatus = {
      virtualMachineInstanceUID: "vmi-uid",
      podName: "virt-launcher-web-x7k2p",
      podUID: "pod-uid",
      sourceNode: "node01",
      phase: "BackingOff",
      reason: "MigrationFailed",
      message: "KubeVirt gives no reason",
      attempts: 3,
      migration: { name: "m-3", uid: "m-3-uid" },
      lastFailedMigration: { name: "m-2", uid: "m-2-uid" },
      targetNode: "node02",
      startTime: time(-60),
      nextAttemptTime: time(20),
      conditions: [MARK_SEEN],
    };
    const ended: EvacuationStatus = { ...status, phase: "Abandoned", completionTime: time(0) };
    expect(await write(await started("over"), ended)).toBe("Done");
    expect((await readEvacuation("over")).status).toEqual(ended);
    expect(await write(await readEvacuation("over"), status)).toBe("Conflict");
  });

  test("is not written over a newer status, or for a deleted Evacuation", async () => {
    const seen = await started("raced");
    expect(await write(seen, { phase: "Pending" })).toBe("Done");
    expect(await write(seen, { phase: "Migrating" })).toBe("Conflict");
    expect((await readEvacuation("raced")).status.phase).toBe("Pending");
    expect(await write({ ...seen, name: "nobodys" }, { phase: "Pending" })).toBe("Conflict");
  });
});

test("a withdrawal changes the intent of an active or ended Evacuation, and not of a deleted Evacuation", async () => {
  const evacuation = await started("cancelled");
  expect([await withdrawEvacuation(evacuation, cluster), await withdrawEvacuation(evacuation, cluster)]).toEqual([
    "Done",
    "Done",
  ]);
  expect((await readEvacuation("cancelled")).spec).toEqual({ ...evacuation.spec, intent: "Withdrawn" });
  expect(await withdrawEvacuation({ ...evacuation, name: "nobodys" }, cluster)).toBe("Conflict");
});

test("a deletion removes only the given Evacuation, even if repeated or not ended", async () => {
  const evacuation = await started("history");
  const remove = (uid: string) => act({ verb: "DeleteEvacuation", evacuation: { ...evacuation, uid } }, acting);
  const { uid } = evacuation;
  expect([await remove("another"), await remove(uid), await remove(uid)]).toEqual(["Conflict", "Done", "Done"]);
  expect(await stored("history")).toBeUndefined();
});

async function make(key: string, vmiName: string, status?: Partial<EvacuationStatus>) {
  const [namespace = "", name = ""] = key.split("/");
  const created = await createEvacuation({ ...planned(name, { vmiName }), namespace }, cluster);
  if (created !== "Conflict" && status !== undefined) await write(created, status);
}

describe("a list", () => {
  const ALL = ["a-moved", "a-new", "a-pending", "b-cancelled", "b-given-up", "b-migrating", "elsewhere"];
  const ENDED = ["a-moved", "b-cancelled", "b-given-up"];

  beforeAll(async () => {
    for (const name of ["lists", "other"]) await world.client.create(core.namespaces, { metadata: { name } });
    const released = { type: "Released", reason: "Released", message: "", lastTransitionTime: time(0) } as const;
    await make("lists/a-new", "a");
    await make("lists/a-pending", "a", { phase: "Pending", sourceNode: "node11" });
    await make("lists/a-moved", "a", { phase: "Moved", sourceNode: "node11" });
    await make("lists/b-cancelled", "b", { phase: "Withdrawn", conditions: [{ ...released, status: "False" }] });
    await make("lists/b-given-up", "b", { phase: "Abandoned", conditions: [{ ...released, status: "True" }] });
    await make("lists/b-migrating", "b", { phase: "Migrating", sourceNode: "node12" });
    await make("other/elsewhere", "a", { phase: "Blocked", sourceNode: "node11" });
  });

  // prettier-ignore
  test.each<[string, () => Promise<readonly EvacuationFacts[]>, readonly string[]]>([
    ["of all Evacuations",                              () => cluster.list("evacuations"),         ALL],
    ["of Evacuations that have not ended, including new ones",    () => readActiveEvacuations(cluster),          ALL.filter((name) => !ENDED.includes(name))],
    ["of Evacuations that have not ended or are not released", () => unfinishedEvacuations(cluster),    ALL.filter((name) => !ENDED.includes(name) || name === "b-cancelled")],
    ["of a VMI's Evacuations, including ended ones",                   () => readEvacuationsOf({ namespace: "lists", name: "a" }, cluster), ["a-moved", "a-new", "a-pending"]],
    ["of a node's Evacuations, including ended ones",                  () => readEvacuationsFrom("node11", cluster), ["a-moved", "a-pending", "elsewhere"]],
  ])("%s", async (_, listing, names) => {
    const found = (await listing()).filter(({ namespace }) => namespace !== NAMESPACE);
    expect(found.map(({ name }) => name).toSorted()).toEqual(names);
  });
});
