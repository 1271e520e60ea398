/**
 * Reports each field that an expression of a ValidatingAdmissionPolicy uses, but that a matched kind does not have. As
 * in kube-controller-manager, the policy's status lists these fields as warnings.
 */
import { inBackground } from "../background.ts";
import { type ServerState, collectionOf } from "../context.ts";
import { POLICIES, type Policy } from "../kinds/admission.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { fieldAt, recordAt, viewAs } from "../objects.ts";
import { structureOf } from "../schema/models.ts";
import { EMBEDDED, type Structural } from "../schema/structural.ts";
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
  if (fieldAt(policy, "status.observedGeneration") === observedGeneration) return;
  const expressionWarnings = await warningsOf(state, policy);
  const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
  changeStored(collectionOf(state, POLICIES), stored, (current) => {
    if (current.metadata.generation === observedGeneration) current.status = { observedGeneration, typeChecking };
  });
}

async function warningsOf(state: ServerState, { spec }: Policy) {
  const { resourceRules = [] } = spec.matchConstraints;
  const { paramKind } = spec;
  const variables = paramKind === undefined ? "plain" : "withParams";
  const params = paramKind && (await schemaOf(state.kinds.ofObject(paramKind.apiVersion, paramKind.kind)));
  const kinds = state.kinds
    .all()
    .filter(({ group, version, plural }) =>
      resourceRules.some(
        (rule) =>
          rule.apiGroups?.includes(group) && rule.apiVersions?.includes(version) && rule.resources?.includes(plural),
      ),
    );
  const languages = await Promise.all(
    kinds.map(async (one) => {
      const { group, version, kind } = one;
      const language = languageOf(await schemaOf(one), variables, params);
      return { name: `${group}/${version}, Kind=${kind}`, language };
    }),
  );
  return spec.validations.flatMap(({ expression, messageExpression = "''" }, index) =>
    Object.entries({ expression, messageExpression }).flatMap(([field, text]) => {
      const problems = languages.map(({ name, language }) => ({ name, problem: language.problem(text) }));
      const warnings = problems.flatMap(({ name, problem }) =>
        problem === undefined ? [] : [`${name}: ${problem}\n`],
      );
      return warnings.length === 0
        ? []
        : [{ fieldRef: `spec.validations[${index}].${field}`, warning: warnings.join("\n") }];
    }),
  );
}

async function schemaOf(kind: ResourceKind | undefined): Promise<Structural | undefined> {
  return kind && (kind.schema === undefined ? await structureOf(kind.model ?? "") : await withMetadata(kind.schema));
}

async function withMetadata(schema: Structural): Promise<Structural> {
  const metadata = await structureOf("V1ObjectMeta");
  const text = { type: "string" };
  const properties = { ...recordAt(schema, "properties"), apiVersion: text, kind: text, metadata };
  return { ...schema, [EMBEDDED]: false, properties };
}
