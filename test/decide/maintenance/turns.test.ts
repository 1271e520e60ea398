/** The order in which VMs leave the node, and the time at which guests end. */
import { describe, expect, test } from "vitest";
import { keyOf } from "../../../shared/kube/objects.ts";
import { isShutdownDue } from "../../../shared/maintenance/blockers.ts";
import { viewOf } from "../../../shared/maintenance/vms.ts";
import type { VirtualMachineFacts } from "../../../shared/kube/node-evacuation.ts";
import type { NodeWorld } from "../../../shared/maintenance/world.ts";
import { time } from "../../support/fixtures.ts";
import { facts, launcher, vmiOf } from "../../support/preflight/fixtures.ts";
import {
  inShort,
  nextOf,
  nodeWorld,
  own,
  pinnedVm,
  type Situation,
  started,
} from "../../support/maintenance/worlds.ts";

const web = vmiOf("web");
const pinned = pinnedVm("web");
const vm = (tweak: Partial<VirtualMachineFacts> = {}): Situation => ({ vms: { [keyOf(web)]: tweak } });
const ways = (virtualMachines: object) => ({ ne: started({ spec: { virtualMachines } }) });
const RESTART = ways({ whenBlocked: "Restart" });
const blocker = (since: string, reason = "NotMigratable", uid = pinned.uid) => [
  { namespace: "apps", name: "web", uid, reason, message: "", since },
];

const dueAt = (w: NodeWorld) => isShutdownDue(viewOf(pinned, w), w);

const ROOM = { preflight: facts({ vmis: [pinned] }) };
const EVACUATIONS_OF_WEB = { "evacuations in apps where spec.virtualMachineInstance.name=web": [] };

describe("whose turn it is", () => {
  const three = ["a", "b", "c"].map((name) => vmiOf(name));
  const evacuations = Object.fromEntries(
    three.map(({ name }) => [`evacuations in apps where spec.virtualMachineInstance.name=${name}`, []]),
  );
  const turnsIn = (situation: Situation, concurrency = 2) => {
    const ne = started({ spec: { virtualMachines: { concurrency, ...situation.ne?.spec.virtualMachines } } });
    const next = nextOf({ vmis: three, more: evacuations, ...situation, ne });
    const startedVms = next.chains
      ?.flat()
      .flatMap((action) => (action.verb === "CreateEvacuation" ? [action.evacuation.spec.vmiName] : [action.verb]));
    const held = next.more?.blockers?.map(({ name, reason }) => `${name} ${reason}`);
    return { started: startedVms, held };
  };
  const held = { notBefore: time(60) };

  // prettier-ignore
  test.each<readonly [string, Situation, readonly string[], readonly string[]]>([
    ["the first ones, as places are free: later ones are not asked about", { vms: { "apps/a": {}, "apps/b": {} } }, ["a", "b"], []],
    ["past one whose owner keeps it",     { vms: { "apps/a": {}, "apps/b": held, "apps/c": {} } },                  ["a", "c"], ["b NotBefore"]],
    ["none, if all owners keep theirs",   { vms: { "apps/a": held, "apps/b": held, "apps/c": held } },              [],         ["a NotBefore", "b NotBefore", "c NotBefore"]],
    ["whatever owners want, if that does not count", ways({ ownersChoice: "Ignored" }),                             ["a", "b"], []],
    ["a VM that another party moves has its place", { vms: { "apps/a": {}, "apps/b": {} }, more: { ...evacuations, "evacuations in apps where spec.virtualMachineInstance.name=a": [own("a")] } }, ["b"], []],
  ])("%s", (_, situation, started, blockers) => {
    expect(turnsIn(situation)).toEqual({ started, held: blockers });
  });
});

describe("a restart", () => {
  const seen = (since: string, reason?: string, uid?: string) => ({
    ...vm(),
    vmis: [pinned],
    left: { pods: [launcher("web")] },
    isThorough: true,
    ne: started({
      spec: { virtualMachines: { whenBlocked: "Restart" } },
      status: { blockers: blocker(since, reason, uid) },
    }),
  });

  // prettier-ignore
  test.each([
    ["at the first look",            { ...vm(), ...RESTART },                false],
    ["59 s later",                   seen(time(-59)),                    false],
    ["a minute later",               seen(time(-60)),                    true],
    ["when there was no room",       seen(time(0), "NoRestart"),         true],
    ["after another reason",         seen(time(-90), "Abandoned"),       false],
    ["of one that was made anew",    seen(time(-90), undefined, "new"),  false],
    ["… there was no room for it",   seen(time(-90), "NoRestart", "new"), false],
  ] as const)("is due or not %s", (_, situation, expected) => expect(dueAt(nodeWorld(situation))).toBe(expected));

  test("names the VM's run strategy, and is an Evacuation of its own", () => {
    const next = nextOf({ ...seen(time(-60)), ...ROOM, more: EVACUATIONS_OF_WEB });
    expect(next.chains?.flat()).toMatchObject([
      {
        verb: "CreateEvacuation",
        evacuation: {
          spec: { by: "Restart", runStrategy: "Always", cause: "NodeEvacuation", nodeEvacuation: { name: "kernel" } },
        },
      },
    ]);
  });

  test("waits until a migration that it had begun is withdrawn", () => {
    const started = own("web", { status: { phase: "Blocked", reason: "DisksNotLiveMigratable" } });
    const next = nextOf({ ...seen(time(-60)), ...ROOM, evacuations: [started], more: EVACUATIONS_OF_WEB });
    expect(inShort(next)).toBe("Evacuating WithdrawEvacuation");
  });

  test("that has no room elsewhere does not begin, and says so", () => {
    const next = nextOf({ ...seen(time(-60)), preflight: facts({ ...ROOM.preflight, otherNodes: [] }) });
    expect([inShort(next), next.more?.blockers?.map(({ reason }) => reason)]).toEqual(["Blocked", ["NoRestart"]]);
  });
});
