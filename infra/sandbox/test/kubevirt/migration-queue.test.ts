/** Tests the queue of migrations: KubeVirt's limits, back-off and priorities. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Pod } from "../../actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../fleet.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { turnOf } from "../../kubevirt/virt-controller/migration-queue.ts";
import type { World } from "../../kubevirt/virt-controller/world.ts";
import { eventually, useSandbox } from "../with-sandbox.ts";
import { VIRT_CONTROLLER } from "./guests.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

const CREATED = Date.parse("2026-01-01T00:00:00Z");
const at = (seconds: number) => new Date(CREATED + seconds * 1_000).toISOString().replace(".000Z", "Z");

function metadataOf(name: string, seconds = 0) {
  return { name, namespace: "guests", uid: name, resourceVersion: "1", creationTimestamp: at(seconds) };
}

function vmiOn(name: string, nodeName: string, sourceNode = nodeName): Vmi {
  const status = { phase: "Running", nodeName, migrationState: { sourceNode } };
  return { metadata: metadataOf(name), spec: { domain: {} }, status };
}

function podOn(nodeName: string, migration = ""): Pod {
  const metadata = { ...metadataOf(`${migration}-pod`), labels: { [kubevirt.LABEL.migrationJobUID]: migration } };
  return { metadata, spec: { nodeName, containers: [] }, status: { phase: "Running" } };
}

function migrationOf(vmiName: string, phase: string, more: object = {}): Migration {
  return { metadata: metadataOf(`of-${vmiName}`), spec: { vmiName }, status: { phase }, ...more };
}

interface Situation {
  readonly limits?: object;
  /**
   * The other migrations, separated by commas. `PHASE NODE SOURCE` is a migration whose VMI runs on NODE and came from
   * SOURCE. A `+` after the phase means that the target pod exists.
   */
  readonly others?: string;
  readonly before?: Migration;
  readonly own?: object;
  readonly launchers?: readonly Pod[];
}

function turnIn({ limits = {}, others = "", before, own = {}, launchers = [podOn("node-1")] }: Situation) {
  const me = { ...migrationOf("me", "Pending"), metadata: { ...metadataOf("own", 60), ...own } } as Migration;
  const found = others
    .split(", ")
    .filter(Boolean)
    .map((text, index) => {
      const [phase = "", node = "", from] = text.split(" ");
      const migration = migrationOf(`vm-${index}`, phase.replace("+", ""));
      const targets = phase.endsWith("+") ? [podOn("", migration.metadata.uid)] : [];
      return { migration, vmi: vmiOn(`vm-${index}`, node, from), targets };
    });
  const vmi = vmiOn("me", "node-1");
  const vmis = new Map(found.map((one) => [`guests/${one.migration.spec.vmiName}`, one.vmi]));
  const world = {
    vmis,
    podsOf: (one: Vmi) => (one === vmi ? launchers : (found.find((other) => other.vmi === one)?.targets ?? [])),
    migrationsOf: () => (before === undefined ? [me] : [before, me]),
    unfinished: () => [me, ...found.map(({ migration }) => migration)],
    configuration: () => ({ migrations: limits }),
  } as unknown as World;
  const created = { areAllMet: () => true, isMet: () => true, expect: () => undefined, observe: () => undefined };
  const turn = turnOf(me, vmi, { world, created, backoffMs: 20_000, now: new Date(CREATED + 60_000) });
  return turn.turn === "Now" ? "now" : [turn.reason, turn.afterMs === undefined ? "?" : turn.afterMs / 1_000].join("");
}

const AUTOMATIC = { annotations: { [kubevirt.ANNOTATION.workloadUpdateMigration]: "" } };
const failed = (seconds: number, metadata: object = AUTOMATIC) => {
  const phaseTransitionTimestamps = [{ phase: "Failed", phaseTransitionTimestamp: at(seconds) }];
  const status = { phase: "Failed", phaseTransitionTimestamps };
  return migrationOf("me", "Failed", { metadata: { ...metadataOf("before"), ...metadata }, status });
};

