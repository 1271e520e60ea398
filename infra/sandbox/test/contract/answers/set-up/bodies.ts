/** Admission policies; bodies that are not JSON, or not an object of the kind. */
import { del, post } from "../../requests.ts";
import { SERVING } from "../../webhook.ts";
import { type Scene, type Scenes, type Step, attempt, until } from "../world.ts";
import { B, configMap } from "./objects.ts";

const POLICIES = `${SERVING}/validatingadmissionpolicies`;
const BINDINGS = `${SERVING}/validatingadmissionpolicybindings`;
const OF_POLICIES = { apiVersion: "admissionregistration.k8s.io/v1", metadata: { name: "fid" } };

const policy = (expression: string) =>
  post(POLICIES, {
    ...OF_POLICIES,
    kind: "ValidatingAdmissionPolicy",
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "fid-b" } },
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      },
      validations: [{ expression }],
    },
  });

const binding = (action: "Deny" | "Warn") =>
  post(BINDINGS, {
    ...OF_POLICIES,
    kind: "ValidatingAdmissionPolicyBinding",
    spec: { policyName: "fid", validationActions: [action] },
  });

const unmet = post(`${B}/configmaps?dryRun=All`, configMap("vp", {}, { data: { a: "2" } }));
const refused: Step = until(unmet, ({ code }) => code === 422);
const warned: Step = until(unmet, ({ headers }) => headers.warning !== undefined);
const removed: readonly Step[] = [
  attempt(del(`${BINDINGS}/fid`)),
  attempt(del(`${POLICIES}/fid`)),
  until(unmet, ({ code, headers }) => code === 201 && headers.warning === undefined),
];

const POLICY: Scenes = {
  "policy: met": { before: [policy("object.data.a == '1'"), binding("Deny"), refused] },
  "policy: warns": { before: removed },
  "policy: warned": { before: [binding("Warn"), warned] },
  "policy: in error, Fail": { before: [...removed, policy("object.data.nope == '1'"), binding("Deny"), refused] },
  "request too large": { before: removed, ...sends(`{"data":{"a":"${"x".repeat(3 * 1024 * 1024)}"}}`) },
};

/** The body is not JSON, or is JSON that no object can be written as. */
function sends(body: string): Scene {
  return { asks: (request) => ({ ...request, body }) };
}

const map = (rest: string): Scene => sends(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bd"}${rest}}`);
const JSON_MAP = JSON.stringify(configMap("bd"));
const YAML_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bd\ndata:\n  a: '1'\n";

const RAW: Scenes = {
  "body: null": sends("null"),
  "body: a list": sends("[]"),
  "body: malformed": sends('{"apiVersion":"v1",'),
  "body: no kind": sends('{"apiVersion":"v1","metadata":{"name":"bd"}}'),
  "body: no apiVersion": sends('{"kind":"ConfigMap","metadata":{"name":"bd"}}'),
  "body: an unknown kind": sends('{"apiVersion":"v1","kind":"Nope","metadata":{"name":"bd"}}'),
  "body: a number as text": map(',"data":{"a":1}'),
  "body: a list as a map": map(',"data":["a"]'),
  "body: a key twice": map(',"data":{"a":"1","a":"2"}'),
  "body: a field twice, Strict": map(',"data":{"a":"1"},"data":{"b":"2"}'),
  "body: another case": map(',"Data":{"a":"1"}'),
  "body: an unknown field, Strict": sends(
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bd","x":1},"colour":"red"}',
  ),
  "body: unknown validation": sends(JSON_MAP),
  "body: YAML": sends(YAML_MAP),
  "body: JSON with a charset": sends(JSON_MAP),
  "body: no type": { asks: (request) => ({ ...request, body: JSON_MAP, type: "" }) },
  "body: protobuf that is none": sends("none"),
};

export const BODIES: Scenes = { ...POLICY, ...RAW };
