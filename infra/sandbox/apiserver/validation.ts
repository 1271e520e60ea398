/** Validates the metadata of objects: names, labels, annotations and immutable fields. */
import { forbiddenValue, invalidIf, invalidValue, requiredValue, tooLongValue } from "./field-errors.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import {
  type KubeObject,
  type ObjectMeta,
  type Tree,
  fieldAt,
  isRecord,
  recordsAt,
  stringAt,
  stringsAt,
} from "./objects.ts";
import { readYaml } from "./read-yaml.ts";
import { type FieldError, fail } from "./status.ts";

interface Rule {
  readonly form: string;
  readonly limit: number;
  readonly message: string;
}

const { subdomain, label, qualifiedName, labelValue } =
  readYaml<Readonly<Record<"subdomain" | "label" | "qualifiedName" | "labelValue", Rule>>>("name-rules.yaml");

function broken(rule: Rule, field: string, value: string): readonly FieldError[] {
  return problemsOf(rule, value).map((problem) => invalidValue(field, value, problem));
}

function messageOf({ form, message }: Rule): string {
  return message.replace("{form}", () => form);
}

function problemsOf(rule: Rule, value: string): readonly string[] {
  const tooLong = value.length > rule.limit ? [`must be no more than ${rule.limit} bytes`] : [];
  return new RegExp(`^(?:${rule.form})$`).test(value) ? tooLong : [...tooLong, messageOf(rule)];
}

export function labelValueProblems(value: string): readonly string[] {
  return problemsOf(labelValue, value);
}

export function labelKeyProblems(key: string): readonly string[] {
  const [name = "", prefix, ...more] = key.split("/").toReversed();
  if (more.length > 0) return [`a valid label key ${messageOf(qualifiedName)} ${OPTIONAL_PREFIX}`];
  const ofPrefix = prefix === undefined ? [] : prefix === "" ? [EMPTY] : problemsOf(subdomain, prefix);
  const ofName = [...(name === "" ? [EMPTY] : []), ...problemsOf(qualifiedName, name)];
  return [...ofPrefix.map((problem) => `prefix part ${problem}`), ...ofName.map((problem) => `name part ${problem}`)];
}

const EMPTY = "must be non-empty";
const OPTIONAL_PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

export function validateObject(kind: ResourceKind, object: KubeObject, previous: KubeObject | undefined): void {
  const errors = [
    ...(previous === undefined ? nameErrors(kind, object.metadata) : changeErrors(object.metadata, previous.metadata)),
    ...labelErrors("metadata.labels", object.metadata.labels),
    ...annotationErrors(object.metadata),
    ...finalizerErrors(object.metadata),
    ...ownerErrors(object.metadata),
    ...kind.validate(object, previous),
  ];
  // The error shows the stored version's API group. This group can differ from the requested group only for Events.
  const [, group = ""] = object.apiVersion.split("/").toReversed();
  const shown = { group, kind: kind.kind };
  if (errors.length > 0) fail({ reason: "Invalid", kind: shown, name: object.metadata.name ?? "", errors });
}

function nameErrors(kind: ResourceKind, { name = "" }: ObjectMeta): readonly FieldError[] {
  const field = "metadata.name";
  if (name === "") return [requiredValue(field, "name or generateName is required")];
  if (kind.nameRule === "path") return pathErrors(field, name);
  return broken(kind.nameRule === "label" ? label : subdomain, field, name);
}

export function domainErrors(field: string, name: string): readonly FieldError[] {
  return broken(subdomain, field, name);
}

function pathErrors(field: string, name: string): readonly FieldError[] {
  if (name === "." || name === "..") return [invalidValue(field, name, `may not be '${name}'`)];
  const forbidden = ["/", "%"].filter((part) => name.includes(part));
  return forbidden.map((part) => invalidValue(field, name, `may not contain '${part}'`));
}

function labelErrors(field: string, labels: unknown): readonly FieldError[] {
  if (!isRecord(labels)) return [];
  return Object.entries(labels).flatMap(([key, value]) => [
    ...keyErrors(field, key),
    ...broken(labelValue, field, String(value)),
  ]);
}

