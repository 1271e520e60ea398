/**
 * What kube-controller-manager writes into a ValidatingAdmissionPolicy: which fields its expressions name that the matched
 * kinds do not have. A warning: the policy works all the same.
 * Owns: those warnings. Does not own: judging by policies (policies.ts).
 */
import { inBackground } from "../background.ts";
import { type ServerState, collectionOf } from "../context.ts";
import { problemIn } from "../cel/language.ts";
import { POLICIES, type Policy } from "../kinds/admission.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { viewAs } from "../objects.ts";
import { structureOf } from "../schema/models.ts";
import type { Structural } from "../schema/structural.ts";
import { type StoredObject, parse } from "../store.ts";
import { changeStored } from "../updating.ts";
import { environmentFor } from "./cel.ts";

export function checkPolicies(state: ServerState): void {
  const policies = collectionOf(state, POLICIES);
  policies.log.react = ({ type, object }) => {
    if (type !== "DELETED") inBackground(writeWarnings(state, object));
  };
}

async function writeWarnings(state: ServerState, stored: StoredObject): Promise<void> {
  const policy = viewAs<Policy>(parse(stored));
  const { generation } = policy.metadata;
  const warnings = await warningsOf(state, policy);
  const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
  changeStored(collectionOf(state, POLICIES), stored, (current) => {
    if (current.metadata.generation === generation) current.status = { observedGeneration: generation, typeChecking };
  });
}

async function warningsOf(state: ServerState, { spec }: Policy) {
  const rules = spec.matchConstraints.resourceRules ?? [];
  const kinds = state.kinds
    .all()
    .filter(({ group, version, plural }) =>
      rules.some(
        ({ apiGroups, apiVersions, resources }) =>
          apiGroups?.includes(group) && apiVersions?.includes(version) && resources?.includes(plural),
      ),
    );
  const checks = await Promise.all(kinds.map(async (kind) => ({ kind, ...environmentFor(await schemaOf(kind)) })));
  const warningOf = (expression: string): string => {
    const problems = checks.map(({ kind: { group, version, kind }, environment }) => {
      const problem = problemIn(environment, expression);
      return problem === undefined ? "" : `${group}/${version}, Kind=${kind}: ${problem}\n`;
    });
    return problems.filter((one) => one !== "").join("\n");
  };
  return spec.validations.flatMap(({ expression, messageExpression = "" }, index) =>
    Object.entries({ expression, messageExpression }).flatMap(([field, text]) => {
      const warning = text === "" ? "" : warningOf(text);
      return warning === "" ? [] : [{ fieldRef: `spec.validations[${index}].${field}`, warning }];
    }),
  );
}

function schemaOf({ schema, model = "" }: ResourceKind): Structural | Promise<Structural> {
  return schema ?? structureOf(model);
}