// prettier-ignore
const rows: readonly (readonly [when: string, situation: Situation, turn: string])[] = [
  ["no other migration runs",                             {},                                                                       "now"],
  ["one migration runs from the same node",                { others: "Running node-1" },                                             "now"],
  ["two migrations run from the same node",                 { others: "Running node-1, Scheduling node-1" },                          "5"  ],
  ["four migrations run elsewhere",                    { others: "Running b, Running b, Running c, Running c" },                 "now"],
  ["five migrations run elsewhere",                    { others: "Running b, Running b, Running c, Running c, Running d" },      "5"  ],
  ["one runs, with a cluster limit of one",       { limits: { parallelMigrationsPerCluster: 1 }, others: "Running b" },     "5"  ],
  ["one runs from the same node, with a node limit of one",     { limits: { parallelOutboundMigrationsPerNode: 1 }, others: "Running node-1" }, "5"],
  ["two run from the same node, with a node limit of three",    { limits: { parallelOutboundMigrationsPerNode: 3 }, others: "Running node-1, Running node-1" }, "now"],
  ["other migrations wait",                           { others: "Pending node-1, Pending node-1, Synchronizing node-1, WaitingForSync node-1" }, "now"],
  ["other migrations wait for their target pods",     { others: "Pending+ node-1, Pending+ node-1" },                           "5"  ],
  ["two VMIs left the same node in unfinished migrations", { others: "Running b node-1, Running b node-1" },                         "5"  ],
  ["the VMI has two pods",                       { launchers: [podOn("node-1"), podOn("b", "another")] },                  "1"  ],
  ["the VMI has no pod",                    { launchers: [] },                                                        "?"  ],
  ["the last automatic migration failed 5 s ago", { before: failed(55), own: AUTOMATIC },                                  "MigrationBackoff15"],
  ["the last automatic migration failed 20 s ago",          { before: failed(40), own: AUTOMATIC },                                   "now"],
  ["the last migration failed, and a user has created this one", { before: failed(55) },                                                "now"],
  ["the last migration failed, and a user had created it",       { before: failed(55, {}), own: AUTOMATIC },                               "now"],
];
test.each(rows)("the wait of a pending migration in seconds, when %s (%o): %s", (_, situation, turn) =>
  expect(turnIn(situation)).toBe(turn),
);

describe("in a cluster", () => {
  const SECONDS = 60;
  const world = useSandbox({ migrationSeconds: SECONDS });

  beforeAll(async () => {
    await Promise.all(["node-1", "node-2", "node-3", "node-4"].map((name) => createNode(world.sandbox.client, name)));
  });

  async function migrate(namespace: string, vmiName: string, priority?: string): Promise<void> {
    const draft = { metadata: { name: vmiName, namespace }, spec: { vmiName, ...(priority && { priority }) } };
    await world.sandbox.client.as(VIRT_CONTROLLER).create(kubevirt.migrations, draft);
  }

  async function namesOf(namespace: string, phase: string): Promise<readonly string[]> {
    const { items } = await world.sandbox.client.list(kubevirt.migrations, namespace);
    return items.filter(({ status }) => status?.phase === phase).map(({ metadata }) => metadata.name);
  }

  test("a waiting migration has no conditions and no target pod", async () => {
    const namespace = "many";
    const names = Array.from({ length: 10 }, (_, index) => `vm-${index}`);
    await Promise.all(
      names.map((name, index) =>
        createVirtualMachineInstance(world.sandbox.client, { namespace, name, node: `node-${(index % 3) + 1}` }),
      ),
    );
    for (const name of names) await migrate(namespace, name);
    await eventually(async () => (await namesOf(namespace, "Running")).length).toBe(5);
    const waiting = await namesOf(namespace, "Pending");
    expect(waiting).toHaveLength(5);
    for (const name of waiting) {
      const one = await world.sandbox.client.get(kubevirt.migrations, { namespace, name });
      expect(one?.status).not.toHaveProperty("conditions");
      const sourcePod = expect.stringMatching(`^virt-launcher-${name}-`) as string;
      expect(one?.status?.migrationState).toEqual({ sourcePod });
    }
    await world.pass(async () => {
      if ((await namesOf(namespace, "Running")).length > 0) world.clock.advance(SECONDS * 1_000);
      return (await namesOf(namespace, "Succeeded")).length === names.length;
    });
  });

  test("when a migration ends, the pending migration with the highest priority starts", async () => {
    const namespace = "ordered";
    const { client } = world.sandbox;
    const body = { spec: { configuration: { migrations: { parallelOutboundMigrationsPerNode: 1 } } } };
    await client.patch(kubevirt.kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
    const priorities = {
      blocker: undefined,
      unset: undefined,
      maintenance: "system-maintenance",
      user: "user-triggered",
      critical: "system-critical",
    };
    for (const [name, priority] of Object.entries(priorities)) {
      await createVirtualMachineInstance(client, { namespace, name, node: "node-1" });
      await migrate(namespace, name, priority);
      if (name === "blocker") await eventually(() => namesOf(namespace, "Running")).toEqual(["blocker"]);
    }
    await eventually(async () => (await namesOf(namespace, "Pending")).length).toBe(4);
    for (const next of ["critical", "user", "maintenance", "unset"]) {
      world.clock.advance(SECONDS * 1_000);
      await eventually(() => namesOf(namespace, "Running")).toEqual([next]);
    }
  });
});
