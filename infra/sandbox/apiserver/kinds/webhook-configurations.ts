/** ValidatingWebhookConfiguration and MutatingWebhookConfiguration. */
import { problemWith } from "../admission/cel.ts";
import { duplicateValue, invalidIf, oneOf, requiredIf } from "../field-errors.ts";
import { type KubeObject, type Tree, recordAt, recordsAt, stringAt, stringsAt } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { domainErrors, keyErrors, selectorErrors } from "../validation.ts";
import { builtIn } from "./built-in.ts";

export const WEBHOOK_CONFIGURATIONS = [
  builtIn("ValidatingWebhookConfiguration", { validate: validateWebhooks }),
  builtIn("MutatingWebhookConfiguration", { validate: validateWebhooks }),
];

function validateWebhooks(configuration: KubeObject): readonly FieldError[] {
  return named("webhooks", recordsAt(configuration, "webhooks"), validateWebhook);
}

type Validate = (item: Tree, field: string) => readonly FieldError[];

function named(field: string, items: readonly Tree[], validate: Validate): readonly FieldError[] {
  const names = items.map(({ name }) => name);
  return items.flatMap((item, index) => {
    const at = `${field}[${index}]`;
    const taken = item.name !== "" && names.indexOf(item.name) < index;
    return [...validate(item, at), ...(taken ? [duplicateValue(`${at}.name`, item.name)] : [])];
  });
}

const CHOICES = {
  failurePolicy: ["Fail", "Ignore"],
  matchPolicy: ["Equivalent", "Exact"],
  sideEffects: ["None", "NoneOnDryRun"],
  reinvocationPolicy: ["IfNeeded", "Never"],
};

function validateWebhook(webhook: Tree, field: string): readonly FieldError[] {
  const at = (name: string): string => `${field}.${name}`;
  const { sideEffects, timeoutSeconds: seconds = 10 } = webhook;
  const untimely = Number(seconds) < 1 || Number(seconds) > 30;
  const selectors = ["namespaceSelector", "objectSelector"];
  return [
    ...validateName(at("name"), stringAt(webhook, "name")),
    ...recordsAt(webhook, "rules").flatMap((rule, index) => validateRule(rule, at(`rules[${index}]`))),
    ...Object.entries(CHOICES).flatMap(([name, choices]) => oneOf(at(name), webhook[name], choices)),
    ...requiredIf(sideEffects === undefined, at("sideEffects"), "must specify one of None, NoneOnDryRun"),
    ...invalidIf(untimely, at("timeoutSeconds"), seconds, "the timeout value must be between 1 and 30 seconds"),
    ...selectors.flatMap((name) => selectorErrors(at(name), webhook[name])),
    ...validateClient(recordAt(webhook, "clientConfig"), at("clientConfig")),
    ...named(at("matchConditions"), recordsAt(webhook, "matchConditions"), validateCondition),
    ...validateVersions(stringsAt(webhook, "admissionReviewVersions"), at("admissionReviewVersions")),
  ];
}

function validateName(field: string, name: string): readonly FieldError[] {
  if (name === "") return requiredIf(true, field);
  const errors = domainErrors(field, name);
  const form = "should be a domain with at least three segments separated by dots";
  return errors.length > 0 ? errors : invalidIf(name.split(".").length < 3, field, name, form);
}

const LISTS = { operations: "operations", apiGroups: "API groups", apiVersions: "API versions" };
const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

function validateRule(rule: Tree, field: string): readonly FieldError[] {
  const lists = Object.entries(LISTS).flatMap(([name, what]) => {
    const [at, values] = [`${field}.${name}`, stringsAt(rule, name)];
    const mixed = values.length > 1 && values.includes("*");
    return [...requiredIf(values.length === 0, at), ...invalidIf(mixed, at, values, alone("*", `other ${what}`))];
  });
  const operations = stringsAt(rule, "operations");
  return [
    ...lists,
    ...operations.flatMap((one, index) => oneOf(`${field}.operations[${index}]`, one, OPERATIONS)),
    ...validateResources(stringsAt(rule, "resources"), `${field}.resources`),
    ...oneOf(`${field}.scope`, rule.scope, ["*", "Cluster", "Namespaced"]),
  ];
}

function alone(all: string, others: string): string {
  return `if '${all}' is present, must not specify ${others}`;
}

function validateResources(resources: readonly string[], field: string): readonly FieldError[] {
  const plain = resources.filter((one) => one !== "" && !one.includes("/"));
  const mixed = plain.includes("*") && plain.at(-1) !== "*";
  return [
    ...requiredIf(resources.length === 0, field),
    ...resources.flatMap((one, index) => requiredIf(one === "", `${field}[${index}]`)),
    ...invalidIf(resources.length > 1 && resources.includes("*/*"), field, resources, alone("*/*", "other resources")),
    ...invalidIf(mixed, field, resources, alone("*", "other resources without subresources")),
  ];
}

/** Validates a path. The parts between slashes must be subdomains (k8s.io/apiserver/pkg/util/webhook/validation.go). */
function validatePath(service: Tree, field: string): readonly FieldError[] {
  const path = stringAt(service, "path") || "/";
  const segments = path === "/" ? [] : path.replace(/^\//, "").replace(/\/$/, "").split("/");
  return segments.flatMap((one, index) => {
    const [broken] = domainErrors(field, one);
    const detail = broken?.message.replace(/^Invalid value: ".*": /, "");
    return invalidIf(detail !== undefined, field, path, `segment[${index}]: ${detail}`);
  });
}

/** Splits a URL into scheme, authority, query and fragment, as Go does. */
const URL_FORM = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/is;

function validateClient({ url, service }: Tree, field: string): readonly FieldError[] {
  const one = (url === undefined) !== (service === undefined);
  if (!one) return requiredIf(true, field, "exactly one of url or service is required");
  if (typeof url !== "string") return validatePath(recordAt({ service }, "service"), `${field}.service.path`);
  const [, scheme = "", authority = "", query = "", fragment = ""] = URL_FORM.exec(url) ?? [];
  const [host = "", user = ""] = authority.split("@").toReversed();
  const [at, form] = [`${field}.url`, "; desired format: https://host[/path]"];
  return [
    ...invalidIf(scheme !== "https", at, scheme, `'https' is the only allowed URL scheme${form}`),
    ...invalidIf(host === "", at, host, `host must be specified${form}`),
    ...invalidIf(user !== "", at, user, "user information is not permitted in the URL"),
    ...invalidIf(fragment !== "", at, fragment, "fragments are not permitted in the URL"),
    ...invalidIf(query !== "", at, query, "query parameters are not permitted in the URL"),
  ];
}

function validateCondition(condition: Tree, field: string): readonly FieldError[] {
  const [name, expression] = [stringAt(condition, "name"), stringAt(condition, "expression").trim()];
  const problem = expression === "" ? undefined : problemWith(expression, { types: ["bool"] });
  return [
    ...requiredIf(expression === "", `${field}.expression`),
    ...invalidIf(problem !== undefined, `${field}.expression`, expression, problem ?? ""),
    ...(name === "" ? requiredIf(true, `${field}.name`) : keyErrors(`${field}.name`, name)),
  ];
}

const ACCEPTED = ["v1", "v1beta1"];

function validateVersions(versions: readonly string[], field: string): readonly FieldError[] {
  const [none, known] = [versions.length === 0, versions.some((version) => ACCEPTED.includes(version))];
  return [
    ...requiredIf(none, field, `must specify one of ${ACCEPTED.join(", ")}`),
    ...invalidIf(!none && !known, field, versions, `must include at least one of ${ACCEPTED.join(", ")}`),
  ];
}
