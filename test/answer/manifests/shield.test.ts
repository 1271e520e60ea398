/**
 * Tests the CEL condition that selects VMIs for the shutdown shield, with changed fields and with missing fields. If
 * the evaluation failed, KubeVirt would refuse every shutdown in the cluster.
 */
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { evaluateCondition } from "../../../infra/sandbox/index.ts";
import { SHIELD_LABEL } from "../../../shared/kube/names.ts";
import { MIN_GRACE_SECONDS, OVER } from "../../../shared/shield/shield.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

const Hook = z.object({ condition: z.string() });
const [plugin] = readManifests("optional/shield/shield.yaml");
const { nodeHooks } = z.object({ nodeHooks: z.tuple([Hook]) }).parse(plugin?.["spec"]);
const [{ condition }] = nodeHooks;

const migratable = (status: string) => ({ conditions: [{ type: "Ready" }, { type: "LiveMigratable", status }] });
const SHIELDED = {
  metadata: { name: "web", labels: { [SHIELD_LABEL]: "1700000000" } },
  spec: { domain: {}, terminationGracePeriodSeconds: MIN_GRACE_SECONDS },
  status: { phase: "Running", nodeName: "node01", ...migratable("True") },
};

interface Change {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

/** Returns SHIELDED with changed fields. A field is removed if its new value is undefined. */
function vmiWith(change: Change): object {
  const part = (key: keyof Change) =>
    Object.fromEntries(Object.entries({ ...SHIELDED[key], ...change[key] }).filter(([, value]) => value !== undefined));
  return { metadata: part("metadata"), spec: part("spec"), status: part("status") };
}

describe("the shield's condition", () => {
  // prettier-ignore
  const rows: readonly (readonly [vmi: string, change: Change, refused: boolean])[] = [
    ["holds for a VMI that Lifeboat has labelled",             {},                                                                 true ],
    ["does not hold after the time of refusals",               { metadata: { labels: { [SHIELD_LABEL]: OVER } } },                 false],
    ["does not hold for a VMI that its owner deletes",         { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },        false],
    ["does not hold with a shorter grace period",              { spec: { terminationGracePeriodSeconds: MIN_GRACE_SECONDS - 1 } }, false],
    ["does not hold with KubeVirt's default grace period",     { spec: { terminationGracePeriodSeconds: undefined } },             false],
    ["does not hold for an ended VMI",                         { status: { phase: "Succeeded" } },                                 false],
    ["does not hold for a VMI that cannot migrate",            { status: migratable("False") },                                    false],
    ["holds during a pre-copy migration",                      { status: { migrationState: { mode: "PreCopy" } } },                true ],
    ["does not hold during a post-copy migration",             { status: { migrationState: { mode: "PostCopy" } } },               false],
  ];
  test.each(rows)("%s", (_, change, refused) => {
    expect(evaluateCondition(condition, vmiWith(change))).toBe(refused);
  });

  // prettier-ignore
  test.each([
    ["an empty VMI",            {}                                                                ],
    ["a VMI with only a label", { metadata: SHIELDED.metadata }                                   ],
  ])("does not hold for %s", (_, vmi) => {
    expect(evaluateCondition(condition, vmi)).toBe(false);
  });
});
