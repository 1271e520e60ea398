/** virt-api's admission of changes to a VMI, beyond what was recorded (answers.test.ts). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FINALIZER } from "../../kubevirt/resources.ts";
import { FOREIGN, mergePatch, startGuests, VIRT_API, VIRT_CONTROLLER, VMIS, type Guests } from "./guests.ts";

let guests: Guests;

beforeAll(async () => {
  guests = await startGuests();
});
afterAll(() => guests.stop());

describe("the status of a VMI", () => {
  test("a dry run answers with the mark and writes none", async () => {
    const request = mergePatch(`${VMIS}/ok`, { status: { evacuationNodeName: "node01" } });
    const answer = await guests.ask(VIRT_API, { ...request, query: { dryRun: "All" } });
    expect(answer).toMatchObject({ code: 200, status: { evacuationNodeName: "node01" } });
    const after = await guests.ask(VIRT_API, { method: "GET", path: `${VMIS}/ok` });
    expect(after.status).not.toHaveProperty("evacuationNodeName");
  });

  test("there is no status subresource", async () => {
    expect(await guests.ask(FOREIGN, { method: "GET", path: `${VMIS}/ok/status` })).toMatchObject({ code: 404 });
  });

  test("a VMI starts Pending, held by KubeVirt's finalizer, whatever its creator says", async () => {
    const body = {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstance",
      metadata: { name: "born" },
      spec: { domain: { devices: {} } },
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
    ["created-by",                   FOREIGN,         { metadata: { labels: { "kubevirt.io/created-by": "zz" } } },       reserved],
    ["migrationJobUID",              FOREIGN,         { metadata: { labels: { "kubevirt.io/migrationJobUID": "zz" } } },  reserved],
    ["migrationTargetNodeName",      FOREIGN,         { metadata: { labels: { "kubevirt.io/migrationTargetNodeName": "zz" } } }, reserved],
    ["schedulable",                  FOREIGN,         { metadata: { labels: { "kubevirt.io/schedulable": "zz" } } },      reserved],
    ["install-strategy",             FOREIGN,         { metadata: { labels: { "kubevirt.io/install-strategy": "zz" } } }, reserved],
    ["nodeName, by virt-controller", VIRT_CONTROLLER, { metadata: { labels: { "kubevirt.io/nodeName": "node01" } } },     { code: 200, metadata: { labels: { "kubevirt.io/nodeName": "node01" } } }],
  ];
  test.each(rows)("%s", async (_, user, body, answer) => {
    expect(await guests.ask(user, mergePatch(`${VMIS}/pinned`, body))).toMatchObject(answer);
  });
});
