/**
 * The situations of KubeVirt's own unit tests of its eviction webhook, by their number there, and the branches that it does
 * not test. Where the rules here are others, the row says so. What becomes of a failing API server (24, 25), a malformed
 * review and a dry run (27, 28) is for the door to show: the policy sees facts only, and returns actions either way.
 */
import { describe, expect, test } from "vitest";
import { causeOfEviction } from "../../../shared/policy/cause.ts";
import { decideEviction, type EvictionFacts } from "../../../shared/policy/eviction/eviction.ts";
import { decided, eviction } from "./evictions.ts";
import { hotplug, marked, MOBILITY, only, pod, settings, vmi, without } from "../fixtures.ts";

function inShort(facts: EvictionFacts): string {
  const decision = decideEviction(facts);
  if (decision.verdict === "Ask") return `asks for ${decision.question}`;
  const mark = only("Mark", decision.actions).length > 0 ? ", marks" : "";
  return decision.verdict === "Allow" ? `allow${mark}` : `429 ${decision.reason}${mark}`;
}

interface Strategies {
  readonly cluster?: string;
  readonly own?: string;
  readonly migratable?: boolean;
}

/** A VM with its own strategy, in a cluster with one; pinned unless said otherwise. */
function under({ cluster, own, migratable = false }: Strategies): EvictionFacts {
  const liveMigratable = migratable ? MOBILITY.migratable : MOBILITY.pinned;
  const subject = without(vmi({ liveMigratable }), "evictionStrategy");
  const clusterStrategy = cluster === undefined ? {} : { clusterStrategy: cluster };
  return eviction({
    vmi: own === undefined ? subject : { ...subject, evictionStrategy: own },
    settings: settings(clusterStrategy),
  });
}

const MARKS = "429 EvacuationTriggered, marks";
const [yes, no] = [{ migratable: true }, { migratable: false }];
const [own, IF_POSSIBLE] = ["LiveMigrate", "LiveMigrateIfPossible"];

// prettier-ignore
const rows: readonly (readonly [nr: string, what: string, EvictionFacts, expected: string])[] = [
  ["1",  "no launcher",                               eviction({ pod: pod({ labels: {} }) }),            "allow"],
  ["2",  "no such pod",                               without(eviction(), "pod"),                        "allow"],
  ["3",  "launcher failed",                           eviction({ pod: pod({ phase: "Failed" }) }),       "allow"],
  ["4",  "launcher succeeded",                        eviction({ pod: pod({ phase: "Succeeded" }) }),    "allow"],
  ["5",  "own LiveMigrate, migratable",               under({ own, ...yes }),                            MARKS],
  ["6",  "own LiveMigrateIfPossible, migratable",     under({ own: IF_POSSIBLE, ...yes }),               MARKS],
  ["7",  "own External, pinned",                      under({ own: "External", ...no }),                 MARKS],
  ["8",  "own External, migratable",                  under({ own: "External", ...yes }),                MARKS],
  ["9",  "cluster's LiveMigrate, migratable",         under({ cluster: "LiveMigrate", ...yes }),         MARKS],
  ["10", "cluster's LiveMigrateIfPossible, migratable", under({ cluster: IF_POSSIBLE, ...yes }),         MARKS],
  ["11", "cluster's External, pinned",                under({ cluster: "External", ...no }),             MARKS],
  ["12", "cluster's External, migratable",            under({ cluster: "External", ...yes }),            MARKS],
  ["13", "no strategy, pinned",                       under(no),                                         "allow"],
  ["14", "no strategy, migratable",                   under(yes),                                        "allow"],
  ["15", "own None, pinned",                          under({ own: "None", ...no }),                     "allow"],
  ["16", "own None, migratable",                      under({ own: "None", ...yes }),                    "allow"],
  ["17", "own LiveMigrateIfPossible, pinned",         under({ own: IF_POSSIBLE, ...no }),                "allow"],
  ["18", "cluster's None, pinned",                    under({ cluster: "None", ...no }),                 "allow"],
  ["19", "cluster's None, migratable",                under({ cluster: "None", ...yes }),                "allow"],
  ["20", "cluster's LiveMigrateIfPossible, pinned",   under({ cluster: IF_POSSIBLE, ...no }),            "allow"],
  ["21", "own LiveMigrate, pinned",                   under({ own, ...no }),                             "429 NotMigratable"],
  ["22", "cluster's LiveMigrate, pinned",             under({ cluster: "LiveMigrate", ...no }),          "429 NotMigratable"],
  ["26", "marked already",                            eviction({ vmi: marked() }),                       "429 EvacuationInProgress"],
  ["29", "hotplug pod of a live VM",                  eviction({ pod: hotplug(), launcher: pod() }),     "429 HotplugOfLiveVmi"],

  ["L1", "launcher without a domain",                 eviction({ pod: pod({ annotations: {} }) }),       "allow"],
  ["L2", "its VMI is gone: let go, there for ever refused", without(eviction(), "vmi"),                  "allow"],
  ["L6", "a strategy that KubeVirt does not know: refused, there let go", under({ own: "Odd", ...yes }),           "429 UnknownStrategy"],
  ["L7", "marked for a node it has left: replaced, there for ever refused", eviction({ vmi: vmi({ evacuationNodeName: "node00" }) }), MARKS],
  ["L8", "target of a migration",                     eviction({ pod: pod({ nodeName: "node02" }) }),    "429 MigrationTarget"],
  ["L8", "… of a VM without protection",              eviction({ pod: pod({ nodeName: "node02" }), vmi: vmi({ evictionStrategy: "None" }) }), "allow"],
  ["H1", "hotplug, its launcher is gone",             eviction({ pod: hotplug() }),                      "allow"],
  ["H2", "hotplug, its owner is no launcher",         eviction({ pod: hotplug(), launcher: pod({ labels: {} }) }), "allow"],
  ["H2", "hotplug, its launcher has completed",       eviction({ pod: hotplug(), launcher: pod({ phase: "Failed" }) }), "allow"],
  ["H3", "hotplug, its launcher without a domain",    eviction({ pod: hotplug(), launcher: pod({ annotations: {} }) }), "allow"],
  ["H4", "hotplug, its VMI is gone",                  without(eviction({ pod: hotplug(), launcher: pod() }), "vmi"), "allow"],
  ["f",  "being deleted: let go, there marked",       eviction({ vmi: vmi({ deleting: true }) }),        "allow"],
  ["f",  "final: let go, there marked",               eviction({ vmi: vmi({ phase: "Failed" }) }),       "allow"],
  ["-",  "the VM's None wins over the cluster's LiveMigrate", under({ own: "None", cluster: "LiveMigrate", ...yes }), "allow"],
  ["-",  "the VM's LiveMigrate wins over the cluster's None", under({ own, cluster: "None", ...yes }),   MARKS],
];

describe("as in KubeVirt's eviction webhook", () => {
  test.each(rows)("%s: %s", (...[, , facts, expected]) => expect(inShort(facts)).toBe(expected));

  test("23: the descheduler asks", () => {
    const cause = causeOfEviction({ "requested-by": "sigs.k8s.io/descheduler" });
    const request = { username: "system:serviceaccount:kube-system:descheduler", cause };
    const { actions } = decided({ ...under({ cluster: "LiveMigrate", own, ...yes }), request });
    expect(only("CreateEvacuation", actions)).toMatchObject([{ evacuation: { spec: { cause: "Descheduler" } } }]);
  });
});
