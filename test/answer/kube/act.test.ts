/**
 * Tests actions on migrations, Events and annotations of pods in an API server: the first result, the result of a
 * repetition, and the result after the object has changed.
 */
import { afterAll, describe, expect, test } from "vitest";
import { core, kubevirt } from "../../../infra/sandbox/index.ts";
import type { Action } from "../../../shared/kube/action.ts";
import type { LauncherFacts, MigrationFacts } from "../../../shared/kube/facts.ts";
import { CREATED_BY_LABEL } from "../../../shared/kube/names.ts";
import { Launcher } from "../../../shared/kube/schemas/kubernetes.ts";
import { status } from "../../support/answers.ts";
import { NAMESPACE, startSandboxCluster } from "../../support/installed/worker.ts";
import { IN_PROGRESS, ONLY } from "../../support/launchers.ts";
import { newborn, NOW, vmi as vmiFixture } from "../../support/fixtures.ts";
import { connectToOneVm, connectTo, present } from "../../support/client.ts";
import { LAUNCHER, readMigrationsOf } from "../../../shared/kube/requests.ts";
import { act as performAction } from "../../../shared/act/perform.ts";

const world = await startSandboxCluster(["optional/descheduler-support/descheduler-support.yaml"]);
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

const act = (action: Action) => performAction(action, { cluster, now: () => NOW });
const EVACUATION = newborn({ name: "web-1" });

async function theirs(vmiName: string, labels: Readonly<Record<string, string>> = {}): Promise<MigrationFacts> {
  const metadata = { namespace: NAMESPACE, name: `of-${vmiName.slice(0, 40)}`, labels };
  await world.client.create(kubevirt.migrations, { metadata, spec: { vmiName } });
  return await migrationOf(vmiName);
}

async function migrationOf(name: string): Promise<MigrationFacts> {
  return present((await readMigrationsOf([{ namespace: NAMESPACE, name }], cluster))[0]);
}

const find = (name: string) => world.client.get(kubevirt.migrations, { namespace: NAMESPACE, name });
/** KubeVirt's mutating webhook sets this label. */
const labelled = (name: string) => ({ "kubevirt.io/vmi-name": name });

describe("an action on migrations", () => {
  const ANNOTATED = { "lifeboat.dev/cause": "ApiEviction", "lifeboat.dev/evacuation": "web-1" };

  test("creates one migration, even if repeated, and KubeVirt does not count this migration as its own", async () => {
    const vmi = vmiFixture({ namespace: NAMESPACE, name: "created" });
    const create: Action = { verb: "CreateMigration", vmi, name: "lifeboat-created", evacuation: EVACUATION };
    expect([await act(create), await act(create)]).toEqual(["Done", "Done"]);
    const { metadata, spec } = present(await find("lifeboat-created"));
    expect(metadata.labels).toMatchObject({ "app.kubernetes.io/managed-by": "lifeboat" });
    expect(metadata.annotations).toEqual(ANNOTATED);
    expect(spec).toEqual({ vmiName: "created" });
  });

  test("annotates KubeVirt's migration, and no recreated migration of the same name", async () => {
    const migration = await theirs("annotated", labelled("annotated"));
    const annotate = { verb: "AnnotateMigration", migration, cause: "ApiEviction", evacuation: "web-1" } as const;
    expect(await act({ ...annotate, migration: { ...migration, uid: "another" } })).toBe("Conflict");
    expect(present(await find("of-annotated")).metadata.annotations ?? {}).not.toMatchObject(ANNOTATED);
    expect([await act(annotate), await act(annotate)]).toEqual(["Done", "Done"]);
    expect(present(await find("of-annotated")).metadata.annotations).toMatchObject(ANNOTATED);
    expect((await migrationOf("annotated")).cause).toBe("ApiEviction");
  });

  test("deletes only the given migration, even if repeated", async () => {
    const migration = await theirs("deleted", labelled("deleted"));
    expect(await act({ verb: "DeleteMigration", migration: { ...migration, uid: "another" } })).toBe("Conflict");
    expect(await find("of-deleted")).toBeDefined();
    // Lifeboat does not delete a migration with an old resourceVersion, because the migration might have started after
    // the read.
    expect(await act({ verb: "DeleteMigration", migration: { ...migration, resourceVersion: "1" } })).toBe("Conflict");
    expect(await find("of-deleted")).toBeDefined();
    expect(await act({ verb: "DeleteMigration", migration })).toBe("Done");
    expect(await find("of-deleted")).toBeUndefined();
    expect(await act({ verb: "DeleteMigration", migration })).toBe("Done");
  });

  const LONG = "v".repeat(64);
  // prettier-ignore
  test.each<[string, string, Readonly<Record<string, string>>, boolean]>([
    ["with KubeVirt's label",                                    "web",     labelled("web"),      true],
    ["without KubeVirt's label: not found",                      "bare",    {},                   false],
    ["with another VMI's label, which a tenant set: not found",  "forged",  labelled("other"),    false],
    ["without the label, of a name too long for a label",        LONG,      {},                   true],
    ["with the truncated label, of a name too long for a label", `w${LONG}`, labelled("w".repeat(63)), true],
  ])("the migrations of a VMI are listed %s", async (_, name, labels, isFound) => {
    const metadata = { namespace: NAMESPACE, name: `list-${name.slice(0, 20)}`, labels };
    await world.client.create(kubevirt.migrations, { metadata, spec: { vmiName: name } });
    const found = await readMigrationsOf([{ namespace: NAMESPACE, name }], cluster);
    expect(found.map(({ vmiName }) => vmiName)).toEqual(isFound ? [name] : []);
    expect(await readMigrationsOf([{ namespace: NAMESPACE, name: "other" }], cluster)).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["that another is in progress",    status(400, "BadRequest", "admission webhook denied the request: in-flight migration detected. Active migration job"), "Conflict"],
    ["that the VM cannot migrate",     status(400, "BadRequest", "admission webhook denied the request: Cannot migrate VMI, Reason: DisksNotLiveMigratable"), "Refused"],
    ["an invalid field",               status(422, "Invalid", "spec.priority: forbidden"),                                                                 "Refused"],
    ["an existing name",               status(409, "AlreadyExists"),                                                                                       "Done"],
  ])("a creation that KubeVirt refuses for %s has the result $2", async (_, other, result) => {
    const { cluster } = connectToOneVm({ "create virtualmachineinstancemigrations": other });
    const create: Action = { verb: "CreateMigration", vmi: vmiFixture(), name: "m", evacuation: EVACUATION };
    expect(await performAction(create, { cluster, now: () => NOW })).toBe(result);
  });
});

