/** Tests the order in which VMs leave a node that is being evacuated, and when their guests are shut down. */
import { describe, expect, test } from "vitest";
import { textOf } from "../../../shared/facts/facts.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import { selectLaunchersOn } from "../../../shared/kube/selections.ts";
import { isShutdownDue } from "../../../shared/maintenance/blockers.ts";
import { viewOf } from "../../../shared/maintenance/vms.ts";
import type { VirtualMachineFacts } from "../../../shared/kube/node-evacuation.ts";
import type { NodeWorld } from "../../../shared/maintenance/world.ts";
import { NODE, time } from "../../support/fixtures.ts";
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

describe("the turn of VMs", () => {
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
  const unread = new ClusterError({ reason: "Unintelligible", request: "GET b", issue: "x: too large", odd: true });
  const blockedByPerson = own("a", {
    spec: { cause: "Operator", nodeEvacuation: undefined },
    status: { phase: "Blocked", reason: "PersonsMigration" },
  });

  // prettier-ignore
  test.each<readonly [string, Situation, readonly string[], readonly string[]]>([
    ["goes to the first VMs while places are free, without reads about later ones", { vms: { "apps/a": {}, "apps/b": {} } }, ["a", "b"], []],
    ["skips a VM that its owner keeps",     { vms: { "apps/a": {}, "apps/b": held, "apps/c": {} } },                  ["a", "c"], ["b NotBefore"]],
    ["skips a VM whose VirtualMachine cannot be read, and names it", { vms: { "apps/a": {}, "apps/c": {} }, more: { ...evacuations, "virtualmachines apps/b": unread } }, ["a", "c"], ["b Unreadable"]],
    ["comes for no VM if all owners keep theirs",   { vms: { "apps/a": held, "apps/b": held, "apps/c": held } },              [],         ["a NotBefore", "b NotBefore", "c NotBefore"]],
    ["ignores owners if ownersChoice is Ignored", ways({ ownersChoice: "Ignored" }),                             ["a", "b"], []],
    ["counts a VM that another party moves", { vms: { "apps/a": {}, "apps/b": {} }, more: { ...evacuations, "evacuations in apps where spec.virtualMachineInstance.name=a": [own("a")] } }, ["b"], []],
    ["skips a VM whose other evacuation is blocked, and names it", { vms: { "apps/a": {}, "apps/b": {}, "apps/c": {} }, more: { ...evacuations, "evacuations in apps where spec.virtualMachineInstance.name=a": [blockedByPerson] } }, ["b", "c"], ["a PersonsMigration"]],
  ])("%s", (_, situation, started, blockers) => {
    expect(turnsIn(situation)).toEqual({ started, held: blockers });
  });

  test("comes first for a VM whose launcher pod has a lower priority", () => {
    const vmis = [vmiOf("a", { priorityClass: "high" }), vmiOf("b", { priorityClass: "low" })];
    const pods = [launcher("a", { priority: 100 }), launcher("b")];
    const more = { ...evacuations, [textOf({ kind: "pods", selection: selectLaunchersOn(NODE) })]: pods };
    expect(turnsIn({ vmis, vms: { "apps/b": {} }, more }, 1)).toEqual({ started: ["b"], held: [] });
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
    ["is not due when the VM first blocks",                             { ...vm(), ...RESTART },                false],
    ["is not due 59 s after the VM first blocked",                      seen(time(-59)),                    false],
    ["is due a minute after the VM first blocked",                      seen(time(-60)),                    true],
    ["is due if only room was missing",                                 seen(time(0), "NoRestart"),         true],
    ["is not due after a change of the reason",                         seen(time(-90), "Abandoned"),       false],
    ["is not due for a recreated VM",                                   seen(time(-90), undefined, "new"),  false],
    ["is not due for a recreated VM whose predecessor found no room",   seen(time(-90), "NoRestart", "new"), false],
  ] as const)("%s", (_, situation, expected) => expect(dueAt(nodeWorld(situation))).toBe(expected));

  test("has an Evacuation of its own that records the VM's run strategy", () => {
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

  test("waits until the VM's migration is withdrawn", () => {
    const evacuations = [own("web", { status: { phase: "Blocked", reason: "DisksNotLiveMigratable" } })];
    const more = { "evacuations in apps where spec.virtualMachineInstance.name=web": evacuations };
    const next = nextOf({ ...seen(time(-60)), ...ROOM, evacuations, more });
    expect(inShort(next)).toBe("Evacuating WithdrawEvacuation");
  });

  test("does not start without room elsewhere, and blocks with the reason NoRestart", () => {
    const next = nextOf({ ...seen(time(-60)), preflight: facts({ ...ROOM.preflight, otherNodes: [] }) });
    expect([inShort(next), next.more?.blockers?.map(({ reason }) => reason)]).toEqual(["Blocked", ["NoRestart"]]);
  });

  // prettier-ignore
  test.each([
    ["does not start while another NodeEvacuation stops the VM",          "ShutDown", "Stopping",  "Evacuating"],
    ["starts although an earlier NodeEvacuation has restarted the VM",    "Restart",  "Restarted", "Evacuating CreateEvacuation"],
  ])("%s", (_, by, phase, expected) => {
    const nodeEvacuation = { name: "bios", uid: "uid-of-bios" };
    const other = own("web", { spec: { by, nodeEvacuation }, status: { phase } });
    const more = { "evacuations in apps where spec.virtualMachineInstance.name=web": [other] };
    expect(inShort(nextOf({ ...seen(time(-60)), ...ROOM, more }))).toBe(expected);
  });

  test("does not make the node Blocked in the minute before it is due", () => {
    expect(inShort(nextOf(seen(time(-59))))).toBe("Evacuating");
  });
});

const due = (vmi: VmiFacts, reason: string, virtualMachines: object): Situation => ({
  ...vm(),
  vmis: [vmi],
  left: { pods: [launcher("web")] },
  isThorough: true,
  more: EVACUATIONS_OF_WEB,
  ne: started({ spec: { virtualMachines }, status: { blockers: blocker(time(-60), reason, vmi.uid) } }),
});

describe("the Evacuation that restarts or stops a VM", () => {
  const bound = vmiOf("web", { asks: { ...web.asks, nodeSelector: { disk: "nvme" } } });
  const abandoned = [own("web", { status: { phase: "Abandoned", attempts: 5 } })];
  const failed = {
    preflight: facts({ vmis: [web] }),
    evacuations: abandoned,
    more: { "evacuations in apps where spec.virtualMachineInstance.name=web": abandoned },
  };

  // prettier-ignore
  test.each<readonly [string, Situation, expected: string]>([
    ["inherits no attempts if the VM cannot migrate",              due(pinned, "NotMigratable", { whenBlocked: "ShutDown" }),                                      "ShutDown none"],
    ["inherits one attempt if no other node can run the VM",        { ...due(bound, "BoundToNode", { whenBlocked: "ShutDown" }), preflight: facts({ vmis: [bound] }) }, "ShutDown 1"],
    ["inherits the attempts of the VM's migrations",               { ...due(web, "Abandoned", { whenAttemptsFail: "Restart" }), ...failed },                        "Restart 5"],
  ])("%s: $2", (_, situation, expected) => {
    const made = nextOf(situation).chains?.flat().map((action) => {
      if (action.verb !== "CreateEvacuation") return action.verb;
      const { by, inherited } = action.evacuation.spec;
      return `${by} ${inherited?.attempts ?? "none"}`;
    });
    expect(made).toEqual([expected]);
  });
});
