/** Objects of custom kinds: defaults, pruning, validation, subresources, versions. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Response } from "./client.ts";
import {
  type Asked,
  DEFINITIONS_PATH,
  MOVES,
  MOVES_PATH,
  NOW,
  SETTINGS,
  SETTINGS_PATH,
  move,
  setting,
  startWith,
} from "./custom-resources.ts";

let server: Asked;
beforeAll(async () => void (server = await startWith(MOVES, SETTINGS)));
afterAll(() => server.stop());
beforeEach(() => server.tidy());

const DEFAULTS = { attempts: 3, wait: { seconds: 60 }, note: "none" };

/** The message about a `Setting` after "is invalid: ". */
const reasonOf = ({ body }: Response): string => String(body["message"]).replace(/^Setting.* is invalid: /, "");

// prettier-ignore
describe("what a client leaves out or sets to null", () => {
  test.each<[string, object, object]>([
    ["nothing said",                  {},                               DEFAULTS],
    ["a part of it",                  { wait: {} },                     DEFAULTS],
    ["a value of its own",            { attempts: 5 },                  { ...DEFAULTS, attempts: 5 }],
    ["null counts as absent",         { attempts: null },               DEFAULTS],
    ["null without a default goes",   { on: null },                     DEFAULTS],
    ["null where it may be stays",    { note: null },                   { ...DEFAULTS, note: null }],
    ["null of a map's value goes",    { gates: { Alpha: null } },       { ...DEFAULTS, gates: {} }],
    ["unknown fields go",             { odd: 1, wait: { odd: 1 } },     DEFAULTS],
    ["… but for what is free",        { free: { any: { thing: 1 } } },  { ...DEFAULTS, free: { any: { thing: 1 } } }],
    ["an object within",              { template: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: {} } },
                                      { ...DEFAULTS, template: { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: {} } }],
    ["a number or a text",            { port: "http" },                 { ...DEFAULTS, port: "http" }],
    ["… either will do",              { port: 80 },                     { ...DEFAULTS, port: 80 }],
  ])("%s", async (_, spec, expected) => {
    const { code, body } = await server.post(SETTINGS_PATH, setting(spec));
    expect({ code, spec: body["spec"] }).toEqual({ code: 201, spec: expected });
  });
});

const type = (is: string, wanted: string, path = "spec.attempts") =>
  `${path}: Invalid value: "${is}": ${path} in body must be of type ${wanted}: "${is}"`;

// prettier-ignore
describe("what is refused", () => {
  const unchecked = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
  test.each<[string, object, string]>([
    ["too small",                  { attempts: 0 },                       "spec.attempts: Invalid value: 0: spec.attempts in body should be greater than or equal to 1"],
    ["too large",                  { attempts: 11 },                      "spec.attempts: Invalid value: 11: spec.attempts in body should be less than or equal to 10"],
    ["a text for a number",        { attempts: "5" },                     `[${type("string", "integer")}, ${unchecked}]`],
    ["a fraction",                 { attempts: 1.5 },                     `[${type("number", "integer")}, <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.attempts, ${unchecked}]`],
    ["a boolean for either",       { port: true },                        `[${type("boolean", "integer,string", "spec.port")}, ${unchecked}]`],
    ["a map of the wrong values",  { gates: { Alpha: "yes" } },           `[${type("string", "boolean", "spec.gates.Alpha")}, ${unchecked}]`],
    ["an unknown key of the map",  { gates: { Delta: true } },            "spec.gates: Invalid value: known gates are Alpha, Beta, Gamma"],
    ["too many keys",              { gates: { Alpha: true, Beta: true, Gamma: true } }, `[spec.gates: Too many: 3: must have at most 2 items, ${unchecked}]`],
    ["the same twice in a set",    { zones: ["a", "b", "a"] },            'spec.zones[2]: Duplicate value: "a"'],
  ])("%s", async (_, spec, expected) => {
    const answer = await server.post(SETTINGS_PATH, setting(spec));
    expect({ code: answer.code, reason: reasonOf(answer) }).toEqual({ code: 422, reason: expected });
  });

  test("another name than the one there may be", async () => {
    const answer = await server.post(SETTINGS_PATH, setting({}, "other"));
    expect({ code: answer.code, reason: reasonOf(answer) }).toEqual({
      code: 422,
      reason: "<nil>: Invalid value: there is one, and its name is the",
    });
  });

  test.each([
    ["?fieldValidation=Strict", 400, undefined, 'Setting in version "v1alpha1" cannot be handled as a Setting: strict decoding error: unknown field "spec.odd", unknown field "spec.wait.odd"'],
    ["?fieldValidation=Warn",   201, ['299 - "unknown field \\"spec.odd\\""', '299 - "unknown field \\"spec.wait.odd\\""'].join(", "), undefined],
    ["?fieldValidation=Ignore", 201, undefined, undefined],
  ])("unknown fields%s", async (query, code, warning, message) => {
    const answer = await server.post(`${SETTINGS_PATH}${query}`, setting({ wait: { odd: 1 }, odd: 1 }));
    expect({ code: answer.code, warning: answer.headers["warning"], message: answer.body["message"] }).toEqual({ code, warning, message });
  });
});