export function selectorErrors(field: string, selector: unknown): readonly FieldError[] {
  const expressions = recordsAt(selector, "matchExpressions");
  return [
    ...labelErrors(`${field}.matchLabels`, fieldAt(selector, "matchLabels")),
    ...expressions.flatMap((one, index) => requirementErrors(`${field}.matchExpressions[${index}]`, one)),
  ];
}

function requirementErrors(field: string, requirement: Tree): readonly FieldError[] {
  const operator = stringAt(requirement, "operator");
  const values = stringsAt(requirement, "values");
  const [ofSet, ofKey] = [["In", "NotIn"].includes(operator), ["Exists", "DoesNotExist"].includes(operator)];
  const missing = requiredValue(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  const needless = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
  return [
    ...(ofSet && values.length === 0 ? [missing] : []),
    ...(ofKey && values.length > 0 ? [forbiddenValue(`${field}.values`, needless)] : []),
    ...invalidIf(!ofSet && !ofKey, `${field}.operator`, operator, "not a valid selector operator"),
    ...keyErrors(`${field}.key`, stringAt(requirement, "key")),
    ...values.flatMap((value, index) => broken(labelValue, `${field}.values[${index}]`, value)),
  ];
}

export function keyErrors(field: string, key: string, judged = key): readonly FieldError[] {
  return labelKeyProblems(judged).map((problem) => invalidValue(field, key, problem));
}

const ANNOTATIONS_LIMIT = 256 * 1024;

function annotationErrors({ annotations = {} }: ObjectMeta): readonly FieldError[] {
  const field = "metadata.annotations";
  const entries = Object.entries(annotations);
  const size = entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  const errors = entries.flatMap(([key]) => keyErrors(field, key, key.toLowerCase()));
  return size > ANNOTATIONS_LIMIT ? [...errors, tooLongValue(field, ANNOTATIONS_LIMIT)] : errors;
}

const STANDARD_FINALIZERS = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

function finalizerErrors({ finalizers = [] }: ObjectMeta): readonly FieldError[] {
  const unqualified = "name is neither a standard finalizer name nor is it fully qualified";
  return finalizers.flatMap((one, index) => {
    const field = `metadata.finalizers[${index}]`;
    const bare = !one.includes("/") && !STANDARD_FINALIZERS.has(one);
    return [...keyErrors(field, one), ...(bare ? [invalidValue(field, one, unqualified)] : [])];
  });
}

function ownerErrors({ ownerReferences = [] }: ObjectMeta): readonly FieldError[] {
  const field = "metadata.ownerReferences";
  const parts = ["apiVersion", "kind", "name", "uid"] as const;
  const empty = ownerReferences.flatMap((owner) => parts.filter((part) => !owner[part]));
  const errors = empty.map((part) => {
    const what = part === "apiVersion" ? "version must not be empty" : "must not be empty";
    return invalidValue(`${field}.${part}`, "", what);
  });
  const [first, second] = ownerReferences.filter(({ controller }) => controller === true);
  if (second === undefined) return errors;
  const both = `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name}`;
  return [...errors, invalidValue(field, ownerReferences, `${both} and ${second.kind}/${second.name}`)];
}

const IMMUTABLE = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];

function changeErrors(meta: ObjectMeta, old: ObjectMeta): readonly FieldError[] {
  const [now, before]: [Tree, Tree] = [{ ...meta }, { ...old }];
  const changed = IMMUTABLE.filter((field) => now[field] !== before[field]);
  const errors = changed.flatMap((field) => {
    const error = invalidValue(`metadata.${field}`, now[field], "field is immutable");
    // The real server also reports a changed UID twice.
    return field === "uid" ? [error, error] : [error];
  });
  return [...errors, ...newFinalizers(meta, old)];
}

function newFinalizers(meta: ObjectMeta, old: ObjectMeta): readonly FieldError[] {
  if (old.deletionTimestamp === undefined) return [];
  const added = (meta.finalizers ?? []).filter((one) => !old.finalizers?.includes(one));
  if (added.length === 0) return [];
  const list = `[]string{${added.map((one) => JSON.stringify(one)).join(", ")}}`;
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`;
  return [forbiddenValue("metadata.finalizers", detail)];
}
