/**
 * One namespace cannot reach into another: whatever a tenant writes in theirs, what is decided about anybody else's VMs is
 * the same as without it.
 */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Action } from "../../shared/policy/action.ts";
import { planBudgets } from "../../shared/policy/budget.ts";
import { decideDeletion } from "../../shared/policy/deletion.ts";
import { planDisruptions } from "../../shared/policy/disruption.ts";
import { planEvacuations } from "../../shared/policy/evacuation.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { planPressure } from "../../shared/policy/pressure.ts";
import { deletion, guarded, node, target } from "../policy/disruptions.ts";
import { budget, grownBudget, marked, NODE, NOW, owner, record, settings, time, vmi } from "../policy/fixtures.ts";
import { PRESSED, pressureWorld, resident } from "../policy/pressed.ts";
import { slotOf, world } from "../policy/worlds.ts";
import { anyBudget, anyMigration, anyPod, anyVmi } from "./arbitrary.ts";

const VICTIMS = "apps";

function namespaceOf(action: Action): string {
  switch (action.verb) {
    case "Mark":
    case "Record":
    case "Unmark":
    case "Forget":
    case "CreateBudget":
    case "EnsureBudget":
    case "GrowBudget":
      return action.vmi.namespace;
    case "CreateMigration":
      return action.slot.namespace;
    case "AdoptMigration":
    case "DeleteMigration":
      return action.migration.namespace;
    case "ResizeBudget":
    case "DeleteBudget":
      return action.budget.namespace;
    case "DeletePod":
    case "AnnotatePod":
      return action.pod.namespace;
    case "WriteSlots":
    case "WriteCounters":
    case "WriteConditions":
    case "WriteRegister":
      return VICTIMS;
    case "Event":
      return action.about.namespace;
  }
}

function about(namespace: string, chains: readonly (readonly Action[])[]): readonly Action[] {
  return chains.flat().filter((action) => namespaceOf(action) === namespace);
}

const anyForgery = fc.record({
  vmis: fc.array(anyVmi, { minLength: 1, maxLength: 3 }),
  pods: fc.array(anyPod, { maxLength: 4 }),
  budgets: fc.array(anyBudget, { maxLength: 4 }),
  migrations: fc.array(anyMigration, { maxLength: 4 }),
});

type Forgery = typeof anyForgery extends fc.Arbitrary<infer T> ? T : never;

function always(holds: (forged: Forgery) => void): void {
  fc.assert(
    fc.property(anyForgery, (forged) => {
      holds(forged);
    }),
    { seed: 20_260_301, numRuns: 1500 },
  );
}

/** Running migrations of anybody count against the limits, as in KubeVirt: here nobody is near them. */
const ROOMY = { limits: { parallelMigrationsPerCluster: 100, parallelOutboundMigrationsPerNode: 100 } };

/** Evacuations in every state that others could disturb. */
const VICTIM_STATES: readonly (readonly [string, VmiFacts])[] = [
  ["at rest", vmi()],
  ["marked", marked()],
  ["held for a taint", marked({}, { cause: "NoExecuteTaint", since: time(-299) })],
  ["cancelled", vmi({ record: record({ outcome: "Cancelled", notBefore: time(10) }) })],
];

