/** Tests that the text about an object that cannot be parsed has a bounded length. */
import { expect, test } from "vitest";
import { connectTo } from "../../support/client.ts";
import { FakeCluster } from "../../support/cluster.ts";
import { vmiObject } from "../../support/cluster/objects.ts";
import { vmi } from "../../support/fixtures.ts";

const LONG = "virt-launcher-".repeat(5000);
const NAMES = { namespace: "apps", name: "web" };
const own = vmiObject(vmi());

// prettier-ignore
test.each<[what: string, metadata: object, issue: string]>([
  ["a long name",         { name: LONG },                           `apps/${LONG.slice(0, 253)}: `],
  ["a long namespace",    { namespace: LONG },                      `${LONG.slice(0, 253)}/web: metadata.namespace: `],
  ["a long key",          { labels: { [LONG]: 1 } },                `apps/web: ${`metadata.labels.${LONG}`.slice(0, 253)}: `],
])("an object with %s", async (_, metadata, issue) => {
  const fake = new FakeCluster();
  fake.api.put("virtualmachineinstances", { ...own, metadata: { ...Object(own["metadata"]), labels: 1, ...NAMES, ...metadata } });
  const issues: string[] = [];
  const cluster = connectTo(fake, undefined, { onOddItem: (_kind, text) => void issues.push(text) });
  expect(await cluster.list("virtualmachineinstances")).toEqual([]);
  expect(issues).toEqual([expect.stringContaining(issue)]);
  expect(issues[0]?.length).toBeLessThan(1100);
});
