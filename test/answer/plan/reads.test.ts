/** Tests that a plan reads only lists. If Lifeboat cannot read a list, the plan says what it cannot judge. */
import { describe, expect, test } from "vitest";
import { observePlan } from "../../../shared/plan/read.ts";
import { NODE, NOW, settings } from "../../support/fixtures.ts";
import { FakeCluster, SERVER } from "../../support/cluster.ts";
import { connectTo, connectToOneVm } from "../../support/client.ts";
import { status } from "../../support/answers.ts";
import { type Answers, clusterWith, list, notFound, POD, POD_OBJECT } from "../../support/cluster/one-vm.ts";
import { launcher } from "../../support/preflight/fixtures.ts";

const CLAIM = { namespace: "apps", name: "data" };
const forbidden = status(403, "Forbidden");

async function read(answers: Answers = {}) {
  const { cluster, requests } = connectToOneVm(answers, () => undefined);
  const facts = await observePlan({ cluster, settings: settings(), now: NOW });
  return { facts, requests };
}

/** The plan reports the only pod, because the pod has no creation time. */
const ODD = "1 of the pods: Lifeboat cannot parse it";

test("a plan reads one list of each kind, writes nothing, and counts objects that cannot be parsed", async () => {
  const { facts, requests } = await read();
  expect(facts.unread).toEqual([ODD]);
  expect(requests.every((request) => JSON.stringify(request).includes("list"))).toBe(true);
  expect(new Set(requests.map((request) => JSON.stringify(request))).size).toBe(requests.length);
});

// prettier-ignore
test.each([
  ["poddisruptionbudgets",            "whether disruption budgets refuse evictions"],
  ["resourcequotas",                  "whether quotas refuse target pods"],
  ["persistentvolumes",               "which nodes reach the volumes of VMs, and which volumes stay attached after a drain"],
  ["virtualmachines",                 "the annotations that owners set on VMs, and whether VMs start again"],
  ["virtualmachineinstancemigrations","which migrations have succeeded or failed"],
  ["evacuations",                     "which evacuations have failed"],
])("a plan without permission to list %s names what is not judged", async (kind, what) => {
  const { facts } = await read({ [`list ${kind}`]: forbidden });
  expect(facts.unread).toEqual([ODD, `${what}: you may not list ${kind}`]);
  if (kind === "virtualmachines") expect(facts.vms).toEqual(new Map());
});

test("a plan without permission to list volumeattachments names what is not judged after the drains", async () => {
  const { facts } = await read({ "list volumeattachments": forbidden });
  expect(facts.unread).toEqual([ODD]);
  expect(facts.unreadAfterwards).toEqual(["which volumes stay attached: you may not list volumeattachments"]);
});

test("a plan reads lists in pages, one page at a time", async () => {
  const fake = new FakeCluster();
  for (let at = 0; at < 600; at += 1) fake.pods.put(launcher(`vm-${at}`));
  const pages: URL[] = [];
  let [inFlight, most] = [0, 0];
  const answer = fake.api.fetch();
  const fetch: typeof answer = async (url, init) => {
    pages.push(new URL(url));
    inFlight += 1;
    most = Math.max(most, inFlight);
    const response = await answer(url, init);
    inFlight -= 1;
    return response;
  };
  const facts = await observePlan({ cluster: connectTo({ server: SERVER, fetch }), settings: settings(), now: NOW });
  expect(facts.pods).toHaveLength(600);
  expect(most).toBe(1);
  expect(pages.filter(({ searchParams }) => !(Number(searchParams.get("limit")) <= 250))).toEqual([]);
  const ofPods = pages.filter(({ pathname }) => pathname.endsWith("/pods"));
  expect(ofPods.map(({ searchParams }) => searchParams.has("continue"))).toEqual([false, true, true]);
});

async function readAttached(answers: Answers = {}) {
  const fake = clusterWith(answers);
  fake.api.remove("pods", POD);
  fake.pods.put(launcher("web"));
  fake.api.put("persistentvolumes", { metadata: { name: "pv-1" }, spec: { claimRef: CLAIM } });
  const spec = { attacher: "a", nodeName: NODE, source: { persistentVolumeName: "pv-1" } };
  const metadata = { name: "csi-1", deletionTimestamp: "2026-01-01T00:00:00Z" };
  fake.api.put("volumeattachments", { metadata, spec, status: { attached: true } });
  const cluster = connectTo(fake, undefined, { onOddItem: () => undefined });
  return await observePlan({ cluster, settings: settings(), now: NOW });
}

describe("volumes that are attached to nodes", () => {
  test("are read with the claims of their volumes, even while they are being detached", async () => {
    expect(await readAttached()).toMatchObject({
      attached: {
        attachments: [{ name: "csi-1", nodeName: NODE, persistentVolumeName: "pv-1" }],
        volumes: [{ name: "pv-1", claim: CLAIM }],
      },
      unread: [],
      unreadAfterwards: [],
    });
  });

  test("are none if the cluster does not serve the kind", async () => {
    const { attached, unreadAfterwards } = await readAttached({ "list volumeattachments": notFound });
    expect(attached?.attachments).toEqual([]);
    expect(unreadAfterwards).toEqual([]);
  });

  // prettier-ignore
  test.each<readonly [string, Answers]>([
    ["they may not be listed",                          { "list volumeattachments": forbidden }],
    ["they cannot be read",                             { "list volumeattachments": status(500, "InternalError") }],
    ["PersistentVolumes may not be listed",             { "list persistentvolumes": forbidden }],
    ["a PersistentVolume cannot be parsed",             { "list persistentvolumes": list({ metadata: {} }) }],
    ["a pod cannot be parsed: it might use one of them",  { "list pods": list(POD_OBJECT) }],
  ])("are not judged if %s", async (_, answers) => {
    const { attached, unread, unreadAfterwards } = await readAttached(answers);
    expect(attached).toBeUndefined();
    expect([...unread, ...unreadAfterwards]).toHaveLength(1);
  });
});

test.each(["nodes", "pods", "virtualmachineinstances"])("a plan without permission to list %s fails", async (kind) => {
  await expect(read({ [`list ${kind}`]: forbidden })).rejects.toThrow();
});
