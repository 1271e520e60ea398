/** Tests which old objects of node maintenance Lifeboat deletes, shortens or keeps. */
import { expect, test } from "vitest";
import type { NodeEvacuationFacts } from "../../../shared/kube/node-evacuation.ts";
import type { RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { planMaintenanceHistory } from "../../../shared/maintenance/history.ts";
import { NOW, settings, time } from "../../support/fixtures.ts";
import { underWay } from "../../support/maintenance/rolling.ts";
import { started } from "../../support/maintenance/worlds.ts";

const SECONDS = settings().maintenance.historySeconds;
const OLD = { completionTime: time(-SECONDS) };
const WEB = { namespace: "apps", name: "web", uid: "vmi-web" };
const BLOCKER = { namespace: "apps", name: "db", reason: "NotMigratable", message: "m" };

const closed = started({ name: "ne", uid: "uid-of-ne", isCommands: true, status: { phase: "Withdrawn", ...OLD } });
/** Its node is not uncordoned yet, so its stopped VMs have not started again. */
const waiting = started({ name: "ne", uid: "uid-of-ne", isCommands: true, status: { phase: "Evacuated", ...OLD } });
const unsettled: NodeEvacuationFacts = { ...closed, status: { ...closed.status, outcomes: [WEB] } };
const recent: NodeEvacuationFacts = { ...closed, status: { ...closed.status, completionTime: time(1 - SECONDS) } };
const bare: NodeEvacuationFacts = { ...closed, isCommands: false };
const full: NodeEvacuationFacts = {
  ...bare,
  status: { ...bare.status, outcomes: [{ ...WEB, outcome: "Moved" }], blockers: [BLOCKER] },
};
const asPart = (ne: NodeEvacuationFacts) => ({ ...ne, owner: { name: "kernel", uid: "uid-of-kernel" } });

const running = underWay(["Returned", "Pending"]);
const over = underWay(["Returned"], { isCommands: true, status: { phase: "Completed", ...OLD } });
const silent: RollingMaintenanceFacts = { ...over, isCommands: false };
const nodes = [
  { name: "node-1", phase: "Expired", message: "m" },
  { name: "node-2", phase: "Skipped" },
] as const;
const talking: RollingMaintenanceFacts = { ...silent, status: { ...silent.status, nodes } };

const planned = (nodeEvacuations: readonly NodeEvacuationFacts[], rolling: readonly RollingMaintenanceFacts[]) =>
  planMaintenanceHistory({ settings: settings(), now: NOW, nodeEvacuations, rolling }).chains.flat();

// prettier-ignore
test.each<readonly [string, readonly NodeEvacuationFacts[], readonly RollingMaintenanceFacts[], readonly string[]]>([
  ["an ended NodeEvacuation is deleted",                                                     [closed],          [],        ["DeleteNodeEvacuation"]],
  ["a NodeEvacuation that ended one second later is kept",                                   [recent],          [],        []],
  ["a NodeEvacuation whose node waits to be uncordoned is kept",                             [waiting],         [],        []],
  ["a NodeEvacuation with an unknown outcome is kept",                                       [unsettled],       [],        []],
  ["a NodeEvacuation of a RollingMaintenance that has not ended is kept",                    [asPart(closed)],  [running], []],
  ["a NodeEvacuation is deleted after the end of a RollingMaintenance that others created",  [asPart(closed)],  [silent],  ["DeleteNodeEvacuation"]],
  ["an ended RollingMaintenance is deleted with its NodeEvacuation",                         [asPart(closed)],  [over],    ["DeleteNodeEvacuation", "DeleteRollingMaintenance"]],
  ["a RollingMaintenance whose node waits to be uncordoned is kept",                         [asPart(waiting)], [over],    []],
  ["a RollingMaintenance is deleted while a node of another maintenance waits",              [waiting],         [over],    ["DeleteRollingMaintenance"]],
  ["the status of a NodeEvacuation that others created is shortened",                        [full],            [],        ["WriteNodeStatus"]],
  ["a short status of a NodeEvacuation that others created is not written again",            [bare],            [],        []],
  ["the status of a RollingMaintenance that others created is shortened",                    [],                [talking], ["WriteRollingStatus"]],
  ["a short status of a RollingMaintenance that others created is not written again",        [],                [silent],  []],
])("%s", (_, nodeEvacuations, rolling, verbs) => {
  expect(planned(nodeEvacuations, rolling).map(({ verb }) => verb)).toEqual(verbs);
});

test("a shortened status loses only outcomes, blockers and the messages of nodes", () => {
  expect(planned([full], [talking])).toEqual([
    { verb: "WriteNodeStatus", nodeEvacuation: full, status: { ...full.status, outcomes: [], blockers: [] } },
    {
      verb: "WriteRollingStatus",
      rm: talking,
      status: { ...talking.status, nodes: nodes.map(({ name, phase }) => ({ name, phase })) },
    },
  ]);
});