const forbidden = (words: string) => `Move.example.com "m" is invalid: ${words}`;

// prettier-ignore
describe("what may change", () => {
  test.each<[string, object, number, string | undefined]>([
    ["the intent",                   { intent: "Withdrawn" },          200, undefined],
    ["nothing",                      {},                               200, undefined],
    ["the machine",                  { machine: { name: "db" } },      422, forbidden("spec: Invalid value: machine is immutable")],
    ["the cause",                    { cause: "Eviction" },            422, forbidden("spec: Invalid value: cause is immutable")],
    ["a deadline that was not there", { deadline: NOW },               422, forbidden("spec: Invalid value: deadline is immutable")],
    ["to no cause there is",         { cause: "Boredom" },             422, forbidden('[spec.cause: Unsupported value: "Boredom": supported values: "Operator", "Eviction", "Preemption", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]')],
  ])("%s", async (_, spec, code, message) => {
    await server.post(MOVES_PATH, move({}));
    const answer = await server.merge(`${MOVES_PATH}/m`, { spec });
    expect({ code: answer.code, message: answer.body["message"] }).toEqual({ code, message });
  });

  test("the intent not back again: a message that is itself an expression", async () => {
    await server.post(MOVES_PATH, move({ intent: "Withdrawn" }));
    const { body } = await server.merge(`${MOVES_PATH}/m`, { spec: { intent: "Move" } });
    expect(body).toMatchObject({
      message: forbidden("spec.intent: Forbidden: from Withdrawn to Move"),
      details: { causes: [{ reason: "FieldValueForbidden", field: "spec.intent" }] },
    });
  });
});

const apply = (manager: string, type: string) =>
  server.admin.send({
    method: "PATCH",
    path: `${MOVES_PATH}/m/status?fieldManager=${manager}`,
    type: "application/apply-patch+yaml",
    body: {
      apiVersion: "example.com/v1alpha1",
      kind: "Move",
      metadata: { name: "m" },
      status: { conditions: [{ type, status: "True" }] },
    },
  });

const generationOf = ({ body }: Response) => (body["metadata"] as { generation: number }).generation;

