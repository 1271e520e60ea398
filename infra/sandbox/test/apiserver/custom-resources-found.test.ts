/** Reading objects of custom kinds: selectors, tables, names, explanations. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Asked, MOVES, MOVES_PATH, SETTINGS, move, startWith } from "./custom-resources.ts";

let server: Asked;
beforeAll(async () => void (server = await startWith(MOVES, SETTINGS)));
afterAll(() => server.stop());
beforeEach(async () => {
  for (const name of ["a", "b", "c"]) {
    await server.post(MOVES_PATH, { ...move({ machine: { name: `vm-${name}` } }), metadata: { name } });
  }
  await server.merge(`${MOVES_PATH}/c/status`, { status: { phase: "Moved" } });
});

// prettier-ignore
test.each<[string, number, readonly string[] | string]>([
  ["spec.machine.name=vm-a",               200, ["a"]],
  ["spec.machine.name==vm-a",              200, ["a"]],
  ["spec.machine.name!=vm-a",              200, ["b", "c"]],
  ["status.phase=Pending",                 200, ["a", "b"]],
  ["status.phase!=Moved,metadata.name=b",  200, ["b"]],
  ["status.phase in (Moved)",              400, 'invalid selector: \'status.phase in (Moved)\'; can\'t understand \'status.phase in (Moved)\''],
  ["spec.intent=Move",                     400, "field label not supported: spec.intent"],
])("%s", async (selector, code, expected) => {
  const answer = await server.get(`${MOVES_PATH}?fieldSelector=${encodeURIComponent(selector)}`);
  const { items = [] } = answer.body as { items?: readonly { metadata: { name: string } }[] };
  const found = answer.code === 200 ? items.map(({ metadata }) => metadata.name) : answer.body["message"];
  expect({ code: answer.code, found }).toEqual({ code, found: expected });
});

test("as a table", async () => {
  const { body } = await server.get(`${MOVES_PATH}/c`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
  const { columnDefinitions, rows } = body as {
    columnDefinitions: readonly { name: string; type: string; priority: number; description: string }[];
    rows: readonly { cells: readonly unknown[] }[];
  };
  expect(columnDefinitions.map(({ name, type, priority }) => [name, type, priority])).toEqual([
    ["Name", "string", 0],
    ["Machine", "string", 0],
    ["Phase", "string", 0],
    ["Attempts", "integer", 0],
    ["Moved", "string", 1],
    ["Age", "date", 0],
  ]);
  expect(columnDefinitions[1]?.description).toBe(
    "Custom resource definition column (in JSONPath format): .spec.machine.name",
  );
  expect(columnDefinitions[2]?.description).toBe("How far it is");
  expect(rows[0]?.cells).toEqual(["c", "vm-c", "Moved", null, null, "0s"]);
});

test("by their short name and category", async () => {
  const { body } = await server.get("/apis/example.com/v1alpha1");
  expect(body["resources"]).toContainEqual({
    name: "moves",
    singularName: "move",
    namespaced: true,
    kind: "Move",
    verbs: expect.arrayContaining(["create", "watch"]),
    shortNames: ["mv"],
    categories: ["machines"],
  });
});

test("to be told by kubectl explain", async () => {
  const { body } = await server.get("/openapi/v3/apis/example.com/v1alpha1");
  const { schemas } = body["components"] as { schemas: Record<string, { properties: Record<string, object> }> };
  const schema = schemas["com.example.v1alpha1.Move"];
  expect(Object.keys(schema?.properties ?? {}).toSorted()).toEqual([
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    "status",
  ]);
  expect(schema?.properties["spec"]).toMatchObject({
    required: ["machine"],
    properties: { intent: { enum: ["Move", "Withdrawn"] } },
  });
  expect(schema?.properties["kind"]).toMatchObject({ description: expect.stringMatching(/^Kind is a string value/) });
  expect(schema?.properties["metadata"]).toMatchObject({
    description: expect.stringMatching(/^Standard object.s metadata/),
    allOf: [{ $ref: "#/components/schemas/io.k8s.ObjectMeta" }],
  });
  expect(schemas["io.k8s.ObjectMeta"]).toBeDefined();
});
