/**
 * What virt-api makes of changes to a VMI, question by question, as recorded from the real one (KubeVirt 1.9).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RawRequest } from "../../../infra/sandbox/actors/transport.ts";
import { FINALIZER } from "../../../infra/sandbox/kubevirt/resources.ts";
import { FOREIGN, jsonPatch, mergePatch, startGuests, VIRT_API, VIRT_CONTROLLER, VMIS, type Guests } from "./guests.ts";

let guests: Guests;

beforeAll(async () => {
  guests = await startGuests();
});
afterAll(() => guests.stop());

const MARK = [
  { op: "test", path: "/status/nodeName", value: "node01" },
  { op: "add", path: "/status/evacuationNodeName", value: "node01" },
];
const UNMARK = { op: "remove", path: "/status/evacuationNodeName" };

describe("the status of a VMI", () => {
  // prettier-ignore
  const rows: readonly (readonly [question: string, user: string, request: RawRequest, mark: string | undefined])[] = [
    ["marked by a foreign account: silently undone",  FOREIGN,  jsonPatch(`${VMIS}/ok`, ...MARK),   undefined],
    ["marked as virt-api: stays",                     VIRT_API, jsonPatch(`${VMIS}/ok`, ...MARK),   "node01" ],
    ["unmarked by a foreign account: put back",       FOREIGN,  jsonPatch(`${VMIS}/ok`, UNMARK),    "node01" ],
    ["unmarked as virt-api: gone",                    VIRT_API, jsonPatch(`${VMIS}/ok`, UNMARK),    undefined],
  ];
  test.each(rows)("%s", async (_, user, request, mark) => {
    const answer = await guests.ask(user, request);
    expect(answer).toMatchObject({ code: 200 });
    expect(answer.status?.evacuationNodeName).toBe(mark);
    expect((await guests.ask(VIRT_API, { method: "GET", path: `${VMIS}/ok` })).status?.evacuationNodeName).toBe(mark);
  });

  test("a dry run answers with the mark and writes none", async () => {
    const request = mergePatch(`${VMIS}/ok`, { status: { evacuationNodeName: "node01" } });
    const answer = await guests.ask(VIRT_API, { ...request, query: { dryRun: "All" } });
    expect(answer).toMatchObject({ code: 200, status: { evacuationNodeName: "node01" } });
    const after = await guests.ask(VIRT_API, { method: "GET", path: `${VMIS}/ok` });
    expect(after.status).not.toHaveProperty("evacuationNodeName");
  });

  test("a foreign account's annotations and labels pass where its status does not", async () => {
    const metadata = { annotations: { "x.io/a": "b" }, labels: { "x.io/l": "m" } };
    const answer = await guests.ask(
      FOREIGN,
      mergePatch(`${VMIS}/ok`, { metadata, status: { evacuationNodeName: "node01" } }),
    );
    expect(answer).toMatchObject({ code: 200, metadata });
    expect(answer.status).not.toHaveProperty("evacuationNodeName");
  });

  test("there is no status subresource", async () => {
    expect(await guests.ask(FOREIGN, { method: "GET", path: `${VMIS}/ok/status` })).toMatchObject({ code: 404 });
  });

  test("a VMI starts Pending, held by KubeVirt's finalizer, whatever its creator says", async () => {
    const body = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstance",
      metadata: { name: "born" },
      spec: { domain: {} },
      status: { phase: "Running" },
    };
    const answer = await guests.ask(FOREIGN, { method: "POST", path: VMIS, body });
    expect(answer).toMatchObject({
      code: 201,
      metadata: { finalizers: [FINALIZER.vmi] },
      status: { phase: "Pending" },
    });
  });
});

function denied(message: string) {
  return {
    code: 422,
    reason: "Invalid",
    message: `admission webhook "vmi-update.kubevirt.io" denied the request: ${message}`,
    details: { causes: [{ reason: "FieldValueNotSupported", message }] },
  };
}

describe("spec and labels of a VMI", () => {
  const reserved = denied("modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited");

  // prettier-ignore
  const rows: readonly (readonly [question: string, user: string, body: object, answer: object])[] = [
    ["spec, foreign",                FOREIGN,         { spec: { evictionStrategy: "None" } },                             denied("update of VMI object is restricted")],
    ["another kubevirt.io/ label",   FOREIGN,         { metadata: { labels: { "kubevirt.io/mine": "zz" } } },             { code: 200, metadata: { labels: { "kubevirt.io/mine": "zz" } } }],
    ["created-by",                   FOREIGN,         { metadata: { labels: { "kubevirt.io/created-by": "zz" } } },       reserved],
    ["migrationJobUID",              FOREIGN,         { metadata: { labels: { "kubevirt.io/migrationJobUID": "zz" } } },  reserved],
    ["nodeName",                     FOREIGN,         { metadata: { labels: { "kubevirt.io/nodeName": "zz" } } },         reserved],
    ["migrationTargetNodeName",      FOREIGN,         { metadata: { labels: { "kubevirt.io/migrationTargetNodeName": "zz" } } }, reserved],
    ["schedulable",                  FOREIGN,         { metadata: { labels: { "kubevirt.io/schedulable": "zz" } } },      reserved],
    ["install-strategy",             FOREIGN,         { metadata: { labels: { "kubevirt.io/install-strategy": "zz" } } }, reserved],
    ["nodeName, by virt-controller", VIRT_CONTROLLER, { metadata: { labels: { "kubevirt.io/nodeName": "node01" } } },     { code: 200, metadata: { labels: { "kubevirt.io/nodeName": "node01" } } }],
  ];
  test.each(rows)("%s", async (_, user, body, answer) => {
    expect(await guests.ask(user, mergePatch(`${VMIS}/pinned`, body))).toMatchObject(answer);
  });
});
