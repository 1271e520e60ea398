/**
 * What kube-controller-manager writes into the status of a ValidatingAdmissionPolicy: fields in its expressions that the matched kinds do
 * not have. These are warnings, and the policy works with them.
 */
import { inBackground } from "../background.ts";
import { type ServerState, collectionOf } from "../context.ts";
import { POLICIES, type Policy } from "../kinds/admission.ts";
import { viewAs } from "../objects.ts";
import { structureOf } from "../schema/models.ts";
import { type StoredObject, parse } from "../store.ts";
import { changeStored } from "../updating.ts";
import { languageOf } from "./cel.ts";

export function checkPolicies(state: ServerState): void {
  const policies = collectionOf(state, POLICIES);
  policies.log.react = ({ type, object }) => {
    if (type !== "DELETED") inBackground(writeWarnings(state, object));
  };
}

async function writeWarnings(state: ServerState, stored: StoredObject): Promise<void> {
  const policy = viewAs<Policy>(parse(stored));
  const { generation: observedGeneration } = policy.metadata;
  const expressionWarnings = await warningsOf(state, policy);
  const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
  changeStored(collectionOf(state, POLICIES), stored, (current) => {
    if (current.metadata.generation === observedGeneration) current.status = { observedGeneration, typeChecking };
  });
}

async function warningsOf(state: ServerState, { spec }: Policy) {
  const { resourceRules = [] } = spec.matchConstraints;
  const kinds = state.kinds
    .all()
    .filter(({ group, version, plural }) =>
      resourceRules.some(
        (rule) =>
          rule.apiGroups?.includes(group) && rule.apiVersions?.includes(version) && rule.resources?.includes(plural),
      ),
    );
  const languages = await Promise.all(
    kinds.map(async ({ group, version, kind, schema, model = "" }) => {
      return { name: `${group}/${version}, Kind=${kind}`, language: languageOf(schema ?? (await structureOf(model))) };
    }),
  );
  return spec.validations.flatMap(({ expression, messageExpression = "''" }, index) =>
    Object.entries({ expression, messageExpression }).flatMap(([field, text]) => {
      const problems = languages.map(({ name, language }) => ({ name, problem: language.problem(text) }));
      const told = problems.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}\n`]));
      return told.length === 0 ? [] : [{ fieldRef: `spec.validations[${index}].${field}`, warning: told.join("\n") }];
    }),
  );
}
