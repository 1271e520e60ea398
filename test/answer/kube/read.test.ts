/** Tests reads: pages, invalid items, and invalid names. */
import { describe, expect, test } from "vitest";
import type { Client } from "../../../shared/kube/client.ts";
import { VMI_OBJECT, type Answers, list } from "../../support/cluster/one-vm.ts";
import { type Behaviour, json, status, type HttpRequest } from "../../support/answers.ts";
import { connectToOneVm } from "../../support/client.ts";
import { readEvacuationsOf, readMigrationsOf } from "../../../shared/kube/requests.ts";

let odd: string[] = [];
let requests: readonly HttpRequest[] = [];

async function clusterWith(answers: Answers): Promise<Client> {
  odd = [];
  const given = connectToOneVm(answers, (resource, issue) => void odd.push(`${resource}: ${issue}`));
  requests = given.requests;
  return given.cluster;
}

const named = (name: string) => ({ ...VMI_OBJECT, metadata: { ...VMI_OBJECT.metadata, name } });

describe("a list", () => {
  const pages: Readonly<Record<string, Behaviour>> = {
    "": json({ kind: "VirtualMachineInstanceList", metadata: { continue: "page-2" }, items: [named("a"), named("b")] }),
    "page-2": json({ kind: "VirtualMachineInstanceList", metadata: { continue: "page 3&=" }, items: null }),
    "page 3&=": json({ kind: "VirtualMachineInstanceList", metadata: { continue: "" }, items: [named("c")] }),
  };
  const paged: Behaviour = (request, signal) =>
    (pages[request.query.get("continue") ?? ""] ?? status(500, "InternalError"))(request, signal);

  test("is read page by page to its end", async () => {
    const vmis = await (await clusterWith({ "list virtualmachineinstances": paged })).list("virtualmachineinstances");
    expect(vmis.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(requests.map(({ query }) => query.get("limit"))).toEqual(["250", "250", "250"]);
  });

  // prettier-ignore
  test.each([
    ["if one page has all items",                    {},                                             1],
    ["if the first page has the remaining number",   { continue: "next", remainingItemCount: 9_999 }, 10_000],
  ])("is counted by one small request %s", async (_, metadata, count) => {
    const body = { kind: "VirtualMachineInstanceList", metadata, items: [named("a")] };
    expect(await (await clusterWith({ "list virtualmachineinstances": json(body) })).count("virtualmachineinstances")).toBe(count);
    expect(requests.map(({ query }) => query.get("limit"))).toEqual(["1"]);
  });

  test("whose continuation has expired is a failed read", async () => {
    const first = json({ kind: "List", metadata: { continue: "old" }, items: [] });
    const expired: Behaviour = (request, signal) =>
      (request.query.has("continue") ? status(410, "Expired") : first)(request, signal);
    await expect(
      (await clusterWith({ "list virtualmachineinstances": expired })).list("virtualmachineinstances"),
    ).rejects.toThrow("with 410");
  });

  // prettier-ignore
  test.each([
    ["is an empty object",      {}],
    ["is of another kind",      { kind: "Pod", items: [] }],
    ["has no array of items",   { kind: "List", items: {} }],
  ])("that %s is a failed read", async (_, body) => {
    await expect((await clusterWith({ "list virtualmachineinstances": json(body) })).list("virtualmachineinstances")).rejects.toThrow("is not the answer of an API server");
  });

  test("omits and reports odd items, and has all other items", async () => {
    const cluster = await clusterWith({
      "list virtualmachineinstances": list(named("a"), 7, { metadata: {} }, named("b"), {
        ...named("c"),
        status: { nodeName: 1 },
      }),
    });
    expect((await cluster.list("virtualmachineinstances")).map(({ name }) => name)).toEqual(["a", "b"]);
    expect(odd).toHaveLength(3);
    expect(odd.join()).toContain("virtualmachineinstances: apps/c: status.nodeName");
  });
});

describe("a list omits an item with an invalid name:", () => {
  // prettier-ignore
  test.each([
    ["a parent path",              { name: ".." }],
    ["a name with a query",        { name: "web?dryRun=All" }],
    ["an empty name",              { name: "" }],
    ["a path as its namespace",    { namespace: "../kube-system" }],
  ])("%s", async (_, metadata) => {
    const item = { ...VMI_OBJECT, metadata: { ...VMI_OBJECT.metadata, ...metadata } };
    expect((await (await clusterWith({ "list virtualmachineinstances": list(item, named("b")) })).list("virtualmachineinstances")).map(({ name }) => name)).toEqual(["b"]);
    expect(odd).toHaveLength(1);
  });
});

// prettier-ignore
test.each([
  ["no metadata",       { spec: {} },                                                                             "metadata"],
  ["no spec",           { metadata: VMI_OBJECT.metadata },                                                        "spec"],
  ["labels of numbers", { metadata: { ...VMI_OBJECT.metadata, labels: { a: 1 } }, spec: {} },                     "metadata.labels.a"],
])("an object with %s is a failed read, whose error names the field", async (_, vmi, field) => {
  const cluster = await clusterWith({ "get virtualmachineinstances": json(vmi) });
  const found = cluster.get("virtualmachineinstances", { namespace: "apps", name: "web" });
  await expect(found).rejects.toThrow(`: ${field}: `);
});

test.each(["..", ".", "", "a,b", "\ud800", "a/b", "A", "-a", "a-", "a b", "a\n", "%2e%2e", "a".repeat(254)])(
  "the invalid name %j is absent without a request",
  async (name) => {
    const cluster = await clusterWith({});
    expect(await cluster.get("virtualmachineinstances", { namespace: "apps", name })).toBeUndefined();
    if (name !== "") expect(await cluster.get("pods", { namespace: name, name: "web" })).toBeUndefined();
    for (const key of [
      { namespace: "apps", name },
      { namespace: name, name: "web" },
    ]) {
      expect(await readEvacuationsOf(key, cluster)).toEqual([]);
      expect(await readMigrationsOf([key], cluster)).toEqual([]);
    }
    expect(requests).toEqual([]);
  },
);
