/** Budgets in an API server: made, grown, kept, resized, removed; when each was last grown; one that another party or 0.1 made. */
import { afterAll, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import type { Action } from "../../shared/policy/action.ts";
import { budgetName } from "../../shared/policy/budget/identity.ts";
import type { BudgetFacts, VmiFacts } from "../../shared/policy/facts.ts";
import { NAMESPACE, startTestCluster } from "../functions/support/test-cluster.ts";
import { NOW } from "../policy/fixtures.ts";
import { connectTo, present, SETTINGS } from "./connected.ts";

const world = await startTestCluster();
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

const act = (action: Action) => cluster.act(action, SETTINGS);
const SECONDS = String(NOW.getTime() / 1000);
const TOUCHED = "lifeboat.dev/touched";

interface Subject {
  readonly vmi: VmiFacts;
  readonly name: string;
}

async function observed(name: string): Promise<Subject> {
  await world.createVm({ name });
  const vmi = present(await cluster.getVmi({ namespace: NAMESPACE, name }));
  return { vmi, name: budgetName(vmi) };
}

const look = async ({ name }: Subject) => await cluster.getBudget({ namespace: NAMESPACE, name });
const create = (s: Subject, minAvailable: 1 | 2): Action => ({ verb: "CreateBudget", ...s, minAvailable });
const grow = (s: Subject): Action => ({ verb: "GrowBudget", ...s, required: true });
const ensure = (s: Subject): Action => ({ verb: "EnsureBudget", ...s, minAvailable: 1 });
const resize = (budget: BudgetFacts, minAvailable: 1 | 2): Action => ({ verb: "ResizeBudget", budget, minAvailable });

/** As 0.1 made them: without a label of when. */
async function olden(name: string, minAvailable: number): Promise<Subject> {
  const subject = await observed(name);
  await act(create(subject, 1));
  const body = { metadata: { labels: { [TOUCHED]: null } }, spec: { minAvailable } };
  await world.client.patch(
    core.podDisruptionBudgets,
    { namespace: NAMESPACE, name: subject.name },
    { type: "merge", body },
  );
  return subject;
}

/** Under the name that ours would have. */
async function theirs(name: string): Promise<Subject> {
  const subject = await observed(name);
  const metadata = { namespace: NAMESPACE, name: subject.name, labels: { app: "theirs" } };
  await world.client.create(core.podDisruptionBudgets, { metadata, spec: { minAvailable: 1, selector: {} } });
  return subject;
}

test("made once, owned by the VMI but not controlled, for its launcher pods", async () => {
  const subject = await observed("made");
  expect([await act(create(subject, 1)), await act(create(subject, 2))]).toEqual(["Done", "Done"]);
  const { vmi, name } = subject;
  const found = present(await world.client.get(core.podDisruptionBudgets, { namespace: NAMESPACE, name }));
  expect(found.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "lifeboat", [TOUCHED]: SECONDS });
  expect(found.spec).toMatchObject({
    minAvailable: 1,
    selector: { matchLabels: { "kubevirt.io/created-by": vmi.uid } },
  });
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name: "made", uid: vmi.uid };
  expect(found.metadata.ownerReferences).toEqual([owner]);
  expect(await look(subject)).toMatchObject({ managedByUs: true, minAvailable: 1, touchedAt: NOW.getTime() });
});

describe("grown, kept", () => {
  // prettier-ignore
  test.each<[string, (name: string) => Promise<Subject>, string, number | undefined, number | undefined, string]>([
    ["a small one",            (name) => made(name, 1),    "Done",     2,         NOW.getTime(), "Done"],
    ["a large one",            (name) => made(name, 2),    "Done",     2,         NOW.getTime(), "Done"],
    ["a small one of 0.1",     (name) => olden(name, 1),   "Done",     2,         NOW.getTime(), "Done"],
    ["a large one of 0.1",     (name) => olden(name, 2),   "Done",     2,         NOW.getTime(), "Done"],
    ["another party's",        theirs,                     "Done",     1,         undefined,     "Done"],
    ["none",                   observed,                   "Conflict", undefined, undefined,     "Conflict"],
  ])("%s", async (...[title, make, grown, minAvailable, touchedAt, ensured]) => {
    const subject = await make(title.replaceAll(/[^a-z0-9]+/g, "-"));
    expect([await act(grow(subject)), await act(grow(subject))]).toEqual([grown, grown]);
    const found = await look(subject);
    expect([found?.minAvailable, found?.touchedAt]).toEqual([minAvailable, touchedAt]);
    expect(await act(ensure(subject))).toBe(ensured);
    expect(await look(subject)).toEqual(found);
  });
});

async function made(name: string, minAvailable: 1 | 2): Promise<Subject> {
  const subject = await observed(name);
  await act(create(subject, minAvailable));
  return subject;
}

describe("resized", () => {
  // prettier-ignore
  test.each<[string, (name: string) => Promise<Subject>, 1 | 2, number | undefined]>([
    ["larger: touched",                     (name) => olden(name, 1),   2,  NOW.getTime()],
    ["smaller: not touched",                (name) => olden(name, 2),   1,  undefined],
    ["smaller: touched when it was",        (name) => made(name, 2),    1,  NOW.getTime()],
  ])("%s", async (title, make, size, touchedAt) => {
    const subject = await make(title.replaceAll(/[^a-z0-9]+/g, "-"));
    const budget = present(await look(subject));
    expect([await act(resize(budget, size)), await act(resize(budget, size))]).toEqual(["Done", "Conflict"]);
    const found = await look(subject);
    expect([found?.minAvailable, found?.touchedAt]).toEqual([size, touchedAt]);
  });

  test("not one that was grown meanwhile, though its size is the same", async () => {
    const subject = await olden("regrown", 2);
    const budget = present(await look(subject));
    await act(grow(subject));
    expect(await act(resize(budget, 1))).toBe("Conflict");
    expect((await look(subject))?.minAvailable).toBe(2);
  });

  test("not another one of that name", async () => {
    const budget = present(await look(await made("namesake", 1)));
    expect(await act(resize({ ...budget, uid: "another" }, 2))).toBe("Conflict");
  });
});

test("removed: that one only, and again", async () => {
  const subject = await made("removed", 1);
  const budget = present(await look(subject));
  const remove = (uid: string) => act({ verb: "DeleteBudget", budget: { ...budget, uid } });
  expect([await remove("another"), await remove(budget.uid), await remove(budget.uid)]).toEqual([
    "Conflict",
    "Done",
    "Done",
  ]);
  expect(await look(subject)).toBeUndefined();
});

test("listed are those with our label; ours are those that also have a name of ours", async () => {
  const ours = await made("listed", 1);
  const metadata = { namespace: NAMESPACE, name: "web", labels: { "app.kubernetes.io/managed-by": "lifeboat" } };
  await world.client.create(core.podDisruptionBudgets, { metadata, spec: { minAvailable: 1, selector: {} } });
  const listed = await cluster.listBudgets(NAMESPACE);
  const managed = (name: string) => listed.find((budget) => budget.name === name)?.managedByUs;
  expect([managed(ours.name), managed("web"), managed((await theirs("unlisted")).name)]).toEqual([
    true,
    false,
    undefined,
  ]);
  expect(await cluster.isAnyBudget()).toBe(true);
});
