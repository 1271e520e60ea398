/** What annotating launcher pods costs, and how /readyz proves that it is permitted. */
import { afterEach, describe, expect, test } from "vitest";
import { ONLY } from "../policy/launchers.ts";
import {
  CANNED_POD,
  configured,
  CANNED_VMI,
  type CannedAnswers,
  list,
  startCannedCluster,
} from "./support/canned-cluster.ts";
import { asOperator, asWebhook, type Doors, entry, openDoors } from "./support/doors.ts";
import { json, status, type StubRequest, type StubServer } from "./support/stub-server.ts";

const SMALL = new Date("2026-11-20T12:01:00Z");
const GATE = { featureGates: { DeschedulerSupport: true } };

const servers: StubServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

interface Keys {
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly reconcilers?: { readonly annotations: string };
}

interface Canned extends CannedAnswers {
  readonly vmis?: readonly unknown[];
  readonly pods?: readonly unknown[];
  readonly keys?: Keys;
}

/** Everything else is as it should be: nothing to do but to annotate. */
async function start({ vmis = [], pods = [], keys = GATE, ...answers }: Canned): Promise<[StubServer, Doors]> {
  const quiet = { budget: "Disabled", evacuation: false };
  const reconcilers = { ...quiet, annotations: "Enabled", ...keys.reconcilers };
  const server = await startCannedCluster({
    configuration: configured({ ...keys, reconcilers }),
    list: (response, request) => {
      const items = request.path.endsWith("/virtualmachineinstances") ? vmis : isOfPods(request) ? pods : [];
      return list(...items)(response, request);
    },
    other: (response, request) =>
      (request.method === "PATCH" ? json(CANNED_POD) : status(404, "NotFound"))(response, request),
    ...answers,
  });
  servers.push(server);
  return [server, openDoors({ CLUSTERS: { prod: entry(server.url) } })];
}

const isOfPods = ({ path }: StubRequest) => path.endsWith("/pods");
const selectors = ({ requests }: StubServer) =>
  requests.filter(isOfPods).map(({ query }) => query.get("labelSelector"));
const patches = ({ requests }: StubServer) =>
  requests.filter(({ method, path }) => method === "PATCH" && path.includes("/pods/"));
const reconcile = (doors: Doors) => doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });

describe("requests", () => {
  test("a full scan lists launcher pods once, and patches those that lack something", async () => {
    const [server, doors] = await start({ vmis: [CANNED_VMI], pods: [CANNED_POD] });
    expect((await reconcile(doors)).body).toEqual({ done: { AnnotatePod: 1 }, failures: 0 });
    expect(selectors(server)).toEqual(["kubevirt.io=virt-launcher"]);
    expect(patches(server)).toMatchObject([
      {
        path: "/api/v1/namespaces/apps/pods/virt-launcher-web-abcde",
        headers: { "content-type": "application/json-patch+json" },
        body: [
          { op: "test", path: "/metadata/uid", value: CANNED_POD.metadata.uid },
          { op: "test", path: `/metadata/annotations/${ONLY.replace("/", "~1")}`, value: null },
          { op: "add", path: `/metadata/annotations/${ONLY.replace("/", "~1")}`, value: "" },
        ],
      },
    ]);
  });

  test("a scan that finds everything in place patches nothing", async () => {
    const annotations = { ...CANNED_POD.metadata.annotations, [ONLY]: "" };
    const pod = { ...CANNED_POD, metadata: { ...CANNED_POD.metadata, annotations } };
    const [server, doors] = await start({ vmis: [CANNED_VMI], pods: [pod] });
    expect((await reconcile(doors)).body).toEqual({ done: {}, failures: 0 });
    expect(patches(server)).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["without the gate",      { featureGates: {} }],
    ["with mode false",       { ...GATE, reconcilers: { annotations: "Disabled" } }],
  ])("%s no launcher pod is listed", async (_, keys) => {
    const [server, doors] = await start({ vmis: [CANNED_VMI], pods: [CANNED_POD], keys });
    expect((await reconcile(doors)).body).toEqual({ done: {}, failures: 0 });
    expect(selectors(server)).toEqual([]);
  });

  test("an idle tick stays at one", async () => {
    const [server, doors] = await start({});
    await doors.tick(SMALL);
    const before = server.requests.length;
    await doors.tick(SMALL);
    expect(server.requests.length - before).toBe(1);
  });
});

const ready = (doors: Doors) => doors.request("/clusters/prod/readyz", { headers: asOperator });

describe("/readyz", () => {
  test.each([
    ["permitted", json(CANNED_POD), { ok: true }],
    ["a pod that has gone meanwhile", status(404, "NotFound"), { ok: true }],
    ["forbidden", status(403, "Forbidden"), { ok: false, message: expect.stringContaining("403 Forbidden") }],
  ] as const)("tries a patch that changes nothing on a launcher pod: %s", async (_, answer, expected) => {
    const [server, doors] = await start({
      pods: [CANNED_POD],
      other: (response, request) => (request.method === "PATCH" ? answer : status(404, "NotFound"))(response, request),
    });
    const { code, body } = await ready(doors);
    expect(body).toMatchObject({ checks: expect.arrayContaining([{ name: "annotations", ...expected }]) });
    expect(code).toBe(expected.ok ? 200 : 503);
    const [patch, ...others] = patches(server);
    expect(patch?.query.get("dryRun")).toBe("All");
    expect(patch?.body).toEqual([{ op: "test", path: "/metadata/uid", value: CANNED_POD.metadata.uid }]);
    expect(others).toEqual([]);
  });

  test("without a launcher pod there is nothing to try, and nothing wrong", async () => {
    const [server, doors] = await start({});
    expect(await ready(doors)).toMatchObject({ code: 200, body: { ready: true } });
    expect(patches(server)).toEqual([]);
  });

  test.each([{ featureGates: {} }, { ...GATE, reconcilers: { annotations: "Disabled" } }])(
    "no such check with %j",
    async (keys) => {
      const [server, doors] = await start({ pods: [CANNED_POD], keys });
      expect(JSON.stringify((await ready(doors)).body)).not.toContain('"annotations"');
      expect(patches(server)).toEqual([]);
    },
  );
});
