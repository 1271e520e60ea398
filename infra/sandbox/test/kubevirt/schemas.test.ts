/** Tests the schemas of VMIs and migrations in KubeVirt's CRDs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KUBEVIRT_DEFINITIONS } from "../../kubevirt/kinds.ts";
import { type Started, start } from "../apiserver/started.ts";

let started: Started;
beforeAll(async () => void (started = await start({ definitions: KUBEVIRT_DEFINITIONS })));
afterAll(() => started.stop());

const UNCHECKED =
  "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
const KINDS = {
  virtualmachineinstances: "VirtualMachineInstance",
  virtualmachineinstancemigrations: "VirtualMachineInstanceMigration",
} as const;
type Plural = keyof typeof KINDS;

const [VMIS, MIGRATIONS] = ["virtualmachineinstances", "virtualmachineinstancemigrations"] as const;
const domain = { devices: {}, memory: { guest: "1Gi" } };

async function create(plural: Plural, body: object) {
  const path = `/apis/kubevirt.io/v1/namespaces/default/${plural}?dryRun=All`;
  const head = { apiVersion: "kubevirt.io/v1", kind: KINDS[plural], metadata: { name: "x" } };
  const {
    code,
    body: answer,
    headers,
  } = await started.admin.send({ method: "POST", path, body: { ...head, ...body } });
  const message =
    typeof answer["message"] === "string" ? answer["message"].replace(/^.*" is invalid: /, "") : undefined;
  return { code, message, warning: headers["warning"], spec: answer["spec"], status: answer["status"] };
}

// prettier-ignore
describe("the API server refuses", () => {
  test.each<[string, Plural, object, string]>([
    ["a VMI without a spec",                       VMIS,       {},                                                  `[spec: Required value, ${UNCHECKED}]`],
    ["a VMI without a domain",                     VMIS,       { spec: {} },                                        `[spec.domain: Required value, ${UNCHECKED}]`],
    ["a VMI without devices",                      VMIS,       { spec: { domain: {} } },                            `[spec.domain.devices: Required value, ${UNCHECKED}]`],
    ["a VMI whose memory is not a quantity",       VMIS,       { spec: { domain: { devices: {}, memory: { guest: "much" } } } }, "spec.domain.memory.guest: Invalid value: \"much\": spec.domain.memory.guest in body should match '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$'"],
    ["a VMI whose evacuationNodeName is a number", VMIS,       { spec: { domain }, status: { evacuationNodeName: 5 } }, `[status.evacuationNodeName: Invalid value: "integer": status.evacuationNodeName in body must be of type string: "integer", ${UNCHECKED}]`],
    ["a VMI with an empty condition",              VMIS,       { spec: { domain }, status: { conditions: [{ type: "Ready" }] } }, `[status.conditions[0].status: Required value, ${UNCHECKED}]`],
    ["a VMI with a disk without a name",           VMIS,       { spec: { domain: { devices: { disks: [{}] } } } },  `[spec.domain.devices.disks[0].name: Required value, ${UNCHECKED}]`],
    ["a VMI with a relative container path",       VMIS,       { spec: { domain, volumes: [{ name: "v", containerPath: { path: "../etc" } }] } }, "[spec.volumes[0].containerPath.path: Invalid value: \"../etc\": path must be absolute (start with '/'), spec.volumes[0].containerPath.path: Invalid value: \"../etc\": path must not contain '..']"],
    ["a migration without a spec",                 MIGRATIONS, {},                                                  "spec: Required value"],
    ["a migration whose VMI's name is a number",   MIGRATIONS, { spec: { vmiName: 7 } },                            'spec.vmiName: Invalid value: "integer": spec.vmiName in body must be of type string: "integer"'],
  ])("%s", async (_, plural, body, message) => {
    expect(await create(plural, body)).toMatchObject({ code: 422, message });
  });
});

// prettier-ignore
describe("the API server accepts", () => {
  test.each<[string, Plural, object, object, string | undefined]>([
    ["a VMI with a status, which is kept (no subresource)", VMIS,       { spec: { domain }, status: { phase: "Running" } }, { spec: { domain }, status: { phase: "Running" } }, undefined],
    ["a VMI with a condition whose time is null",           VMIS,       { spec: { domain }, status: { conditions: [{ type: "a", status: "True", lastProbeTime: null }] } }, { status: { conditions: [{ type: "a", status: "True", lastProbeTime: null }] } }, undefined],
    ["a VMI with unknown fields, which are dropped",        VMIS,       { spec: { domain, colour: "red" } },                { spec: { domain } },        '299 - "unknown field \\"spec.colour\\""'],
    ["a migration with a status, which is dropped",         MIGRATIONS, { spec: { vmiName: "x" }, status: { phase: "Running" } }, { spec: { vmiName: "x" }, status: undefined }, undefined],
    ["a migration with unknown fields, which are dropped",  MIGRATIONS, { spec: { vmiName: "x", colour: "red" } },          { spec: { vmiName: "x" } },  '299 - "unknown field \\"spec.colour\\""'],
  ])("%s", async (...[, plural, body, expected, warning]) => {
    expect(await create(plural, body)).toMatchObject({ code: 201, warning, ...expected });
  });
});
