/** What a descheduling cycle reads: pages, paths, nodes, and what policies depend on. */
import { afterEach, describe, expect, test } from "vitest";
import type { DeschedulingClient } from "../../shared/descheduling/client.ts";
import { type Behaviour, json, startStubServer, status, type StubServer } from "../functions/support/stub-server.ts";
import { deschedulingAt } from "../kube/connected.ts";

const servers: StubServer[] = [];
let odd: string[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
  odd = [];
});

const requests = () => servers.flatMap((server) => server.requests);

/** A cluster in which everything that is asked is answered like this. */
async function clusterWith(answer: Behaviour): Promise<DeschedulingClient> {
  const server = await startStubServer(() => answer);
  servers.push(server);
  return deschedulingAt({ server: server.url }, (resource, issue) => void odd.push(`${resource}: ${issue}`));
}

const list = (...items: readonly unknown[]) => json({ kind: "List", items });

const pod = (name: string, spec: object = {}) => ({
  metadata: { namespace: "apps", name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { nodeName: "node01", containers: [{ resources: { requests: { cpu: "100m" } } }], ...spec },
  status: { phase: "Running", qosClass: "Burstable" },
});

describe("pods", () => {
  const pages: Readonly<Record<string, Behaviour>> = {
    "": json({ kind: "PodList", metadata: { continue: "next" }, items: [pod("a"), pod("b")] }),
    next: json({ kind: "PodList", metadata: {}, items: [pod("c")] }),
  };
  const paged: Behaviour = (response, request) =>
    (pages[request.query.get("continue") ?? ""] ?? status(500, "InternalError"))(response, request);

  test("that are bound are read page by page", async () => {
    const pods = await (await clusterWith(paged)).listPods();
    expect(pods.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(requests().map(({ path, query }) => [path, Object.fromEntries(query)])).toEqual([
      ["/api/v1/pods", { limit: "250", fieldSelector: "spec.nodeName!=" }],
      ["/api/v1/pods", { limit: "250", fieldSelector: "spec.nodeName!=", continue: "next" }],
    ]);
  });

  test("what they have in common is one object, across pages", async () => {
    const [a, , c] = await (await clusterWith(paged)).listPods();
    expect(a?.requests).toEqual({ cpu: 100 });
    expect(a?.requests).toBe(c?.requests);
  });

  test("an odd one is told and left out, the others are not", async () => {
    const labels = { ...pod("b"), metadata: { ...pod("b").metadata, labels: { a: 1 } } };
    const cluster = await clusterWith(
      list(pod("a"), labels, 7, pod("c", { nodeName: "" }), pod("d", { tolerations: [{ key: 1 }] }), pod("e")),
    );
    expect((await cluster.listPods()).map(({ name }) => name)).toEqual(["a", "e"]);
    expect(odd.map((text) => text.split(": ").slice(0, 2).join(" "))).toEqual([
      "pods metadata.labels.a",
      "pods (root)",
      "pods spec.nodeName",
      "pods spec.tolerations.0.key",
    ]);
  });

  test("what is odd in one is odd in the next one like it, too", async () => {
    const tolerations = [{ key: 1 }];
    const cluster = await clusterWith(list(pod("a", { tolerations }), pod("b", { tolerations }), pod("c")));
    expect((await cluster.listPods()).map(({ name }) => name)).toEqual(["c"]);
    expect(odd).toHaveLength(2);
  });
});

test("labels of namespaces, by name", async () => {
  const cluster = await clusterWith(
    list(
      { metadata: { name: "a", labels: { team: "x" } } },
      { metadata: { name: "b", labels: null } },
      { metadata: {} },
    ),
  );
  expect(await cluster.listNamespaceLabels()).toEqual(
    new Map([
      ["a", { team: "x" }],
      ["b", {}],
    ]),
  );
  expect(requests().map(({ path }) => path)).toEqual(["/api/v1/namespaces"]);
  expect(odd).toHaveLength(1);
});

describe("the value of a PriorityClass", () => {
  // prettier-ignore
  test.each([
    ["positive",    json({ metadata: { name: "high" }, value: 1000 }),   1000],
    ["negative",    json({ metadata: { name: "high" }, value: -1 }),     -1],
    ["none",        json({ metadata: { name: "high" } }),                0],
    ["not there",   status(404, "NotFound"),                             undefined],
  ])("%s", async (_, answer, value) => {
    expect(await (await clusterWith(answer)).getPriorityClassValue("high")).toBe(value);
    expect(requests().map(({ path }) => path)).toEqual(["/apis/scheduling.k8s.io/v1/priorityclasses/high"]);
  });

  test("of a name that no object can have: no request", async () => {
    expect(await (await clusterWith(json({}))).getPriorityClassValue("../x")).toBeUndefined();
    expect(requests()).toEqual([]);
  });

  test("that is no number is no answer", async () => {
    await expect((await clusterWith(json({ value: "1" }))).getPriorityClassValue("high")).rejects.toThrow("value: ");
  });
});

test.each(["listPods", "listNamespaceLabels"] as const)("%s: what is no list is no answer", async (read) => {
  const cluster = await clusterWith(json({ kind: "Status", status: "Success" }));
  await expect(cluster[read]()).rejects.toThrow("is not what an API server says");
});
