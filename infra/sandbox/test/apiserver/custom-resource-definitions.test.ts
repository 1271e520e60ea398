/** CustomResourceDefinitions themselves: which are refused, their status, what is deleted with them. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { KUBEVIRT_DEFINITIONS } from "../../kubevirt/kinds.ts";
import {
  type Asked,
  DEFINITIONS_PATH,
  MOVES,
  MOVES_PATH,
  NOW,
  definition,
  move,
  startWith,
} from "./custom-resources.ts";

let server: Asked;
beforeAll(async () => void (server = await startWith()));
afterAll(() => server.stop());

const remove = (name: string) => server.admin.send({ method: "DELETE", path: `${DEFINITIONS_PATH}/${name}` });
afterEach(async () => {
  for (const name of ["things.example.com", "moves.example.com", "others.example.com"]) await remove(name);
});

const object = { type: "object" };
const version = (schema: object | undefined = object, more: object = {}) => ({
  name: "v1",
  served: true,
  storage: true,
  ...(schema && { schema: { openAPIV3Schema: schema } }),
  ...more,
});
const things = (more: object) => definition("Thing", { versions: [version()], ...more });
const spec = (schema: object) => things({ versions: [version({ ...object, properties: { spec: schema } })] });
const ruled = (rule: object, schema: object = { ...object, properties: { a: { type: "integer" } } }) =>
  spec({ ...schema, "x-kubernetes-validations": [rule] });

const SCHEMA = "spec.versions[0].schema.openAPIV3Schema";
const RULE = `${SCHEMA}.properties[spec].x-kubernetes-validations[0]`;
const names = { kind: "Thing", plural: "things" };

// prettier-ignore
describe("a definition that is refused", () => {
  test.each<[string, object, string]>([
    ["of another name",              things({ names: { ...names, plural: "others" } }),        'metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group'],
    ["in a group without a dot",     things({ group: "example" }),                             'spec.group: Invalid value: "example": should be a domain with at least one dot'],
    ["of no scope",                  things({ scope: "Galaxy" }),                              'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'],
    ["with an odd short name",       things({ names: { ...names, shortNames: ["T!"] } }),      'spec.names.shortNames[0]: Invalid value: "T!": a DNS-1035 label must consist of'],
    ["stored nowhere",               things({ versions: [version(object, { storage: false })] }), "spec.versions: Invalid value: must have exactly one version marked as storage version"],
    ["stored twice",                 things({ versions: [version(), version(object, { name: "v2" })] }), "spec.versions: Invalid value: must have exactly one version marked as storage version"],
    ["without a schema",             things({ versions: [{ name: "v1", served: true, storage: true }] }), `${SCHEMA}: Required value`],
    ["of no type",                   spec({}),                                                 `${SCHEMA}.properties[spec].type: Required value: must not be empty for specified object fields`],
    ["of an unknown type",           spec({ type: "text" }),                                   `${SCHEMA}.properties[spec].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`],
    ["a list of nothing",            spec({ type: "array" }),                                  `${SCHEMA}.properties[spec].items: Required value: must be specified`],
    ["fields and values",            spec({ ...object, properties: { a: object }, additionalProperties: object }), `${SCHEMA}.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
    ["a map in disguise, no keys",   spec({ type: "array", items: object, "x-kubernetes-list-type": "map" }), `${SCHEMA}.properties[spec].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`],
    ["… keys that may be absent",    spec({ type: "array", items: { ...object, properties: { id: { type: "string" } } }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"] }), `items.properties[id].default: Required value: this property is in x-kubernetes-list-map-keys`],
    ["metadata of its own",          things({ versions: [version({ ...object, properties: { metadata: { ...object, properties: { labels: object } } } })] }), `${SCHEMA}.properties[metadata]: Forbidden: must not specify anything other than name and generateName`],
    ["a default that may not be",    spec({ type: "integer", default: "a" }),                  `${SCHEMA}.properties[spec].default: Invalid value: "string"`],
    ["a default with odd fields",    spec({ ...object, default: { odd: 1 } }),                 `${SCHEMA}.properties[spec].default: Invalid value: {"odd":1}: must not have unknown fields`],
    ["what is not supported here",   spec({ ...object, oneOf: [{ required: ["a"] }] }),        `${SCHEMA}.properties[spec].oneOf: Forbidden: oneOf is not supported`],
    ["a rule that is unfinished",    ruled({ rule: "self.a >" }),                              `${RULE}.rule: Invalid value: "self.a >": compilation failed: ERROR: <input>:1:9: Syntax error`],
    ["a rule about what is not",     ruled({ rule: "self.b > 1" }),                            `compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 1\n | ....^`],
    ["… even if only asked for",     ruled({ rule: "has(self.b)" }),                           `compilation failed: ERROR: <input>:1:9: undefined field 'b'\n | has(self.b)\n | ........^`],
    ["a rule of the wrong types",    ruled({ rule: "self.a == 'a'" }),                         "found no matching overload for '_==_' applied to '(int, string)'"],
    ["a rule that is none",          ruled({ rule: "self.a" }),                                `${RULE}.rule: Invalid value: "self.a": cel expression must evaluate to a bool`],
    ["a message that is none",       ruled({ rule: "self.a > 1", messageExpression: "self.a" }), `${RULE}.messageExpression: Invalid value: "self.a": messageExpression must evaluate to a string`],
    ["an unknown reason",            ruled({ rule: "self.a > 1", reason: "Whim" }),            `${RULE}.reason: Unsupported value: "Whim"`],
    ["a place that is not",          ruled({ rule: "self.a > 1", fieldPath: ".b" }),           `${RULE}.fieldPath: Invalid value: ".b": must be a valid path`],
    ["before and after in a list",   spec({ type: "array", items: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] } }), "oldSelf cannot be used on the uncorrelatable portion of the schema within spec.versions[0].schema.openAPIV3Schema.properties[spec]"],
    ["no before, but optional",      ruled({ rule: "self.a > 1", optionalOldSelf: true }),     `${RULE}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`],
    ["selectable, but not there",    things({ versions: [version(object, { selectableFields: [{ jsonPath: ".spec.node" }] })] }), 'selectableFields[0].jsonPath: Invalid value: ".spec.node": is an invalid path: does not refer to a valid field'],
    ["selectable, but no scalar",    things({ versions: [version({ ...object, properties: { spec: object } }, { selectableFields: [{ jsonPath: ".spec" }] })] }), 'selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer'],
    ["a column of no type",          things({ versions: [version(object, { additionalPrinterColumns: [{ name: "A", type: "text", jsonPath: ".a" }] })] }), 'additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string'],
  ])("%s", async (_, body, words) => {
    const answer = await server.post(DEFINITIONS_PATH, body);
    expect({ code: answer.code, message: answer.body["message"] }).toEqual({ code: 422, message: expect.stringContaining(words) });
  });
});

const thing = (value: unknown) => ({
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "t" },
  spec: value,
});

describe("rules", () => {
  const things1 = "/apis/example.com/v1/namespaces/default/things";
  const many = {
    ...object,
    properties: {
      items: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        items: {
          ...object,
          required: ["id"],
          properties: { id: { type: "string" }, n: { type: "integer" } },
          "x-kubernetes-validations": [{ rule: "!has(oldSelf.n) || self.n >= oldSelf.n", message: "n only grows" }],
        },
      },
    },
  };

  // prettier-ignore
  test.each<[string, object, unknown, unknown, string | undefined]>([
    ["not of what is new",            ruled({ rule: "self.a == oldSelf.a" }),                                              undefined, { a: 1 }, undefined],
    ["… but if that is optional",     ruled({ rule: "oldSelf.hasValue() || self.a == 0", optionalOldSelf: true }),         undefined, { a: 1 }, "spec: Invalid value: failed rule: oldSelf.hasValue() || self.a == 0"],
    ["… also when it is there",       ruled({ rule: "oldSelf.orValue(self).a <= self.a", optionalOldSelf: true }),         { a: 2 },  { a: 1 }, "spec: Invalid value: failed rule: oldSelf.orValue(self).a <= self.a"],
    ["an item by its key",            spec(many),                          { items: [{ id: "a", n: 1 }, { id: "b", n: 5 }] }, { items: [{ id: "b", n: 4 }] }, "spec.items[0]: Invalid value: n only grows"],
    ["a scalar is shown",             spec({ type: "integer", "x-kubernetes-validations": [{ rule: "self > 1", message: "more" }] }), undefined, 1, "spec: Invalid value: 1: more"],
    ["an error in one",               ruled({ rule: "self.a / (self.a - 1) > 0" }),                                        undefined, { a: 1 }, 'spec: Invalid value: "object": division by zero evaluating rule: self.a / (self.a - 1) > 0'],
  ])("%s", async (...[, body, before, after, message]) => {
    expect((await server.post(DEFINITIONS_PATH, body)).code).toBe(201);
    if (before !== undefined) await server.post(things1, thing(before));
    const answer = before === undefined ? await server.post(things1, thing(after)) : await server.merge(`${things1}/t`, { spec: after });
    const words = JSON.parse(JSON.stringify(answer.body["message"] ?? "")).replace('Thing.example.com "t" is invalid: ', "");
    expect({ failed: answer.code === 422, words }).toEqual({ failed: message !== undefined, words: message ?? "" });
  });
});

test("what the server says of one", async () => {
  await server.post(DEFINITIONS_PATH, things({}));
  const { body } = await server.get(`${DEFINITIONS_PATH}/things.example.com`);
  const all = { ...names, singular: "thing", listKind: "ThingList" };
  expect(body).toMatchObject({
    spec: { names: all, conversion: { strategy: "None" } },
    status: {
      acceptedNames: all,
      storedVersions: ["v1"],
      conditions: [
        {
          type: "NamesAccepted",
          status: "True",
          reason: "NoConflicts",
          message: "no conflicts found",
          lastTransitionTime: NOW,
        },
        {
          type: "Established",
          status: "True",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        },
      ],
    },
  });
});

test("a name that is taken is not served, until it is free", async () => {
  await server.post(DEFINITIONS_PATH, things({ names: { ...names, shortNames: ["x"] } }));
  await server.post(
    DEFINITIONS_PATH,
    definition("Other", { versions: [version()], names: { kind: "Other", plural: "others", shortNames: ["x"] } }),
  );
  const conditions = async () => {
    const { body } = await server.get(`${DEFINITIONS_PATH}/others.example.com`);
    const status = body["status"] as { conditions: readonly { type: string; status: string; reason: string }[] };
    return status.conditions.map((one) => `${one.type}=${one.status} ${one.reason}`);
  };
  expect(await conditions()).toEqual(["NamesAccepted=False ShortNamesConflict", "Established=False NotAccepted"]);
  expect((await server.get("/apis/example.com/v1/others")).code).toBe(404);
  await remove("things.example.com");
  expect(await conditions()).toEqual(["NamesAccepted=True NoConflicts", "Established=True InitialNamesAccepted"]);
  expect((await server.get("/apis/example.com/v1/others")).code).toBe(200);
});

// prettier-ignore
test.each<[string, object, string]>([
  ["its scope", { scope: "Cluster" }, 'spec.scope: Invalid value: "Cluster": field is immutable'],
  ["its kind", { names: { kind: "Thingy", listKind: "ThingyList" } }, 'spec.names.kind: Invalid value: "Thingy": field is immutable'],
])("%s stays", async (_, change, words) => {
  await server.post(DEFINITIONS_PATH, things({}));
  const { code, body } = await server.merge(`${DEFINITIONS_PATH}/things.example.com`, { spec: change });
  expect({ code, message: body["message"] }).toEqual({ code: 422, message: expect.stringContaining(words) });
});

describe("deleted", () => {
  test("its objects go, and it is gone", async () => {
    await server.post(DEFINITIONS_PATH, MOVES);
    await server.post(MOVES_PATH, move({}));
    const { body } = await remove("moves.example.com");
    expect(body["metadata"]).toMatchObject({
      finalizers: ["customresourcecleanup.apiextensions.k8s.io"],
      deletionTimestamp: NOW,
    });
    expect((await server.get(MOVES_PATH)).text).toBe("404 page not found\n");
    await server.post(DEFINITIONS_PATH, MOVES);
    expect((await server.get(MOVES_PATH)).body["items"]).toEqual([]);
  });

  test("… but waits for what waits", async () => {
    await server.post(DEFINITIONS_PATH, MOVES);
    await server.post(MOVES_PATH, move({}, { metadata: { name: "m", finalizers: ["example.com/hold"] } }));
    await remove("moves.example.com");
    expect((await server.get(`${MOVES_PATH}/m`)).body["metadata"]).toMatchObject({ deletionTimestamp: NOW });
    await server.merge(`${MOVES_PATH}/m`, { metadata: { finalizers: null } });
    expect((await server.get(`${DEFINITIONS_PATH}/moves.example.com`)).code).toBe(404);
  });
});

test.each(KUBEVIRT_DEFINITIONS.map((one) => [one.metadata.name, one]))("KubeVirt's %s is accepted", async (_, body) => {
  expect(await server.post(DEFINITIONS_PATH, body)).toMatchObject({ code: 201 });
});
