/**
 * What virt-api makes of migrations, question by question, as recorded from the real one (KubeVirt 1.9).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RawRequest } from "../../../infra/sandbox/actors/transport.ts";
import { FOREIGN, mergePatch, migrate, MIGRATIONS, startGuests, VIRT_CONTROLLER, type Guests } from "./guests.ts";

let guests: Guests;

beforeAll(async () => {
  guests = await startGuests();
});
afterAll(() => guests.stop());

function denied(message: string, more: object = {}) {
  return {
    code: 400,
    message: `admission webhook "migration-create.kubevirt.io" denied the request: ${message}`,
    ...more,
  };
}

function invalid(reason: string, field: string, message: string) {
  return denied(message, { code: 422, reason: "Invalid", details: { causes: [{ reason, message, field }] } });
}

function restricted(message: string) {
  return {
    code: 422,
    reason: "Invalid",
    message: `admission webhook "migration-update.kubevirt.io" denied the request: ${message}`,
    details: { causes: [{ reason: "FieldValueNotSupported", message }] },
  };
}

describe("creating a migration", () => {
  // prettier-ignore
  const rows: readonly (readonly [question: string, user: string, request: RawRequest, answer: object])[] = [
    ["no name of a VMI",                     FOREIGN,         migrate(""),      invalid("FieldValueRequired", "spec.vmiName", "vmiName is missing")],
    ["of a VMI that does not exist",         FOREIGN,         migrate("nope"),  denied('the VMI "guests/nope" does not exist')],
    ["of a VMI that cannot",                 FOREIGN,         migrate("pinned"), denied("Cannot migrate VMI, Reason: DisksNotLiveMigratable, Message: cannot migrate VMI: PVC x is not shared")],
    ["of a VMI that has ended",              FOREIGN,         migrate("final"), denied("Cannot migrate VMI in finalized state.")],
    ["with a priority, foreign",             FOREIGN,         migrate("ok", { priority: "system-critical" }), invalid("FieldValueForbidden", "spec.migrationPriority", "Migration priority queue, only virt-controller is allowed to set priority field")],
    ["with a priority, as virt-controller",  VIRT_CONTROLLER, migrate("ok", { priority: "system-critical", dryRun: true }), { code: 201, spec: { priority: "system-critical" } }],
  ];
  test.each(rows)("%s", async (_, user, request, answer) => {
    expect(await guests.ask(user, request)).toMatchObject(answer);
  });

  test("a migration gets label and finalizer, a second one is refused while it is unfinished", async () => {
    const first = await guests.ask(FOREIGN, migrate("busy"));
    expect(first).toMatchObject({
      code: 201,
      metadata: {
        labels: { "kubevirt.io/vmi-name": "busy" },
        finalizers: ["kubevirt.io/migrationJobFinalize"],
        annotations: { "kubevirt.io/evacuationMigration": "node01" },
      },
      spec: { vmiName: "busy" },
    });
    expect(first).not.toHaveProperty("status");
    const job = `Active migration job (${first.metadata.uid}) is currently already in progress for VMI busy.`;
    const second = await guests.ask(FOREIGN, migrate("busy"));
    expect(second).toMatchObject(denied(`in-flight migration detected. ${job}`));
    expect(second).not.toHaveProperty("reason");
  });
});

describe("changing a migration", () => {
  // prettier-ignore
  const rows: readonly (readonly [question: string, body: object, answer: object])[] = [
    ["its annotations", { metadata: { annotations: { "lifeboat.dev/cause": "Preemption" } } }, { code: 200, metadata: { annotations: { "lifeboat.dev/cause": "Preemption" } } }],
    ["its spec",        { spec: { vmiName: "ok" } },                                           restricted("update of Migration object's spec is restricted")],
    ["its label",       { metadata: { labels: { "kubevirt.io/vmi-name": "zz" } } },            restricted("selector label can't be modified on an in-flight migration")],
    ["all its labels",  { metadata: { labels: null } },                                        restricted("selector label can't be removed from an in-flight migration")],
  ];
  test.each(rows)("%s", async (_, body, answer) => {
    const [migration] = await guests.migrations();
    expect(await guests.ask(FOREIGN, mergePatch(`${MIGRATIONS}/${migration?.metadata.name}`, body))).toMatchObject(
      answer,
    );
  });

  test("deleting one: its finalizer holds it", async () => {
    const [migration] = await guests.migrations();
    const path = `${MIGRATIONS}/${migration?.metadata.name}`;
    expect(await guests.ask(FOREIGN, { method: "DELETE", path })).toMatchObject({
      code: 200,
      metadata: { finalizers: ["kubevirt.io/migrationJobFinalize"] },
    });
    const after = await guests.ask(FOREIGN, { method: "GET", path });
    expect(after.metadata.deletionTimestamp).toBeDefined();
  });
});