test("an Event is created once per occasion, with a name of any length", async () => {
  const name = "n".repeat(250);
  const about = { kind: "VirtualMachineInstance", namespace: NAMESPACE, name, uid: "u" } as const;
  const event = {
    verb: "Event",
    about,
    type: "Warning",
    reason: "MigrationFailed",
    message: "m".repeat(2000),
  } as const;
  for (const occasion of ["1", "2", "1"]) expect(await act({ ...event, occasion })).toBe("Done");
  const { items } = await world.client.list(core.events, NAMESPACE);
  const reported = items.filter(({ involvedObject }) => involvedObject.name === name);
  expect(reported).toHaveLength(2);
  const firstTimestamp = NOW.toISOString().replace(".000", "");
  expect(reported[0]).toMatchObject({ type: "Warning", reason: "MigrationFailed", firstTimestamp, count: 1 });
  expect(reported[0]?.message).toHaveLength(1024);
});

async function launcherOf(name: string): Promise<LauncherFacts> {
  const vmi = present(await cluster.get("virtualmachineinstances", { namespace: NAMESPACE, name }));
  const pods = await cluster.list("pods", { labels: { ...LAUNCHER, [CREATED_BY_LABEL]: vmi.uid }, as: Launcher });
  return present(pods[0]);
}

describe("AnnotatePod", () => {
  test("adds and removes annotations once, and leaves the others", async () => {
    await world.createVm({ name: "annotated" });
    const bare = await launcherOf("annotated");
    const add: Action = { verb: "AnnotatePod", pod: bare, add: { [ONLY]: "", [IN_PROGRESS]: "true" }, remove: [] };
    expect([await act(add), await act(add)]).toEqual(["Done", "Conflict"]);
    const pod = await launcherOf("annotated");
    expect(pod.annotations).toEqual({ [ONLY]: "", [IN_PROGRESS]: "true" });
    const remove: Action = { verb: "AnnotatePod", pod, add: {}, remove: [IN_PROGRESS] };
    expect([await act(remove), await act(remove)]).toEqual(["Done", "Conflict"]);
    const { metadata } = present(await world.client.get(core.pods, bare));
    expect(metadata.annotations).toEqual({ "kubevirt.io/domain": "annotated", [ONLY]: "" });
  });

  test("changes no pod that was recreated or is gone", async () => {
    await world.createVm({ name: "other" });
    const pod = await launcherOf("other");
    for (const tweak of [{ uid: "another" }, { name: "nobody" }]) {
      const add: Action = { verb: "AnnotatePod", pod: { ...pod, ...tweak }, add: { [ONLY]: "" }, remove: [] };
      expect(await act(add)).toBe("Conflict");
    }
    expect((await launcherOf("other")).annotations).toEqual({});
  });
});
