/** ValidatingAdmissionPolicies: which requests they allow, refuse or warn of; invalid policies. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Started, start } from "./started.ts";

const GROUP = "/apis/admissionregistration.k8s.io/v1";
const POLICIES = `${GROUP}/validatingadmissionpolicies`;
const BINDINGS = `${GROUP}/validatingadmissionpolicybindings`;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

let started: Started;
beforeAll(
  async () => void (started = await start({ tokens: { guest: { user: "guest", groups: ["system:masters"] } } })),
);
afterAll(() => started.stop());
afterEach(async () => {
  for (const path of [BINDINGS, POLICIES, CONFIG_MAPS]) await started.admin.send({ method: "DELETE", path });
});

const rules = (...operations: string[]) => [
  { apiGroups: [""], apiVersions: ["v1"], operations, resources: ["configmaps"] },
];
const policy = (spec: object) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "p" },
  spec: { matchConstraints: { resourceRules: rules("CREATE", "UPDATE", "DELETE") }, ...spec },
});
const binding = (spec: object = {}) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: "b" },
  spec: { policyName: "p", validationActions: ["Deny"], ...spec },
});
const one = { expression: "object.data.a == '1'" };

async function install(spec: object, bound: object = {}): Promise<void> {
  expect((await started.admin.send({ method: "POST", path: POLICIES, body: policy(spec) })).body).toMatchObject({
    spec: {},
  });
  expect((await started.admin.send({ method: "POST", path: BINDINGS, body: binding(bound) })).body).toMatchObject({
    spec: {},
  });
}

const create = (a: string, more: object = {}) =>
  started.admin.send({ method: "POST", path: CONFIG_MAPS, body: { metadata: { name: "c" }, data: { a }, ...more } });

const denied = (words: string) =>
  `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${words}`;

// prettier-ignore
describe("a request", () => {
  const reason = "Forbidden";
  test.each<[string, object, object, number, string | undefined]>([
    ["meets the rule",               { validations: [{ expression: "object.data.a == '2'" }] }, {},        201, undefined],
    ["does not",                     { validations: [one] }, {},                                           422, denied("failed expression: object.data.a == '1'")],
    ["… in words",                   { validations: [{ ...one, message: "a must be 1" }] }, {},            422, denied("a must be 1")],
    ["… in worked out words",        { validations: [{ ...one, messageExpression: "'a is ' + object.data.a" }] }, {}, 422, denied("a is 2")],
    ["… for another reason",         { validations: [{ ...one, reason }] }, {},                            403, denied("failed expression: object.data.a == '1'")],
    ["… only to be warned",          { validations: [one] }, { validationActions: ["Warn"] },              201, undefined],
    ["… only to be written down",    { validations: [one] }, { validationActions: ["Audit"] },             201, undefined],
    ["meets one of two",             { validations: [{ expression: "true" }, one] }, {},                   422, denied("failed expression: object.data.a == '1'")],
    ["by variables",                 { variables: [{ name: "a", expression: "object.data.a" }, { name: "b", expression: "variables.a + '!'" }], validations: [{ expression: "variables.b == '1!'" }] }, {}, 422, denied("failed expression: variables.b == '1!'")],
    ["in error",                     { validations: [{ expression: "object.data.nope == '1'" }] }, {},     422, denied("expression 'object.data.nope == '1'' resulted in error: no such key: nope")],
    ["in error, ignored",            { failurePolicy: "Ignore", validations: [{ expression: "object.data.nope == '1'" }] }, {}, 201, undefined],
    ["meets no condition",           { matchConditions: [{ name: "n", expression: "request.userInfo.username == 'guest'" }], validations: [one] }, {}, 201, undefined],
    ["with numbers",                 { validations: [{ expression: "size(object.data) + 1 > 2" }] }, {},   422, denied("failed expression: size(object.data) + 1 > 2")],
    ["of a namespace",               { validations: [{ expression: "namespaceObject.metadata.name != 'default'" }] }, {}, 422, denied("failed expression: namespaceObject.metadata.name != 'default'")],
    ["elsewhere, by the binding",    { validations: [one] }, { matchResources: { namespaceSelector: { matchLabels: { a: "b" } } } }, 201, undefined],
    ["excluded",                     { matchConstraints: { resourceRules: rules("*"), excludeResourceRules: rules("CREATE") }, validations: [one] }, {}, 201, undefined],
    ["of another name",              { matchConstraints: { resourceRules: [{ ...rules("*")[0], resourceNames: ["d"] }] }, validations: [one] }, {}, 201, undefined],
    ["another operation",            { matchConstraints: { resourceRules: rules("DELETE") }, validations: [one] }, {}, 201, undefined],
  ])("%s", async (...[, spec, bound, code, message]) => {
    await install(spec, bound);
    const answer = await create("2");
    expect({ code: answer.code, message: answer.body["message"] }).toEqual({ code, message });
  });
});

test("a refusal names its reason and cause", async () => {
  await install({ validations: [one] });
  expect((await create("2")).body).toMatchObject({
    reason: "Invalid",
    details: {
      name: "c",
      kind: "configmaps",
      causes: [
        {
          message:
            "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.data.a == '1'",
        },
      ],
    },
  });
});

test("a warning", async () => {
  await install({ validations: [{ ...one, message: "a is 2" }] }, { validationActions: ["Warn", "Audit"] });
  const { headers } = await create("2");
  expect(headers["warning"]).toBe(
    `299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': a is 2"`,
  );
});

test("an object that has not ended can only be deleted by the users that the policy names", async () => {
  await install({
    matchConstraints: { resourceRules: rules("DELETE") },
    matchConditions: [{ name: "others", expression: "!(request.userInfo.username in ['guest'])" }],
    validations: [{ expression: "has(oldObject.data.ended)", message: "set data.ended first" }],
  });
  await create("1");
  const path = `${CONFIG_MAPS}/c`;
  const refused = await started.admin.send({ method: "DELETE", path });
  const collected = await started.admin.send({ method: "DELETE", path: CONFIG_MAPS });
  const allowed = await started.admin.send({ method: "DELETE", path, token: "guest" });
  expect([refused.code, refused.body["message"], collected.code, allowed.code]).toEqual([
    422,
    denied("set data.ended first"),
    422,
    200,
  ]);
});

const compile = (at: string, expression: string, words: string) =>
  `ValidatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid: ${at}: Invalid value: ${JSON.stringify(expression)}: ${words}`;

// prettier-ignore
describe("a policy that is refused", () => {
  test.each<[string, object, string]>([
    ["says nothing",          {},                                                      "spec.validations: Required value"],
    ["fails otherwise",       { failurePolicy: "Maybe", validations: [one] },          'spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"'],
    ["is about nothing",      { matchConstraints: {}, validations: [one] },            "spec.matchConstraints.resourceRules: Required value"],
    ["is unfinished",         { validations: [{ expression: "object.a ==" }] },        "Syntax error"],
    ["asks nobody",           { validations: [{ expression: "nobody == 1" }] },        compile("spec.validations[0].expression", "nobody == 1", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n | nobody == 1\n | ^")],
    ["asks what is not there", { validations: [{ expression: "request.nope == 'a'" }] }, compile("spec.validations[0].expression", "request.nope == 'a'", "compilation failed: ERROR: <input>:1:8: undefined field 'nope'\n | request.nope == 'a'\n | .......^")],
    ["is no rule",            { validations: [{ expression: "1 + 1" }] },              compile("spec.validations[0].expression", "1 + 1", "must evaluate to bool")],
    ["has no words",          { validations: [{ ...one, messageExpression: "1" }] },   compile("spec.validations[0].messageExpression", "1", "must evaluate to string")],
    ["has parameters",        { paramKind: { apiVersion: "v1", kind: "ConfigMap" }, validations: [one] }, "spec.paramKind: Forbidden"],
  ])("%s", async (_, spec, words) => {
    const { code, body } = await started.admin.send({ method: "POST", path: POLICIES, body: policy(spec) });
    expect({ code, body: body["message"] }).toEqual({ code: 422, body: expect.stringContaining(words) });
  });
});

test.each<[string, object, string]>([
  ["denies and warns", { validationActions: ["Deny", "Warn"] }, "must not contain both Deny and Warn"],
  ["does nothing", { validationActions: undefined }, "spec.validationActions: Required value"],
  ["binds nothing", { policyName: undefined }, "spec.policyName: Required value"],
])("a binding that %s is refused", async (_, spec, words) => {
  const { code, body } = await started.admin.send({ method: "POST", path: BINDINGS, body: binding(spec) });
  expect({ code, body: body["message"] }).toEqual({ code: 422, body: expect.stringContaining(words) });
});

test("its fields are looked up in the kinds it is about", async () => {
  const matchConstraints = { resourceRules: [{ ...rules("*")[0], resources: ["pods", "pods/eviction"] }] };
  const validations = [
    { expression: "object.spec.nodeName == 'a' || object.metadata.?labels.x.hasValue()" },
    { expression: "has(object.spec.nope) || object.?deleteOptions.?dryRun.hasValue()" },
  ];
  await install({ matchConstraints, validations });
  await expect
    .poll(async () => (await started.admin.send({ method: "GET", path: `${POLICIES}/p` })).body["status"])
    .toEqual({
      observedGeneration: 1,
      typeChecking: {
        expressionWarnings: [
          {
            fieldRef: "spec.validations[1].expression",
            warning:
              "/v1, Kind=Pod: compilation failed: ERROR: <input>:1:16: undefined field 'nope'\n" +
              " | has(object.spec.nope) || object.?deleteOptions.?dryRun.hasValue()\n" +
              " | ...............^\n",
          },
        ],
      },
    });
});
