/**
 * What the CustomResourceDefinitions admit and what the code expects are the same: an object that an API server admits is read and never
 * makes a pass fail; what a pass then writes is admitted again; a configuration that it admits is in force.
 */
import * as fc from "fast-check";
import { applyMergePatch } from "../../../infra/sandbox/apiserver/patch/merge.ts";
import { Meta } from "../../../shared/kube/schemas/fields.ts";
import { Evacuation, LifeboatConfiguration } from "../../../shared/kube/schemas/lifeboat.ts";
import { status as statusPatch } from "../../../shared/evacuation/objects.ts";
import { parseConfiguration } from "../../../shared/settings/configuration.ts";
import { planBeginnings, planEvacuations } from "../../../shared/evacuation/plan.ts";
import { planHistory } from "../../../shared/evacuation/plan.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../../shared/kube/evacuation.ts";
import { cluster, PATH } from "../../support/generators/clusters.ts";
import { admitted, CONFIGURATION, EVACUATION, refusalsOf, stored } from "../../support/generators/custom-resources.ts";
import { factsOf } from "../../support/generators/facts.ts";
import { asJson, at, isObject, type JsonObject } from "../../support/generators/json.ts";
import { object } from "../../support/generators/objects.ts";
import { configuration, edgeConfiguration } from "../../support/generators/settings.ts";
import { world } from "../../support/generators/worlds.ts";
import { decidedTwice, expect, expectPlan } from "./expectations.ts";
import { type Property, property } from "./property.ts";

const clusterOfAdmitted = fc
  .tuple(cluster, fc.array(admitted(EVACUATION), { minLength: 1, maxLength: 3 }))
  .map(([{ collections }, changes]) => {
    // Metadata are the API server's own.
    const fit = (collections[PATH.evacuations] ?? []).filter((one) => {
      return Meta.safeParse(one["metadata"]).success && refusalsOf(one, EVACUATION).length === 0;
    });
    const evacuations = fit.map((one, i) => changes[i % changes.length]?.(one) ?? one);
    return { ...collections, [PATH.evacuations]: evacuations };
  });

/** What a cluster with an older definition may have; the code counts with it as with any other value. */
const LENIENT = [
  // More than fits in 32 bits is as good as without end.
  /maxAttempts/,
  // No user has an empty name, and none is meant twice.
  /requesters|nodeTerminators/,
  // The longest back-off counts from the first on.
  /maxBackoffSeconds/,
];

const asObject = (spec: unknown) => object("LifeboatConfiguration", { name: "lifeboat" }, { spec });

/** After a merge patch, as the API server would have it. */
function patched(before: JsonObject, patch: unknown): JsonObject {
  const after = asJson(applyMergePatch(before, patch));
  return isObject(after) ? after : {};
}

export const CUSTOM_RESOURCE_PROPERTIES: readonly Property[] = [
  property(
    "an Evacuation that the API server admits is read and planned for, and it admits what is written to it",
    fc.tuple(clusterOfAdmitted, world),
    ([collections, around]) => {
      const raw = new Map((collections[PATH.evacuations] ?? []).map((one) => [at(one, "metadata", "uid"), one]));
      for (const one of raw.values()) {
        const read = Evacuation.safeParse(one);
        expect(read.success, `admitted, but not read: ${JSON.stringify(read.error?.issues)}`);
      }
      const given = { ...around, ...factsOf(collections) };
      return [planBeginnings, planEvacuations, planHistory].flatMap((plan) => {
        const made = decidedTwice(given, plan);
        for (const action of made.chains.flat()) {
          if (action.verb !== "WriteStatus") continue;
          const before = raw.get(action.evacuation.uid);
          if (before === undefined) continue;
          const refusals = refusalsOf(patched(before, asJson(statusPatch(action))), EVACUATION, before);
          expect(
            refusals.length === 0,
            `a status that the API server refuses: ${refusals.join("; ")}: ${JSON.stringify([before["status"], action.status])}`,
          );
        }
        return expectPlan(made, given);
      });
    },
    [...ACTIVE_PHASES, ...END_PHASES, "DeleteEvacuation"],
  ),
  property(
    "a LifeboatConfiguration that the API server admits is in force; what it refuses is not, but for what does no harm",
    fc.oneof(
      fc.tuple(configuration, admitted(CONFIGURATION, 12)).map(([spec, change]) => change(asObject(spec))),
      fc.oneof(configuration, edgeConfiguration).map(asObject),
    ),
    (drawn) => {
      const refusals = refusalsOf(drawn, CONFIGURATION);
      const read = LifeboatConfiguration.safeParse(stored(drawn, CONFIGURATION));
      if (refusals.length > 0 && !read.success) return "refused";
      expect(read.success, `not read: ${JSON.stringify(read.error?.issues)}`);
      const parsed = parseConfiguration(read.data?.spec);
      const problems = parsed.ok ? "" : JSON.stringify(parsed.problems);
      expect(parsed.ok || refusals.length > 0, `admitted, but not accepted: ${problems}`);
      if (!parsed.ok) return "refused";
      for (const one of refusals)
        expect(
          LENIENT.some((is) => is.test(one)),
          `accepted, but not admitted: ${one}`,
        );
      return refusals.length === 0 ? "accepted" : "accepted by the code alone";
    },
    ["accepted", "refused", "accepted by the code alone"],
  ),
];
