/**
 * Tests answers that are larger than the allowed memory. Lifeboat stops reading, requests fewer items per page, and
 * loses no item.
 */
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { LARGEST_ANSWER_BYTES } from "../../../shared/kube/transport.ts";
import { VMI_OBJECT } from "../../support/cluster/one-vm.ts";
import { startHttpServer, type StubServer } from "../../support/stub-server.ts";
import { connectTo } from "../../support/client.ts";

const MB = 1_000_000;
let server: StubServer;
afterEach(() => server.stop());

function vmi(name: string, bytes: number): unknown {
  const volumes = [{ name: "seed", cloudInitNoCloud: { userData: "x".repeat(bytes) } }];
  return { ...VMI_OBJECT, metadata: { ...VMI_OBJECT.metadata, name }, spec: { ...VMI_OBJECT.spec, volumes } };
}

/** Serves VMIs of these sizes, page by page. `responses` lets a test check how much of each answer was read. */
async function clusterOf(sizes: readonly number[]) {
  const responses: ServerResponse[] = [];
  server = await startHttpServer(({ query }, response) => {
    responses.push(response);
    const from = Number(query.get("continue") ?? 0);
    const to = from + Number(query.get("limit") ?? sizes.length);
    const items = sizes.slice(from, to).map((bytes, i) => vmi(`vm-${from + i}`, bytes));
    const metadata = to < sizes.length ? { continue: String(to) } : {};
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: "VirtualMachineInstanceList", metadata, items }));
  });
  const limits = () => server.requests.map(({ query }) => Number(query.get("limit")));
  return { cluster: connectTo({ server: server.url }), limits, responses };
}

const times = (count: number, bytes: number) => Array<number>(count).fill(bytes);

describe("a list", () => {
  // prettier-ignore
  test.each<[string, number[], number[]]>([
    ["of small objects is read in full pages",                                     times(300, 100),                               [250, 250]],
    ["of objects that are slightly too large is read in smaller pages",            times(250, 45_000),                            [250, 125, 138]],
    ["of large objects is read in ever smaller pages",                             times(12, MB),                                 [250, 125, 63, 32, 16, 8, 6]],
  ])("%s", async (_, sizes, limits) => {
    const given = await clusterOf(sizes);
    const names = (await given.cluster.list("virtualmachineinstances")).map(({ name }) => name);
    expect(names).toEqual(sizes.map((__, i) => `vm-${i}`));
    expect(given.limits()).toEqual(limits);
  });

  test("with one object that is too large fails, and Lifeboat does not request the list forever", async () => {
    const { cluster, limits } = await clusterOf([100, LARGEST_ANSWER_BYTES, 100]);
    await expect(cluster.list("virtualmachineinstances")).rejects.toMatchObject({ failure: { reason: "TooLarge" } });
    expect(limits().at(-1)).toBe(1);
  });
});

test("the read of a single object that is too large fails, and the rest of the answer is not read", async () => {
  const { cluster, responses } = await clusterOf(times(20, MB));
  await expect(cluster.get("virtualmachineinstances", { namespace: "apps", name: "web" })).rejects.toMatchObject({
    failure: { reason: "TooLarge" },
  });
  expect(responses.map(({ writableFinished }) => writableFinished)).toEqual([false]);
});