describe.each(VICTIM_STATES)("a VM that is %s", (_, victim) => {
  test("is evacuated as if the forgery were not there", () => {
    const slots = victim.evacuationNodeName === undefined ? [] : [slotOf(victim)];
    const plan = (forged: Partial<Forgery>) => {
      const vmis = [victim, ...(forged.vmis ?? [])];
      const { migrations = [], budgets = [] } = forged;
      const alone = world({ vmis: [victim], settings: settings(ROOMY), register: { resourceVersion: "1", slots } });
      const around = { vmis, migrations, budgets: [...alone.budgets, ...budgets] };
      return about(VICTIMS, planEvacuations({ ...alone, ...around }).chains);
    };
    const expected = plan({});
    always((forged) => expect(plan(forged)).toEqual(expected));
  });

  test.each([
    ["its budget", budget()],
    ["its budget grown", grownBudget()],
    ["another's", budget({ name: "theirs", uid: "theirs", managedByUs: false, owners: [] })],
    ["an orphan of ours", budget({ uid: "orphan", owners: [owner({ uid: "gone" })] })],
  ])("keeps its budgets as if the forgery were not there: %s", (__, its) => {
    const plan = ({ vmis = [], budgets = [], migrations = [] }: Partial<Forgery>) => {
      const given = { vmis: [victim, ...vmis], budgets: [its, ...budgets], migrations, now: NOW };
      return about(VICTIMS, planBudgets({ ...given, tainted: new Set(), settings: settings(), complete: true }).chains);
    };
    const expected = plan({});
    always((forged) => expect(plan(forged)).toEqual(expected));
  });

  test("is ended at its deadline, or not, as if the forgery were not there", () => {
    const tainted = node({ taints: [{ key: "maintenance", effect: "NoExecute" }] });
    const plan = ({ vmis = [], pods = [] }: Partial<Forgery>) =>
      about(
        VICTIMS,
        planDisruptions({
          vmis: [victim, ...vmis],
          pods: [target("NoExecuteTaint", -300), ...pods],
          nodes: [tainted],
          settings: guarded(),
          now: NOW,
        }).chains,
      );
    const expected = plan({});
    always((forged) => expect(plan(forged)).toEqual(expected));
  });

  const rule = ({ vmis = [], pods = [] }: Partial<Forgery>) => {
    const neighbours = pods.map((one) => target("Preemption", one.deleting ? -3600 : -100, one));
    const settingsNow = guarded({ maxHolds: 1 });
    return decideDeletion(deletion({ vmi: victim, neighbours, evacuating: vmis, settings: settingsNow }));
  };

  test("is held as if the forgery were not there", () => {
    const expected = rule({});
    // The scheduler may really have preempted pods of theirs: those that are not their VM's.
    always(({ pods, ...forged }) => {
      const fakes = pods.filter(({ uid }) => uid !== "my-pod");
      expect(rule({ ...forged, pods: fakes })).toEqual(expected);
    });
  });
});

function isMoved(strategy: string | undefined): boolean {
  return strategy === "LiveMigrate" || strategy === "LiveMigrateIfPossible";
}

test("VMs leave a node under pressure as if the forgery were not there, but for who goes first", () => {
  const victims = ["a", "b", "c"].map((name) => resident(name));
  const plan = (forged: Partial<Forgery>) => {
    const theirs = (forged.pods ?? []).flatMap((one) => (forged.vmis ?? []).map((of) => ({ vmi: of, pod: one })));
    // What may move competes with the others for the places of the node; what may not must not take any.
    const staying = theirs.filter(({ vmi: { evictionStrategy } }) => !isMoved(evictionStrategy));
    const residents = [...victims, ...staying];
    return about(VICTIMS, planPressure(pressureWorld([], { pressured: [{ node: PRESSED, residents }] })).chains);
  };
  const expected = plan({});
  always((forged) => expect(plan(forged)).toEqual(expected));
});

describe("in their own namespace", () => {
  test("no annotation or label moves, ends or shuts down a VM that nobody has marked", () => {
    always((forged) => {
      const { vmis, pods, budgets, migrations } = forged;
      const around = { vmis, budgets, migrations, settings: guarded({}, ROOMY) };
      const tainted = node({ taints: [{ key: "maintenance", effect: "NoExecute" }] });
      const actions = [
        ...planEvacuations(world(around)).chains,
        ...planDisruptions({ vmis, pods, nodes: [tainted], settings: guarded(), now: NOW }).chains,
      ].flat();
      const harmless = new Set<Action["verb"]>(["Unmark", "Forget", "Record", "Event", "DeleteMigration"]);
      expect(actions.filter(({ verb }) => !harmless.has(verb))).toEqual([]);
    });
  });

  test("nothing that is written makes a plan fail, whatever the back-off is configured as", () => {
    const impatient = settings({ evacuation: { backoffSeconds: 0 } });
    always(({ vmis, migrations }) => {
      const given = vmis.map((one) => ({ ...one, evacuationNodeName: one.nodeName ?? NODE }));
      for (const some of [vmis, given]) {
        expect(() => planEvacuations(world({ vmis: some, migrations, settings: impatient }))).not.toThrow();
      }
    });
  });
});