describe("spec and status", () => {
  const status = { phase: "Running", node: "a", attempts: 1, conditions: [{ type: "Moved", status: "False" }] };

  test("a client's status is dropped on create, its default shows", async () => {
    const { code, body } = await server.post(MOVES_PATH, move({}, { status }));
    expect({ code, status: body["status"] }).toEqual({ code: 201, status: { phase: "Pending" } });
  });

  // prettier-ignore
  test.each<[string, string, object, { generation: number; intent: string; phase: string }]>([
    ["the spec counts",                  "",        { spec: { intent: "Withdrawn" } }, { generation: 2, intent: "Withdrawn", phase: "Pending" }],
    ["metadata does not",                "",        { metadata: { labels: { a: "b" } } }, { generation: 1, intent: "Move", phase: "Pending" }],
    ["its status is ignored",            "",        { status: { phase: "Running" } }, { generation: 1, intent: "Move", phase: "Pending" }],
    ["the status does not count",        "/status", { status: { phase: "Running" } }, { generation: 1, intent: "Move", phase: "Running" }],
    ["there the spec is ignored",        "/status", { spec: { intent: "Withdrawn" }, status }, { generation: 1, intent: "Move", phase: "Running" }],
  ])("%s", async (_, subresource, body, expected) => {
    await server.post(MOVES_PATH, move({}));
    const answer = await server.merge(`${MOVES_PATH}/m${subresource}`, body);
    const { spec, status: now } = answer.body as { spec: { intent: string }; status: { phase: string } };
    expect({ generation: generationOf(answer), intent: spec.intent, phase: now.phase }).toEqual(expected);
  });

  // prettier-ignore
  test.each<[string, object, string]>([
    ["a wrong type",           { attempts: "1" },                                   'status.attempts: Invalid value: "string"'],
    ["no time",                { completionTime: "soon" },                          'status.completionTime: Invalid value: "soon": status.completionTime in body must be of type date-time: "soon"'],
    ["a condition unsaid",     { conditions: [{ type: "Moved" }] },                 "status.conditions[0].status: Required value"],
    ["a condition twice",      { conditions: [status.conditions[0], status.conditions[0]] as object[] }, 'status.conditions[1]: Duplicate value: {"type":"Moved"}'],
  ])("refused: %s", async (_, wrong, words) => {
    await server.post(MOVES_PATH, move({}));
    const { code, body } = await server.merge(`${MOVES_PATH}/m/status`, { status: wrong });
    expect({ code, says: String(body["message"]).includes(words), body: body["message"] }).toMatchObject({ code: 422, says: true });
  });

  test("a condition is one's own by server-side apply", async () => {
    await server.post(MOVES_PATH, move({}));
    await apply("one", "Marked");
    const { body } = await apply("two", "Moved");
    expect(body["status"]).toMatchObject({ conditions: [{ type: "Marked" }, { type: "Moved" }] });
  });

  test("a value that has become invalid stays while it does not change", async () => {
    await server.post(MOVES_PATH, move({}));
    await server.merge(`${MOVES_PATH}/m/status`, { status: { attempts: 5 } });
    const narrow = structuredClone(MOVES);
    Object.assign(narrow.spec, {
      versions: JSON.parse(JSON.stringify(MOVES.spec).replace('"minimum":0', '"minimum":9')).versions,
    });
    await server.merge(`${DEFINITIONS_PATH}/moves.example.com`, narrow);
    const untouched = await server.merge(`${MOVES_PATH}/m/status`, { status: { node: "b" } });
    const touched = await server.merge(`${MOVES_PATH}/m/status`, { status: { attempts: 6 } });
    await server.merge(`${DEFINITIONS_PATH}/moves.example.com`, MOVES);
    expect([untouched.code, touched.code]).toEqual([200, 422]);
  });
});

test("applying without a default does not own it", async () => {
  const path = `${SETTINGS_PATH}/the?fieldManager=one`;
  const type = "application/apply-patch+yaml";
  const { body } = await server.admin.send({ method: "PATCH", path, type, body: setting({ port: 1 }) });
  const { managedFields } = body["metadata"] as { managedFields: readonly { fieldsV1: object }[] };
  expect({ spec: body["spec"], owned: managedFields[0]?.fieldsV1 }).toEqual({
    spec: { ...DEFAULTS, port: 1 },
    owned: { "f:spec": { "f:port": {} } },
  });
});

test("PUT needs to have seen it", async () => {
  await server.post(MOVES_PATH, move({}));
  const { code, body } = await server.put(`${MOVES_PATH}/m`, move({ intent: "Withdrawn" }));
  expect({ code, message: body["message"] }).toEqual({
    code: 422,
    message:
      'moves.example.com "m" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  });
});
