/** Tests the two sources of facts: the API server and the watches. */
import { expect, test } from "vitest";
import type { Question } from "../../../shared/facts/facts.ts";
import { liveReads, watchedReads } from "../../../shared/facts/reads.ts";
import { named } from "../../../shared/kube/objects.ts";
import { NodeWithResources } from "../../../shared/kube/schemas/scheduled-pod.ts";
import { connectTo } from "../../support/client.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { node, NODE, vmi } from "../../support/fixtures.ts";
import { storesOf } from "../../support/stores.ts";

const ROOM = { resource: "nodes", name: "Room", schema: () => NodeWithResources } as const;
const ON_NODE = { labels: { "kubevirt.io/nodeName": NODE } };

function clusterOf() {
  const fake = new FakeCluster();
  fake.nodes.put(node());
  fake.vmis.put(vmi({ nodeName: NODE }));
  const cluster = connectTo(fake, undefined, { onOddItem: () => undefined });
  return { fake, cluster, live: liveReads(cluster) };
}

// prettier-ignore
const QUESTIONS: readonly (readonly [string, Question, object | undefined, isShown: boolean])[] = [
  ["an object",               { kind: "nodes", key: named(NODE) },                                       { name: NODE, ready: true }, true],
  ["a missing object", { kind: "nodes", key: named("node09") },                               undefined,                   true],
  ["another view of an object",      { kind: ROOM, key: named(NODE) },                                          { name: NODE, allocatable: expect.anything() },    false],
  ["a list",                  { kind: "virtualmachineinstances", selection: ON_NODE },                   [{ nodeName: NODE }],        true],
  ["an empty list",       { kind: "evacuations", selection: { fields: { "status.sourceNode": NODE } } }, [],                      true],
  ["a list without a watch", { kind: "virtualmachineinstances", selection: { namespace: "apps" } },     [{ nodeName: NODE }],        false],
];

test.each(QUESTIONS)(
  "%s is read from a watch that shows the resource, and otherwise from the API server",
  async (_, question, value, isShown) => {
    const { fake, cluster, live } = clusterOf();
    const there = await live(question);
    expect(there).toEqual({ value: value === undefined ? undefined : expect.anything() });
    if (value !== undefined) expect(there.value).toMatchObject(value);
    const asked = fake.requests.length;
    const watched = watchedReads(
      storesOf(fake, () => undefined),
      cluster,
    );
    expect(await watched(question)).toEqual(isShown ? { ...there, isCached: true } : there);
    expect(fake.requests.length - asked).toBe(isShown ? 0 : 1);
  },
);

test("a watch that is not connected is not used", async () => {
  const { fake, cluster, live } = clusterOf();
  const watched = watchedReads(
    storesOf(fake, () => undefined, false),
    cluster,
  );
  for (const [, question] of QUESTIONS) expect(await watched(question)).toEqual(await live(question));
});

test("an item that cannot be parsed is omitted from its list, with the reason", async () => {
  const { fake, live } = clusterOf();
  fake.api.put("nodes", { metadata: { name: "odd", uid: "u" }, spec: { unschedulable: "yes" }, status: {} });
  const { value, odd } = await live({ kind: "nodes", selection: {} });
  expect(value).toMatchObject([{ name: NODE }]);
  expect(odd).toEqual([expect.stringContaining("odd: ")]);
});
